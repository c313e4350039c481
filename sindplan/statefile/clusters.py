"""What must hold within one cluster, over several of its keys: a table of small rules."""

import ipaddress
from collections.abc import Callable, Iterator

from sindplan.model.declaration import WorkerGroup
from sindplan.model.names import ACCOUNTING_CLUSTER_NAME_MAX, worker
from sindplan.statefile import accounts, mounts, partitions, people, power, roles, secrets
from sindplan.statefile.bounds import LARGEST_WORKER
from sindplan.statefile.context import Context
from sindplan.statefile.fault import Fault
from sindplan.statefile.node_set import worker_indexes
from sindplan.statefile.wording import listed, quoted

FIRST_WORKER_ADDRESS = 20
"""Worker N has the network's address plus this plus N; the fixed nodes stand below."""


def faults_of_cluster(context: Context) -> Iterator[Fault]:
    """Yield what is wrong with a cluster as a whole."""
    # Only who reads pays for what Slurm's language is read with.
    from sindplan.statefile import slurm_text

    for rule in (*_RULES, *slurm_text.RULES):
        yield from rule(context)


def _name_fits_accounting(context: Context) -> Iterator[Fault]:
    if context.has_managed_db and len(context.name) > ACCOUNTING_CLUSTER_NAME_MAX:
        limit = f"With a managed db node a cluster's name is at most {ACCOUNTING_CLUSTER_NAME_MAX} characters."
        yield Fault(context.path, f"The name has {len(context.name)} characters.", limit)


def _every_node_has_an_image(context: Context) -> Iterator[Fault]:
    cluster = context.cluster
    if cluster.image or cluster.defaults.image or context.has_dropped("image"):
        return
    bare = [
        ".".join(map(str, path))
        for path, node in context.nodes()
        if node is not cluster.defaults and not node.image and not (isinstance(node, WorkerGroup) and node.count == 0)
    ]
    if bare:
        what = f"No image is said for {listed(bare)}."
        yield Fault(context.path, what, 'Write `image = "…"` at the cluster.')


def _count_or_nodes(context: Context) -> Iterator[Fault]:
    for name, group in context.cluster.workers.items():
        if group.count is not None and group.nodes is not None:
            path = (*context.path, "workers", name, "count")
            yield Fault(path, "`count` and `nodes` exclude each other.", "Remove one of them.")


def _no_worker_in_two_groups(context: Context) -> Iterator[Fault]:
    owners: dict[int, str] = {}
    for name, group in context.cluster.workers.items():
        indexes = _named(group)
        shared = sorted(indexes & owners.keys())
        if shared:
            what = f"{worker(shared[0])} is in group {quoted(owners[shared[0]])} already."
            yield Fault((*context.path, "workers", name, "nodes"), what, "A worker is in one group.")
        owners |= dict.fromkeys(indexes, name)


def _named(group: WorkerGroup) -> frozenset[int]:
    """Return the workers that a group names; none when it cannot be read, which another rule says."""
    try:
        return worker_indexes(group.nodes) if group.nodes is not None else frozenset()
    except ValueError:
        return frozenset()


def _counted(group: WorkerGroup) -> int:
    if group.nodes is not None:
        return 0
    # What is out of bounds was said elsewhere.
    return min(max(group.count, 0), LARGEST_WORKER) if group.count is not None else 1


def _workers_are_a_sane_number(context: Context) -> Iterator[Fault]:
    groups = context.cluster.workers.values()
    total = sum(_counted(group) + len(_named(group)) for group in groups)
    if total > LARGEST_WORKER:
        what = f"The cluster has {total} workers."
        yield Fault((*context.path, "workers"), what, f"A cluster has at most {LARGEST_WORKER}.")


def _subnet_has_room(context: Context) -> Iterator[Fault]:
    try:
        network = ipaddress.IPv4Network(context.cluster.subnet or "")
    except ValueError:
        return
    groups = context.cluster.workers.values()
    named = frozenset[int]().union(*map(_named, groups))
    highest = highest_worker(named, sum(map(_counted, groups)))
    # The upper half is Docker's own, for the relay and for nodes that sind adds.
    room = network.num_addresses // 2 - FIRST_WORKER_ADDRESS
    if highest >= room > 0:
        what = f"There is no address for {worker(highest)}: {quoted(str(network))} has room for {room} workers."
        yield Fault((*context.path, "subnet"), what, "Write a larger network, with a smaller number after the slash.")


def highest_worker(named: frozenset[int], counted: int) -> int:
    """Return the highest index when `counted` workers take the lowest indexes that are not named; -1 for no worker."""
    highest = counted - 1
    for index in sorted(named):
        if counted and index <= highest:
            highest += 1
    return max(highest, *named) if named else highest


_RULES: tuple[Callable[[Context], Iterator[Fault]], ...] = (
    _name_fits_accounting,
    _every_node_has_an_image,
    _count_or_nodes,
    _no_worker_in_two_groups,
    _workers_are_a_sane_number,
    _subnet_has_room,
    *mounts.RULES,
    *roles.RULES,
    *power.RULES,
    *secrets.RULES,
    *people.RULES,
    *accounts.RULES,
    *partitions.RULES,
)
