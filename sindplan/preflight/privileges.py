"""What gives nodes more than their own: it heads the plan, and new ones need a yes."""

from collections.abc import Collection, Iterator

from sindplan.model.address import Address
from sindplan.model.layout import ClusterLayout, NodeLayout


def privileges(clusters: Collection[ClusterLayout], new: Collection[Address]) -> tuple[str, ...]:
    """Return what new nodes are given, one sentence each.

    Args:
        new: Addresses of the nodes that a plan makes.
    """
    return tuple(sentence for cluster in clusters for sentence in _of_cluster(cluster, new))


def _of_cluster(cluster: ClusterLayout, new: Collection[Address]) -> Iterator[str]:
    made = [node for node in cluster.nodes if cluster.address / "node" / node.short in new]
    if made and cluster.declared.storage.host_path is not None:
        yield f"{cluster.address}: every node reads and writes the host's {cluster.declared.storage.host_path}"
    if made and cluster.cvmfs == "hostPath":
        yield f"{cluster.address}: every node reads the host's /cvmfs"
    # Nodes of a group are alike: they are named together.
    given: dict[str, list[str]] = {}
    for node in made:
        for sentence in _of_node(node):
            given.setdefault(sentence, []).append(node.short)
    for sentence, shorts in given.items():
        yield f"{cluster.address}: {', '.join(shorts)}: {sentence}"


def _of_node(node: NodeLayout) -> Iterator[str]:
    for what, values in (
        ("added capability", node.cap_add),
        ("device of the host", node.devices),
        ("security option", node.security_opt),
    ):
        for value in values:
            # A seccomp profile is a page of JSON.
            yield f"{what} {value.partition('{')[0]}{'{…}' if '{' in value else ''}"
