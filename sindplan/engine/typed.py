"""Whether a record holds what its annotations say: what was read out of an engine's answer is believed no further than that.

A number where a name should be would otherwise be a crash somewhere else, far from the answer that it came with.
"""

import types
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from attrs import has

T = TypeVar("T")
Check = Callable[[Any], bool]
Arguments = tuple[Any, ...]


def well_typed(record: T) -> T:
    """Return a record if it and all in it are what their annotations say. Raises TypeError naming the field that is not."""
    for name, check in _checks(type(record)):  # type: ignore[arg-type]  # mypy takes a class for unhashable
        if not check(getattr(record, name)):
            raise TypeError(f"{name} is {_brief(getattr(record, name))}")
    return record


@lru_cache(maxsize=64)
def _checks(kind: type) -> tuple[tuple[str, Check], ...]:
    return tuple((name, _check(hint)) for name, hint in get_type_hints(kind).items())


def _check(hint: Any) -> Check:  # noqa: ANN401 - an annotation has no type of its own
    make = _MAKERS.get(get_origin(hint))
    if make is not None:
        return make(get_args(hint))
    if hint is str:
        return is_text
    if has(hint):
        return lambda value: isinstance(value, hint) and well_typed(value) is value
    # Of bool and int neither is taken for the other.
    return lambda value: type(value) is hint


def _either(arguments: Arguments) -> Check:
    checks = [*map(_check, arguments)]
    return lambda value: any(check(value) for check in checks)


def _one_of(words: Arguments) -> Check:
    return lambda value: isinstance(value, str) and value in words


def _all(arguments: Arguments) -> Check:
    check = _check(arguments[0])
    return lambda value: isinstance(value, tuple) and all(map(check, value))


def _table(arguments: Arguments) -> Check:
    key, item = map(_check, arguments)
    return lambda value: isinstance(value, Mapping) and all(map(key, value)) and all(map(item, value.values()))


_MAKERS: Mapping[Any, Callable[[Arguments], Check]] = {
    types.UnionType: _either,
    Literal: _one_of,
    tuple: _all,
    Mapping: _table,
}
"""By what an annotation is made of."""


def is_text(value: object) -> bool:
    """Say whether it is text that can be written down: half a character, for which JSON has a spelling, cannot."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


_BRIEF = 40


def _brief(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= _BRIEF else f"{text[:_BRIEF]}…"
