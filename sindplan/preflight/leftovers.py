"""What another tool leaves of a cluster that it deletes: volumes that it does not know, a record, lines without their nodes.

Old data is neither used nor removed unasked: a slurmctld that starts on the state of another cluster takes over its jobs.
"""

from collections.abc import Iterator, Mapping

from sindplan.kinds.known_host import lines_of
from sindplan.model import names
from sindplan.model.address import Address, natural
from sindplan.model.corefile import records_of
from sindplan.observe.inventory import Found
from sindplan.preflight.case import Case
from sindplan.preflight.finding import Finding, warning

_HOLDS: Mapping[str, str] = {
    "state": "its jobs",
    "db": "its accounting",
    "data": "its data",
    "home": "the homes of its users",
}


def check_leftovers(case: Case) -> Iterator[Finding]:
    """Yield what is left of clusters that are gone."""
    clusters = case.inventory.clusters()
    for cluster in case.layout.clusters:
        found = clusters.get(cluster.address)
        # Without a record it is what an apply that was killed has made so far.
        if found is not None and found.records and is_rest(found):
            holds = " and ".join(what for kind, what in _HOLDS.items() if kind in found.volumes)
            yield Finding(
                "leftover",
                f"{cluster.address} was deleted by another tool, which left {left(found)}: a new cluster would go on with "
                f"{holds}.",
                f"Remove what is left: sindplan destroy {cluster.address}",
            )
    yield from _lines(case, clusters)


def is_rest(found: Found) -> bool:
    """Say whether nothing but data is left of a cluster: its containers, network and configuration are gone."""
    return not found.nodes and found.network is None and "config" not in found.volumes and bool(found.volumes)


def left(found: Found) -> str:
    """Say which volumes and networks there are."""
    volumes = [f"the volume {volume.name}" for _, volume in sorted(found.volumes.items())]
    network = [f"the network {found.network.name}"] if found.network is not None else []
    return ", ".join([*volumes, *network]) or "its record"


def remedy(found: Found) -> str:
    """Return the command that removes what is left of another tool's cluster."""
    volumes = " ".join(volume.name for _, volume in sorted(found.volumes.items()))
    network = found.network.name if found.network is not None else ""
    commands = [
        *([f"docker network rm {network}"] if network else []),
        *([f"docker volume rm {volumes}"] if volumes else []),
    ]
    return " && ".join(commands)


def _lines(case: Case, clusters: Mapping[Address, Found]) -> Iterator[Finding]:
    for mesh in case.observation.evidence.meshes:
        known = {*records_of(mesh.corefile or ""), *lines_of(mesh.known_hosts or "")}
        gone = sorted((name for name in known if _is_orphan(name, mesh.realm, clusters)), key=natural)
        if gone:
            yield warning(
                "leftover",
                f"DNS or known hosts of {mesh.realm} still name nodes whose cluster is gone: {', '.join(gone)}.",
                "A new cluster of that name writes over them. Of known hosts they are removed with: "
                f"docker exec {names.relay_container(mesh.realm)} ssh-keygen -R {gone[0]}",
            )


def _is_orphan(name: str, realm: str, clusters: Mapping[Address, Found]) -> bool:
    zone = f".{names.dns_zone(realm)}"
    cluster = name.removesuffix(zone).rpartition(".")[2]
    return name.endswith(zone) and bool(cluster) and Address((realm, cluster)) not in clusters
