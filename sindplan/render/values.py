"""Resources as plain data, for documents that programs read: what is compared, without secrets."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from attrs import asdict, fields, frozen, has

from sindplan.model.address import Address
from sindplan.model.resource import Cost, Resource

SENSITIVE = "(sensitive value)"
UNKNOWN_YET = ("subnet",)
"""Fields that the engine decides; empty until it has."""
_LONG = frozenset({"declaration"})
"""Fields that say nothing to a reader: their hash tells whether they differ."""
_OTHERS = 0o077
_PROMISED = re.compile(r"<(?:address|host key) of [^<>]+>")
"""What stands for the address or the host key of a node until there is one."""


@frozen
class Values:
    """One side of a change.

    Attributes:
        shown: What may be read, by field; None where there is no such side.
        compared: What a digest is made of: a hash in the place of long or closed texts.
        sensitive: Names of fields whose values are not shown.
        unknown: Names of fields that only the engine will know.
    """

    shown: dict[str, Any] | None
    compared: dict[str, Any] | None
    sensitive: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


NOTHING = Values(None, None)


def values(resource: Resource | None) -> Values:
    """Return the compared fields of a resource as JSON's types."""
    if resource is None:
        return NOTHING
    shown: dict[str, Any] = {}
    compared: dict[str, Any] = {}
    sensitive, unknown = [], []
    for field in fields(type(resource)):
        if field.metadata["cost"] is Cost.IGNORED:
            continue
        name, value = field.name, plain(getattr(resource, field.name))
        shown[name] = compared[name] = value
        if name == "content" and is_closed(resource):
            sensitive.append(name)
            shown[name] = SENSITIVE
        elif name in _LONG:
            shown[name] = hashed(value)
        elif (name in UNKNOWN_YET and not value) or (isinstance(value, str) and is_unknown(value)):
            unknown.append(name)
            shown[name] = None
        if name == "content" or name in _LONG:
            compared[name] = hashed(value)
    return Values(shown, compared, tuple(sensitive), tuple(unknown))


def is_unknown(value: str) -> bool:
    """Say whether a value is known only once the plan is applied."""
    return _PROMISED.fullmatch(value) is not None


def plain(value: Any) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """Return a field's value in JSON's types, sets and mappings in a fixed order."""
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, frozenset):
        return sorted(map(str, value))
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if not isinstance(value, Address) and has(type(value)):
        return plain(asdict(value, recurse=False))
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def is_closed(resource: Resource) -> bool:
    """Say whether a file is closed to all but its owner: what it says is not shown."""
    mode = getattr(resource, "mode", None)
    return mode is not None and not mode & _OTHERS


def hashed(value: object) -> str:
    """Return `sha256:…` of a value in JSON's types."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
