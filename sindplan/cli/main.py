"""The console script: commands, and how every error ends.

Exit status: 0 done or nothing to do; 1 failed, refused or (fmt --check) to be formatted; 2 there are changes (with --detailed-exitcode,
or from drift); 64 wrong usage; 130 interrupted.
"""

import importlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from sindplan import __version__
from sindplan.cli import output
from sindplan.cli.completion import VARIABLE
from sindplan.errors import SindplanError

EX_USAGE = 64
"""sysexits.h; click's own 2 would look like "there are changes" to whoever calls."""
INTERRUPTED = 130

_COMMANDS = {
    "init": "init",
    "validate": "validate",
    "fmt": "fmt",
    "plan": "plan",
    "show": "show",
    "graph": "graph",
    "apply": "apply",
    "destroy": "destroy",
    "drift": "drift",
    "doctor": "doctor",
    "import": "import_",
    "convert": "convert",
    "snapshot": "snapshot",
    "unlock": "unlock",
    "schema": "schema",
    "completion": "completion",
}
"""Command to the module in `sindplan.cli` that has it, so that no command loads what only another needs."""


class _Commands(click.Group):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the commands in the order of the help."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Return a command, importing its module."""
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"sindplan.cli.{_COMMANDS[cmd_name]}").command
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="sindplan %(version)s")
@click.option("--no-color", is_flag=True, help="Print without colour (so does NO_COLOR).")
def cli(no_color: bool) -> None:
    """Plan and apply for Slurm clusters in Docker containers."""
    output.use_colour(wanted=not no_color)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    _ready_streams()
    if VARIABLE in os.environ:
        # A completion says nothing to the terminal but what can be completed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    status = run(arguments)
    try:
        sys.stderr.flush()
    except OSError:
        # Nobody reads it any more. Python would find out at its end, and exit with a status of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    sys.exit(status)


def _ready_streams() -> None:
    """See to it that everything can be printed: on a closed stream (`>&-`) and in any encoding."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for the whole process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    try:
        status = cli.main(
            args=list(arguments) if arguments is not None else None, complete_var=VARIABLE, standalone_mode=False
        )
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - no input whatsoever gives a traceback
        return _ended_by(error)
    return status if isinstance(status, int) else 0


def _ended_by(error: BaseException) -> int:
    """Say what ended a command, and return the exit status."""
    match error:
        case click.ClickException():
            shown = io.StringIO()
            error.show(shown)
            output.say(shown.getvalue().rstrip())
            return EX_USAGE if isinstance(error, click.UsageError) else 1
        case click.Abort() | KeyboardInterrupt():
            output.say("Interrupted.")
            return INTERRUPTED
        case SindplanError():
            output.error(error)
        case OSError():
            # Whoever read us is gone (`sindplan plan | head`), or a disk is full; Python must not complain about it at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if not isinstance(error, BrokenPipeError):
                what = repr(error.filename) if error.filename else "The output"
                output.error(SindplanError(f"{what} could not be written: {error.strerror}."))
        case _:
            if os.environ.get("SINDPLAN_DEBUG"):
                raise error
            output.say(f"Error: sindplan has a fault: {type(error).__name__}: {error}")
            output.say("  Please report it, with what SINDPLAN_DEBUG=1 prints.")
    return 1
