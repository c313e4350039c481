"""Checks of the engine and its host, as a table; what they read of the machine comes in as `Machine`."""

import re
from collections.abc import Callable, Iterator

from sindplan.engine.records import EngineInfo
from sindplan.observe.machine import Machine
from sindplan.preflight.finding import Finding, warning

OLDEST_ENGINE = 28
"""The first engine with writable-cgroups and gw-priority."""
INOTIFY_WANTED = 1024
INOTIFY_PER_NODE = 5
"""inotify instances that one systemd container holds (measured)."""


def check_host(info: EngineInfo, machine: Machine) -> tuple[Finding, ...]:
    """Return what speaks against this engine, everything at once."""
    return tuple(finding for check in _CHECKS for finding in check(info, machine))


def _version(info: EngineInfo, _: Machine) -> Iterator[Finding]:
    major = re.match(r"([0-9]{1,9})\.", info.version)
    # A version that cannot be read passes, as with sind: it is not older, only built by hand.
    if major and int(major[1]) < OLDEST_ENGINE:
        yield Finding(
            "engine version",
            f"The Docker Engine is {info.version}; nodes need {OLDEST_ENGINE} or newer (writable cgroups).",
            "Upgrade it, or let tools/engine start a private one.",
        )


def _security(info: EngineInfo, _: Machine) -> Iterator[Finding]:
    for option, name in (("name=rootless", "rootless mode"), ("name=userns", "userns-remap")):
        if any(found.split(",")[0] == option for found in info.security_options):
            yield Finding(
                name,
                f"The Docker Engine runs with {name}, in which nodes cannot have writable cgroups.",
                "Use an engine that runs as root without user namespaces.",
            )


def _cgroup(info: EngineInfo, machine: Machine) -> Iterator[Finding]:
    if info.cgroup_version != "2":
        yield Finding(
            "cgroup v2",
            f"The Docker Engine runs containers on cgroup v{info.cgroup_version}; systemd nodes need v2.",
            "Boot the host with systemd.unified_cgroup_hierarchy=1, or let tools/engine start a private engine.",
        )
    elif machine.nsdelegate is False and any((info.memory_limit, info.cpu_limit, info.cpuset, info.pids_limit)):
        # An engine whose cgroup tree has no controllers has none to hand down, and nodes boot there all the same.
        yield Finding(
            "nsdelegate",
            "The host mounts cgroup2 without nsdelegate, so nodes could not hand controllers down.",
            "Remount it: mount -o remount,nsdelegate /sys/fs/cgroup",
        )


def _limits(info: EngineInfo, _: Machine) -> Iterator[Finding]:
    missing = [
        name
        for name, held in (("CPU", info.cpu_limit), ("memory", info.memory_limit), ("cpuset", info.cpuset))
        if not held
    ]
    if missing:
        yield warning(
            "limits",
            f"The engine cannot hold {', '.join(missing)} limits (its cgroup tree lacks the controllers): nodes run "
            "without, and Slurm without its cgroup plugins.",
            "Boot the host with cgroup v2 only if the limits matter.",
        )


def _inotify(_: EngineInfo, machine: Machine) -> Iterator[Finding]:
    if machine.inotify_instances is not None and machine.inotify_instances < INOTIFY_WANTED:
        nodes = machine.inotify_instances // INOTIFY_PER_NODE
        yield warning(
            "inotify",
            f"fs.inotify.max_user_instances is {machine.inotify_instances}, enough for about {nodes} nodes on this "
            "host; the next ones would exit with 255.",
            f"As root: sysctl fs.inotify.max_user_instances={INOTIFY_WANTED}",
        )


_CHECKS: tuple[Callable[[EngineInfo, Machine], Iterator[Finding]], ...] = (
    _version,
    _security,
    _cgroup,
    _limits,
    _inotify,
)
