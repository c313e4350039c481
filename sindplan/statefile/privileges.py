"""What nodes may be given beyond a plain container: capabilities, devices and security options, as Docker takes them."""

import difflib
import posixpath
import re
from collections.abc import Callable, Mapping

from sindplan.statefile.bounds import CAPABILITIES
from sindplan.statefile.fault import Said
from sindplan.statefile.wording import CONTROL, listed, quoted

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")
"""How Docker spells truth (Go's strconv.ParseBool)."""

_PARTS_AFTER_HOST = 2
_PERMISSIONS = re.compile(r"(?!.*(.).*\1)[rwm]{1,3}")
_LABEL = re.compile(r"disable|(?:user|role|type|level|filetype):.+")


def capability_fault(value: str) -> Said | None:
    """Say what is wrong with an item of `cap_add` or `cap_drop`."""
    if value in CAPABILITIES:
        return None
    bare = value.upper().removeprefix("CAP_")
    if bare in CAPABILITIES:
        return f"{quoted(value)} is not how a capability is written.", f'Write "{bare}", in capitals and without CAP_.'
    near = difflib.get_close_matches(bare[:40], CAPABILITIES, n=1)
    advice = f'Did you mean "{near[0]}"?' if near else 'Write a name of capabilities(7) without CAP_, or "ALL".'
    return f"{quoted(value)} is not a capability.", advice


def device_fault(value: str) -> Said | None:
    """Say what is wrong with an item of `devices`."""
    host, *rest = value.split(":")
    form = 'Write "host", "host:container" or "host:container:permissions", such as "/dev/kvm:/dev/kvm:rw".'
    if len(rest) > _PARTS_AFTER_HOST or CONTROL.search(value):
        return f"{quoted(value)} is not a device.", form
    if not _is_place(host):
        return f"{quoted(host)} is not the path of a device of the Docker host.", form
    if len(rest) == 1 and _PERMISSIONS.fullmatch(rest[0]):
        # Docker takes permissions right after the host's path, too.
        return None
    permissions = rest.pop() if len(rest) == _PARTS_AFTER_HOST else "rwm"
    if rest and not _is_place(rest[0]):
        return f"{quoted(rest[0])} is not the path of a device in the node.", form
    if _PERMISSIONS.fullmatch(permissions) is None:
        return f"{quoted(permissions)} is not a permission.", 'Write some of r, w and m, each once, such as "rw".'
    return None


def _is_place(path: str) -> bool:
    return len(path) > 1 and path.startswith("/") and not path.startswith("//") and path == posixpath.normpath(path)


def security_option_fault(value: str) -> Said | None:
    """Say what is wrong with an item of `security_opt`."""
    name, setting = split_option(value)
    if CONTROL.search(value):
        return f"{quoted(value)} is not a security option.", "It holds a control character."
    if name not in _SETTINGS:
        near = difflib.get_close_matches(name[:40], _SETTINGS, n=1, cutoff=0.7)
        return f"{quoted(name)} is not a security option.", (
            f'Did you mean "{near[0]}"?' if near else f"The options are {listed(_SETTINGS)}."
        )
    if setting is None and name == "no-new-privileges":
        return None
    if not setting:
        return f"{quoted(value)} says no value.", f'Write "{name}=…".'
    return _SETTINGS[name](setting)


def split_option(option: str) -> tuple[str, str | None]:
    """Return name and value of a security option: Docker splits at `=`, and without one at `:`."""
    name, separator, setting = option.partition("=" if "=" in option else ":")
    return name, setting if separator else None


def _anything(_: str) -> Said | None:
    return None


def _label(setting: str) -> Said | None:
    if _LABEL.fullmatch(setting):
        return None
    what = f"{quoted(setting)} is not a label of SELinux."
    return what, 'Write "label=disable", or user, role, type, level or filetype and a value, such as "label=level:s0".'


def _seccomp(setting: str) -> Said | None:
    if setting.startswith("~"):
        return f"{quoted(setting)}: `~` is not expanded.", "Write a path beside the file, or an absolute one."
    return None


def _no_new_privileges(setting: str) -> Said | None:
    if setting in (*_TRUE, *_FALSE):
        return None
    return f"{quoted(setting)} is neither true nor false.", 'Write "no-new-privileges=true".'


def _writable_cgroups(setting: str) -> Said | None:
    if setting in _TRUE:
        return None
    return "Nodes need writable cgroups: systemd does not boot without.", "Remove it: they always have them."


def _system_paths(setting: str) -> Said | None:
    if setting == "unconfined":
        return None
    return f"{quoted(setting)} is not what Docker knows here.", 'Write "systempaths=unconfined".'


_SETTINGS: Mapping[str, Callable[[str], Said | None]] = {
    "label": _label,
    "apparmor": _anything,
    "seccomp": _seccomp,
    "no-new-privileges": _no_new_privileges,
    "writable-cgroups": _writable_cgroups,
    "systempaths": _system_paths,
}
"""Docker's security options, and what is wrong with their values (moby daemon_unix.go, docker/cli opts.go)."""
