"""What the commands print: data on stdout, everything else on stderr, colour on terminals only."""

import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from sindplan.errors import DeclarationInvalid, NodeFailed, SindplanError
from sindplan.plan.plan import Action
from sindplan.preflight.finding import Finding, Severity
from sindplan.render.text import escaped, fold

if TYPE_CHECKING:
    from sindplan.engine.records import EngineInfo

_COLOURS = {"+": "green", "-": "red", "~": "yellow", "-/+": "red"}
_SIGNED = re.compile(r"\s*(-/\+|[-+~])( |$)")
_wanted = True


def use_colour(*, wanted: bool) -> None:
    """Say whether colour may be used at all."""
    global _wanted  # noqa: PLW0603 - one switch a process, set by the first option that is read
    _wanted = wanted and not os.environ.get("NO_COLOR")


def styled(text: str, colour: str, *, err: bool = False, bold: bool = False) -> str:
    """Return text with a colour, where the stream is a terminal and colour is wanted."""
    stream = sys.stderr if err else sys.stdout
    return click.style(text, fg=colour, bold=bold or None) if _wanted and stream.isatty() else text


def data(text: str) -> None:
    """Print to stdout, coloured by the symbols in front of lines."""
    for line in text.splitlines():
        found = _SIGNED.match(line)
        click.echo(styled(line, _COLOURS[found[1]]) if found else line)


def say(text: str) -> None:
    """Print to stderr. Work goes on when nobody reads it any more (`sindplan apply 2>&1 | head`)."""
    with suppress(OSError):
        click.echo(text, err=True)


def error(problem: SindplanError) -> None:
    """Print an error: what, why, and how to mend it."""
    if isinstance(problem, DeclarationInvalid):
        for one in problem.problems:
            say(escaped(str(one)))
        say("")
    say(styled("Error: ", "red", err=True, bold=True) + escaped(problem.summary))
    if isinstance(problem, NodeFailed) and problem.diagnostics:
        for line in escaped(problem.diagnostics).splitlines():
            say(f"  | {line}")
    if problem.fix:
        say(f"  {escaped(problem.fix)}")


def engine(info: "EngineInfo") -> None:
    """Say which engine it is."""
    say(f"Docker {escaped(info.version)} at {escaped(info.address)}")


def findings(found: Iterable[Finding]) -> None:
    """Print findings: first those that block."""
    for finding in sorted(found, key=lambda finding: finding.severity is Severity.WARNS):
        blocks = finding.severity is Severity.BLOCKS
        word = styled("Blocked: ", "red", err=True, bold=True) if blocks else styled("Warning: ", "yellow", err=True)
        say(word + escaped(finding.what))
        if finding.fix:
            say(f"  {escaped(finding.fix)}")


def failures(failed: Iterable[tuple[Action, SindplanError]]) -> None:
    """Print why actions failed; what failed alike is told once."""
    alike: dict[tuple[str, str, str], tuple[SindplanError, list[Action]]] = {}
    for action, problem in failed:
        key = (problem.summary, problem.fix, getattr(problem, "diagnostics", ""))
        alike.setdefault(key, (problem, []))[1].append(action)
    for problem, actions in alike.values():
        say("")
        say(f"{', '.join(fold(str(change.address) for action in actions for change in action.changes))}:")
        error(problem)
