"""Nodes, partitions and generic resources in the user's text beside those that sindplan writes."""

import re
from collections.abc import Callable, Iterator, Mapping

from attrs import evolve

from sindplan.model.names import worker
from sindplan.model.workers import assign_workers
from sindplan.slurm import gres
from sindplan.slurm.partitions import TEMPLATE, parameters, partition_names, theirs
from sindplan.slurm.text import is_yes, listed_in
from sindplan.statefile.bounds import LARGEST_WORKER
from sindplan.statefile.context import Context
from sindplan.statefile.fault import Fault
from sindplan.statefile.node_set import worker_indexes
from sindplan.statefile.slurm_sections import in_force, said
from sindplan.statefile.wording import key_path, listed, quoted

_WORKERS = re.compile(r"(?<![^,])worker-(?:\[([0-9,-]+)\]|([0-9]+))(?![^,])")
_SPAN = re.compile("(0|[1-9][0-9]{0,8})(?:-(0|[1-9][0-9]{0,8}))?")


def _nodes_are_defined_once(context: Context) -> Iterator[Fault]:
    found = list(said(context, "main", "NodeName"))
    ours = _assigned(context) if found else {}
    for node in found:
        taken = [index for index in sorted(ours) if any(index in span for span in _spans(node.statement.value))]
        if taken:
            group = ours[taken[0]]
            what = f"defines {worker(taken[0])}, which is in group {quoted(group)}: sindplan defines it."
            fix = f"Remove it; `{key_path(('workers', group))}` has `features`, `gres` and `weight`, and NodeName=DEFAULT is yours."
            yield node.fault(context, what, fix)


def _spans(nodes: str) -> Iterator[range]:
    """Yield the ranges of worker indexes in a host list of Slurm's. Names with leading zeros are others'."""
    for match in _WORKERS.finditer(nodes):
        for part in (match[1] or match[2]).split(","):
            if span := _SPAN.fullmatch(part):
                yield range(int(span[1]), int(span[2] or span[1]) + 1)


def _assigned(context: Context) -> Mapping[int, str]:
    """Return the workers that Slurm has in a new cluster, with their groups; none when the groups are not sound."""
    groups = context.cluster.workers
    if context.lacks("workers") or any(context.lacks("workers", name) for name in groups):
        return {}
    try:
        for group in groups.values():
            worker_indexes(group.nodes or "worker-0")
    except ValueError:
        return {}
    sound = {
        name: evolve(group, count=min(max(group.count, 0), LARGEST_WORKER) if group.count is not None else None)
        for name, group in groups.items()
    }
    return {index: name for index, name in assign_workers(sound, {}).items() if groups[name].managed is not False}


def _partitions_are_defined_once(context: Context) -> Iterator[Fault]:
    ours = partition_names(context.cluster) if context.is_managed else {}
    seen: set[str] = set()
    for found in said(context, "main", "PartitionName"):
        name = found.statement.value
        if name in ours:
            made = f"`{key_path(ours[name])}` does" if ours[name] else "sindplan does, over all workers"
            what = f"defines the partition {quoted(name)}, and {made}, too."
            yield found.fault(context, what, _advice(name, ours[name]))
        elif name in seen:
            what = f"defines the partition {quoted(name)} once more."
            yield found.fault(context, what, "Slurm takes one line a partition: write them as one.")
        elif name.lower() != TEMPLATE:
            seen.add(name)


def _advice(name: str, keys: tuple[str, ...]) -> str:
    if keys:
        return "Remove one of them."
    return f"Give yours another name, or declare `partitions`: then there is no {quoted(name)}."


def _one_default_partition(context: Context) -> Iterator[Fault]:
    """Slurm takes the last, which is sindplan's, whatever the user thought."""
    cluster = context.cluster
    tables = [("partitions", name, "default") for name, table in cluster.partitions.items() if table.default]
    own = [
        ("workers", name, "partition")
        for name, group in cluster.workers.items()
        if is_yes(parameters(group.partition or "").get("Default"))
    ]
    defaults = [name for name, is_default in theirs(cluster).items() if is_default]
    for keys in (*tables, *own) if defaults else ():
        what = f"{quoted(defaults[-1])} in `slurm.main` is the default partition already."
        yield context.fault(keys, what, "A cluster has one default partition.")


def _resources_are_known_types(context: Context) -> Iterator[Fault]:
    types = in_force(context, "main", "GresTypes")
    for name, group in gres.groups(context.cluster).items() if types is not None else ():
        assert types is not None
        known = listed_in(types.statement.value)
        unknown = [
            kind for kind in dict.fromkeys(one.name for one in gres.resources(group.gres)) if kind.lower() not in known
        ]
        if unknown:
            where = f"`{key_path(types.keys)}`, line {types.statement.line} of the text"
            what = f"GresTypes ({where}) does not list {listed(map(quoted, unknown))}."
            fix = "Add it there, or remove that line: sindplan writes it."
            yield context.fault(("workers", name, "gres"), what, fix)


def _resources_are_there(context: Context) -> Iterator[Fault]:
    cluster = context.cluster
    if cluster.slurm.gres is not None or context.lacks("slurm", "gres"):
        return
    has_gpus = "gpu" in gres.types(cluster) or in_force(context, "main", "GresTypes") is not None
    for name, group in gres.groups(cluster).items():
        keys = ("workers", name, "gres")
        resources = gres.resources(group.gres)
        devices = gres.devices(group, cluster)
        wanted = sum(one.number for one in resources if one.name in gres.NEED_FILES)
        are_known = not context.lacks("workers", name, "devices") and not context.lacks("defaults", "devices")
        if wanted and are_known and not gres.files(group.gres, devices):
            what = f"Slurm ignores a gpu without a device file; {wanted} are said here, and {len(devices)} devices."
            yield context.fault(keys, what, "List one in `devices` for each, or write gres.conf in `slurm.gres`.")
        parts = dict.fromkeys(one.name for one in resources if one.name in gres.NEED_GPUS)
        if parts and not has_gpus:
            what = (
                f"In Slurm {listed(parts)} {'is a part' if len(parts) == 1 else 'are parts'} of gpu, and there is none."
            )
            yield context.fault(keys, what, "Add gpu.")


RULES: tuple[Callable[[Context], Iterator[Fault]], ...] = (
    _nodes_are_defined_once,
    _partitions_are_defined_once,
    _one_default_partition,
    _resources_are_known_types,
    _resources_are_there,
)
