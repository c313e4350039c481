"""Names of nodes in node-set notation, such as `worker-[0-3]`, as Slurm and its users write it."""

from collections.abc import Iterable

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetParseError


def folded(names: Iterable[str]) -> str:
    """Return names as a node set."""
    return str(NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP))


def expanded(text: str) -> list[str]:
    """Return the names in a node set; none where the text is no node set."""
    try:
        return list(NodeSet(text.strip(), resolver=RESOLVER_NOGROUP))
    except NodeSetParseError:
        return []
