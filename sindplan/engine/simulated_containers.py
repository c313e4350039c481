"""The simulated engine's containers: their life, their files and their commands."""

from collections.abc import Sequence

from attrs import evolve

from sindplan.engine.records import ContainerSpec, Entry, Executed
from sindplan.engine.references import tagged
from sindplan.engine.refusals import refusal
from sindplan.engine.simulated_creation import observed_spec, problem_of
from sindplan.engine.simulated_networks import check_fixed
from sindplan.engine.simulated_privileges import start_problem
from sindplan.engine.simulated_store import SimulatedContainer, SimulatedPlace
from sindplan.engine.simulated_world import World, locked
from sindplan.errors import EngineTimeout

# Linux takes no longer host name.
_LONGEST_HOST_NAME = 64


class Containers(World):
    """Containers."""

    @locked
    def create_container(self, spec: ContainerSpec) -> str:
        """Create a container with all its networks and return its id. That a network is missing shows at the start."""
        self._check_name("create_container", spec.name, spec.name, "")
        image = self._find_image(spec.image)
        if image is None:
            raise refusal("create_container", spec.name, 404, f"No such image: {tagged(spec.image)}")
        if problem := problem_of(spec, self.host_paths):
            raise refusal("create_container", spec.name, *problem)
        places: dict[str, SimulatedPlace] = {}
        for endpoint in spec.endpoints:
            network = self._find_network("create_container", endpoint.network)
            name = endpoint.network if network is None else network.record.name
            if network is not None:
                with self._networking("create_container", spec.name, f"invalid config for network {name}: "):
                    check_fixed(network, endpoint.address)
            places[name] = SimulatedPlace(network=name, fixed=endpoint.address, gw_priority=endpoint.gw_priority)
        new_id = self._new_id("container")
        found = SimulatedContainer(
            id=new_id,
            spec=observed_spec(spec, image, self._info),
            image_id=image.id,
            mode=next(iter(places), "none"),
            places=places,
            layer=dict(image.files),
        )
        self._mount(found, image)
        self._containers[new_id] = found
        return new_id

    @locked
    def start(self, container: str) -> None:
        """Start a container."""
        found = self._container("start", container)
        if found.state == "paused":
            raise refusal("start", container, 409, "cannot start a paused container, try unpause instead")
        if found.alive:
            return
        try:
            self._prepare(found, container)
        except Exception:
            found.exit_code = 128
            for place in found.places.values():
                place.address = ""
            raise
        found.state, found.exit_code, found.oom_killed = "running", 0, False
        found.started_at = self._now()
        found.tmpfs = {target: {} for target in found.spec.tmpfs}
        found.history += self._machine.output(found.record())
        code = self._machine.started(found.record())
        if code is not None and found.alive:
            self._ended(found, code)

    @locked
    def stop(self, container: str, grace: int = 10) -> None:
        """Stop a container."""
        found = self._container("stop", container)
        if found.alive:
            frozen = found.state == "paused"
            code = self._machine.stopped(found.record())
            self._ended(found, 137 if code is None or frozen else code)

    @locked
    def pause(self, container: str) -> None:
        """Freeze a running container."""
        found = self._running("pause", container)
        if found.state == "paused":
            raise refusal("pause", container, 409, f"Container {found.id} is already paused")
        found.state = "paused"

    @locked
    def unpause(self, container: str) -> None:
        """Let a frozen container go on."""
        found = self._container("unpause", container)
        if found.state != "paused":
            raise refusal("unpause", container, 500, f"Container {found.id} is not paused")
        found.state = "running"

    @locked
    def kill(self, container: str, signal: str = "KILL") -> None:
        """Send a signal to a running container's first process. Only KILL and TERM do anything here."""
        found = self._running("kill", container, f"cannot kill container: {container}: ")
        name = signal.removeprefix("SIG")
        if name in ("KILL", "9"):
            self._machine.stopped(found.record())
            self._ended(found, 137)
        elif name in ("TERM", "15") and found.state == "running":
            code = self._machine.stopped(found.record())
            if code is not None:
                self._ended(found, code)

    @locked
    def rename(self, container: str, name: str) -> None:
        """Give a container another name."""
        found = self._container("rename", container)
        if name == found.name:
            text = "Renaming a container with the same name as its current name"
            raise refusal("rename", container, 400, text)
        self._check_name("rename", container, name, "Error when allocating new name: ")
        found.spec = evolve(found.spec, name=name)

    @locked
    def remove_container(self, container: str) -> None:
        """Kill and remove a container."""
        found = self._container("remove_container", container)
        if found.alive:
            self._machine.stopped(found.record())
            self._ended(found, 137)
        del self._containers[found.id]

    @locked
    def update_limits(self, container: str, cpus: int | None, memory: int | None) -> None:
        """Set the limits of a container; an engine that cannot hold one drops it."""
        found = self._container("update_limits", container)
        asked = evolve(found.spec, cpus=cpus, memory=memory, endpoints=())
        if problem := problem_of(asked, self.host_paths):
            raise refusal("update_limits", container, *problem)
        if cpus is not None and self._info.cpu_limit:
            found.spec = evolve(found.spec, cpus=cpus)
        if memory is not None and self._info.memory_limit:
            found.spec = evolve(found.spec, memory=memory)

    @locked
    def put_files(self, container: str, entries: Sequence[Entry]) -> None:
        """Put entries into a container and its volumes. What came before one that is refused stays."""
        found = self._container("put_files", container)
        view = self._view(found)
        for entry in entries:
            with self._files(found, "put_files"):
                view.put(entry)

    @locked
    def copy_files(self, source: str, target: str, path: str) -> None:
        """Put what is at a path of one container into the other."""
        from_, to = self._container("copy_files", source), self._container("copy_files", target)
        entries = self._view(from_).below(path)
        if not entries:
            raise refusal("copy_files", source, 404, f"Could not find the file {path} in container {source}")
        view = self._view(to)
        for entry in entries.values():
            with self._files(to, "copy_files"):
                view.put(entry)

    @locked
    def execute(self, container: str, command: Sequence[str], timeout: float = 60, user: str = "") -> Executed:
        """Run a command."""
        found = self._running("execute", container)
        if found.state == "paused":
            text = f"Container {container} is paused, unpause the container before exec"
            raise refusal("execute", container, 409, text)
        if not command:
            raise refusal("execute", container, 400, "No exec command specified")
        return self._machine.execute(found.record(), command, user)

    @locked
    def wait_output(self, container: str, marker: str, timeout: float) -> bool:
        """Say whether a line equals `marker` since the last start; it will not come later."""
        found = self._container("wait_output", container)
        if found.started_at and marker in self._machine.output(found.record()):
            return True
        if not found.alive:
            return False
        raise EngineTimeout(f"{container!r} did not print {marker!r} within {timeout:g} seconds.")

    @locked
    def wait_exit(self, container: str, timeout: float) -> int:
        """Return the exit code of a container that does not run."""
        found = self._container("wait_exit", container)
        if found.alive:
            raise EngineTimeout(f"{container!r} did not exit within {timeout:g} seconds.")
        return found.exit_code

    def _prepare(self, found: SimulatedContainer, key: str) -> None:
        """Do what may fail at a start."""
        with self._networking("start", key, "failed to set up container networking: "):
            for place in found.ordered():
                self._join(place)
        if len(found.spec.hostname) > _LONGEST_HOST_NAME:
            raise refusal("start", key, 500, "failed to create task for container: sethostname: invalid argument")
        if problem := start_problem(found.spec, self.host_devices):
            raise refusal("start", key, 500, problem)
