"""Which of a pair of controllers to talk to, and how control goes back to the first.

Clients try the controllers in order, so one whose slurmctld runs can answer for both. Without a backup there is nothing to
choose and nothing is asked.
"""

from collections.abc import Callable

from sindplan.errors import EngineError
from sindplan.kinds import labels
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address

_UNIT = "slurmctld.service"


def writer(run: Run, cluster: Address) -> str:
    """Return the container through which the config volume is written: a controller whose slurmctld runs, or the first."""
    return answering(run, cluster) or run.id(cluster / "node" / names.CONTROLLER)


def answering(run: Run, cluster: Address) -> str | None:
    """Return a controller to ask; None when there is none, or none that sindplan manages runs slurmctld."""
    first = run.known.ids.get(cluster / "node" / names.CONTROLLER)
    backup = run.known.ids.get(cluster / "node" / names.BACKUP)
    if backup is None:
        container = run.engine.inspect_container(first) if first is not None else None
        return first if container is not None and labels.is_managed(container.labels) else None
    return next((node for node in (first, backup) if node is not None and _controls(run, node)), None)


def backup_controls(run: Run, cluster: Address) -> bool:
    """Say whether a backup's slurmctld runs."""
    backup = run.known.ids.get(cluster / "node" / names.BACKUP)
    return backup is not None and _controls(run, backup)


def with_failback(run: Run, cluster: Address, start: Callable[[], None]) -> None:
    """Start slurmctld of the first controller; a backup that has taken over is made to step back for it.

    Asked for control, a backup takes half a minute to give it up, in which nobody serves. Stopped first and started again
    afterwards it takes a second (measured, Slurm 26.05).
    """
    if not backup_controls(run, cluster):
        start()
        return
    backup = run.id(cluster / "node" / names.BACKUP)
    run.slurm.stop_units(backup, [_UNIT])
    try:
        start()
    finally:
        run.slurm.start_units(backup, [_UNIT], run.wait)


def _controls(run: Run, node: str) -> bool:
    try:
        container = run.engine.inspect_container(node)
        running = container is not None and container.state == "running" and labels.is_managed(container.labels)
        return running and run.slurm.services(node, [_UNIT])[_UNIT]
    except EngineError:
        # It ended in between, or hangs: nothing to talk to.
        return False
