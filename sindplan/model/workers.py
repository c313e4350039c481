"""Which workers there are: indexes, which are identities and never shift."""

from collections.abc import Mapping

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

from sindplan.model import names
from sindplan.model.address import natural
from sindplan.model.declaration import WorkerGroup
from sindplan.model.facts import Member


def assign_workers(groups: Mapping[str, WorkerGroup], members: Mapping[str, Member]) -> dict[int, str]:
    """Decide which worker indexes exist: index to group.

    A worker keeps its index for life. A group grows by the lowest free indexes and shrinks by its own idle nodes first,
    highest index first. An index that becomes free is not given out again in the same plan.
    """
    assigned = {
        index: group
        for group, spec in groups.items()
        if spec.nodes is not None
        for index in map(names.worker_index, NodeSet(spec.nodes, resolver=RESOLVER_NOGROUP))
        if index is not None
    }
    present = {index: member for short, member in members.items() if (index := names.worker_index(short)) is not None}
    taken = set(assigned) | set(present)
    for group in sorted((name for name, spec in groups.items() if spec.nodes is None), key=natural):
        said = groups[group].count
        count = 1 if said is None else said
        own = [i for i, member in present.items() if member.ours and member.group == group and i not in assigned]
        # Busy nodes are kept before idle ones, low indexes before high ones.
        own.sort(key=lambda i: (not present[i].busy, i))
        kept = own[:count]
        free = (index for index in range(len(taken) + count + 1) if index not in taken)
        added = [next(free) for _ in range(count - len(kept))]
        taken |= set(added)
        assigned |= dict.fromkeys([*kept, *added], group)
    return assigned
