"""Which workers there are: indexes, which are identities and never shift."""

from collections.abc import Mapping

from attrs import evolve
from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

from sindplan.model import names
from sindplan.model.address import natural
from sindplan.model.declaration import WorkerGroup
from sindplan.model.facts import Member


def taken_over(groups: Mapping[str, WorkerGroup], members: Mapping[str, Member]) -> dict[str, Member]:
    """Give workers of a cluster that another tool made to groups: as `nodes` says, then by `count`, lowest index first.

    Those that are left over stay nobody's.
    """
    named = assign_workers({name: spec for name, spec in groups.items() if spec.nodes is not None}, {})
    room = {name: _count(spec) for name, spec in groups.items() if spec.nodes is None}
    for member in members.values():
        if member.ours and member.group in room:
            room[member.group] -= 1
    done = dict(members)
    for short in sorted(members, key=natural):
        index = names.worker_index(short)
        if members[short].ours or index is None:
            continue
        group = named.get(index) or next((name for name in sorted(room, key=natural) if room[name] > 0), None)
        if group is None:
            continue
        if group in room:
            room[group] -= 1
        done[short] = evolve(members[short], group=group, ours=True)
    return done


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
        count = _count(groups[group])
        own = [i for i, member in present.items() if member.ours and member.group == group and i not in assigned]
        # Busy nodes are kept before idle ones, low indexes before high ones.
        own.sort(key=lambda i: (not present[i].busy, i))
        kept = own[:count]
        free = (index for index in range(len(taken) + count + 1) if index not in taken)
        added = [next(free) for _ in range(count - len(kept))]
        taken |= set(added)
        assigned |= dict.fromkeys([*kept, *added], group)
    return assigned


def _count(group: WorkerGroup) -> int:
    return 1 if group.count is None else group.count
