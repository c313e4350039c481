"""sind-nodes.conf: one line a node, then the partitions. sind edits this file, so its lines keep sind's form."""

from collections.abc import Iterator

from sindplan.model.layout import ClusterLayout, NodeLayout
from sindplan.model.units import MIB
from sindplan.slurm.generated import document
from sindplan.slurm.partitions import partition_lines


def nodes_conf(cluster: ClusterLayout) -> str:
    """Return the file. Lines of guests (workers that sind added) are carried as they are."""
    guests = [member.line for member in cluster.guests.values() if member.line]
    workers = [_node_line(worker, by_name=cluster.by_name) for worker in cluster.slurm_workers]
    lines = [*workers, *guests, *partition_lines(cluster)]
    return document("".join(f"{line}\n" for line in lines))


def node_lines(text: str) -> dict[str, str]:
    """Return the node lines of a sind-nodes.conf by node name, as sind and sindplan write them."""
    lines = [line for line in text.splitlines() if line.startswith("NodeName=")]
    return {line.split()[0].removeprefix("NodeName="): line for line in lines}


def _node_line(worker: NodeLayout, *, by_name: bool) -> str:
    return " ".join(
        [
            f"NodeName={worker.short}",
            *([] if by_name else [f"NodeAddr={worker.address}"]),
            f"CPUs={worker.cpus} RealMemory={mib(worker)}",
            *_attributes(worker),
            "State=UNKNOWN",
        ]
    )


def _attributes(worker: NodeLayout) -> Iterator[str]:
    """Yield what the group says of its nodes, in the words of slurm.conf(5)."""
    group = worker.worker
    if group is None:
        return
    if group.features:
        yield f"Features={','.join(group.features)}"
    if group.gres:
        yield f"Gres={group.gres}"
    if group.weight is not None:
        yield f"Weight={group.weight}"


def mib(node: NodeLayout) -> int:
    """Return a node's memory in MiB."""
    return node.memory // MIB
