"""Which nodes of a cluster are off: what is stopped is written down as such, so that taking a cluster over starts nothing."""

from collections.abc import Iterator, Mapping

from attrs import evolve
from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

from sindplan.engine.records import Container
from sindplan.kinds.node_resource import POWER
from sindplan.model import names
from sindplan.model.address import natural
from sindplan.model.declaration import Cluster
from sindplan.model.layout import ClusterLayout, is_managed
from sindplan.model.workers import assign_workers


def with_power(cluster: Cluster, nodes: Mapping[str, Container]) -> tuple[Cluster, list[str]]:
    """Return a cluster that is off as far as its nodes are stopped, and what cannot be said of that, a sentence each.

    Args:
        nodes: Its containers by short name. One that was never started is made anew, and says nothing.
    """
    power = {short: POWER[node.state] for short, node in nodes.items() if node.state in POWER}
    off = {short for short, found in power.items() if found == "stopped"}
    if off and len(off) == len(power):
        return evolve(cluster, power="off"), []
    needed = sorted(off & _needed(cluster))
    notes = [
        f"{short} is stopped while other nodes run. Slurm needs it, so it is written as on, and an apply starts it."
        for short in needed
    ]
    members: dict[str, set[str]] = {}
    for index, group in assign_workers(cluster.workers, {}).items():
        members.setdefault(group, set()).add(names.worker(index))
    whole = {group for group, workers in members.items() if workers <= off}
    workers = {name: evolve(group, power="off") if name in whole else group for name, group in cluster.workers.items()}
    single = off.difference(needed, *(members[group] for group in whole))
    return evolve(cluster, workers=workers, powered_off=_node_set(single)), notes


def differing(cluster: ClusterLayout, nodes: Mapping[str, Container]) -> Iterator[str]:
    """Yield where a cluster that was applied has nodes in another power than it was given, a sentence each."""
    for power, now, then in (("on", "stopped", "starts"), ("off", "running", "stops")):
        found = [
            node.short
            for node in cluster.nodes
            if node.power == power and node.short in nodes and POWER.get(nodes[node.short].state) == now
        ]
        if found:
            yield (
                f"{', '.join(found)}: {now} though last applied as {power}, which this file says. An apply {then} "
                f"{'it' if len(found) == 1 else 'them'} unless power or powered_off says otherwise."
            )


def _needed(cluster: Cluster) -> set[str]:
    """Return the nodes that are off with their whole cluster only."""
    if not is_managed(cluster):
        return set()
    has_managed_db = cluster.db is not None and cluster.db.managed is not False
    return {names.CONTROLLER, names.DB} if has_managed_db else {names.CONTROLLER}


def _node_set(nodes: set[str]) -> str | None:
    fixed = sorted((short for short in nodes if names.worker_index(short) is None), key=natural)
    workers = str(NodeSet(",".join(nodes.difference(fixed)), resolver=RESOLVER_NOGROUP))
    return ",".join([*fixed, *([workers] if workers else [])]) or None
