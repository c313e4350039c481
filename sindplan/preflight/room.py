"""Checks of room: on the host, on its networks, in its address pools, in its kernel."""

from collections.abc import Callable, Iterator

from sindplan.kinds import labels
from sindplan.kinds.mesh_network import MeshNetwork
from sindplan.kinds.network import Network
from sindplan.model import names, network
from sindplan.model.kind import Operation
from sindplan.model.layout import Layout
from sindplan.model.units import spell_memory
from sindplan.preflight.case import Case
from sindplan.preflight.finding import Finding, warning
from sindplan.preflight.host import INOTIFY_PER_NODE, INOTIFY_WANTED

BRIDGE_ENDPOINTS = 1023
"""Containers that one Linux bridge takes."""
POOLS_NEARLY_FULL = 2


def check_room(case: Case) -> Iterator[Finding]:
    """Yield what there is no room for."""
    for check in _CHECKS:
        yield from check(case)


def _host_room(case: Case) -> Iterator[Finding]:
    engine = case.inventory.engine
    for cluster in case.layout.clusters:
        for node in cluster.nodes:
            if node.cpus > engine.cpus:
                yield Finding(
                    "CPUs",
                    f"{cluster.address}/node/{node.short} wants {node.cpus} CPUs and the host has {engine.cpus}.",
                    "Lower cpus: Slurm drains a node that has fewer than its line says.",
                )
            if node.memory > engine.memory:
                yield Finding(
                    "memory",
                    f"{cluster.address}/node/{node.short} wants {spell_memory(node.memory)} and the host has "
                    f"{engine.memory // 2**20}m.",
                    "Lower memory: Slurm drains a node that has less than its line says.",
                )


def _network_room(case: Case) -> Iterator[Finding]:
    created = [change.after for change in case.plan.changes if change.operation is Operation.CREATE]
    pooled = [new for new in created if isinstance(new, Network | MeshNetwork) and not new.subnet]
    present = sum(1 for found in case.inventory.networks if found.subnet)
    pools = case.inventory.engine.address_pools
    if pooled and present + len(pooled) > pools - POOLS_NEARLY_FULL:
        yield warning(
            "address pools",
            f"{len(pooled)} networks will be added to {present}; the engine's address pools hold {pools}.",
            "Remove unused networks, enlarge default-address-pools in daemon.json, or give clusters a subnet.",
        )
    for mesh in case.layout.meshes:
        # DNS and relay, and every node of the realm, of other declarations too.
        others = {
            container.name
            for container in case.inventory.containers
            if container.labels.get(labels.REALM) == mesh.realm
        }
        own = {
            names.container(cluster.realm, cluster.name, node.short)
            for cluster in case.layout.clusters
            if cluster.realm == mesh.realm
            for node in cluster.nodes
        }
        members = len(others | own) + 2
        if members > BRIDGE_ENDPOINTS:
            yield Finding(
                "network full",
                f"{mesh.address}/network would have {members} containers; a bridge takes {BRIDGE_ENDPOINTS}.",
                "Spread the clusters over several realms.",
            )
    yield from _subnet_room(case.layout)


def _subnet_room(layout: Layout) -> Iterator[Finding]:
    for cluster in layout.clusters:
        subnet = cluster.declared.subnet or cluster.subnet
        highest = max((names.worker_index(worker.short) or 0 for worker in cluster.workers), default=-1)
        if subnet and highest >= network.workers_that_fit(subnet):
            yield Finding(
                "network full",
                f"{cluster.address}/network has the subnet {subnet}, with addresses up to "
                f"worker-{network.workers_that_fit(subnet) - 1}; worker-{highest} needs one.",
                "Give the cluster a larger subnet.",
            )


def _inotify(case: Case) -> Iterator[Finding]:
    limit = case.machine.inotify_instances
    if limit is None or limit < INOTIFY_WANTED:
        # Few instances are the host check's finding already.
        return
    nodes = sum(len(cluster.nodes) for cluster in case.layout.clusters)
    if nodes * INOTIFY_PER_NODE > limit:
        yield warning(
            "inotify",
            f"{nodes} nodes need about {nodes * INOTIFY_PER_NODE} inotify instances and the host allows {limit}.",
            f"As root: sysctl fs.inotify.max_user_instances={nodes * INOTIFY_PER_NODE * 2}",
        )


_CHECKS: tuple[Callable[[Case], Iterator[Finding]], ...] = (_host_room, _network_room, _inotify)
