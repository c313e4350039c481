"""Lists of a mesh by DNS name, sorted out by cluster: those of clusters that are not looked at are left to them."""

from collections.abc import Iterator, Mapping

from sindplan.kinds.evidence import Evidence
from sindplan.model import names
from sindplan.model.address import Address


def by_node(evidence: Evidence, realm: str, listed: Mapping[str, str]) -> Iterator[tuple[Address, str, str, str]]:
    """Yield cluster, node's short name, DNS name and value of what a realm's list says of the clusters looked at."""
    # Also of those that are not there: what was left of them would be in the way of what is made.
    for cluster in sorted({*evidence.asked, *(found.address for found in evidence.clusters)}):
        if cluster.realm != realm:
            continue
        suffix = f".{names.search_domain(cluster.realm, cluster.cluster)}"
        for name, value in listed.items():
            short = name.removesuffix(suffix)
            if name.endswith(suffix) and "." not in short:
                yield cluster, short, name, value
