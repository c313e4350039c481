"""What the commands print: data on stdout, everything else on stderr; colour and folded lines on terminals only.

The only place that prints. Names, labels, files and messages may be anybody's, so nothing leaves here that commands a terminal:
no caller has to think of it.
"""

import json as json_
import os
import re
import shutil
import sys
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any, TextIO

import click

from sindplan.errors import DeclarationInvalid, NodeFailed, SindplanError, SnapshotInvalid
from sindplan.plan.plan import Action
from sindplan.preflight.finding import Finding, Severity
from sindplan.render.escape import escaped, one_line
from sindplan.render.node_sets import fold
from sindplan.render.wrap import wrapped

if TYPE_CHECKING:
    from sindplan.engine.records import EngineInfo

_COLOURS = {"+": "green", "-": "red", "~": "yellow", "-/+": "red"}
_SIGNED = re.compile(r"\s*(-/\+|[-+~])( |$)")
_LOUD = "red"
_ASCII = frozenset({"ascii", "us-ascii", "ansi_x3.4-1968", "646"})
_ASCII_LOCALES = frozenset({"C", "POSIX"})
EVENTS = "sindplan.events"
"""Where click's context keeps the stream of events that stdout belongs to (see cli.events)."""
_wanted = True


def use_colour(*, wanted: bool) -> None:
    """Say whether colour may be used at all."""
    global _wanted  # noqa: PLW0603 - one switch a process, set by the first option that is read
    _wanted = wanted and not os.environ.get("NO_COLOR")


def styled(text: str, colour: str, *, err: bool = False, bold: bool = False) -> str:
    """Return text with a colour, where the stream is a terminal and colour is wanted."""
    stream = sys.stderr if err else sys.stdout
    return click.style(text, fg=colour, bold=bold or None) if _wanted and stream.isatty() else text


def stream() -> object:
    """Return the stream of events that stdout belongs to; None where people read it."""
    context = click.get_current_context(silent=True)
    return context.meta.get(EVENTS) if context is not None else None


def data(text: str) -> None:
    """Print to stdout, or to stderr where stdout belongs to events; coloured by the symbols in front of lines."""
    err = stream() is not None
    read = sys.stderr if err else sys.stdout
    width = shutil.get_terminal_size().columns if read.isatty() else None
    for line in escaped(text).splitlines():
        found = _SIGNED.match(line)
        shown = _for(read, line)
        for piece in wrapped(shown, width) if width else [shown]:
            # As with `say`: nobody need read what events tell.
            with suppress(OSError) if err else nullcontext():
                click.echo(styled(piece, _COLOURS[found[1]], err=err) if found else piece, err=err)


def document(text: str) -> None:
    """Print a document to stdout as it is, in UTF-8 wherever this runs."""
    click.echo(text.encode(), nl=False)


def _for(stream: TextIO, text: str) -> str:
    """Spell out what a stream's reader cannot show. click would write UTF-8 to one that is said to be ASCII."""
    return text.encode("ascii", "backslashreplace").decode() if _is_ascii(stream) else text


def _is_ascii(stream: TextIO) -> bool:
    locale = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "")
    # Python itself takes the locale C for UTF-8 (PEP 540); whoever asked for it gets no more than it has.
    return locale in _ASCII_LOCALES or (stream.encoding or "").lower() in _ASCII


def json(document: Any) -> None:  # noqa: ANN401 - JSON has no narrower type
    """Print a document for programs to stdout: in ASCII, so that it is JSON whatever the terminal speaks."""
    click.echo(json_.dumps(document, indent=2).replace("\x7f", "\\u007f"))


def say(text: str, mark: str = "", colour: str = "") -> None:
    """Print to stderr. Work goes on when nobody reads it any more (`sindplan apply 2>&1 | head`).

    Args:
        mark: What stands in front, in a colour.
    """
    front = styled(mark, colour, err=True, bold=colour == _LOUD) if mark else ""
    with suppress(OSError):
        click.echo(front + _for(sys.stderr, escaped(text)), err=True)


def error(problem: SindplanError) -> None:
    """Print an error: what, why, and how to mend it."""
    if isinstance(problem, DeclarationInvalid | SnapshotInvalid):
        for one in problem.problems:
            say(str(one))
        say("")
    say(problem.summary, "Error: ", _LOUD)
    if isinstance(problem, NodeFailed) and problem.diagnostics:
        for line in escaped(problem.diagnostics).splitlines():
            say(f"  | {line}")
    if problem.fix:
        say(f"  {problem.fix}")


def engine(info: "EngineInfo") -> None:
    """Say which engine it is."""
    say(f"Docker {info.version} at {info.address}")


def findings(found: Iterable[Finding]) -> None:
    """Print findings: first those that block."""
    for finding in sorted(found, key=lambda finding: finding.severity is Severity.WARNS):
        blocks = finding.severity is Severity.BLOCKS
        say(finding.what, *(("Blocked: ", _LOUD) if blocks else ("Warning: ", "yellow")))
        if finding.fix:
            say(f"  {finding.fix}")


def failures(failed: Iterable[tuple[Action, SindplanError]]) -> None:
    """Print why actions failed; what failed alike is told once."""
    alike: dict[tuple[str, str, str], tuple[SindplanError, list[Action]]] = {}
    for action, problem in failed:
        key = (problem.summary, problem.fix, getattr(problem, "diagnostics", ""))
        alike.setdefault(key, (problem, []))[1].append(action)
    for problem, actions in alike.values():
        say("")
        names = fold(str(change.address) for action in actions for change in action.changes)
        say(f"{one_line(', '.join(names))}:")
        error(problem)
