"""Joining Slurm: waiting until slurmctld can use the workers that came up, and putting back into service those that were off."""

from sindplan.kinds import config, labels
from sindplan.kinds.controllers import answering, is_running
from sindplan.kinds.draining import lift
from sindplan.kinds.node_resource import Node
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.plan.plan import Action, Change
from sindplan.slurm.port import OFF_REASON


def join(run: Run, action: Action) -> None:
    """Wait until slurmctld can use the workers that were started, or whose daemons were.

    Those that had been powered off are put back into service. Of what was taken back nothing else is waited for.
    """
    workers = sorted({worker for change in action.changes if (worker := _joins(change)) is not None})
    powered_on = [change.address.name for change in action.changes if _comes_up(change)]
    controller = answering(run, action.scope)
    if controller is None or not is_running(run, controller):
        # Slurm is off; its workers join when it is on.
        return
    db = run.known.ids.get(action.scope / "node" / names.DB)
    if any(_is_made_off(change) for change in action.changes) and db is not None and not is_running(run, db):
        return
    if action.scope in run.going_off and run.slurm.view(controller) is None:
        # Commands that read new files may miss a slurmctld that has not.
        return
    if not run.taking_back:
        _start_again(run, action)
        run.slurm.join(controller, {worker: run.id(action.scope / "node" / worker) for worker in workers}, run.wait)
    elif powered_on:
        run.slurm.join(controller, {}, run.wait)
    lifted = lift(run, controller, [worker for worker in workers if worker in powered_on], OFF_REASON)
    run.lifted |= {action.scope / "node" / worker for worker in lifted}
    if not run.taking_back:
        _settle_restarts(run, action, controller)


def _settle_restarts(run: Run, action: Action, controller: str) -> None:
    """Take away the marks of restarts that booting brought: whoever else had to be restarted for new files has been by now."""
    booted = {
        unit
        for change in action.changes
        if isinstance(change.after, Node) and change.after.power == "running"
        for unit in change.after.units
    }
    for name in config.RESTART_MARKS:
        if f"{name}.service" in booted:
            config.settle(run, controller, config.RESTART_MARKS[name])


def _start_again(run: Run, action: Action) -> None:
    """Start slurmd anew on nodes that run before slurmctld hears of them: an apply may have been killed in between.

    Started then, it is told that nobody knows it, and gives up a little later.
    """
    for change in action.changes:
        *_, short, name = change.address.parts
        if change.address.kind != "service" or name != "slurmd":
            continue
        found = run.engine.inspect_container(run.id(action.scope / "node" / short))
        place = found.endpoint(names.network(*action.scope.parts)) if found is not None else None
        if found is not None and place is not None and not place.fixed:
            run.slurm.start_units(found.id, [f"{name}.service"], run.wait, restart=True)


def _is_made_off(change: Change) -> bool:
    return isinstance(change.after, Node) and change.after.power == "stopped"


def _comes_up(change: Change) -> bool:
    before, after = change.before, change.after
    return isinstance(before, Node) and isinstance(after, Node) and before.power != after.power == "running"


def _joins(change: Change) -> str | None:
    """Return the worker of Slurm's that a change is about."""
    after = change.after
    if isinstance(after, Node):
        if after.power != "running":
            return None
        is_slurms = names.worker_index(change.address.name) is not None and labels.is_managed(after.labels)
        return change.address.name if is_slurms else None
    *_, short, name = change.address.parts
    # Of a worker's daemons only slurmd, and Slurm's record of it.
    found = short if name == "slurmd" else name
    return found if names.worker_index(found) is not None else None


PERFORM = {"node.join": join}
