"""Checks of what a plan would do: is there room, is everything there, is nothing in the way, is it ours."""

from collections.abc import Callable, Iterator

from attrs import frozen

from sindplan.kinds import labels
from sindplan.kinds.mesh_network import MeshNetwork
from sindplan.kinds.network import Network
from sindplan.kinds.node_resource import Node
from sindplan.kinds.volume import Volume
from sindplan.model import names, network
from sindplan.model.address import MESH
from sindplan.model.kind import Operation
from sindplan.model.layout import Layout
from sindplan.model.units import spell_memory
from sindplan.observe.inventory import Inventory
from sindplan.observe.observation import Observation
from sindplan.plan.plan import Plan
from sindplan.preflight.finding import Finding, warning
from sindplan.preflight.host import INOTIFY_PER_NODE, INOTIFY_WANTED, Machine
from sindplan.preflight.images import check_images
from sindplan.preflight.slurm_text import check_slurm_text
from sindplan.slurm.enforcement import enforces_limits

BRIDGE_ENDPOINTS = 1023
"""Containers that one Linux bridge takes."""
POOLS_NEARLY_FULL = 2


@frozen(kw_only=True)
class Case:
    """What the checks look at.

    Attributes:
        plain_secrets: Where secrets stand in plain text.
    """

    layout: Layout
    observation: Observation
    plan: Plan
    machine: Machine
    plain_secrets: tuple[str, ...] = ()

    @property
    def inventory(self) -> Inventory:
        """Everything on the engine."""
        return self.observation.inventory


def check_plan(case: Case) -> tuple[Finding, ...]:
    """Return what speaks against a plan, everything at once."""
    return tuple(finding for check in _CHECKS for finding in check(case))


def _orphans(case: Case) -> Iterator[Finding]:
    declared = {cluster.address for cluster in case.layout.clusters}
    for address, found in case.inventory.clusters().items():
        if found.owners == {case.layout.owner} and address not in declared:
            yield warning(
                "no longer declared",
                f"{address} was made from this declaration and is not in it any more; it is left as it is.",
                f"Remove it with: sindplan destroy {address}",
            )


def _strays(case: Case) -> Iterator[Finding]:
    for cluster in case.layout.clusters:
        found = case.inventory.clusters().get(cluster.address)
        for name in found.strays if found else ():
            yield warning(
                "stray container",
                f"The container {name!r} carries the labels of {cluster.address} and is none of its nodes.",
                f"Remove it if nobody needs it: docker rm -f {name}",
            )
        for short in cluster.guests:
            yield warning(
                "guest",
                f"{cluster.address}/node/{short} was added by another tool; it stays, with its line in the configuration.",
            )


def _in_the_way(case: Case) -> Iterator[Finding]:
    containers = {container.name for container in case.inventory.containers}
    networks = {found.name for found in case.inventory.networks}
    volumes = {volume.name for volume in case.inventory.volumes}
    for change in case.plan.changes:
        if change.operation is not Operation.CREATE:
            continue
        kind, name, taken = "", "", False
        match change.after:
            case Node(name=name):
                kind, taken = "container", name in containers
            case Network(name=name) | MeshNetwork(name=name):
                kind, taken = "network", name in networks
            case Volume(name=name):
                kind, taken = "volume", name in volumes
            case _ if change.address.parts[1:] in ((MESH, "dns"), (MESH, "relay")):
                realm = change.address.realm
                service = change.address.name
                name = names.dns_container(realm) if service == "dns" else names.relay_container(realm)
                kind, taken = "container", name in containers
        if taken:
            yield Finding(
                "in the way",
                f"A {kind} named {name!r} exists that does not belong to {change.address.scope}.",
                f"Look at it (docker {kind} inspect {name}), then remove or rename it.",
            )


