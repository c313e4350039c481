"""What a simulated engine makes of a container's spec: what it refuses at the create call, and what it keeps."""

from collections.abc import Collection, Iterator

from attrs import evolve

from sindplan.engine.creation import device_body
from sindplan.engine.inspection import DEFAULT_SHM, capabilities, device_text
from sindplan.engine.records import ContainerSpec, EngineInfo
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
    targets = [mount.target for mount in spec.mounts]
    for mount in spec.mounts:
        invalid = f'invalid mount config for type "{mount.kind}": '
        if not mount.target.startswith("/"):
            yield 400, f"{invalid}invalid mount path: '{mount.target}' mount path must be absolute"
        if targets.count(mount.target) > 1:
            yield 400, f"Duplicate mount point: {mount.target}"
        if mount.kind == "bind" and mount.source not in host_paths:
            yield 400, f"{invalid}bind source path does not exist: {mount.source}"
    for target in spec.tmpfs:
        if not target.startswith("/"):
            yield 400, f"invalid mount path: '{target}' mount path must be absolute"
    for line in spec.extra_hosts:
        if ":" not in line:
            yield 400, f'bad format for add-host: "{line}"'


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
        devices=tuple(device_text(device_body(text)) if text.startswith("/") else text for text in spec.devices),
        private_cgroup=spec.private_cgroup or info.cgroup_version == "2",
    )
