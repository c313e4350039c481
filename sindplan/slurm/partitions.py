"""Partitions: those that are declared, those of groups, and `all`, which is there when no tables say otherwise.

Default, MaxTime and State are said outright on every line, since a `PartitionName=DEFAULT` of the user's works on all lines
after it. Jobs that name no partition go where the user says; where nothing says so, to `all`, or else to the only partition
there is. With several partitions and no default Slurm refuses such jobs, which beats choosing for the user.
"""

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from sindplan.model.address import natural
from sindplan.model.declaration import Cluster, Partition
from sindplan.model.layout import ClusterLayout
from sindplan.slurm.sections import said
from sindplan.slurm.text import Statement, is_yes, spelled, statements

ALL = "all"
"""sind's partition over all workers."""
TEMPLATE = "default"
"""A partition of this name is a template for those after it."""
_OUTRIGHT = {"Default": "NO", "MaxTime": "INFINITE", "State": "UP"}


@frozen
class _Wanted:
    """A partition to generate.

    Attributes:
        groups: Whose workers it has; None for all.
        settings: What a table says of `_OUTRIGHT`.
        text: Further parameters, as they stand on its line.
    """

    name: str
    groups: tuple[str, ...] | None
    settings: Mapping[str, str] = field(factory=dict)
    text: str = ""

    def get(self, key: str) -> str | None:
        """Return what is said of a parameter."""
        return self.settings.get(key) or parameters(self.text).get(key)


def partition_names(cluster: Cluster) -> Mapping[str, tuple[str, ...]]:
    """Return the partitions that are generated, each with the key in the cluster that makes it; `()` for `all`."""
    own = {name: ("workers", name, "partition") for name in _own(cluster)}
    tables = {name: ("partitions", name) for name in sorted(cluster.partitions, key=natural)}
    return {**own, **tables, **({ALL: ()} if _has_all(cluster) else {})}


def partition_lines(cluster: ClusterLayout) -> Iterator[str]:
    """Yield the partitions' lines."""
    default = _default(cluster.declared)
    for wanted in _wanted(cluster.declared):
        # Without workers a partition stays, empty: jobs that wait in it would fail with it.
        nodes = ",".join(_members(cluster, wanted.groups))
        outright = {**_OUTRIGHT, **({"Default": "YES"} if wanted.name == default else {}), **wanted.settings}
        mentioned = parameters(wanted.text)
        yield " ".join(
            [
                f"PartitionName={wanted.name}",
                *([f"Nodes={nodes}"] if nodes else []),
                *(f"{key}={value}" for key, value in outright.items() if mentioned.get(key) is None),
                *([wanted.text] if wanted.text else []),
            ]
        )


def parameters(text: str) -> Statement:
    """Read a partition's parameters as they stand on its line."""
    (found,) = statements(f"PartitionName=x {text}")[:1]
    return found


def _members(cluster: ClusterLayout, groups: tuple[str, ...] | None) -> Iterator[str]:
    yield from (node.short for node in cluster.slurm_workers if groups is None or node.group in groups)
    if groups is None:
        yield from (short for short, member in cluster.guests.items() if member.line)


def _wanted(cluster: Cluster) -> Iterator[_Wanted]:
    for name in sorted(cluster.partitions, key=natural):
        table = cluster.partitions[name]
        text = " ".join(f"{key}={spelled(value)}" for key, value in sorted(table.options.items()))
        yield _Wanted(name, table.workers, dict(_settings(table)), text)
    for name, text in _own(cluster).items():
        yield _Wanted(name, (name,), text=text)
    if _has_all(cluster):
        yield _Wanted(ALL, None)


def _settings(table: Partition) -> Iterator[tuple[str, str]]:
    if table.default:
        yield "Default", "YES"
    if table.max_time is not None:
        yield "MaxTime", table.max_time
    if table.state is not None:
        yield "State", table.state.upper()


def _own(cluster: Cluster) -> Mapping[str, str]:
    """Return the partitions of groups, in natural order."""
    return {
        name: (cluster.workers[name].partition or "").strip()
        for name in sorted(cluster.workers, key=natural)
        if cluster.workers[name].partition is not None and cluster.workers[name].managed is not False
    }


def _has_all(cluster: Cluster) -> bool:
    return not cluster.partitions and ALL not in _own(cluster)


def _default(cluster: Cluster) -> str | None:
    """Return the generated partition for jobs that name none, when nobody has said one."""
    others = theirs(cluster)
    wanted = list(_wanted(cluster))
    if any(others.values()) or any(is_yes(one.get("Default")) for one in wanted):
        return None
    if _has_all(cluster):
        return ALL
    return wanted[0].name if len(wanted) == 1 and not others and wanted[0].get("Default") is None else None


def theirs(cluster: Cluster) -> Mapping[str, bool]:
    """Return the partitions of the user's slurm.conf, each with whether it is a default one."""
    found: dict[str, bool] = {}
    template = False
    for statement in said(cluster.slurm.main):
        if statement.key != "partitionname":
            continue
        mentioned = statement.get("Default")
        is_default = template if mentioned is None else is_yes(mentioned)
        if statement.value.lower() == TEMPLATE:
            template = is_default
        else:
            found[statement.value] = is_default
    return found
