"""A state file before it is text: tables of keys, with comments, and with the place of sind's file that each came from."""

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import field, frozen

from sindplan.convert.found import Found, Place, Wrong
from sindplan.statefile.wording import KeyPath

TomlValue = str | int | bool | Wrong | tuple[Found, ...]


@frozen
class Key:
    """A key of a table.

    Attributes:
        name: The key.
        value: What it says, or the table that it is.
        place: Where sind's file says it.
        above: Comment lines above it.
        beside: A comment behind it.
    """

    name: str
    value: "TomlValue | Table"
    place: Place | None = None
    above: tuple[str, ...] = field(default=(), kw_only=True)
    beside: str = field(default="", kw_only=True)


@frozen
class Table:
    """A table.

    Attributes:
        keys: Its keys, in the order in which they are written.
        below: Comment lines below its values.
        lists: Whether it lists small tables by name, which stand on a line each where that is short.
    """

    keys: tuple[Key, ...] = ()
    below: tuple[str, ...] = field(default=(), kw_only=True)
    lists: bool = field(default=False, kw_only=True)


def same(found: Found, names: Mapping[str, str]) -> tuple[Key, ...]:
    """Return keys that both tools have, under the names that they have here and in the order of these."""
    said = ((name, found.map.get(theirs)) for theirs, name in names.items())
    return tuple(
        Key(name, one.value, one.place) for name, one in said if one is not None and not isinstance(one.value, Mapping)
    )


def content(table: Table) -> dict[str, Any]:
    """Return a table as TOML's reader would give it, with what was refused in it."""
    return {key.name: _content(key.value) for key in table.keys}


def _content(value: "TomlValue | Table") -> object:
    if isinstance(value, Table):
        return content(value)
    return [item.value for item in value] if isinstance(value, tuple) else value


def places(table: Table, path: KeyPath = ()) -> Mapping[KeyPath, Place]:
    """Return for each key path of the state file the place it came from."""
    found: dict[KeyPath, Place] = {}
    for here, key in _walk(table, path):
        if key.place is not None:
            found[here] = key.place
        if isinstance(key.value, tuple):
            found.update({(*here, index): item.place for index, item in enumerate(key.value)})
    return found


def refused(table: Table, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the key paths whose values were refused before, and of tables that are empty for it."""
    for here, key in _walk(table, path):
        inner = key.value.keys if isinstance(key.value, Table) else (key,)
        if inner and all(isinstance(one.value, Wrong) for one in inner):
            yield here
        elif isinstance(key.value, tuple):
            yield from ((*here, index) for index, item in enumerate(key.value) if item.is_wrong)


def _walk(table: Table, path: KeyPath) -> Iterator[tuple[KeyPath, Key]]:
    for key in table.keys:
        here = (*path, key.name)
        yield here, key
        if isinstance(key.value, Table):
            yield from _walk(key.value, here)
