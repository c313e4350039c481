"""An engine in memory, that refuses what dockerd refuses and with the same words.

It serves tests by the thousand, rehearsals, and plans where no engine can be reached. `tests/contract` holds it to what a real
engine does. One lock guards it; nothing in it depends on clock or chance, but for the order of lists when a `seed` is given. Waiting
takes no time: what has not happened when it is asked for will not happen.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve

from sindplan.engine.records import EngineInfo, Entry, Image, Network, Volume
from sindplan.engine.references import tagged
from sindplan.engine.refusals import refusal
from sindplan.engine.simulated_containers import Containers
from sindplan.engine.simulated_files import rooted
from sindplan.engine.simulated_machine import Machine, PlainMachine
from sindplan.engine.simulated_networks import DEFAULT_POOLS
from sindplan.engine.simulated_objects import Objects
from sindplan.engine.simulated_reading import Reading
from sindplan.engine.simulated_store import SimulatedImage
from sindplan.engine.simulated_world import locked

DEFAULT_INFO = EngineInfo(
    engine_id="00000000-0000-4000-8000-000000000000",
    address="sim:",
    version="28.5.2",
    api_version="1.51",
    cgroup_version="2",
    security_options=("name=seccomp,profile=builtin", "name=cgroupns"),
    cpus=8,
    memory=32 * 1024**3,
    memory_limit=True,
    cpu_limit=True,
    cpuset=True,
    pids_limit=True,
)


class SimulatedEngine(Reading, Objects, Containers):
    """An engine in memory.

    `machine` plays what runs in containers. `seed` shuffles lists. `pools` are the subnets that networks get when they ask for none.
    `endpoint_limit` is what one bridge holds. `registry` holds the images that `pull` finds; `host_paths` are the folders of the
    engine's machine that may be mounted, with their files; `host_devices` are its devices and the names of CDI devices. Volume
    plugins are those of `info`.
    """

    def __init__(
        self,
        *,
        info: EngineInfo = DEFAULT_INFO,
        machine: Machine | None = None,
        seed: int | None = None,
        pools: Sequence[str] = DEFAULT_POOLS,
        endpoint_limit: int = 1023,
    ) -> None:
        super().__init__(info, machine or PlainMachine(), seed, pools, endpoint_limit)
        self._machine.attach(self)

    @locked
    def pull(self, reference: str) -> Image:
        """Pull an image from `registry`."""
        found = self.registry.get(tagged(reference))
        if found is None:
            text = f"pull access denied for {reference}, repository does not exist or may require 'docker login'"
            raise refusal("pull", reference, 404, text)
        self._images[tagged(reference)] = found
        return Image(id=found.id, labels=found.labels)

    def close(self) -> None:
        """Do nothing: there are no connections."""

    # Beside the port

    @locked
    def retag(self, reference: str, other: str) -> None:
        """Let an image be called otherwise (`docker tag` and `docker rmi` of the old name)."""
        self._images[other] = self._images.pop(reference)

    @locked
    def add_image(
        self,
        reference: str,
        labels: Mapping[str, str] | None = None,
        files: Mapping[str, Entry] | None = None,
        *,
        entrypoint: tuple[str, ...] | None = None,
        command: tuple[str, ...] | None = ("/sbin/init",),
        pulled: bool = True,
    ) -> str:
        """Give the engine an image (or its registry, when not `pulled`) and return its id. A known tag moves to it."""
        image = SimulatedImage(
            id="sha256:" + self._new_id(f"image {reference}"),
            labels=dict(labels or {}),
            files=rooted(files or {}),
            entrypoint=entrypoint,
            command=command,
        )
        (self._images if pulled else self.registry)[tagged(reference)] = image
        return image.id

    @locked
    def read(self, container: str, path: str) -> bytes | None:
        """Return a file as the container's processes see it, or None."""
        entry = self._view(self._container("read", container), inside=True).find(path, follow=True)
        return entry.content if entry is not None and entry.kind == "file" else None

    @locked
    def write(self, container: str, path: str, content: bytes) -> None:
        """Write a file as the container's processes would; owner and mode of one that is there stay."""
        found = self._container("write", container)
        view = self._view(found, inside=True)
        old = view.find(path) or Entry(path=path)
        with self._files(found, "write"):
            view.put(evolve(old, path=path, kind="file", content=content, link=""))

    @locked
    def delete(self, container: str, path: str) -> None:
        """Delete what is at a path as the container's processes would."""
        self._view(self._container("delete", container), inside=True).delete(path)

    @locked
    def exit(self, container: str, code: int, *, oom_killed: bool = False) -> None:
        """End a running container from within."""
        found = self._container("exit", container)
        if found.alive:
            self._machine.stopped(found.record())
            self._ended(found, code)
            found.oom_killed = oom_killed

    @locked
    def restart_daemon(self) -> None:
        """End all containers, as a restart of the daemon does. What is on disk stays."""
        for found in self._containers.values():
            if found.alive:
                self._machine.stopped(found.record())
                self._ended(found, 137)

    @locked
    def snapshot(self, *, ids: bool = True) -> Mapping[str, Any]:
        """Return everything there is as a value to compare.

        Left out is what stopping and starting changes for good: times, output, and addresses that the engine chose. Without
        `ids`, what was removed and made again the same is the same.
        """
        names = {network.record.id: network.record.name for network in self._networks.values()}
        return {
            "images": {reference: image.id for reference, image in sorted(self._images.items())},
            "networks": {
                network.record.name: _without_times(network.record, ids=ids)
                for network in sorted(self._networks.values(), key=lambda one: one.record.name)
            },
            "volumes": {
                name: (_without_times(found.record, ids=ids), dict(sorted(found.tree.items())))
                for name, found in sorted(self._volumes.items())
            },
            "host": {path: dict(sorted(tree.items())) for path, tree in sorted(self.host_paths.items())},
            "containers": {
                found.name: {
                    "id": found.id if ids else "",
                    "spec": found.spec,
                    "image_id": found.image_id,
                    "state": found.state,
                    "places": [
                        (
                            place.network,
                            place.fixed,
                            place.gw_priority,
                            place.network_id if ids else names.get(place.network_id, ""),
                            bool(place.address),
                        )
                        for place in found.ordered()
                    ],
                    "layer": dict(sorted(found.layer.items())),
                }
                for found in sorted(self._containers.values(), key=lambda one: one.name)
            },
        }


def _without_times(record: Network | Volume, *, ids: bool) -> Network | Volume:
    if isinstance(record, Network):
        return evolve(record, created="", id=record.id if ids else "")
    return evolve(record, created="")
