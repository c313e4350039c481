"""The simulated engine's verbs that only look."""

from collections.abc import Mapping

from attrs import evolve

from sindplan.engine.archive import largest, pack
from sindplan.engine.records import Container, ContainerSummary, EngineInfo, Entry, Image, Network, Volume
from sindplan.engine.refusals import refusal
from sindplan.engine.simulated_files import FilesError
from sindplan.engine.simulated_world import World, locked


class Reading(World):
    """Lists, inspections, files and logs."""

    def info(self) -> EngineInfo:
        """Return what the engine says of itself."""
        return self._info

    @locked
    def containers(self) -> tuple[ContainerSummary, ...]:
        """Return all containers, newest first."""
        return tuple(
            ContainerSummary(
                id=found.id,
                name=found.name,
                image=self._image_shown(found),
                image_id=found.image_id,
                labels=found.spec.labels,
                state=found.state,
                networks={place.network: place.network_id for place in found.ordered()},
            )
            for found in self._shuffled(reversed(self._containers.values()))
        )

    @locked
    def networks(self) -> tuple[Network, ...]:
        """Return all networks."""
        return tuple(network.record for network in self._shuffled(self._networks.values()))

    @locked
    def volumes(self) -> tuple[Volume, ...]:
        """Return all volumes."""
        return tuple(found.record for found in self._shuffled(self._volumes.values()))

    @locked
    def inspect_container(self, container: str) -> Container | None:
        """Return a container, or None when it is gone."""
        found = self._find_container("inspect_container", container)
        return None if found is None else found.record()

    @locked
    def inspect_network(self, network: str) -> Network | None:
        """Return a network with its members, or None when it is gone."""
        found = self._find_network("inspect_network", network)
        if found is None:
            return None
        members = {one.id: one.name for one, _ in self._joined(found.record.id)}
        return evolve(found.record, members=members)

    @locked
    def image(self, reference: str) -> Image | None:
        """Return an image, or None when the engine does not have it."""
        found = self._find_image(reference)
        return None if found is None else Image(id=found.id, labels=found.labels)

    @locked
    def images(self) -> Mapping[str, Image]:
        """Return all images, by reference."""
        return {reference: Image(id=found.id, labels=found.labels) for reference, found in self._images.items()}

    @locked
    def get_files(self, container: str, path: str, limit: int = 4 * 1024 * 1024) -> Mapping[str, Entry]:
        """Return what is at `path`, by absolute path."""
        found = self._container("get_files", container)
        try:
            entries = self._view(found).below(path)
        except FilesError:
            return {}
        if largest(entries.values()) > limit and entries and len(pack(list(entries.values()))) > limit:
            raise refusal("get_files", container, 413, f"the archive of {path} is larger than {limit} bytes")
        return entries

    @locked
    def has_file(self, container: str, path: str) -> bool:
        """Say whether something is at `path`."""
        return self._view(self._container("has_file", container)).find(path) is not None

    @locked
    def processes(self, container: str) -> tuple[str, ...]:
        """Return the program names of a container's processes."""
        found = self._running("processes", container)
        return tuple(sorted(self._machine.processes(found.record())))

    @locked
    def logs(self, container: str, tail: int = 50) -> str:
        """Return the last lines a container printed."""
        found = self._container("logs", container)
        lines = [*found.history, *self._machine.output(found.record())]
        return "".join(f"{line}\n" for line in lines[len(lines) - min(tail, len(lines)) :])
