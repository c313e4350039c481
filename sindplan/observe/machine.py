"""What the host of an engine says that the engine itself does not: read where both are one machine."""

from pathlib import Path

from attrs import frozen

from sindplan.engine.records import EngineInfo


@frozen(kw_only=True)
class Machine:
    """What this machine says, when the engine runs on it; None where it cannot be read.

    Attributes:
        inotify_instances: fs.inotify.max_user_instances.
        nsdelegate: Whether cgroup2 is mounted with nsdelegate.
    """

    inotify_instances: int | None = None
    nsdelegate: bool | None = None


def read_machine(info: EngineInfo) -> Machine:
    """Read what the checks need; nothing of it when the engine is somewhere else."""
    if not info.local:
        return Machine()
    return Machine(
        inotify_instances=_number(Path("/proc/sys/fs/inotify/max_user_instances")),
        nsdelegate=_nsdelegate(Path("/proc/self/mounts")),
    )


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _nsdelegate(mounts: Path) -> bool | None:
    try:
        # fstab(5): device, mount point, type, options.
        lines = [line.split() for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:
        return None
    found = [options.split(",") for _, _, kind, options, *_ in lines if kind == "cgroup2"]
    # The option is the hierarchy's, so any mount of it tells; none here says nothing of the engine's.
    return any("nsdelegate" in options for options in found) if found else None
