"""What a simulated engine makes of a container's spec: what it refuses at the create call, and what it keeps."""

from collections.abc import Collection, Iterator

from attrs import evolve

from sindplan.engine.inspection import DEFAULT_SHM, PROPAGATIONS
from sindplan.engine.privileges import SYSTEM_PATHS, capabilities, devices
from sindplan.engine.records import ContainerSpec, EngineInfo, Mount
from sindplan.engine.simulated_privileges import privilege_problems
from sindplan.engine.simulated_store import SimulatedImage

_LEAST_MEMORY = 6 * 1024 * 1024
Problem = tuple[int, str]


def problem_of(spec: ContainerSpec, host_paths: Collection[str]) -> Problem | None:
    """Return the status and the text of the first thing that Docker would refuse, or None."""
    return next(_problems(spec, host_paths), None)


def _problems(spec: ContainerSpec, host_paths: Collection[str]) -> Iterator[Problem]:
    # An engine without the controller drops the limit, but looks at it first.
    if spec.memory is not None and 0 < spec.memory < _LEAST_MEMORY:
        yield 400, "Minimum memory limit allowed is 6MB"
    yield from privilege_problems(spec)
    targets = [mount.target for mount in spec.mounts]
    for mount in spec.mounts:
        yield from ((400, problem) for problem in _mount_problems(mount, host_paths))
        if targets.count(mount.target) > 1:
            yield 400, f"Duplicate mount point: {mount.target}"
    for target in spec.tmpfs:
        if not target.startswith("/"):
            yield 400, f"invalid mount path: '{target}' mount path must be absolute"
    for line in spec.extra_hosts:
        if ":" not in line:
            yield 400, f'bad format for add-host: "{line}"'


def _mount_problems(mount: Mount, host_paths: Collection[str]) -> Iterator[str]:
    invalid = f'invalid mount config for type "{mount.kind}": '
    if mount.kind == "volume" and mount.propagation:
        yield 'BindOptions must not be specified on mount type "volume"'
    if mount.kind == "bind" and mount.driver:
        yield 'VolumeOptions must not be specified on mount type "bind"'
    if not mount.target.startswith("/"):
        yield f"{invalid}invalid mount path: '{mount.target}' mount path must be absolute"
    if mount.propagation and mount.propagation not in PROPAGATIONS:
        yield f"{invalid}invalid propagation mode: {mount.propagation}"
    if mount.kind == "bind" and mount.source not in host_paths:
        yield f"{invalid}bind source path does not exist: {mount.source}"


def observed_spec(spec: ContainerSpec, image: SimulatedImage, info: EngineInfo) -> ContainerSpec:
    """Return the spec as inspect shows it: see `sindplan.engine.inspection`."""
    given = spec.entrypoint is not None
    return evolve(
        spec,
        labels={**image.labels, **spec.labels},
        endpoints=(),
        entrypoint=spec.entrypoint if given else image.entrypoint,
        command=spec.command if spec.command is not None or given else image.command,
        cpus=spec.cpus if info.cpu_limit else None,
        memory=spec.memory if info.memory_limit else None,
        shm_size=None if spec.shm_size == DEFAULT_SHM else spec.shm_size,
        cap_add=capabilities(spec.cap_add),
        cap_drop=capabilities(spec.cap_drop),
        devices=devices(spec.devices),
        security_opt=tuple(sorted(spec.security_opt, key=SYSTEM_PATHS.__eq__)),
        private_cgroup=spec.private_cgroup or info.cgroup_version == "2",
    )
