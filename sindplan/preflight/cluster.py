"""Checks of what a plan would do: is there room, is everything there, is nothing in the way, is it ours."""

from collections.abc import Callable, Iterator

from sindplan.kinds.last_applied import stayed_off
from sindplan.kinds.mesh_network import MeshNetwork
from sindplan.kinds.network import Network
from sindplan.kinds.node_resource import Node
from sindplan.kinds.volume import Volume
from sindplan.model import names
from sindplan.model.address import MESH, Address
from sindplan.model.kind import MAKING, Operation
from sindplan.preflight.accounts import check_accounts
from sindplan.preflight.case import Case
from sindplan.preflight.databases import check_databases
from sindplan.preflight.finding import Finding, warning
from sindplan.preflight.forbidden import check_forbidden, forbidden
from sindplan.preflight.images import check_images
from sindplan.preflight.jobs import check_departures, check_jobs
from sindplan.preflight.leftovers import check_leftovers
from sindplan.preflight.placeholders import check_placeholders
from sindplan.preflight.power import check_power, stopping
from sindplan.preflight.replacements import check_replacements
from sindplan.preflight.room import check_room
from sindplan.preflight.slurm_text import check_slurm_text
from sindplan.slurm.trial import LABEL


def check_plan(case: Case) -> tuple[Finding, ...]:
    """Return what speaks against a plan, everything at once."""
    return tuple(finding for check in _CHECKS for finding in check(case))


def _orphans(case: Case) -> Iterator[Finding]:
    declared = {cluster.address for cluster in case.layout.clusters}
    for address, found in case.inventory.clusters().items():
        if found.owners == {case.layout.owner} and address not in declared | case.pruned:
            yield warning(
                "no longer declared",
                f"{address} was made from this declaration and is not in it any more; it is left as it is. A cluster under "
                "another name is another cluster.",
                f"Remove it with --prune, or with: sindplan destroy {address}",
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
        for kind, name in _trials(case, cluster.address):
            yield warning(
                "trial",
                f"The {kind} {name!r} is left of a configuration that was tried; the next apply that changes something "
                "removes it.",
            )
        # Of a cluster that is left alone nothing is said.
        is_ours = found is not None and (cluster.owner in found.owners or cluster.declared.adopt)
        for short in cluster.guests if is_ours else ():
            yield warning(
                "guest",
                f"{cluster.address}/node/{short} was added by another tool; it stays, with its line in the configuration.",
            )


def _trials(case: Case, cluster: Address) -> Iterator[tuple[str, str]]:
    """Yield what an apply that was killed has left: kind and name."""
    name = names.trial(cluster.realm, cluster.cluster)
    lists = (("container", case.inventory.containers), ("network", case.inventory.networks))
    for kind, found in lists:
        if any(one.name == name and LABEL in one.labels for one in found):
            yield kind, name


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
                name = names.mesh_container(realm, service)
                kind, taken = "container", name in containers
        there = case.inventory.clusters().get(change.address.scope)
        if taken and kind == "volume" and there is not None and (there.records or there.nodes):
            # Docker makes a volume of any name that a container asks for, without a label.
            yield Finding(
                "in the way",
                f"The volume {name!r} is not the one that sindplan made for {change.address.scope}: a hand made it anew, "
                "without labels, and what it holds is not known.",
                f"If nothing in it is needed, remove it (docker volume rm {name}) and apply; if something is, copy it first.",
            )
        elif taken:
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
    needed = {str(change.address) for change in case.plan.changes if change.operation in MAKING}
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


def _unasked(case: Case) -> Iterator[Finding]:
    """Slurm that cannot be asked: nobody can say then whether a worker that leaves is busy."""
    leaving = {change.address for change in case.plan.changes if change.operation is Operation.DELETE}
    for cluster in case.observation.evidence.clusters:
        if cluster.view is not None or not cluster.managed or cluster.address in case.pruned:
            continue
        off = {short for short in stopping(case, cluster.address) if names.worker_index(short) is not None}
        if stayed_off(cluster):
            off = set()
        running = [short for short, node in cluster.nodes.items() if node.state in ("running", "paused")]
        busy = [short for short in running if cluster.address / "node" / short in leaving or short in off]
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


def _data(case: Case) -> Iterator[Finding]:
    """Yield volumes that would go from clusters that stay: nobody expects that of an edit."""
    # What is forbidden blocks whatever is given up for it.
    hopeless = {change.address.scope for change in case.plan.changes if forbidden(change)}
    for change in case.plan.changes:
        goes = change.operation is Operation.DELETE and isinstance(change.before, Volume)
        if not goes or change.address.cluster == MESH or change.address.scope in case.pruned | hopeless:
            continue
        assert isinstance(change.before, Volume)
        text = (
            f"{change.address} would be removed with everything in it ({change.before.name}), while its cluster stays."
        )
        if case.allowed.may_lose(change.address):
            yield warning("data", text)
        else:
            yield Finding(
                "data",
                text,
                "Put what needs it back into the declaration, or give the data up by name: "
                f"--allow-data-loss {change.address}",
            )


_CHECKS: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    _in_the_way,
    _images,
    _what_images_have,
    _what_slurm_is_told,
    _secrets,
    check_placeholders,
    _in_control,
    check_accounts,
    check_databases,
    check_room,
    _unasked,
    check_departures,
    check_power,
    check_forbidden,
    check_replacements,
    check_jobs,
    _data,
    check_leftovers,
    _orphans,
    _strays,
)
