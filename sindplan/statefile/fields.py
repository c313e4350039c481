"""What must hold of each value alone: a walk through the declaration that looks every field up in tables."""

from collections.abc import Iterable, Iterator, Mapping

import attrs

from sindplan.model.declaration import Cluster, Declaration, Realm
from sindplan.model.names import DNS_LABEL_MAX, RESERVED_CLUSTER_NAMES
from sindplan.statefile.bounds import ITEMS, NAMES, RANGES, SPELLINGS, Place, at
from sindplan.statefile.fault import Fault
from sindplan.statefile.partitions import RESERVED_PARTITIONS
from sindplan.statefile.spellings import Spelling
from sindplan.statefile.values import ITEM_SAYS, SAYS
from sindplan.statefile.wording import KeyPath, quoted

_RESERVED: Mapping[Place, Mapping[str, str]] = {
    (Realm, "clusters"): RESERVED_CLUSTER_NAMES,
    (Cluster, "partitions"): RESERVED_PARTITIONS,
    (Cluster, "accounts"): {"root": "Slurm has it already"},
}


def faults_of_fields(declaration: Declaration) -> Iterator[Fault]:
    """Yield what is wrong with single values and names."""
    return _faults(declaration, ())


def _faults(table: attrs.AttrsInstance, path: KeyPath) -> Iterator[Fault]:
    owner = type(table)
    for field in attrs.fields(owner):
        value, here = getattr(table, field.name), (*path, field.name)
        yield from _faults_of_value(owner, field.name, value, here)
        if attrs.has(type(value)):
            yield from _faults(value, here)
        elif isinstance(value, Mapping):
            for name, inner in value.items():
                yield from _faults_of_name(owner, field.name, name, (*here, name))
                if attrs.has(type(inner)):
                    yield from _faults(inner, (*here, name))


def _faults_of_name(owner: type, field: str, name: str, path: KeyPath) -> Iterator[Fault]:
    spelling = NAMES.get((owner, field))
    if spelling is not None and not spelling.fits(name):
        length = f" ({len(name)} characters)" if len(name) > DNS_LABEL_MAX else ""
        yield Fault(path, f"{quoted(name)} is not a name{length}.", spelling.rule)
    elif name in _RESERVED.get((owner, field), {}):
        yield Fault(path, f"{quoted(name)} is reserved: {_RESERVED[owner, field][name]}.", "Choose another name.")


def _faults_of_value(owner: type, field: str, value: object, path: KeyPath) -> Iterator[Fault]:
    spelling, bounds, says = at(SPELLINGS, owner, field), at(RANGES, owner, field), at(SAYS, owner, field)
    yield from _misspelt(spelling, value, path)
    if bounds is not None and isinstance(value, int) and not bounds.holds(value):
        yield Fault(path, f"{value} is out of bounds.", bounds.rule)
    if says is not None and value is not None and (said := says(value)) is not None:
        yield Fault(path, *said)
    spelling, says = at(ITEMS, owner, field), at(ITEM_SAYS, owner, field)
    for place, item in _items(value) if spelling or says else ():
        yield from _misspelt(spelling, item, (*path, place))
        if says is not None and (said := says(item)) is not None:
            yield Fault((*path, place), *said)


def _misspelt(spelling: Spelling | None, value: object, path: KeyPath) -> Iterator[Fault]:
    if spelling is not None and isinstance(value, str) and not spelling.fits(value):
        subject = "This" if spelling.is_secret else quoted(value)
        yield Fault(path, f"{subject} is not {spelling.noun}.", spelling.rule)


def _items(value: object) -> Iterable[tuple[int | str, object]]:
    """Return the items of an array by index, or the values of a table by name."""
    if isinstance(value, tuple):
        return enumerate(value)
    return value.items() if isinstance(value, Mapping) else ()
