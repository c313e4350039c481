"""An engine and a Slurm that answer what a snapshot says, and refuse to do anything."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from attrs import define, field

from sindplan.engine.port import Engine
from sindplan.engine.records import Container, ContainerSummary, EngineInfo, Entry, Image, Network, Volume
from sindplan.engine.references import find_image
from sindplan.engine.refusals import refusal
from sindplan.errors import SindplanError
from sindplan.slurm.accounting import AccountingView
from sindplan.slurm.port import Slurm, SlurmView
from sindplan.snapshots import redacted
from sindplan.snapshots.snapshot import ContainerSeen, FilesSeen, Snapshot


def recorded(snapshot: Snapshot) -> tuple[Engine, Slurm]:
    """Return what answers in the place of the engine and the Slurm that a snapshot was taken of."""
    containers = {one.summary.id: one for one in snapshot.containers}
    return cast("Engine", RecordedEngine(snapshot, containers)), cast("Slurm", RecordedSlurm(containers))


class NotInSnapshot(SindplanError):
    """A snapshot does not say what was asked for: another sindplan took it, or a hand has edited it."""

    def __init__(self, what: str) -> None:
        super().__init__(f"The snapshot does not say {what}.", "Take it anew: sindplan snapshot --out FILE")


@define
class RecordedEngine:
    """The engine of a snapshot. Verbs that change anything raise SindplanError."""

    _snapshot: Snapshot
    _containers: Mapping[str, ContainerSeen]
    _files: dict[tuple[str, str], FilesSeen] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._files = {(id_, one.path): one for id_, found in self._containers.items() for one in found.files}

    def info(self) -> EngineInfo:
        """Return what the engine said of itself."""
        return self._snapshot.engine

    def containers(self) -> tuple[ContainerSummary, ...]:
        """Return all containers."""
        return tuple(one.summary for one in self._snapshot.containers)

    def networks(self) -> tuple[Network, ...]:
        """Return all networks."""
        return self._snapshot.networks

    def volumes(self) -> tuple[Volume, ...]:
        """Return all volumes."""
        return self._snapshot.volumes

    def inspect_container(self, container: str) -> Container | None:
        """Return a container by id."""
        return self._seen("inspect_container", container).inspected

    def inspect_network(self, network: str) -> Network | None:
        """Return a network by id or name, without members."""
        return next((one for one in self._snapshot.networks if network in (one.id, one.name)), None)

    def image(self, reference: str) -> Image | None:
        """Return an image."""
        return find_image(self._snapshot.images, reference)

    def images(self) -> Mapping[str, Image]:
        """Return all images."""
        return self._snapshot.images

    def get_files(self, container: str, path: str, limit: int = 0) -> Mapping[str, Entry]:  # noqa: ARG002
        """Return what was at a path."""
        found = self._files.get((container, path))
        if found is None:
            raise NotInSnapshot(f"what is at {path} in {self._seen('get_files', container).summary.name!r}")
        if found.refused:
            raise refusal("get_files", container, found.refused, "as the engine did when the snapshot was taken")
        return {one.path: redacted.entry(one) for one in found.entries}

    def has_file(self, container: str, path: str) -> bool:
        """Say whether something was at a path."""
        found = self._seen("has_file", container)
        if path not in found.present:
            raise NotInSnapshot(f"whether something is at {path} in {found.summary.name!r}")
        return found.present[path]

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def _seen(self, verb: str, container: str) -> ContainerSeen:
        found = self._containers.get(container)
        if found is None:
            raise refusal(verb, container, 404, f"No such container: {container}")
        return found


@define
class RecordedSlurm:
    """The Slurm of a snapshot."""

    _containers: Mapping[str, ContainerSeen]

    def services(self, node: str, units: Sequence[str]) -> Mapping[str, bool]:
        """Say which daemons ran."""
        found = self._containers[node].services
        if found is None or not found.keys() >= set(units):
            raise refusal("processes", node, 409, "nobody could ask when the snapshot was taken")
        return {unit: found[unit] for unit in units}

    def view(self, controller: str) -> SlurmView | None:
        """Return what slurmctld said."""
        return self._containers[controller].view

    def accounting(self, controller: str) -> AccountingView | None:
        """Return what slurmdbd said."""
        return self._containers[controller].accounting


def _refusing(verb: str) -> Callable[..., Any]:
    def refused(*_: object, **__: object) -> Any:  # noqa: ANN401
        raise SindplanError(
            f"A snapshot cannot {verb.replace('_', ' ')}: it only says what was there.",
            "To try out what an apply does: sindplan apply --engine sim:FILE",
        )

    return refused


# From the ports, so that a new verb cannot be forgotten.
for _class, _port in ((RecordedEngine, Engine), (RecordedSlurm, Slurm)):
    for _verb in [verb for verb in vars(_port) if not verb.startswith("_") and not hasattr(_class, verb)]:
        setattr(_class, _verb, _refusing(_verb))
