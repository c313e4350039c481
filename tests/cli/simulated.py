"""The command line as a program on a simulated engine: `python -m tests.cli.simulated [--applied FILE] ARGUMENT...`.

The engine is put in at the seam that all commands reach it by: it is a fake behind the port.
"""

import sys
import threading
from pathlib import Path
from typing import Any

from sindplan.cli import main, options
from sindplan.statefile import read
from tests.world import World, new_world


def put_in(world: World, engine: Any = None) -> None:
    """Let all commands of this process reach a world's engine, or another one in front of it."""
    options.connected = lambda: (engine or world.engine, world.slurm)


class HangingEngine:
    """Says so on stderr and hangs for good when a container is created."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._world.engine, verb)

    def create_container(self, _: object) -> str:
        """Hang."""
        sys.stderr.write("hanging\n")
        sys.stderr.flush()
        threading.Event().wait()
        raise AssertionError


if __name__ == "__main__":
    arguments = sys.argv[1:]
    the_world = new_world(seed=1)
    if arguments[0] == "--applied":
        the_world.apply(read([Path(arguments[1])]))
        arguments = arguments[2:]
    if arguments[0] == "--hanging":
        put_in(the_world, HangingEngine(the_world))
        arguments = arguments[1:]
    else:
        put_in(the_world)
    main.main(arguments)
