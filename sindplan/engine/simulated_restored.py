"""A simulated engine that begins with what another engine has, and to which every image, folder and device is at hand."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta

from attrs import evolve, frozen

from sindplan.engine.records import (
    Container,
    ContainerSpec,
    ContainerSummary,
    EngineInfo,
    Entry,
    Image,
    Network,
    Volume,
)
from sindplan.engine.references import familiar
from sindplan.engine.simulated import SimulatedEngine
from sindplan.engine.simulated_files import FilesError, View
from sindplan.engine.simulated_machine import Machine
from sindplan.engine.simulated_store import (
    SimulatedContainer,
    SimulatedImage,
    SimulatedNetwork,
    SimulatedPlace,
    SimulatedVolume,
    Tree,
)
from sindplan.engine.simulated_world import PREDEFINED, locked

_INIT = ("/sbin/init",)
_LAST_YEAR = 9000
_SECONDS = len("2026-01-01T00:00:00")


@frozen(kw_only=True)
class Things:
    """What an engine has. Containers come as listed, with their details where these are known."""

    images: Mapping[str, Image]
    networks: tuple[Network, ...]
    volumes: tuple[Volume, ...]
    containers: tuple[tuple[ContainerSummary, Container | None], ...]


class RestoredEngine(SimulatedEngine):
    """A simulated engine with things in it.

    `count` says how much was made in it so far. `labels_of` says what an image that is pulled would say of itself, by its
    reference. `closing` is called when it is closed.
    """

    def __init__(
        self,
        info: EngineInfo,
        machine: Machine,
        things: Things,
        count: int,
        labels_of: Callable[[str], Mapping[str, str]],
    ) -> None:
        self.closing: Callable[[], None] = lambda: None
        # Its networks of its own are made with the time, at once.
        self._ticks = 0
        self._since = _latest(things)
        super().__init__(info=info, machine=machine)
        self._count = count
        self._labels_of = labels_of
        self._images = {
            reference: SimulatedImage(id=one.id, labels=one.labels, files={}, entrypoint=None, command=_INIT)
            for reference, one in things.images.items()
        }
        present = {one.name for one in things.networks}
        self._networks = {
            id_: one for id_, one in self._networks.items() if one.record.name in PREDEFINED.keys() - present
        } | {one.id: SimulatedNetwork(record=one, pinned=bool(one.ip_range)) for one in things.networks}
        self._volumes = {one.name: SimulatedVolume(record=one) for one in things.volumes}
        # Oldest first, as they are kept; a list has the newest first.
        for summary, found in reversed(things.containers):
            self._restore(summary, found)

    def _restore(self, summary: ContainerSummary, found: Container | None) -> None:
        spec = (
            found.spec
            if found is not None
            else ContainerSpec(name=summary.name, image=summary.image, labels=summary.labels)
        )
        places = (
            {
                one.network: SimulatedPlace(
                    network=one.network,
                    fixed=one.fixed,
                    gw_priority=one.gw_priority,
                    network_id=one.network_id,
                    address=one.address,
                )
                for one in spec.endpoints
            }
            if found is not None
            else {
                name: SimulatedPlace(network=name, fixed="", gw_priority=0, network_id=id_)
                for name, id_ in summary.networks.items()
            }
        )
        for mount in spec.mounts:
            self._provide(mount.kind, mount.source)
        self._containers[summary.id] = SimulatedContainer(
            id=summary.id,
            spec=evolve(spec, endpoints=()),
            image_id=summary.image_id,
            mode=next(iter(places), "none"),
            places=places,
            layer={},
            state=summary.state,
            exit_code=found.exit_code if found is not None else 0,
            oom_killed=found.oom_killed if found is not None else False,
            started_at=found.started_at if found is not None else "",
            tmpfs={target: {} for target in spec.tmpfs} if summary.state in ("running", "paused") else {},
        )

    def _provide(self, kind: str, source: str) -> None:
        """Have a folder of the host, or a volume that a container names though its list does not."""
        if kind == "bind":
            self.host_paths.setdefault(source, {})
        elif source not in self._volumes:
            record = Volume(name=source, driver="local", labels={}, created="")
            self._volumes[source] = SimulatedVolume(record=record)

    @locked
    def lay(self, container: str, entries: Iterable[Entry]) -> None:
        """Put files where a container shows them, on mounts that it may only read, too."""
        found = self._container("lay", container)
        view = View(self._view(found).trees, frozenset(), running=False)
        for entry in sorted(entries, key=lambda one: one.path):
            try:
                view.put(entry)
            except FilesError:
                # A file where another has a folder: one of the two was not to be seen.
                continue

    @locked
    def lay_on_volume(self, volume: str, entries: Iterable[Entry]) -> None:
        """Put files on a volume, by their paths below its root."""
        self._volumes[volume].tree.update({entry.path: entry for entry in entries})

    @locked
    def lay_in_layer(self, container: str, entries: Iterable[Entry]) -> None:
        """Put files into a container itself."""
        self._containers[container].layer.update({entry.path: entry for entry in entries})

    @locked
    def trees(self) -> tuple[Mapping[str, Tree], Mapping[str, Tree]]:
        """Return the files of volumes by name, and of containers themselves by id."""
        return (
            {name: dict(one.tree) for name, one in self._volumes.items()},
            {one.id: dict(one.layer) for one in self._containers.values()},
        )

    @property
    def count(self) -> int:
        """How many things were made in it."""
        return self._count

    @locked
    def pull(self, reference: str) -> Image:
        """Have an image: any registry has it. A tag never moves."""
        found = self._find_image(reference)
        if found is None:
            id_ = f"sha256:{hashlib.sha256(f'image {familiar(reference)}'.encode()).hexdigest()}"
            labels = dict(self._labels_of(reference))
            found = SimulatedImage(id=id_, labels=labels, files={}, entrypoint=None, command=_INIT)
            self._images[familiar(reference)] = found
        return Image(id=found.id, labels=found.labels)

    @locked
    def create_container(self, spec: ContainerSpec) -> str:
        """Create a container; folders and devices that it names are there."""
        for mount in spec.mounts:
            if mount.kind == "bind" and mount.source.startswith("/"):
                self.host_paths.setdefault(mount.source, {})
        self.host_devices |= {device.partition(":")[0] for device in spec.devices}
        return super().create_container(spec)

    def close(self) -> None:
        """Have what was done in it kept."""
        self.closing()

    def _new_id(self, kind: str) -> str:
        """Return an id that nothing has: those that came out of a file may be any."""
        while (found := super()._new_id(f"restored {kind}")) in self._networks or found in self._containers:
            pass
        return found

    def _now(self) -> str:
        self._ticks += 1
        return (self._since + timedelta(seconds=self._ticks)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _latest(things: Things) -> datetime:
    """Return a time after all that was made or started, so that what comes is newer."""
    said = [one.created for one in things.networks] + [one.created for one in things.volumes]
    said += [found.started_at for _, found in things.containers if found is not None]
    found = [datetime(2026, 1, 1, tzinfo=UTC)]
    for text in said:
        try:
            found.append(datetime.fromisoformat(text[:_SECONDS]).replace(tzinfo=UTC) + timedelta(seconds=1))
        except (ValueError, OverflowError):
            continue
    # Beyond it no clock can count.
    return max(one for one in found if one.year < _LAST_YEAR)
