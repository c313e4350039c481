"""Options that several commands have, and how they reach the engine."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from sindplan.engine.port import Engine
from sindplan.model.declaration import Declaration
from sindplan.slurm.port import Slurm

DEFAULT_FILE = Path("sindplan.toml")

Command = TypeVar("Command", bound=Callable[..., Any])


def files(command: Command) -> Command:
    """Add `-f FILE`."""
    option = click.option(
        "-f",
        "--file",
        "paths",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="State file, or a folder of them; repeatable. sindplan.toml unless set.",
    )
    return option(command)


def read_declaration(paths: Sequence[Path]) -> Declaration:
    """Read the state files named, or the default one. Raises DeclarationInvalid."""
    from sindplan.statefile import read

    return read(tuple(paths) or (DEFAULT_FILE,))


def connected() -> tuple[Engine, Slurm]:
    """Connect to the engine that DOCKER_HOST or the docker context says. Raises EngineUnreachable."""
    from sindplan.engine.docker_sdk import connect
    from sindplan.slurm.commands import SlurmCommands

    engine = connect()
    return engine, SlurmCommands(engine)
