"""What a simulated engine refuses of capabilities, devices and security options: some at the create call, some at the start."""

import json
from collections.abc import Collection, Iterator

from sindplan.engine.privileges import CAPABILITIES, SYSTEM_PATHS, is_cdi, parsed_device
from sindplan.engine.records import ContainerSpec

# What Go's strconv.ParseBool takes.
_BOOLEANS = ("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False")
_ALONE = ("disable", "no-new-privileges", "writable-cgroups")
_WITH_VALUE = ("apparmor", "label", "seccomp")
_WITH_BOOLEAN = ("no-new-privileges", "writable-cgroups")
_NO_FILES = ("", "builtin", "unconfined")


def privilege_problems(spec: ContainerSpec) -> Iterator[tuple[int, str]]:
    """Yield what a create call is refused for, with its status: 500 for some that are the caller's fault, too."""
    for field, names in (("CapAdd", spec.cap_add), ("CapDrop", spec.cap_drop)):
        for name in names:
            if name.upper().removeprefix("CAP_") not in CAPABILITIES or name.upper() == "CAP_ALL":
                yield 400, f'invalid {field}: unknown capability: "CAP_{name.upper().removeprefix("CAP_")}"'
    for option in spec.security_opt:
        name, value = _split(option)
        if option in _ALONE or option == SYSTEM_PATHS:
            continue
        if value is None:
            yield 500, f'invalid --security-opt 1: "{option}"'
        elif name not in _WITH_VALUE and not (name in _WITH_BOOLEAN and value in _BOOLEANS):
            yield 500, f'invalid --security-opt 2: "{option}"'


def start_problem(spec: ContainerSpec, host_devices: Collection[str]) -> str | None:
    """Return what a start fails by, or None."""
    return next(_start_problems(spec, host_devices), None)


def _start_problems(spec: ContainerSpec, host_devices: Collection[str]) -> Iterator[str]:
    for text in spec.devices:
        if not is_cdi(text) and parsed_device(text).outside not in host_devices:
            path = parsed_device(text).outside
            yield f'error gathering device information while adding custom device "{path}": no such file or directory'
    missing = [name for name in spec.devices if is_cdi(name) and name not in host_devices]
    if missing:
        yield f"CDI device injection failed: unresolvable CDI devices {', '.join(missing)}"
    for option in spec.security_opt:
        name, value = _split(option)
        if name == "seccomp" and value not in _NO_FILES and not _is_object(value or ""):
            yield "Decoding seccomp profile failed: it is no JSON object"


def _split(option: str) -> tuple[str, str | None]:
    """Docker splits at `=`, and without one at `:`."""
    name, separator, value = option.partition("=" if "=" in option else ":")
    return name, value if separator else None


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
