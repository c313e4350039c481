"""Advice for a key that its table does not have: the key that was meant, or the table where it belongs."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import NoneType
from typing import get_args

import attrs

from sindplan.model.declaration import Cluster, Declaration
from sindplan.statefile.bounds import NAMES, Place
from sindplan.statefile.wording import listed

_MOST_ADVICE = 20
"""Keys of one table that get advice: it takes milliseconds each, and a file may be megabytes of nonsense."""
_LONGEST_KEY = 40

_FROM_SIND: Mapping[Place, str] = {
    (Cluster, "nodes"): "Nodes are tables here: `controller`, `submitter` and `workers.<name>`.",
    (Cluster, "name"): "The cluster's name is its key: `[realms.<realm>.clusters.<name>]`.",
    (Cluster, "realm"): "The cluster's realm is in its key: `[realms.<realm>.clusters.<name>]`.",
    (
        Declaration,
        "kind",
    ): "This is sind's YAML in another dress; `sindplan convert FILE` makes a state file of the YAML.",
    (Declaration, "nodes"): "Nodes belong to a cluster: `[realms.<realm>.clusters.<name>.workers.<group>]`.",
    (Declaration, "clusters"): "Clusters belong to a realm: `[realms.<realm>.clusters.<name>]`.",
}
"""What people who know sind's YAML write, where the nearest key would mislead."""


def advise(owner: type, keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each unknown key of a table of class `owner` with advice, which may be empty."""
    for index, key in enumerate(sorted(keys)):
        yield key, _advice(owner, key) if index < _MOST_ADVICE and len(key) <= _LONGEST_KEY else ""


def _advice(owner: type, key: str) -> str:
    known = [field.name for field in attrs.fields(owner)]
    if (owner, key) in _FROM_SIND:
        return _FROM_SIND[owner, key]
    # Near first: `cpu` is a slip of `cpus`, whatever else is called so.
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.75)
    homes = _homes().get(key, ())
    if homes and not near:
        return f"`{key}` is a key of {listed((f'`{home}`' for home in homes), 'or')}."
    near = near or difflib.get_close_matches(key, known, n=1)
    if near:
        return f"Did you mean `{near[0]}`?"
    return f"The keys here are {listed(f'`{name}`' for name in known)}."


@cache
def _homes() -> Mapping[str, tuple[str, ...]]:
    """Return for each key of the grammar the tables that have it, as people call them."""
    homes: dict[str, list[str]] = {}
    for home, owner in _tables(Declaration, ""):
        for field in attrs.fields(owner):
            homes.setdefault(field.name, []).append(home)
    return {key: tuple(names) for key, names in homes.items() if "" not in names}


def _tables(owner: type, home: str) -> Iterator[tuple[str, type]]:
    yield home, owner
    for field in attrs.fields(owner):
        inner = _class_in(field.type)
        if inner is not None:
            named = (owner, field.name) in NAMES
            yield from _tables(inner, f"{field.name}.<name>" if named else field.name)


def _class_in(kind: object) -> type | None:
    """Return the class of the grammar that a field holds, by itself, optionally or by name."""
    if isinstance(kind, type) and attrs.has(kind):
        return kind
    members = [member for member in get_args(kind) if member not in (NoneType, str)]
    return _class_in(members[0]) if len(members) == 1 else None
