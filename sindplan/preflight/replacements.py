"""Checks of nodes that are replaced: what cannot be, what a newer Slurm makes of the cluster, which jobs are waited for."""

from collections.abc import Iterator, Mapping

from sindplan.kinds import labels
from sindplan.kinds.node_keeping import KEPT
from sindplan.kinds.node_resource import Node
from sindplan.kinds.registry import KINDS
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.kind import Operation
from sindplan.model.resource import FieldChange
from sindplan.plan.plan import Change
from sindplan.preflight.case import Case
from sindplan.preflight.finding import Finding, warning
from sindplan.preflight.forbidden import forbidden
from sindplan.render.node_sets import fold
from sindplan.slurm.versions import reach, release, step

_WORDS: Mapping[str, str] = {
    labels.MANAGED: "managed",
    labels.IDENTITY: "identity",
    labels.CVMFS: "cvmfs",
    "sind.data.hostpath": "storage",
    "sind.data.mountpath": "storage",
    labels.GROUP: "worker group",
}
"""What labels that differ are called in a state file."""


def check_replacements(case: Case) -> Iterator[Finding]:
    """Yield what speaks against the replacements of a plan, and what they mean."""
    replaced = [change for change in case.plan.changes if change.operation is Operation.REPLACE]
    yield from _impossible(replaced)
    yield from _servers_without_an_address(case, replaced)
    yield from _versions(replaced)
    yield from _waited_for(case, replaced)
    yield from _moved_tags(case)


def _impossible(replaced: list[Change]) -> Iterator[Finding]:
    alike: dict[tuple[Address, str], list[str]] = {}
    for change in replaced:
        if not KINDS[change.resource.KIND].replace and not forbidden(change):
            fields = ", ".join(dict.fromkeys(word for field in change.fields for word in _told(field)))
            alike.setdefault((change.address.scope, fields), []).append(str(change.address))
    for (_, fields), addresses in alike.items():
        yield Finding(
            "replacement",
            f"{', '.join(fold(addresses))} would have to be replaced ({fields}), which cannot be done while it is in use.",
            "Put the declaration back, or destroy the cluster and apply.",
        )


def _servers_without_an_address(case: Case, replaced: list[Change]) -> Iterator[Finding]:
    """Yield DNS servers whose successor would have another address than the one that all nodes were given."""
    for mesh in case.observation.evidence.meshes:
        pinned = mesh.network is None or mesh.network.labels.get(labels.DNS_ADDRESS)
        if not pinned and any(change.address == mesh.address / "dns" for change in replaced):
            yield Finding(
                "replacement",
                f"{mesh.address}/dns has no fixed address, as on a mesh that is small or that an older sind made, and the nodes "
                "ask at the one that it has: its successor would get another.",
                "Leave the DNS server as it is, or destroy the realm's clusters and apply.",
            )


def _told(field: FieldChange) -> list[str]:
    return sorted({_WORDS.get(key, key) for key in _keys(field)}) or [field.name]


def _keys(field: FieldChange) -> list[str]:
    """Return the labels that differ; nothing for another field."""
    if field.name != "labels" or not isinstance(field.before, Mapping) or not isinstance(field.after, Mapping):
        return []
    keys = {*field.before, *field.after}
    return sorted(str(key) for key in keys if field.before.get(key) != field.after.get(key))


def _versions(replaced: list[Change]) -> Iterator[Finding]:
    """Yield what Slurm says of the way from one version to another (Slurm, Upgrade Guide)."""
    told: set[tuple[Address, str, str]] = set()
    dumped = {change.address.scope for change in replaced if change.address.name == names.DB}
    for change in replaced:
        before, after = change.before, change.after
        if not isinstance(before, Node) or not isinstance(after, Node) or change.address.name not in _KEEPERS:
            continue
        old, new = before.slurm_version, after.slurm_version
        cluster = change.address.scope
        if (cluster, old, new) in told or not labels.is_managed(after.labels):
            continue
        told.add((cluster, old, new))
        match step(old, new):
            case "downgrade":
                yield Finding(
                    "Slurm versions",
                    f"{cluster} runs Slurm {old}, and {new} cannot read what that wrote.",
                    "Use an image with the same Slurm or a newer one.",
                )
            case "too far":
                found = release(new)
                yield Finding(
                    "Slurm versions",
                    f"{cluster} runs Slurm {old}, and {new} reads only what the {reach(found) if found else 2} releases before "
                    "it wrote.",
                    "Go by a release between them first.",
                )
            case "upgrade" | "unknown" if old != new:
                yield _no_return(cluster, old or "unknown", new or "unknown", has_db=cluster in dumped)


_KEEPERS = (names.DB, names.CONTROLLER)


def _no_return(cluster: Address, old: str, new: str, *, has_db: bool) -> Finding:
    name = KEPT.format(new)
    dumped = f"the database is dumped to {name}.sql in its volume, and " if has_db else ""
    return warning(
        "no return",
        f"{cluster} goes from Slurm {old} to {new}. From the first start of the newer one there is no way back; before it, "
        f"{dumped}slurmctld's state is copied to {name} in its own.",
    )


def _waited_for(case: Case, replaced: list[Change]) -> Iterator[Finding]:
    for cluster in case.observation.evidence.clusters:
        nodes = cluster.view.nodes if cluster.view else {}
        busy = {
            change.address.name: nodes[change.address.name].jobs
            for change in replaced
            if change.address.scope == cluster.address
            and change.address.name in nodes
            and nodes[change.address.name].jobs
        }
        if busy:
            jobs = sorted({job for found in busy.values() for job in found}, key=lambda job: (len(job), job))
            yield warning(
                "jobs",
                f"{', '.join(fold(str(cluster.address / 'node' / short) for short in busy))} is drained and replaced when "
                f"its jobs are done: {', '.join(jobs)}.",
            )


def _moved_tags(case: Case) -> Iterator[Finding]:
    """Yield tags that mean another image than the nodes run which were made from them."""
    replaced = {change.address for change in case.plan.changes if change.operation is Operation.REPLACE}
    alike: dict[tuple[str, str, str], list[str]] = {}
    for cluster in case.layout.clusters:
        evidence = next((one for one in case.observation.evidence.clusters if one.address == cluster.address), None)
        for node in cluster.nodes:
            container = evidence.nodes.get(node.short) if evidence else None
            now = case.observation.images.get(node.image)
            address = cluster.address / "node" / node.short
            if container is None or now is None or container.spec.image != node.image or address in replaced:
                continue
            if now.id and now.id != container.image_id and container.state != "created":
                alike.setdefault((node.image, container.image_id, now.id), []).append(str(address))
    for (image, old, new), addresses in alike.items():
        folded = fold(addresses)
        yield warning(
            "tag moved",
            f"{image!r} means {_short(new)} now; {', '.join(folded)} runs {_short(old)}, and keeps it.",
            f"To replace: sindplan apply --replace {folded[0] if len(addresses) == 1 else Address.parse(addresses[0]).scope}, "
            "or follow_tag = true in the cluster.",
        )


def _short(image: str) -> str:
    return image.removeprefix("sha256:")[:12]
