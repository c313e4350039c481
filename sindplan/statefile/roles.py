"""What is managed and what follows: without Slurm there is nothing of Slurm's to be said, and who knows the users."""

from collections.abc import Callable, Iterator, Mapping

from sindplan.model.declaration import Api, Database, Slurm, WorkerGroup
from sindplan.statefile.context import Context
from sindplan.statefile.fault import Fault
from sindplan.statefile.wording import quoted

_OF_SLURM: Mapping[str, str] = {
    "features": "Slurm features",
    "gres": "generic resources",
    "weight": "a scheduling weight",
    "partition": "a partition",
}
"""What of a worker group stands in Slurm's configuration."""


def _managed_is_said_once(context: Context) -> Iterator[Fault]:
    said, of_controller = "managed" in context.said, context.cluster.controller.managed
    if said and of_controller is not None and of_controller != context.cluster.managed:
        what = "The cluster's `managed` says the opposite."
        yield context.fault(("controller", "managed"), what, "Say it in one place: the two mean the same.")


def _unmanaged_clusters_have_unmanaged_nodes(context: Context) -> Iterator[Fault]:
    if context.is_managed:
        return
    for path, node in context.nodes():
        if isinstance(node, Database | Api | WorkerGroup) and node.managed:
            what = "The cluster is not managed, so none of its nodes is."
            yield context.fault((*path, "managed"), what, "Remove it, or have the whole cluster managed.")


def _unmanaged_clusters_have_no_files_of_slurm(context: Context) -> Iterator[Fault]:
    if context.is_managed:
        return
    said = {"slurm": context.cluster.slurm != Slurm(), "partitions": bool(context.cluster.partitions)}
    for key in (key for key, is_said in said.items() if is_said):
        what = "The cluster is not managed: it has no files of Slurm's."
        yield context.fault((key,), what, "Remove it, or have the cluster managed.")


def _unmanaged_workers_are_unknown_to_slurm(context: Context) -> Iterator[Fault]:
    for name, group in context.cluster.workers.items():
        if context.is_managed and group.managed is not False:
            continue
        for key, thing in _OF_SLURM.items():
            if getattr(group, key) not in {None, ()}:
                what = f"The group {quoted(name)} is not managed: Slurm does not know its workers."
                yield context.fault(("workers", name, key), what, f"Only managed workers have {thing}.")


def _identity_needs_slurm(context: Context) -> Iterator[Fault]:
    if context.cluster.identity != "local" and not context.is_managed:
        what = f"{quoted(context.cluster.identity)} needs a managed controller, which carries who the users are."
        yield context.fault(("identity",), what, 'Write "local" or remove it.')


def _controller_users_need_client_ids(context: Context) -> Iterator[Fault]:
    cluster = context.cluster
    if cluster.controller_users and cluster.identity != "client_ids" and not context.lacks("identity"):
        what = f"With `identity = {quoted(cluster.identity)}` users are on the controllers anyway."
        yield context.fault(("controller_users",), what, "It goes only with `client_ids`; remove it.")


RULES: tuple[Callable[[Context], Iterator[Fault]], ...] = (
    _managed_is_said_once,
    _unmanaged_clusters_have_unmanaged_nodes,
    _unmanaged_clusters_have_no_files_of_slurm,
    _unmanaged_workers_are_unknown_to_slurm,
    _identity_needs_slurm,
    _controller_users_need_client_ids,
)
