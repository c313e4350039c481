"""What must hold within one cluster, over several of its keys: a table of small rules."""

import ipaddress
from collections.abc import Callable, Iterator, Mapping

from attrs import frozen

from sindplan.model.declaration import Cluster, NodeOptions, WorkerGroup
from sindplan.model.names import ACCOUNTING_CLUSTER_NAME_MAX, worker
from sindplan.statefile.bounds import LARGEST_WORKER
from sindplan.statefile.fault import Fault
from sindplan.statefile.node_set import worker_indexes
from sindplan.statefile.wording import KeyPath, listed, quoted

FIRST_WORKER_ADDRESS = 20
"""Worker N has the network's address plus this plus N; the fixed nodes stand below."""


@frozen
class Context:
    """One cluster and where it stands.

    Attributes:
        name: Its name.
        cluster: What is said of it, without what did not fit the grammar.
        path: Its key path.
        dropped: The keys that did not fit, which nothing can be concluded from.
    """

    name: str
    cluster: Cluster
    path: KeyPath
    dropped: frozenset[KeyPath]

    def has_dropped(self, key: str) -> bool:
        """Say whether a key of this name was left out anywhere in the cluster."""
        return any(path[-1] == key for path in self.dropped)


def faults_of_cluster(context: Context) -> Iterator[Fault]:
    """Yield what is wrong with a cluster as a whole."""
    for rule in _RULES:
        yield from rule(context)


def _name_fits_accounting(context: Context) -> Iterator[Fault]:
    if context.cluster.db is not None and len(context.name) > ACCOUNTING_CLUSTER_NAME_MAX:
        limit = f"With a db node a cluster's name is at most {ACCOUNTING_CLUSTER_NAME_MAX} characters."
        yield Fault(context.path, f"The name has {len(context.name)} characters.", limit)


def _every_node_has_an_image(context: Context) -> Iterator[Fault]:
    cluster = context.cluster
    if cluster.image or cluster.defaults.image or context.has_dropped("image"):
        return
    bare = [key for key, node in _nodes(cluster).items() if not node.image]
    if bare:
        what = f"No image is said for {listed(bare)}."
        yield Fault(context.path, what, 'Write `image = "…"` at the cluster.')


def _nodes(cluster: Cluster) -> Mapping[str, NodeOptions]:
    single = {
        "controller": cluster.controller,
        "submitter": cluster.submitter,
        "db": cluster.db,
        "api": cluster.api,
    }
    groups = {f"workers.{name}": group for name, group in cluster.workers.items() if group.count != 0}
    return {key: node for key, node in single.items() if node is not None} | groups


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


def _mount_path_is_free(context: Context) -> Iterator[Fault]:
    path = context.cluster.storage.mount_path
    for reserved, holds, applies in _RESERVED_MOUNTS:
        if path == reserved and applies(context.cluster):
            what = f"{quoted(path)} is taken: {holds}."
            yield Fault((*context.path, "storage", "mount_path"), what, "Choose another path, such as /data.")


def _always(_: Cluster) -> bool:
    return True


_RESERVED_MOUNTS: tuple[tuple[str, str, Callable[[Cluster], bool]], ...] = (
    ("/etc/slurm", "Slurm's configuration is there", _always),
    ("/etc/munge", "the munge key is there", lambda cluster: cluster.identity != "client_ids"),
    ("/tmp", "every node has its own", _always),  # noqa: S108, a mount in a container
    ("/run", "systemd needs it", _always),
    ("/run/lock", "systemd needs it", _always),
    ("/var/spool/slurmctld", "the controller's state is there", _always),
    ("/var/lib/mysql", "the database is there", lambda cluster: cluster.db is not None),
    ("/home", "the users' folders are there", lambda cluster: bool(cluster.users)),
    ("/cvmfs", "CVMFS is there", lambda cluster: cluster.storage.cvmfs),
)
"""Where nodes mount something else, what, and when."""


def _partitions_name_groups(context: Context) -> Iterator[Fault]:
    for name, partition in context.cluster.partitions.items():
        path = (*context.path, "partitions", name, "workers")
        for group in partition.workers:
            is_dropped = (*context.path, "workers", group) in context.dropped
            if group not in context.cluster.workers and not is_dropped and not context.has_dropped("workers"):
                known = listed(map(quoted, context.cluster.workers)) or "none"
                yield Fault(path, f"There is no worker group {quoted(group)}.", f"The groups are {known}.")
        if len(set(partition.workers)) < len(partition.workers):
            yield Fault(path, "A worker group is named twice.", "Name each group once.")


def _one_default_partition(context: Context) -> Iterator[Fault]:
    first, *more = [name for name, partition in context.cluster.partitions.items() if partition.default] or [""]
    for name in more:
        what = f"{quoted(first)} is the default partition already."
        yield Fault((*context.path, "partitions", name, "default"), what, "A cluster has one default partition.")


_RULES: tuple[Callable[[Context], Iterator[Fault]], ...] = (
    _name_fits_accounting,
    _every_node_has_an_image,
    _count_or_nodes,
    _no_worker_in_two_groups,
    _workers_are_a_sane_number,
    _subnet_has_room,
    _mount_path_is_free,
    _partitions_name_groups,
    _one_default_partition,
)
