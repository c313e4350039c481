"""`sindplan convert`."""

import os
import secrets
import stat
import sys
from pathlib import Path

import click

from sindplan.cli import output
from sindplan.cli.init import DEFAULT_IMAGE
from sindplan.cli.new_file import OWNER_ONLY, write_new
from sindplan.cli.whole_files import why
from sindplan.errors import SindplanError

_STDIN = "-"


@click.command()
@click.argument("source", metavar="CLUSTER.YAML")
@click.option(
    "-o", "--output", "target", type=click.Path(path_type=Path), help="State file to write; stdout unless set."
)
@click.option("--name", help="Name of the declaration; minted unless set.")
def command(source: str, target: Path | None, name: str | None) -> int:
    """Say a cluster file of sind's as a state file; `-` reads it from standard input."""
    from sindplan.convert import convert

    file = Path("<stdin>") if source == _STDIN else Path(source)
    data = _from_stdin() if source == _STDIN else _from_file(file)
    text = convert(data, file, name=name or f"lab-{secrets.token_hex(2)}", image=DEFAULT_IMAGE)
    if target is None:
        output.document(text)
        return 0
    write_new(target, text, OWNER_ONLY, "-o")
    output.say(f"Wrote {target}. Next: sindplan plan -f {target}")
    return 0


def _from_stdin() -> bytes:
    from sindplan.convert.compose import LARGEST_FILE

    if sys.stdin is None:
        raise SindplanError("Standard input is closed.", "Name a file instead of `-`.")
    return sys.stdin.buffer.read(LARGEST_FILE + 1)


def _from_file(file: Path) -> bytes:
    from sindplan.convert.compose import LARGEST_FILE

    try:
        # Asked before opening, which alone may block or do something: pipes, terminals, tapes.
        if not stat.S_ISREG(file.stat().st_mode):
            raise SindplanError(f"{file} is not a regular file.", "`-` reads standard input.")
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            return stream.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise SindplanError(f"{file} cannot be read: {why(error)}.") from None
