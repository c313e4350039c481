"""A simulated engine that is kept in a file: read when a command begins, and written back when one has changed it."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from sindplan.cli import output
from sindplan.cli.snapshot_file import snapshot_bytes
from sindplan.cli.whole_files import write_whole
from sindplan.errors import SindplanError
from sindplan.observe.surroundings import Surroundings
from sindplan.render.escape import escaped
from sindplan.snapshots.reading import read_snapshot, write_snapshot
from sindplan.snapshots.simulation import Simulation, empty, photograph, simulate
from sindplan.snapshots.snapshot import Snapshot

if TYPE_CHECKING:
    from sindplan.engine.port import Engine
    from sindplan.slurm.port import Slurm

_MODE = 0o600


def open_rehearsal(path: Path) -> "tuple[Engine, Slurm, Surroundings]":
    """Return the simulated engine that a file keeps, the Slurm in its nodes, and what is beside it.

    A file that is not there yet is one of an engine that has nothing; a snapshot of a real engine is gone on from.
    Closing the engine writes back what was changed.

    Raises:
        SindplanError: The file is no snapshot, or has no folder to be in.
    """
    kept = path.resolve()
    data = _bytes(kept)
    if data is None and not kept.parent.is_dir():
        raise SindplanError(f"{path} cannot be kept: {path.parent} is no folder.", "Make the folder first.")
    began = empty(kept) if data is None else read_snapshot(path, data)
    simulation = simulate(began, f"sim:{path}")
    before = _state(simulation)

    def keep() -> None:
        if _state(simulation) == before:
            return
        with _alone(kept.parent):
            if _bytes(kept) != data:
                raise SindplanError(
                    f"Another command has changed {path} meanwhile; what this one did was not kept.", "Do it again."
                )
            write_whole(kept, write_snapshot(photograph(simulation)), _MODE)
        if began.simulated is None:
            output.say(
                escaped(
                    f"{path} was a snapshot of an engine; from now on it is a simulated one that went on from there."
                )
            )

    simulation.engine.closing = keep
    output.say(escaped(f"Simulated: only {path} is changed."))
    beside = Surroundings(now=time.time, machine=began.surroundings.machine, probe=began.surroundings.probe)
    return simulation.engine, simulation.slurm, beside


def _state(simulation: Simulation) -> Snapshot:
    """Return all that a simulation would be written down as, but for the time."""
    return evolve(photograph(simulation), taken="")


def _bytes(path: Path) -> bytes | None:
    """Return what is in the file; None when there is none yet."""
    return snapshot_bytes(path) if os.path.lexists(path) else None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder, so that of two that write back the second sees the first one's work."""
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise SindplanError(f"{folder} cannot be opened: {error.strerror}.") from None
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)
