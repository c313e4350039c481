"""Checks of what is asked of nodes that are off: what lives in daemons and databases cannot be changed meanwhile."""

from collections.abc import Iterator, Mapping

from sindplan.kinds import account, slurm_user
from sindplan.kinds.evidence import ClusterEvidence
from sindplan.kinds.last_applied import last_applied
from sindplan.kinds.node_resource import Node
from sindplan.kinds.people import NodePeople
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.kind import Operation
from sindplan.model.layout import ClusterLayout
from sindplan.model.people import ids_in
from sindplan.model.resource import Resource, difference
from sindplan.preflight.case import Case
from sindplan.preflight.finding import Finding, warning

_FIRST_ON = "Power it on first, without this change; then apply it."
_FIRST_CHANGE = "Apply this change first, then power it off."


def check_power(case: Case) -> Iterator[Finding]:
    """Yield what cannot be done to nodes that are off, or go off."""
    found = {cluster.address: cluster for cluster in case.observation.evidence.clusters}
    for cluster in case.layout.clusters:
        yield from _named_are_there(cluster)
        if (evidence := found.get(cluster.address)) is not None:
            yield from _accounts(case, cluster, evidence)
            yield from _people(case, cluster, evidence)


def _named_are_there(cluster: ClusterLayout) -> Iterator[Finding]:
    named = [short for short in cluster.powered_off if names.worker_index(short) is not None]
    missing = [short for short in named if cluster.node(short) is None]
    if missing:
        yield warning(
            "power",
            f"{cluster.address} has no {', '.join(missing)}: powered_off says nothing of a worker that is not there.",
        )


def _accounts(case: Case, cluster: ClusterLayout, evidence: ClusterEvidence) -> Iterator[Finding]:
    """Yield accounts that would change in a database that is off, or that goes off before it is their turn."""
    off = _is_off(evidence, names.DB)
    if off and last_applied(evidence).get("power") == "off":
        wanted = _of_cluster(cluster, dict((*account.wanted(case.layout), *slurm_user.wanted(case.layout))))
        recorded = dict((*account.recorded(evidence), *slurm_user.recorded(evidence)))
        differing = sorted(
            address
            for address in {*wanted, *recorded}
            if (one := wanted.get(address)) is None
            or (other := recorded.get(address)) is None
            or difference(one, other)
        )
        if differing:
            yield Finding(
                "power",
                f"{cluster.address} is off, and {_listed(differing)} would change, which only its database knows.",
                _FIRST_ON,
            )
    elif cluster.declared.power == "off":
        going = [
            change.address
            for change in case.plan.changes
            if change.address.scope == cluster.address
            and change.operation is Operation.DELETE
            and isinstance(change.before, account.Account | slurm_user.SlurmUser)
        ]
        if going:
            yield Finding(
                "power",
                f"{cluster.address} goes off, and {_listed(going)} with it, which its database knows.",
                _FIRST_CHANGE,
            )


def _people(case: Case, cluster: ClusterLayout, evidence: ClusterEvidence) -> Iterator[Finding]:
    """Yield users and groups that would be taken from nodes that are off: a boot adds some and removes none."""
    there = {change.address: change for change in case.plan.changes}
    gone: set[str] = set()
    for change in there.values():
        before, after = change.before, change.after
        if change.address.scope != cluster.address or not isinstance(before, NodePeople):
            continue
        node = cluster.node(before.node.name)
        if node is None or node.power == "on" or not (_is_off(evidence, node.short) or after is None):
            continue
        was, now = ids_in(before.content), ids_in(after.content if isinstance(after, NodePeople) else "")
        gone |= (was.users.keys() - now.users.keys()) | (was.groups.keys() - now.groups.keys())
    if gone:
        yield Finding(
            "power",
            f"{', '.join(sorted(gone))} would go from nodes of {cluster.address} that are off; a boot adds users and groups "
            "and removes none.",
            "Power the nodes on first, without this change; then apply it.",
        )


def _is_off(evidence: ClusterEvidence, short: str) -> bool:
    container = evidence.nodes.get(short)
    return container is not None and container.state in ("exited", "dead")


def _of_cluster(cluster: ClusterLayout, state: Mapping[Address, Resource]) -> dict[Address, Resource]:
    return {address: resource for address, resource in state.items() if address.scope == cluster.address}


def _listed(addresses: list[Address]) -> str:
    return ", ".join(sorted("/".join(address.parts[3:]) for address in addresses))


def stopping(case: Case, cluster: Address) -> set[str]:
    """Return the nodes of a cluster that run and are powered off by a plan, by short name."""
    return {
        change.address.name
        for change in case.plan.changes
        if change.address.scope == cluster
        and isinstance(change.before, Node)
        and isinstance(change.after, Node)
        and change.before.power != "stopped" == change.after.power
    }
