"""Groups for workers that have none: sind knows single workers, in the order of groups that it has forgotten."""

from collections.abc import Mapping

from attrs import evolve
from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

from sindplan.model import names
from sindplan.model.declaration import WorkerGroup
from sindplan.model.workers import assign_workers


def groups_of(workers: Mapping[str, WorkerGroup]) -> dict[str, WorkerGroup]:
    """Return groups of equal workers, in the order of their first ones.

    A group is counted where that gives its workers the indexes that they have, and names them where it does not.

    Args:
        workers: What is said of each worker, by short name.
    """
    alike: dict[WorkerGroup, list[int]] = {}
    for short, said in sorted(workers.items(), key=lambda item: names.worker_index(item[0]) or 0):
        index = names.worker_index(short)
        assert index is not None, "only workers come in"
        alike.setdefault(said, []).append(index)
    labelled = {name: (said, indexes) for name, (said, indexes) in zip(_names(len(alike)), alike.items(), strict=True)}
    groups = {name: evolve(said, count=len(indexes)) for name, (said, indexes) in labelled.items()}
    wrong = True
    while wrong:
        given = assign_workers(groups, {})
        wrong = False
        for name, (said, indexes) in labelled.items():
            if groups[name].nodes is None and sorted(i for i, group in given.items() if group == name) != indexes:
                groups[name] = evolve(said, nodes=_nodes(indexes))
                wrong = True
                break
    return groups


def _names(count: int) -> list[str]:
    # In natural order, which is the order in which counted groups are given indexes.
    return ["default"] if count == 1 else [f"group-{number}" for number in range(1, count + 1)]


def _nodes(indexes: list[int]) -> str:
    return str(NodeSet(",".join(map(names.worker, indexes)), resolver=RESOLVER_NOGROUP))
