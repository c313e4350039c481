"""Partitions and what else stands on the lines of Slurm's nodes: names, parameters, and who is in which."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from sindplan.statefile.context import Context
from sindplan.statefile.fault import Fault
from sindplan.statefile.people import repeated, undeclared
from sindplan.statefile.spellings import PARAMETER, VALUE
from sindplan.statefile.wording import quoted

RESERVED_PARTITIONS: Mapping[str, str] = {"default": "Slurm reads it as the template of all partitions"}
_SAID_OTHERWISE: Mapping[str, str] = {
    "partitionname": "the table's own name",
    "nodes": "`workers`",
    "default": "`default`",
    "maxtime": "`max_time`",
    "state": "`state`",
}
"""Parameters of a partition that are keys of its table."""
_YES = frozenset({"yes", "up", "true", "1"})
"""How Slurm spells truth (parse_config.c)."""
_GIVEN = frozenset({"partitionname", "nodes"})
"""What sindplan itself writes on the line of a group's own partition."""


def _partitions_name_groups(context: Context) -> Iterator[Fault]:
    cluster = context.cluster
    for name, partition in cluster.partitions.items():
        path = ("partitions", name, "workers")
        yield from undeclared(context, "workers", "worker group", path, partition.workers)
        yield from repeated(context, "worker group", path, partition.workers)
        for group in dict.fromkeys(partition.workers):
            if context.is_managed and group in cluster.workers and cluster.workers[group].managed is False:
                what = f"The group {quoted(group)} is not managed: Slurm does not know its workers."
                yield context.fault(path, what, "Name managed groups.")


def _one_default_partition(context: Context) -> Iterator[Fault]:
    own = {name: group for name, group in context.cluster.workers.items() if _is_default(group.partition)}
    tables = {name: table for name, table in context.cluster.partitions.items() if table.default}
    first, *more = [("workers", name, "partition") for name in own] + [
        ("partitions", name, "default") for name in tables
    ] or [("", "", "")]
    for path in more:
        what = f"{quoted(first[1])} is the default partition already."
        yield context.fault(path, what, "A cluster has one default partition.")


def _is_default(text: str | None) -> bool:
    pairs = (pair.partition("=") for pair in (text or "").split())
    return any(key.lower() == "default" and value.lower() in _YES for key, _, value in pairs)


def _options_are_not_said_otherwise(context: Context) -> Iterator[Fault]:
    for name, partition in context.cluster.partitions.items():
        said: dict[str, str] = {}
        for key in partition.options:
            path = ("partitions", name, "options", key)
            other = said.setdefault(key.lower(), key)
            if key.lower() in _SAID_OTHERWISE:
                what = f"{quoted(key)} has a key of its own in the state file."
                yield context.fault(path, what, f"It is {_SAID_OTHERWISE[key.lower()]}.")
            elif other != key:
                yield context.fault(path, f"This is said already, as `{other}`.", "Keep one: Slurm takes any case.")


def _own_partitions_are_lines_of_pairs(context: Context) -> Iterator[Fault]:
    for name, group in context.cluster.workers.items():
        path = ("workers", name, "partition")
        said: Counter[str] = Counter()
        for pair in (group.partition or "").split(" "):
            key, separator, value = pair.partition("=")
            said[key.lower()] += 1
            if not pair:
                continue
            if not separator or not PARAMETER.fits(key) or not VALUE.fits(value):
                rule = 'Write parameters of a partition on one line, such as "MaxTime=1:00:00 OverSubscribe=NO".'
                yield context.fault(path, f"{quoted(pair)} is not Key=value.", rule)
                break
            if key.lower() in _GIVEN:
                what = f"{quoted(key)} is given: the partition has the group's name and workers."
                yield context.fault(path, what, "Remove it; `partitions` has partitions of other names and groups.")
            elif said[key.lower()] > 1:
                yield context.fault(path, f"{quoted(key)} is said more than once.", "Keep one.")


def _own_partitions_have_names_of_their_own(context: Context) -> Iterator[Fault]:
    for name, group in context.cluster.workers.items():
        if group.partition is None:
            continue
        if name in RESERVED_PARTITIONS:
            what = f"The partition would be called {quoted(name)}: {RESERVED_PARTITIONS[name]}."
            advice = "Rename the group, or write a table in `partitions`."
            yield context.fault(("workers", name, "partition"), what, advice)
        elif name in context.cluster.partitions:
            what = f"The worker group {quoted(name)} has a partition of its own of this name."
            yield context.fault(("partitions", name), what, "Rename the partition, or remove the group's `partition`.")


def _features_and_resources_are_named_once(context: Context) -> Iterator[Fault]:
    for name, group in context.cluster.workers.items():
        yield from repeated(context, "feature", ("workers", name, "features"), group.features)
        resources = tuple(_kind(term) for term in group.gres.split(",")) if group.gres else ()
        yield from repeated(context, "resource", ("workers", name, "gres"), resources)


def _kind(resource: str) -> str:
    """Return name and type of a generic resource, without its count."""
    return re.sub(r"(?::no_consume)?(?::[0-9]+[kKmMgGtTpP]?)?$", "", resource)


RULES: tuple[Callable[[Context], Iterator[Fault]], ...] = (
    _partitions_name_groups,
    _one_default_partition,
    _options_are_not_said_otherwise,
    _own_partitions_are_lines_of_pairs,
    _own_partitions_have_names_of_their_own,
    _features_and_resources_are_named_once,
)
