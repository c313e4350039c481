"""Whether two texts of Slurm's configuration mean the same, in whatever form, order or spelling they are.

What sind wrote is compared so: it is rewritten when it should say something else, not for its looks. Pure.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from attrs import field, frozen
from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

from sindplan.slurm.generated import CONFIG
from sindplan.slurm.text import Statement, statements, unread

RECORDS = frozenset(
    {"nodename", "partitionname", "nodeset", "downnodes", "slurmctldhost", "include", "name", "switchname"}
)
"""Keys of which a file may have many lines; of others the last one counts."""

SLURMS_OWN: Mapping[str, str] = {
    "DefMemPerCPU": "0",
    "MpiDefault": "none",
    "ProctrackType": "proctrack/cgroup",
    "ReturnToService": "0",
    "SlurmctldTimeout": "120",
    "TaskPlugin": "task/none",
}
"""What Slurm takes for a parameter that is not there (slurm.conf(5)), of those that sindplan or sind write unasked."""
_SLURMS_OWN = {key.lower(): value for key, value in SLURMS_OWN.items()}
_OF_RECORDS: Mapping[str, Mapping[str, str]] = {
    "partitionname": {"default": "no", "maxtime": "infinite", "state": "up"},
    "nodename": {"state": "unknown"},
}
"""The same for parameters of records."""

_EMPTY = ("partitionname", "all", frozenset({("default", "YES")}))
Record = tuple[str, str, frozenset[tuple[str, str]]]
"""Key, value and further parameters."""


@frozen(kw_only=True)
class Meaning:
    """What a text says.

    Attributes:
        scalars: Value by key in lower case; those with Slurm's own value are left out.
        records: Lines of which there may be many, in their order.
        unread: Lines that are no parameters, such as those of plugstack.conf.
    """

    scalars: Mapping[str, str] = field(factory=dict)
    records: tuple[Record, ...] = ()
    unread: tuple[str, ...] = ()


def equivalent(one: str, other: str) -> bool:
    """Say whether two texts mean the same."""
    return one == other or meaning(one) == meaning(other)


def expanded(path: str, files: Mapping[str, str]) -> str:
    """Return a file with its fragments in the place of the lines that include them.

    Args:
        files: Texts by path below /etc/slurm.
    """
    folder = f"{path}.d/"
    lines = files[path].splitlines(keepends=True)
    for found in statements(files[path]):
        name = found.value.removeprefix(f"{CONFIG}/")
        if found.key == "include" and name.startswith(folder) and name in files:
            text = files[name]
            lines[found.line - 1] = text if text.endswith("\n") else f"{text}\n"
    return "".join(lines)


@lru_cache(maxsize=64)
def meaning(text: str) -> Meaning:
    """Return what a text says."""
    # A template works on the lines after it: what they leave out is what it says.
    plain = not any(found.value.lower() == "default" for found in statements(text) if found.key in _OF_RECORDS)
    found_records = (record(found, plain=plain) for found in statements(text) if found.key in RECORDS)
    # sind writes no partition where no worker is left.
    records = [one for one in found_records if one != _EMPTY]
    scalars = {found.key: found.value for found in statements(text) if found.key not in RECORDS}
    return Meaning(
        scalars={key: value for key, value in scalars.items() if _SLURMS_OWN.get(key) != value},
        records=tuple(sorted(records, key=lambda one: (one[0], one[1], sorted(one[2]))) if plain else records),
        unread=tuple(_unread(text)),
    )


def record(statement: Statement, *, plain: bool = True) -> Record:
    """Return a line of which there may be many, in one spelling."""
    own = _OF_RECORDS.get(statement.key, {}) if plain else {}
    pairs = {parameter.key.lower(): parameter.value for parameter in statement.parameters}
    return (
        statement.key,
        statement.value.removeprefix(f"{CONFIG}/") if statement.key == "include" else statement.value,
        frozenset(
            (key, _nodes(value) if key == "nodes" else value)
            for key, value in pairs.items()
            if own.get(key) != value.lower()
        ),
    )


def _nodes(value: str) -> str:
    try:
        return str(NodeSet(value, resolver=RESOLVER_NOGROUP))
    except NodeSetException:
        return value


def _unread(text: str) -> Iterator[str]:
    lines = text.split("\n")
    for number in unread(text):
        yield " ".join(lines[number - 1].split()).replace(f"{CONFIG}/", "")
