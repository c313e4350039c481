"""What the commands print: data on stdout, everything else on stderr, colour on terminals only.

The only place that prints. Names, labels, files and messages may be anybody's, so nothing leaves here that commands a terminal:
no caller has to think of it.
"""

import json as json_
import os
import re
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import click

from sindplan.engine.records import EngineInfo
from sindplan.errors import DeclarationInvalid, NodeFailed, SindplanError
from sindplan.execute.reporter import Reporter
from sindplan.plan.plan import Action, Plan
from sindplan.preflight.finding import Finding, Severity
from sindplan.render.text import escaped, fold, on_one_line

_COLOURS = {"+": "green", "-": "red", "~": "yellow", "-/+": "red"}
_SIGNED = re.compile(r"\s*(-/\+|[-+~])( |$)")
_LOUD = "red"
_wanted = True


def use_colour(*, wanted: bool) -> None:
    """Say whether colour may be used at all."""
    global _wanted  # noqa: PLW0603 - one switch a process, set by the first option that is read
    _wanted = wanted and not os.environ.get("NO_COLOR")


def _styled(text: str, colour: str, *, err: bool = False, bold: bool = False) -> str:
    stream = sys.stderr if err else sys.stdout
    return click.style(text, fg=colour, bold=bold or None) if _wanted and stream.isatty() else text


def data(text: str) -> None:
    """Print to stdout, coloured by the symbols in front of lines."""
    for line in escaped(text).splitlines():
        found = _SIGNED.match(line)
        click.echo(_styled(line, _COLOURS[found[1]]) if found else line)


def json(document: Any) -> None:  # noqa: ANN401 - JSON has no narrower type
    """Print a document for programs to stdout: in ASCII, so that it is JSON whatever the terminal speaks."""
    click.echo(json_.dumps(document, indent=2).replace("\x7f", "\\u007f"))


def toml(text: str) -> None:
    """Print a state file to stdout: TOML is UTF-8, whatever the terminal speaks."""
    click.echo(text.encode(), nl=False)


def say(text: str, mark: str = "", colour: str = "") -> None:
    """Print to stderr. Work goes on when nobody reads it any more (`sindplan apply 2>&1 | head`).

    Args:
        mark: What stands in front, in a colour.
    """
    styled = _styled(mark, colour, err=True, bold=colour == _LOUD) if mark else ""
    with suppress(OSError):
        click.echo(styled + escaped(text), err=True)


def error(problem: SindplanError) -> None:
    """Print an error: what, why, and how to mend it."""
    if isinstance(problem, DeclarationInvalid):
        for one in problem.problems:
            say(str(one))
        say("")
    say(problem.summary, "Error: ", _LOUD)
    if isinstance(problem, NodeFailed) and problem.diagnostics:
        for line in escaped(problem.diagnostics).splitlines():
            say(f"  | {line}")
    if problem.fix:
        say(f"  {problem.fix}")


def engine(info: EngineInfo) -> None:
    """Say which engine it is."""
    say(f"Docker {info.version} at {info.address}")


def findings(found: Iterable[Finding]) -> None:
    """Print findings: first those that block."""
    for finding in sorted(found, key=lambda finding: finding.severity is Severity.WARNS):
        blocks = finding.severity is Severity.BLOCKS
        say(finding.what, *(("Blocked: ", _LOUD) if blocks else ("Warning: ", "yellow")))
        if finding.fix:
            say(f"  {finding.fix}")


class Progress(Reporter):
    """Plain lines, one when an action ends."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def still(self, action: Action, seconds: float) -> None:
        """Say what takes long."""
        say(f"{_where(action)}: still {action.says} after {seconds:.0f}s ...")

    def finished(self, action: Action, seconds: float) -> None:
        """Say what was done and how long it took."""
        say(f"{_where(action)}: {action.says} took {seconds:.1f}s")

    def noted(self, text: str) -> None:
        """Say it at once."""
        say(text)

    def failed(self, action: Action, error: SindplanError) -> None:  # noqa: ARG002 - told at the end
        """Say what failed, at once; the summary at the end says it whole."""
        say("", escaped(f"{_where(action)}: {action.says} failed"), "red")

    def taking_back(self, plan: Plan) -> None:
        """Say that the rollback begins."""
        say(f"Taking back what was done ({len(plan.changes)} resources) ...")

    @property
    def seconds(self) -> float:
        """Seconds since it was made."""
        return time.monotonic() - self._began


def _where(action: Action) -> str:
    return on_one_line(", ".join(fold(str(change.address) for change in action.changes)) or str(action.scope))


def failures(failed: Iterable[tuple[Action, SindplanError]]) -> None:
    """Print why actions failed; what failed alike is told once."""
    alike: dict[tuple[str, str, str], tuple[SindplanError, list[Action]]] = {}
    for action, problem in failed:
        key = (problem.summary, problem.fix, getattr(problem, "diagnostics", ""))
        alike.setdefault(key, (problem, []))[1].append(action)
    for problem, actions in alike.values():
        say("")
        names = fold(str(change.address) for action in actions for change in action.changes)
        say(f"{on_one_line(', '.join(names))}:")
        error(problem)
