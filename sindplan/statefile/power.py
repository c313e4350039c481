"""Which nodes may be off while their cluster runs: those that Slurm can do without."""

from collections.abc import Callable, Iterator

from sindplan.model import names
from sindplan.statefile.context import Context
from sindplan.statefile.fault import Fault
from sindplan.statefile.node_set import node_names
from sindplan.statefile.wording import quoted


def _named(context: Context) -> frozenset[str]:
    """Return the nodes that are off by name; none when they cannot be read, which another rule says."""
    try:
        return node_names(context.cluster.powered_off) if context.cluster.powered_off else frozenset()
    except ValueError:
        return frozenset()


def _nodes_are_there(context: Context) -> Iterator[Fault]:
    cluster = context.cluster
    there = {
        names.BACKUP: cluster.controller.backup,
        names.DB: cluster.db is not None,
        names.API: cluster.api is not None,
        names.SUBMITTER: cluster.submitter is not None,
    }
    keys = {names.BACKUP: "controller"}
    for short in sorted(_named(context)):
        if not there.get(short, True) and not context.lacks(keys.get(short, short)):
            what = f"The cluster has no node {quoted(short)}."
            yield context.fault(("powered_off",), what, "Take it out of the node set.")


def _slurm_goes_on(context: Context) -> Iterator[Fault]:
    off = _named(context)
    if context.cluster.power == "off" or not context.is_managed:
        return
    advice = 'Take it out, or power the whole cluster off: power = "off".'
    if names.CONTROLLER in off:
        what = "Without the controller there is no Slurm: its files, keys and records are written through it."
        yield context.fault(("powered_off",), what, advice)
    if names.DB in off and context.has_managed_db:
        what = "slurmctld needs the db node to be started or reconfigured."
        yield context.fault(("powered_off",), what, advice)


RULES: tuple[Callable[[Context], Iterator[Fault]], ...] = (_nodes_are_there, _slurm_goes_on)
