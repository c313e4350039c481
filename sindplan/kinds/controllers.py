"""Which of a pair of controllers to talk to, and how control goes back to the first.

Clients try the controllers in order, so one whose slurmctld runs can answer for both. Without a backup there is nothing to
choose and nothing is asked.
"""

import struct
import time
from collections.abc import Callable

from sindplan.errors import EngineError
from sindplan.kinds import labels
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.slurm.files import STATE
from sindplan.slurm.port import SlurmView

_UNIT = "slurmctld.service"
HEARTBEAT = f"{STATE}/heartbeat"
"""Where the controller in control says so every few seconds."""

_HEARTBEAT = struct.Struct(">QQ")
_FRESH = 60
"""Seconds after which a heartbeat says nothing (sind v0.11)."""


def in_control(heartbeat: bytes, now: float) -> str:
    """Return the short name of the controller that a heartbeat file names: two numbers, its time and a place in the pair.

    Args:
        now: Seconds since 1970.
    """
    if len(heartbeat) != _HEARTBEAT.size:
        return ""
    written, place = _HEARTBEAT.unpack(heartbeat)
    pair = (names.CONTROLLER, names.BACKUP)
    return pair[place] if place < len(pair) and abs(now - written) <= _FRESH else ""


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


def asked(run: Run, cluster: Address) -> tuple[str | None, SlurmView | None]:
    """Return a controller that answers and what it says: of a pair, one may wait for a restart that a killed apply owes it."""
    for short in (names.CONTROLLER, names.BACKUP):
        node = run.known.ids.get(cluster / "node" / short)
        if node is not None and _controls(run, node) and (view := run.slurm.view(node)) is not None:
            return node, view
    return None, None


def is_running(run: Run, node: str) -> bool:
    """Say whether a container runs."""
    container = run.engine.inspect_container(node)
    return container is not None and container.state == "running"


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
    try:
        run.slurm.stop_units(backup, [_UNIT])
        start()
    finally:
        run.slurm.start_units(backup, [_UNIT], run.wait)


def has_taken_over(run: Run, cluster: Address) -> bool:
    """Say whether the backup of a pair is in control."""
    if not backup_controls(run, cluster):
        return False
    backup = run.id(cluster / "node" / names.BACKUP)
    if not run.engine.has_file(backup, HEARTBEAT):
        return False
    entry = run.engine.get_files(backup, HEARTBEAT)[HEARTBEAT]
    return in_control(entry.content, time.time()) == names.BACKUP


def _controls(run: Run, node: str) -> bool:
    try:
        container = run.engine.inspect_container(node)
        running = container is not None and container.state == "running" and labels.is_managed(container.labels)
        return running and run.slurm.services(node, [_UNIT])[_UNIT]
    except EngineError:
        # It ended in between, or hangs: nothing to talk to.
        return False
