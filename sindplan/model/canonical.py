"""A declaration as plain data that does not change when sindplan does: what equals a default is left out."""

from collections.abc import Mapping
from typing import Any

from attrs import fields, has


def canonical(value: object) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """Return dicts, lists, text and numbers for a value of the declaration; sets of keys in a fixed order."""
    kind = type(value)
    if has(kind):
        return {
            field.name: canonical(inner)
            for field in fields(kind)
            if (inner := getattr(value, field.name)) != _default(field.default)
        }
    if isinstance(value, Mapping):
        return {str(key): canonical(inner) for key, inner in sorted(value.items())}
    if isinstance(value, tuple):
        return [canonical(inner) for inner in value]
    return value


def _default(default: Any) -> object:  # noqa: ANN401 - attrs' own type for it
    # `Factory` is a function to type checkers and a class in truth.
    return default.factory() if hasattr(default, "factory") else default
