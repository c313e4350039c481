"""sind's users, groups and accounts said here, with the ids that sind would give."""

from collections.abc import Iterator, Mapping

from sindplan.convert.found import WRONG, Found
from sindplan.convert.ids import Numbered, automatic_ids
from sindplan.convert.tables import Key, Table, same

_AUTOMATIC = "as sind numbers it"
_USER = {
    "uid": "uid",
    "group": "group",
    "groups": "groups",
    "accounts": "accounts",
    "coordinator": "coordinator",
    "adminLevel": "admin_level",
}


def people(found: Found) -> Iterator[Key]:
    """Yield the tables of all families that are said."""
    uids, gids = automatic_ids(_numbered(found, "users", "uid"), _numbered(found, "groups", "gid"))
    yield from _family(found, "users", _USER, uids)
    yield from _family(found, "groups", {"gid": "gid"}, gids)
    yield from _family(found, "accounts", {"parent": "parent"}, {})


def _numbered(found: Found, family: str, key: str) -> tuple[Numbered, ...]:
    entries = ((entry, entry.text("name")) for entry in found.list(family))
    return tuple(Numbered(name, entry.said(key), entry.whole(key)) for entry, name in entries if name is not None)


def _family(found: Found, family: str, names: Mapping[str, str], ids: Mapping[str, int]) -> Iterator[Key]:
    if not found.said(family):
        return
    entries = [(entry, entry.text("name")) for entry in found.list(family)]
    place = found.place_of(family)
    is_complete = family == "users" or all(name is not None for _, name in entries)
    if found.map[family].is_wrong or not is_complete:
        # Users may name the one whose own name could not be read.
        yield Key(family, WRONG, place)
        return
    keys: dict[str, Key] = {}
    for entry, name in entries:
        if name is not None:
            said = (*_id(names, ids.get(name)), *same(entry, names), *_limits(entry))
            keys.setdefault(name, Key(name, Table(said), entry.place))
    yield Key(family, Table(tuple(keys.values()), lists=True), place)


def _id(names: Mapping[str, str], number: int | None) -> Iterator[Key]:
    if number is not None:
        yield Key(next(iter(names)), number, beside=_AUTOMATIC)


def _limits(entry: Found) -> Iterator[Key]:
    limits = entry.map.get("limits")
    if limits is None:
        return
    keys = same(limits, {name: name for name in limits.map})
    yield Key("limits", WRONG if limits.is_wrong else Table(keys), limits.place)
