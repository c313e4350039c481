"""`sindplan fmt`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from sindplan.cli import options, output
from sindplan.errors import DeclarationInvalid, Problem, SindplanError
from sindplan.render.escape import one_line

_STDIN = Path("-")
_SAID_STDIN = Path("<stdin>")


@click.command()
@click.argument("paths", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 when a file would be changed.")
def command(paths: tuple[Path, ...], check: bool) -> int:
    """Bring state files into one order and spacing; comments are kept.

    FILE is a state file, or a folder of them; sindplan.toml unless named. `-` formats standard input to standard output. The
    names of files that are changed are printed.
    """
    from sindplan.cli.rewrite import rewrite
    from sindplan.statefile.formatted import formatted

    if _STDIN in paths:
        if len(paths) > 1:
            raise click.UsageError("`-` stands for standard input, and for nothing beside it.")
        found = [_from_stdin()]
    else:
        found = _from_files(paths or (options.DEFAULT_FILE,))
    # All is formatted before anything is written: of files with a mistake among them none is touched.
    differing = [
        (file, before, after)
        for file, before, text in found
        if (after := formatted(text).encode()) != before or (file == _SAID_STDIN and not check)
    ]
    for file, before, after in differing:
        if file == _SAID_STDIN and not check:
            output.document(after.decode())
            continue
        if not check:
            rewrite(file, before, after)
        output.data(one_line(str(file)))
    return 1 if check and differing else 0


def _from_files(paths: Sequence[Path]) -> list[tuple[Path, bytes, str]]:
    """Return the files with what is in them. Raises DeclarationInvalid with all that are no TOML."""
    from sindplan.statefile.files import find_files, load_text

    named, problems = find_files(paths)
    # A file and links to it are one.
    files = {file.resolve(): file for file in named}.values()
    texts = {file: load_text(file) for file in files}
    if wrong := [*problems, *(text for text in texts.values() if isinstance(text, Problem))]:
        raise DeclarationInvalid(tuple(sorted(wrong)))
    return [(file, *text) for file, text in texts.items() if not isinstance(text, Problem)]


def _from_stdin() -> tuple[Path, bytes, str]:
    from sindplan.statefile.files import LARGEST_FILE, load_text

    if sys.stdin is None:
        raise SindplanError("Standard input is closed.", "Name a file instead of `-`.")
    text = load_text(_SAID_STDIN, sys.stdin.buffer.read(LARGEST_FILE + 1))
    if isinstance(text, Problem):
        raise DeclarationInvalid((text,))
    return _SAID_STDIN, *text