def _images(case: Case) -> Iterator[Finding]:
    used: dict[str, list[str]] = {}
    for cluster in case.layout.clusters:
        for node in cluster.nodes:
            used.setdefault(node.image, []).append(f"{cluster.address}/node/{node.short}")
    for mesh in case.layout.meshes:
        used.setdefault(mesh.relay_image, []).append(f"{mesh.address}/relay")
        used.setdefault(mesh.dns_image, []).append(f"{mesh.address}/dns")
    needed = {str(change.address) for change in case.plan.changes if change.operation is Operation.CREATE}
    for image, users in sorted(used.items()):
        nodes = [user for user in users if not user.endswith("/dns")]
        facts = case.observation.images.get(image)
        if needed & set(users) and (facts is None or not facts.id):
            own = "Or make it here: tools/image (Slurm 26.05), tools/image --suite trixie (24.11)."
            yield warning(
                "image",
                f"The image {image!r} is not on the engine; apply pulls it from its registry.",
                own if nodes else "",
            )
        elif nodes and facts is not None and facts.id and not facts.probed:
            yield warning(
                "image", f"What {image!r} has is not known yet; apply looks once, and what it generates may differ."
            )


def _what_images_have(case: Case) -> Iterator[Finding]:
    yield from check_images(case.layout)


def _what_slurm_is_told(case: Case) -> Iterator[Finding]:
    yield from check_slurm_text(case.layout)


def _secrets(case: Case) -> Iterator[Finding]:
    for secret in case.plain_secrets:
        yield warning(
            "secret",
            f"{secret} is in plain text in the state file.",
            'Refer to it, as in storage_password = { env = "SINDPLAN_SECRET_STORAGE" }.',
        )


def _in_control(case: Case) -> Iterator[Finding]:
    for cluster in case.observation.evidence.clusters:
        first = cluster.nodes.get(names.CONTROLLER)
        if cluster.in_control == names.BACKUP and first is not None:
            yield warning(
                "controllers",
                f"The backup controller is in control of {cluster.address}; it gives control back when the first one is "
                "started.",
            )


def _limits_are_enforced(case: Case) -> Iterator[Finding]:
    for cluster in case.layout.clusters:
        limited = sorted(name for name, account in cluster.declared.accounts.items() if account.limits)
        if limited and not enforces_limits(cluster.declared):
            yield warning(
                "accounts",
                f"{cluster.address} sets limits of accounts ({', '.join(limited)}), which nobody enforces.",
                "Write AccountingStorageEnforce=limits (or safe) into slurm.main.",
            )


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


def _unasked(case: Case) -> Iterator[Finding]:
    """Slurm that cannot be asked: nobody can say then whether a worker that leaves is busy."""
    leaving = {change.address for change in case.plan.changes if change.operation is Operation.DELETE}
    for cluster in case.observation.evidence.clusters:
        if cluster.view is not None or not cluster.managed:
            continue
        running = [short for short, node in cluster.nodes.items() if node.state in ("running", "paused")]
        busy = [short for short in running if cluster.address / "node" / short in leaving]
        if busy:
            yield Finding(
                "jobs",
                f"slurmctld of {cluster.address} does not answer, so nobody can say whether {', '.join(sorted(busy))} "
                "run jobs.",
                "Apply the declaration with these workers first, which mends what is broken; then take them out.",
            )
        elif cluster.services.get(names.CONTROLLER, {}).get("slurmctld"):
            yield warning(
                "slurmctld",
                f"slurmctld of {cluster.address} runs and does not answer: what Slurm knows is not in this plan.",
                f"Look at it: docker exec {names.container(cluster.realm, cluster.name, names.CONTROLLER)} "
                "journalctl -u slurmctld",
            )


def _replacements(case: Case) -> Iterator[Finding]:
    for change in case.plan.changes:
        if change.operation is Operation.REPLACE:
            fields = ", ".join(field.name for field in change.fields)
            yield Finding(
                "replacement",
                f"{change.address} would have to be replaced ({fields}), which this version does not do yet.",
                "Put the declaration back, or move to a new worker group, or destroy the cluster and apply.",
            )


_CHECKS: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    _in_the_way,
    _images,
    _what_images_have,
    _what_slurm_is_told,
    _secrets,
    _in_control,
    _limits_are_enforced,
    _host_room,
    _network_room,
    _inotify,
    _unasked,
    _replacements,
    _orphans,
    _strays,
)
