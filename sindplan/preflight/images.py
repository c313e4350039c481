"""Checks of what the images of nodes have, against what the declaration asks of the nodes."""

from collections import Counter
from collections.abc import Callable, Iterator

from attrs import frozen

from sindplan.kinds import roles
from sindplan.model.layout import ClusterLayout, Layout, NodeLayout
from sindplan.preflight.finding import Finding, warning

PROGRAMS = {"mariadb": "mariadbd"}
"""Daemons whose program is not called as the unit is."""


def check_images(layout: Layout) -> Iterator[Finding]:
    """Yield what is missing in images that are known; what is not known yet is looked at before an apply."""
    for cluster in layout.clusters:
        for check in _CHECKS:
            yield from check(cluster)


def _one_slurm(cluster: ClusterLayout) -> Iterator[Finding]:
    versions = Counter(node.facts.slurm_version for node in cluster.nodes if node.facts.probed and node.managed)
    if len(versions) > 1:
        yield Finding(
            "Slurm versions",
            f"The images of {cluster.address} have different Slurm versions: {', '.join(sorted(versions))}.",
            "Give all of its nodes one image.",
        )


def _one_set_of_ids(cluster: ClusterLayout) -> Iterator[Finding]:
    owners = ("slurm", "munge")
    ids = {
        tuple(node.facts.owner(user) for user in owners) for node in cluster.nodes if node.facts.probed and node.managed
    }
    if len(ids) > 1:
        yield Finding(
            "user ids",
            f"The images of {cluster.address} give slurm or munge different user ids; they share volumes.",
            "Give all of its nodes images with the same ids.",
        )


@frozen
class _Need:
    """Something that nodes need of their image: who does, what it is, and how else it may be had."""

    applies: Callable[[ClusterLayout, NodeLayout], bool]
    has: Callable[[NodeLayout], bool]
    what: str
    fix: str


def _by_slurm_key(cluster: ClusterLayout, node: NodeLayout) -> bool:
    return node.managed and cluster.declared.identity == "client_ids"


_NEEDS: tuple[_Need, ...] = (
    _Need(
        _by_slurm_key,
        lambda node: "auth_slurm" in node.facts.plugins,
        "Slurm's plugin auth/slurm, which identity client_ids needs",
        "Use an image with Slurm 24.05 or newer, built with libjwt; or another identity.",
    ),
    _Need(
        lambda _, node: node.role == "api" and node.managed,
        lambda node: "auth_jwt" in node.facts.plugins,
        "Slurm's plugin auth/jwt, which the REST API's tokens need",
        "Use an image whose Slurm was built with libjwt.",
    ),
    _Need(
        lambda cluster, node: cluster.declared.identity == "nss_slurm" and node.managed and node.role == "worker",
        lambda node: node.facts.nss_slurm,
        "libnss_slurm, which identity nss_slurm needs (Debian does not package it)",
        'Use an image that has it, or identity = "client_ids", which works with numeric ids, or "local".',
    ),
)


def _has_what_it_needs(cluster: ClusterLayout) -> Iterator[Finding]:
    told: set[tuple[str, str]] = set()
    for node in cluster.nodes:
        if not node.facts.probed:
            continue
        lacking = [(need.what, need.fix) for need in _NEEDS if need.applies(cluster, node) and not need.has(node)]
        # A label or probe of an earlier sindplan says nothing of daemons.
        if node.facts.daemons:
            identity = cluster.declared.identity
            lacking += [
                (f"the daemon {program}, which the role {node.role} needs", "Use an image that has it.")
                for daemon in roles.daemons(node.role, managed=node.managed, identity=identity)
                if (program := PROGRAMS.get(daemon, daemon)) not in node.facts.daemons
            ]
        for what, fix in lacking:
            if (node.image, what) not in told:
                told.add((node.image, what))
                yield Finding("image", f"{cluster.address}/node/{node.short}: {node.image!r} lacks {what}.", fix)


def _names_in_jobs(cluster: ClusterLayout) -> Iterator[Finding]:
    workers = [worker for worker in cluster.slurm_workers if worker.facts.probed and not worker.facts.nss_slurm]
    if cluster.declared.identity == "client_ids" and workers:
        yield warning(
            "identity",
            f"The image of {cluster.address}'s workers lacks libnss_slurm: jobs run with the right ids, but see numbers "
            "where names would be.",
        )


def _people(cluster: ClusterLayout) -> Iterator[Finding]:
    """Users and groups against those of the image, and ids that were assigned before against those said now."""
    told: set[str] = set()
    for node in cluster.nodes:
        for kind, declared, own in (
            ("user", cluster.declared.users, node.facts.people.users),
            ("group", cluster.declared.groups, node.facts.people.groups),
        ):
            for name in sorted(declared.keys() & own.keys()):
                text = f"The {kind} {name!r} of {cluster.address} is one of the image {node.image!r} already."
                if text not in told:
                    told.add(text)
                    yield Finding("users", text, "Choose another name.")
            owners = {number: name for name, number in own.items()}
            for name, number in _ids(cluster, kind):
                if number in owners and name not in own:
                    text = f"The {kind} {name!r} of {cluster.address} has the id {number}, which {owners[number]!r} has in the image."
                    if text not in told:
                        told.add(text)
                        yield Finding("users", text, f"Say another {'uid' if kind == 'user' else 'gid'}.")
    yield from _changed_ids(cluster)
    yield from _twice(cluster, "user id", [(user.uid, user.name) for user in cluster.people.users])
    yield from _twice(cluster, "group id", [(group.gid, group.name) for group in cluster.people.groups])


def _changed_ids(cluster: ClusterLayout) -> Iterator[Finding]:
    """Yield ids that would change: files are owned by them, and no tool changes one."""
    for kind, given in (("user", cluster.ids.users), ("group", cluster.ids.groups)):
        for name, number in _ids(cluster, kind):
            if given.get(name, number) != number:
                yield Finding(
                    "users",
                    f"The {kind} {name!r} of {cluster.address} has the id {given[name]} and would get {number}: what is theirs "
                    "would be nobody's.",
                    f"Say {given[name]}, or choose another name.",
                )


def _ids(cluster: ClusterLayout, kind: str) -> list[tuple[str, int]]:
    if kind == "user":
        return [(user.name, user.uid) for user in cluster.people.users]
    return [(group.name, group.gid) for group in cluster.people.groups]


def _twice(cluster: ClusterLayout, what: str, ids: list[tuple[int, str]]) -> Iterator[Finding]:
    owners: dict[int, str] = {}
    for number, name in ids:
        other = owners.setdefault(number, name)
        if other != name:
            yield Finding(
                "users",
                f"In {cluster.address} {other!r} and {name!r} would have the {what} {number}; ids that were given to "
                "somebody stay theirs.",
                f"Say another {'uid' if what == 'user id' else 'gid'}.",
            )


_CHECKS: tuple[Callable[[ClusterLayout], Iterator[Finding]], ...] = (
    _one_slurm,
    _one_set_of_ids,
    _has_what_it_needs,
    _names_in_jobs,
    _people,
)
