"""The engine port: Docker's own verbs, about one API call each, and nothing of what they are used for.

Every verb raises `EngineUnreachable`, `EngineTimeout`, `NotFound`, `Conflict` or another `EngineRefused` (`sindplan.errors`).
Adapters may be called from many threads at once. `tests/contract/test_engine.py` is the definition in code: it runs on every
adapter.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from sindplan.engine.records import (
    Container,
    ContainerSpec,
    ContainerSummary,
    EngineInfo,
    Entry,
    Executed,
    Image,
    Network,
    NetworkSpec,
    Volume,
)


class Engine(Protocol):
    """A Docker Engine, 28 or newer."""

    def info(self) -> EngineInfo:
        """Return what the engine says of itself."""

    # Reading

    def containers(self) -> tuple[ContainerSummary, ...]:
        """Return all containers, stopped ones too: one call."""

    def networks(self) -> tuple[Network, ...]:
        """Return all networks, without members: one call."""

    def volumes(self) -> tuple[Volume, ...]:
        """Return all volumes: one call."""

    def inspect_container(self, container: str) -> Container | None:
        """Return a container by id or name, or None when it is gone."""

    def inspect_network(self, network: str) -> Network | None:
        """Return a network by id or name with its members, or None when it is gone."""

    def image(self, reference: str) -> Image | None:
        """Return an image by reference or id, or None when the engine does not have it."""

    def images(self) -> Mapping[str, Image]:
        """Return all images, by every tag and digest that they have, or by id where there is none: one call."""

    def get_files(self, container: str, path: str, limit: int = 4 * 1024 * 1024) -> Mapping[str, Entry]:
        """Return what is at `path` (a file, or a folder with all below it), by absolute path; empty when nothing is there.

        Works on created, running and stopped containers and sees their volumes, but not their tmpfs mounts. Raises
        `EngineRefused` when the archive is larger than `limit` bytes.
        """

    def has_file(self, container: str, path: str) -> bool:
        """Say whether something is at `path`, without reading it."""

    def processes(self, container: str) -> tuple[str, ...]:
        """Return the program names of a container's processes, sorted, each as the kernel has it (ps(1), `comm`).

        Needs no command in the container, and is several times cheaper than one. `Conflict` when it does not run.
        """

    def logs(self, container: str, tail: int = 50) -> str:
        """Return the last lines a container printed."""

    # Networks and volumes

    def create_network(self, spec: NetworkSpec) -> str:
        """Create a bridge (or config-only) network and return its id. `Conflict` when the name is taken."""

    def remove_network(self, network: str) -> None:
        """Remove a network by id. `Conflict` while running containers are on it, `NotFound` when it is gone.

        Others do not keep it. One that never ran takes a later network of the same name; one that ran cannot start again.
        """

    def connect(self, network: str, container: str, address: str = "", gw_priority: int = 0) -> None:
        """Put a container on a network. `Conflict` when it is there already.

        A refusal may leave the wish with a running container (an endpoint without an address), and its next start then fails by
        it: `disconnect` takes it back.
        """

    def disconnect(self, network: str, container: str) -> None:
        """Take a container off a network, running or not. Not being on it is success."""

    def create_volume(self, name: str, labels: Mapping[str, str], driver: str = "local") -> Volume:
        """Create a volume. Docker returns an existing one of that name as it is: compare the labels that come back."""

    def remove_volume(self, name: str) -> None:
        """Remove a volume. `Conflict` while any container mounts it, `NotFound` when it is gone."""

    # Containers

    def create_container(self, spec: ContainerSpec) -> str:
        """Create a container with all its networks in one call and return its id. `Conflict` when the name is taken.

        That a network is missing, an address taken, a device or the program not there shows only at the start.
        """

    def start(self, container: str) -> None:
        """Start a container; one that runs already is success."""

    def stop(self, container: str, grace: int = 10) -> None:
        """Stop a container, killing it after `grace` seconds; one that does not run is success."""

    def pause(self, container: str) -> None:
        """Freeze a running container."""

    def unpause(self, container: str) -> None:
        """Let a frozen container go on."""

    def kill(self, container: str, signal: str = "KILL") -> None:
        """Send a signal to a running container's first process."""

    def rename(self, container: str, name: str) -> None:
        """Give a container another name."""

    def remove_container(self, container: str) -> None:
        """Kill and remove a container and its anonymous volumes. `NotFound` when it is gone; returns when it is."""

    def update_limits(self, container: str, cpus: int | None, memory: int | None) -> None:
        """Set the limits of a container (running or not): whole CPUs, bytes of memory and of memory with swap.

        None leaves a limit as it is: Docker cannot remove one in place.
        """

    def put_files(self, container: str, entries: Sequence[Entry]) -> None:
        """Put entries into a container and its volumes, as one archive at `/`. Missing parents are made root 0755.

        Works before the first start. Not atomic for who reads meanwhile. What lands below a tmpfs mount is never seen.
        """

    def copy_files(self, source: str, target: str, path: str) -> None:
        """Put what is at `path` of one container (a folder with all below it) to the same place of another, as it is.

        Any size, with owners and modes; neither container need run. Raises `NotFound` when nothing is there.
        """

    def execute(self, container: str, command: Sequence[str], timeout: float = 60, user: str = "") -> Executed:
        """Run a command in a running container and wait for its end, at most `timeout` seconds.

        Past that `EngineTimeout` is raised, and the command ended if the container has coreutils. `Conflict` when the
        container does not run or is paused.
        """

    def wait_output(self, container: str, marker: str, timeout: float) -> bool:
        """Follow a container's output until a line equals `marker` since its last start.

        Returns False when the container ends before. Raises `EngineTimeout` after `timeout` seconds.
        """

    def wait_exit(self, container: str, timeout: float) -> int:
        """Wait until a container has exited and return its exit code. Raises `EngineTimeout` after `timeout` seconds."""

    # Images

    def pull(self, reference: str) -> Image:
        """Pull an image from its registry."""

    def close(self) -> None:
        """Let go of connections. Nothing may be called afterwards."""
