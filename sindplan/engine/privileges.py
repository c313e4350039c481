"""Capabilities, devices and security options: how docker's own command reads them, and one spelling of each.

The engine keeps the words it was given, so the same thing would come back in as many ways as it can be written.
"""

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

CAPABILITIES = (
    *("ALL", "AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE", "BLOCK_SUSPEND", "BPF", "CHECKPOINT_RESTORE", "CHOWN"),
    *("DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "IPC_LOCK", "IPC_OWNER", "KILL", "LEASE"),
    *("LINUX_IMMUTABLE", "MAC_ADMIN", "MAC_OVERRIDE", "MKNOD", "NET_ADMIN", "NET_BIND_SERVICE", "NET_BROADCAST"),
    *("NET_RAW", "PERFMON", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYSLOG", "SYS_ADMIN", "SYS_BOOT"),
    *("SYS_CHROOT", "SYS_MODULE", "SYS_NICE", "SYS_PACCT", "SYS_PTRACE", "SYS_RAWIO", "SYS_RESOURCE", "SYS_TIME"),
    *("SYS_TTY_CONFIG", "WAKE_ALARM"),
)
"""Linux's capabilities (linux/capability.h) as Docker names them, and its word for all of them."""

SYSTEM_PATHS = "systempaths=unconfined"
"""A security option that the engine refuses: docker's own command sends empty lists of paths instead (docker/cli, opts.go)."""

_RIGHTS = "rwm"


@frozen
class Device:
    """A device of the host, where it is inside, and what may be done with it: some of `rwm`."""

    outside: str
    inside: str
    rights: str = _RIGHTS

    @property
    def text(self) -> str:
        """The one spelling: `/dev/null:/dev/fakegpu0:rwm`."""
        return f"{self.outside}:{self.inside}:{self.rights}"


def parsed_device(text: str) -> Device:
    """Read `host[:inside][:rights]` as docker's own command does."""
    outside, *rest = text.split(":")
    rights = rest.pop() if rest and _are_rights(rest[-1]) else _RIGHTS
    return Device(outside, _clean(rest[0]) if rest else outside, _in_order(rights))


def device_of(outside: str, inside: str, rights: str) -> Device:
    """Return a device that the engine has."""
    return Device(outside, _clean(inside) if inside else outside, _in_order(rights))


def device(text: str) -> str:
    """Write a device in the one spelling, `host:inside:rights`; the name of a CDI device stays.

    Devices are observed so (`ContainerSpec.devices`).
    """
    return text if is_cdi(text) else parsed_device(text).text


def devices(texts: Sequence[str]) -> tuple[str, ...]:
    """Write devices as they are observed: those of the Container Device Interface are a list of their own, after the others."""
    return tuple(map(device, sorted(texts, key=is_cdi)))


def is_cdi(text: str) -> bool:
    """Say whether it names a device of the Container Device Interface, such as `nvidia.com/gpu=all`."""
    return not text.startswith("/") and "=" in text


def capabilities(names: Sequence[str] | None) -> tuple[str, ...]:
    """Write capabilities in one way: capitals, without CAP_. Engine 28 keeps them as they were sent, others may not."""
    return tuple(name.upper().removeprefix("CAP_") for name in names or ())


def security_options(host: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the security options of Docker's host configuration, the one included that is sent as two empty lists."""
    open_paths = host.get("MaskedPaths") == [] and host.get("ReadonlyPaths") == []
    return (*(host.get("SecurityOpt") or ()), *([SYSTEM_PATHS] if open_paths else []))


def _are_rights(text: str) -> bool:
    return 0 < len(text) == len(set(text)) and set(text) <= set(_RIGHTS)


def _in_order(rights: str) -> str:
    return "".join(sorted(rights, key=f"{_RIGHTS}{rights}".index))


def _clean(path: str) -> str:
    """Clean a path as Go does, for docker's own command sends it so."""
    return posixpath.normpath(path).replace("//", "/", 1)
