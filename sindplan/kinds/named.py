"""Lists of a mesh by DNS name, sorted out by cluster: those of clusters that are not looked at are left to them."""

from collections.abc import Iterator, Mapping

from sindplan.kinds.evidence import Evidence
from sindplan.model import names
from sindplan.model.address import Address


def by_node(evidence: Evidence, realm: str, listed: Mapping[str, str]) -> Iterator[tuple[Address, str, str, str]]:
    """Yield cluster, node's short name, DNS name and value of what a realm's list says of the clusters looked at."""
    for cluster in evidence.clusters:
        if cluster.realm != realm:
            continue
        suffix = f".{names.search_domain(cluster.realm, cluster.name)}"
        for name, value in listed.items():
            short = name.removesuffix(suffix)
            if name.endswith(suffix) and "." not in short:
                yield cluster.address, short, name, value
