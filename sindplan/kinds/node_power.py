"""Powering nodes: they are started, frozen or woken, and stopped with time to write down what they know."""

from sindplan.kinds import config
from sindplan.kinds.controllers import has_taken_over, is_running
from sindplan.kinds.draining import drained
from sindplan.kinds.node_boot import bring_up
from sindplan.kinds.node_resource import Node
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.plan.plan import Action
from sindplan.slurm.files import CONFIG
from sindplan.slurm.port import OFF_REASON

_GRACE = 60
"""Seconds that a node has to shut down: MariaDB writes its pages, slurmctld its state."""


def start(run: Run, action: Action) -> None:
    """Bring a node to the power that is wanted, and wait until what must run on it does."""
    (change,) = action.changes
    node = change.after
    assert isinstance(node, Node)
    container = run.id(change.address)
    before = change.before
    is_first = change.address.name == names.CONTROLLER
    if isinstance(before, Node) and before.power == "paused" and is_first and has_taken_over(run, change.address.scope):
        # What it would save when it wakes is older than what its backup has saved since.
        run.engine.kill(container)
    elif isinstance(before, Node) and before.power == "paused":
        run.engine.unpause(container)
        if node.power == "running":
            _thaw(run, change.address, node)
            return
    if node.power == "paused":
        run.engine.pause(container)
        return

    is_new = not isinstance(before, Node) or not before.made
    bring_up(run, change.address, node, is_new=is_new)


def stop(run: Run, action: Action) -> None:
    """Stop a node; daemons have time to write down what they know."""
    (change,) = action.changes
    if change.address in run.lifted:
        # It was to stay on, and this is taken back: what began to run on it is waited for.
        drained(run, change.address.scope, change.address.name, OFF_REASON)
    container = run.id(change.address)
    if change.address.name == names.CONTROLLER and is_running(run, container):
        # What was not read yet is read at the next start. Who owes a restart may be on a node that stays on.
        for mark in config.MARKS.values():
            config.settle(run, container, mark)
    run.engine.stop(container, grace=_GRACE)


def _thaw(run: Run, address: Address, node: Node) -> None:
    container = run.id(address)
    # Nobody could ask a frozen node whether its daemons run, nor tell them to start anew.
    run.slurm.start_units(container, node.units, run.wait)
    owed = [f"{name}.service" for name in config.RESTART_MARKS if f"{name}.service" in node.units]
    if owed and any(run.engine.has_file(container, f"{CONFIG}/{mark}") for mark in config.RESTART_MARKS.values()):
        run.slurm.start_units(container, owed, run.wait, restart=True)
    if "slurmctld.service" not in node.units:
        return
    # Its files may have been written while it was frozen.
    run.slurm.reconfigure(container)
    config.settle(run, container)


PERFORM = {
    "node.start": start,
    "node.power-on": start,
    "node.stop": stop,
    "node.stop-server": stop,
}
