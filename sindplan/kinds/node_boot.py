"""Bringing a node up: its container is started, its units are waited for, and its daemons have read their files then."""

from sindplan.kinds import config
from sindplan.kinds.controllers import with_failback
from sindplan.kinds.node_resource import Node
from sindplan.kinds.registering import registering, take_id
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address

_TRIES_EARLY = frozenset(f"{name}.service" for name in ("slurmd", "slurmdbd", "slurmrestd", "sackd"))


def bring_up(run: Run, address: Address, node: Node, *, is_new: bool = False) -> None:
    """Start a node and wait until what must run on it does.

    Args:
        is_new: Whether it was just made.
    """
    container = run.id(address)

    def boot() -> None:
        run.engine.start(container)
        # In a cluster that is off a slurmctld may wait for another, or for a database, that does not run.
        units = [unit for unit in node.units if node.power == "running" or unit != "slurmctld.service"]
        slurms = [unit for unit in units if is_new and node.starts_early and unit in _TRIES_EARLY]
        run.slurm.boot(container, [unit for unit in units if unit not in slurms], run.wait)
        if slurms:
            # They have found no files that speak of them, or a slurmctld that did not know them, and given up.
            run.slurm.start_units(container, slurms, run.wait, restart=True)

    if address.name == names.CONTROLLER:
        with registering(run, address.scope, container):
            with_failback(run, address.scope, boot)
    else:
        boot()
    if address.name == names.DB:
        # Whatever was on its volume.
        take_id(run, address.scope)
    settle(run, address, node)


def settle(run: Run, address: Address, node: Node) -> None:
    """Take away the marks of the daemons that have read their files with this start."""
    for daemon in config.MARKS:
        if f"{daemon}.service" not in node.units:
            continue
        controller = run.known.ids.get(address.scope / "node" / names.CONTROLLER, "")
        through = run.id(address) if daemon == "slurmctld" else controller
        container = run.engine.inspect_container(through)
        if container is not None and container.state == "running":
            config.settle(run, through, config.MARKS[daemon])
