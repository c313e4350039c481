"""Restarting what reads its configuration only at its start: noted before the files are written, done in order, crossed out last."""

from sindplan.engine.records import Entry
from sindplan.kinds import config, labels
from sindplan.kinds.controllers import answering, with_failback, writer
from sindplan.kinds.run import Perform, Run
from sindplan.kinds.service_resource import OWED, STALE, Service
from sindplan.model import names
from sindplan.plan.plan import Action, Change
from sindplan.slurm.files import CONFIG

_SLURMD = "slurmd.service"


def restart(run: Run, action: Action) -> None:
    """Restart a daemon that reads only at its start what has changed; of two controllers the first before its backup."""
    (change,) = action.changes
    service = change.after
    assert isinstance(service, Service)
    node = run.id(service.node)

    def again() -> None:
        run.slurm.start_units(node, [service.unit], run.wait, restart=True)

    if (service.node.name, service.unit) == (names.CONTROLLER, "slurmctld.service"):
        with_failback(run, change.address.scope, again)
    else:
        again()


def owe(run: Run, action: Action) -> None:
    """Leave marks that say which daemons have to be restarted, before their files are written."""
    marks = [Entry(path=f"{CONFIG}/{config.RESTART_MARKS[name]}") for name in sorted({*map(_daemon, action.changes)})]
    run.engine.put_files(writer(run, action.scope), marks)


def _daemon(change: Change) -> str:
    service = change.after
    assert isinstance(service, Service)
    return service.unit.removesuffix(".service")


def settle(run: Run, action: Action) -> None:
    """Wait until slurmctld answers, and take the marks away that say who has to be restarted."""
    volume = writer(run, action.scope)
    owed: set[str] = set()
    done: set[str] = set()
    for change in action.changes:
        service = change.after
        assert isinstance(service, Service)
        name = service.unit.removesuffix(".service")
        (owed if service.read_at_start == OWED else done).add(config.RESTART_MARKS[name])
        if name == "slurmctld":
            # It has read everything with that.
            (owed if service.config == STALE else done).add(config.PENDING)
    controller = answering(run, action.scope)
    if controller is not None and not run.taking_back:
        run.slurm.join(controller, {}, run.wait)
    if controller is not None and any(_daemon(change) == "slurmd" for change in action.changes):
        _restart_guests(run, action, controller)
    if owed:
        run.engine.put_files(volume, [Entry(path=f"{CONFIG}/{mark}") for mark in sorted(owed)])
    left = [path for mark in sorted(done - owed) if run.engine.has_file(volume, path := f"{CONFIG}/{mark}")]
    if left:
        run.slurm.remove_files(volume, left)


def _restart_guests(run: Run, action: Action, controller: str) -> None:
    """Restart slurmd of workers that are no part of any plan, as those that sind added: they read the same files."""
    planned = {change.address.parts[3] for change in action.changes}
    view = run.slurm.view(controller)
    # One that leaves is out of the configuration by now, and its slurmd would not start.
    known = view.nodes if view is not None else {}
    for address, node in sorted(run.known.ids.items()):
        is_worker = names.worker_index(address.name) is not None and address == action.scope / "node" / address.name
        if is_worker and address.name in known.keys() - planned and _serves(run, node):
            run.slurm.start_units(node, [_SLURMD], run.wait, restart=True)


def _serves(run: Run, node: str) -> bool:
    container = run.engine.inspect_container(node)
    is_up = container is not None and container.state == "running" and labels.is_managed(container.labels)
    return is_up and run.slurm.services(node, [_SLURMD])[_SLURMD]


PERFORM: dict[str, Perform] = {"service.owe": owe, "service.restart": restart, "service.settle": settle}
