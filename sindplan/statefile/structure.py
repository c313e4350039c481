"""From a TOML document to the grammar's classes, exactly: nothing is coerced, and every mismatch is found at once.

What does not fit is left out of the declaration that is returned beside the faults, so that the rules still find what
is wrong with the rest.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from sindplan.model.declaration import Declaration
from sindplan.statefile.exact import Mismatch, exact_converter
from sindplan.statefile.fault import Fault
from sindplan.statefile.unknown_keys import advise
from sindplan.statefile.wording import KeyPath

_REQUIRED: Mapping[KeyPath, str] = {
    ("version",): "Write `version = 1`.",
    ("name",): 'Write `name = "…"`, a name of your own for all these clusters; `sindplan init` mints one.',
}
"""What to write for keys that every file has."""


@frozen
class Structured:
    """A declaration as far as a document makes one.

    Attributes:
        declaration: What the document says, without what is at fault.
        faults: What does not fit the grammar.
        dropped: The keys that were left out for it.
    """

    declaration: Declaration
    faults: tuple[Fault, ...]
    dropped: frozenset[KeyPath]


STAND_INS: Mapping[str, Any] = {"version": 1, "name": "nameless"}
"""What the required keys are taken for when they are missing or wrong, so that the rest can be looked at."""


def structure(content: Mapping[str, Any]) -> Structured:
    """Return the declaration in a document and everything that does not fit the grammar."""
    from cattrs.errors import BaseValidationError

    converter = exact_converter()
    try:
        return Structured(converter.structure(content, Declaration), (), frozenset())
    except BaseValidationError as error:
        leaves = tuple(_leaves(error, ()))
    dropped = frozenset(leaf.dropped for leaf in leaves)
    while True:
        around = frozenset(path[:depth] for path in dropped for depth in range(len(path)))
        rest = {**STAND_INS, **_without(content, (), dropped, around)}
        try:
            return Structured(converter.structure(rest, Declaration), tuple(leaf.fault for leaf in leaves), dropped)
        except BaseValidationError as error:
            # A table that lost a key which it needs goes with it.
            dropped |= {leaf.dropped for leaf in _leaves(error, ())}


def _without(
    table: Mapping[str, Any], path: KeyPath, dropped: frozenset[KeyPath], around: frozenset[KeyPath]
) -> dict[str, Any]:
    """Return nested tables without what is dropped; `around` are the tables that hold something of it."""
    rest = {}
    for name, value in table.items():
        here = (*path, name)
        if here not in dropped:
            rest[name] = _without(value, here, dropped, around) if here in around else value
    return rest


@frozen
class _Leaf:
    fault: Fault
    dropped: KeyPath


def _leaves(error: BaseException, path: KeyPath) -> Iterator[_Leaf]:
    """Yield each mismatch in cattrs' tree of exceptions, whose notes are the way from the top."""
    from cattrs.errors import (
        AttributeValidationNote,
        BaseValidationError,
        ForbiddenExtraKeysError,
        IterableValidationNote,
    )

    for note in getattr(error, "__notes__", ()):
        if isinstance(note, AttributeValidationNote):
            path = (*path, note.name)
        elif isinstance(note, IterableValidationNote):
            path = (*path, note.index)
    match error:
        case BaseValidationError():
            for inner in error.exceptions:
                yield from _leaves(inner, path)
        case ForbiddenExtraKeysError():
            for key, advice in advise(error.cl, error.extra_fields):
                yield _Leaf(Fault((*path, key), "There is no such key here.", advice), (*path, key))
        case KeyError():
            # A table without a key that it needs is no use; the top has stand-ins.
            fault = Fault(path, "This key is required and missing.", _REQUIRED.get(path, ""))
            yield _Leaf(fault, path[:-1] or path)
        case Mismatch():
            yield _Leaf(Fault(path, error.what, error.fix), _whole(path))
        case _:
            raise error


def _whole(path: KeyPath) -> KeyPath:
    """Return the path up to the array that it leads into: a wrong item takes its array with it."""
    return next((path[:depth] for depth, part in enumerate(path) if isinstance(part, int)), path)
