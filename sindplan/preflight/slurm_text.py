"""Checks of the user's Slurm text against what there is: the workers, and what the engine can give nodes."""

from collections.abc import Callable, Iterator, Mapping

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetParseError

from sindplan.model.layout import ClusterLayout, Layout
from sindplan.preflight.finding import Finding, warning
from sindplan.slurm.sections import keys, last, said
from sindplan.slurm.text import Statement, listed_in

_CGROUP_PLUGINS = ("ProctrackType", "TaskPlugin", "JobAcctGatherType")


def check_slurm_text(layout: Layout) -> Iterator[Finding]:
    """Yield what Slurm would stumble over that a state file alone cannot show."""
    for cluster in layout.clusters:
        for check in _CHECKS:
            yield from check(cluster)


def _workers_are_there(cluster: ClusterLayout) -> Iterator[Finding]:
    """Yield partitions that name a node which is not configured: slurmctld would not start (slurm.conf(5))."""
    statements = said(cluster.declared.slurm.main)
    if "include" in keys(cluster.declared.slurm.main):
        # What that file configures is not known here.
        return
    known = {worker.short for worker in cluster.slurm_workers} | cluster.guests.keys()
    known |= {name for one in statements if one.key in ("nodename", "nodeset") for name in _names(one.value)}
    for one in statements:
        if one.key in ("partitionname", "nodeset"):
            missing = [name for name in _names(one.get("Nodes") or "") if name not in known and name != "ALL"]
            if missing:
                yield Finding(
                    "slurm.main",
                    f"{cluster.address}: line {one.line} of slurm.main names {', '.join(missing)} in {_title(one)}, and "
                    "there is no such worker: slurmctld would not start.",
                    "Take it out of the text, or declare the worker.",
                )


def _title(statement: Statement) -> str:
    kind = {"partitionname": "PartitionName", "nodeset": "NodeSet"}[statement.key]
    return f"{kind}={statement.value}"


def _names(text: str) -> list[str]:
    try:
        return list(NodeSet(text, resolver=RESOLVER_NOGROUP))
    except NodeSetParseError:
        return []


def _cgroups_are_there(cluster: ClusterLayout) -> Iterator[Finding]:
    if cluster.cgroups:
        return
    for key in _CGROUP_PLUGINS:
        value = last(cluster.declared.slurm.main, key)
        if value is not None and any(item.endswith("cgroup") for item in listed_in(value)):
            yield Finding(
                "slurm.main",
                f"{cluster.address}: slurm.main sets {key}={value}, and this engine gives nodes no cgroup controllers: "
                "slurmd would not start.",
                f"Leave {key} out: sindplan writes what fits the engine.",
            )


def _gres_is_of_nodes(cluster: ClusterLayout) -> Iterator[Finding]:
    for one in said(cluster.declared.slurm.gres):
        if one.key == "name":
            yield warning(
                "slurm.gres",
                f"{cluster.address}: line {one.line} of slurm.gres names no node, so it holds for every one; a slurmd that "
                "lacks its device gives up.",
                "Begin the line with NodeName=….",
            )


_PLUGINS: Mapping[str, str] = {
    "CliFilterPlugins": "cli_filter",
    "JobAcctGatherType": "jobacct_gather",
    "JobContainerType": "job_container",
    "JobSubmitPlugins": "job_submit",
    "MpiDefault": "mpi",
    "PreemptType": "preempt",
    "PriorityType": "priority",
    "ProctrackType": "proctrack",
    "SchedulerType": "sched",
    "SelectType": "select",
    "SwitchType": "switch",
    "TaskPlugin": "task",
}
"""Parameters that name plugins, and how the names of the plugins' files begin (slurm.conf(5))."""


def _plugins_are_there(cluster: ClusterLayout) -> Iterator[Finding]:
    """Yield plugins that the image lacks: some daemon would give up for each."""
    facts = cluster.controller.facts
    if not facts.plugins:
        return
    for key, prefix in _PLUGINS.items():
        for item in sorted(listed_in(last(cluster.declared.slurm.main, key) or "")):
            name = item.removeprefix(f"{prefix}/")
            # That there is none needs no plugin.
            if name != "none" and f"{prefix}_{name}" not in facts.plugins:
                known = sorted(one.removeprefix(f"{prefix}_") for one in facts.plugins if one.startswith(f"{prefix}_"))
                yield Finding(
                    "slurm.main",
                    f"{cluster.address}: slurm.main sets {key} to {item}, and the image {cluster.controller.image!r} has no "
                    "such plugin.",
                    f"It has {', '.join(known) or 'none of this kind'}.",
                )


_CHECKS: tuple[Callable[[ClusterLayout], Iterator[Finding]], ...] = (
    _workers_are_there,
    _cgroups_are_there,
    _gres_is_of_nodes,
    _plugins_are_there,
)
