"""How an apply goes on: on a terminal what runs now and what waits for it, elsewhere a line with its time for all that ends.

Not by rich: these are a few lines that are drawn over, and its import would cost every apply more than they do.
"""

import os
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Self

import click

from sindplan.cli import output
from sindplan.errors import SindplanError
from sindplan.execute.reporter import Reporter
from sindplan.plan.graph import BARRIER
from sindplan.plan.plan import Action, Plan
from sindplan.render.escape import one_line
from sindplan.render.node_sets import fold

_SLOW = 1.0
"""Seconds from which an action is worth a word at the end."""
_SLOWEST = 3
_REDRAWN = 0.5
_RUNNING_SHOWN = 8
_WAITING_SHOWN = 3


def progress(*, quiet: bool = False, verbose: bool = False) -> "Progress":
    """Return what tells how an apply goes on: live on a terminal."""
    if quiet:
        return Quiet()
    live = sys.stderr.isatty() and os.environ.get("TERM") not in (None, "", "dumb")
    return Live(verbose=verbose) if live else Progress(verbose=verbose)


class Progress(Reporter):
    """A line when an action ends, and now and then one about what takes long; with `verbose` also when one starts."""

    def __init__(self, *, verbose: bool = False) -> None:
        self._verbose = verbose
        self._began = time.monotonic()
        self._took: list[tuple[float, str]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it; nothing is drawn any more."""

    def line(self, text: str, colour: str = "") -> None:
        """Print a line with the time of day, in a colour if one is given."""
        stamped = f"{time.strftime('%H:%M:%S')} {text}"
        output.say("" if colour else stamped, one_line(stamped) if colour else "", colour)

    def started(self, action: Action) -> None:
        """Say it, if everything is to be said."""
        if self._verbose:
            after = f", after {len(action.needs)} others" if action.needs else ""
            self.line(f"{what(action)} ...{after}")

    def still(self, action: Action, seconds: float) -> None:
        """Say what takes long."""
        self.line(f"{where(action)}: still {action.says} after {seconds:.0f}s ...")

    def finished(self, action: Action, seconds: float) -> None:
        """Say what was done and how long it took."""
        self._took.append((seconds, what(action)))
        self.line(f"{what(action)} took {seconds:.1f}s")

    def noted(self, text: str) -> None:
        """Say it at once."""
        self.line(text)

    def failed(self, action: Action, error: SindplanError) -> None:  # noqa: ARG002 - told at the end
        """Say what failed, at once; the summary at the end says it whole."""
        self.line(f"{what(action)} failed", "red")

    def taking_back(self, plan: Plan) -> None:
        """Say that the rollback begins."""
        self.planned(plan)
        count = len(plan.changes)
        self.line(f"Taking back what was done ({count} resource{'s' if count != 1 else ''}) ...")

    @property
    def seconds(self) -> float:
        """Seconds since it was made."""
        return time.monotonic() - self._began

    def slowest(self) -> Iterator[str]:
        """Yield what took longest, a line each; nothing when all was quick."""
        for seconds, text in sorted(self._took, reverse=True)[:_SLOWEST]:
            if seconds >= _SLOW:
                yield f"{text} took {seconds:.1f}s"


class Quiet(Progress):
    """Says only what nobody would expect, and what fails."""

    def still(self, action: Action, seconds: float) -> None:
        """Be quiet."""

    def finished(self, action: Action, seconds: float) -> None:
        """Be quiet."""

    def slowest(self) -> Iterator[str]:
        """Yield nothing."""
        return iter(())


class Live(Progress):
    """Lines as elsewhere, and below them what runs and since when, and what waits for it, drawn anew all the time."""

    def __init__(self, *, verbose: bool = False) -> None:
        super().__init__(verbose=verbose)
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._drawn = 0
        self._actions: Mapping[str, Action] = {}
        self._running: dict[str, float] = {}
        self._done: set[str] = set()
        self._thread = threading.Thread(target=self._redraw, name="progress", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        with self._lock:
            self._write(self._erasing())

    def line(self, text: str, colour: str = "") -> None:
        """Print a line above what is drawn."""
        with self._lock:
            self._write(self._erasing())
            super().line(text, colour)
            self._draw()

    def planned(self, plan: Plan) -> None:
        """Begin with a plan."""
        with self._lock:
            self._actions = {action.id: action for action in plan.actions}
            self._running, self._done = {}, set()

    def started(self, action: Action) -> None:
        """Draw it as running."""
        with self._lock:
            self._running[action.id] = time.monotonic()
            super().started(action)

    def still(self, action: Action, seconds: float) -> None:
        """Draw it, as always."""

    def finished(self, action: Action, seconds: float) -> None:
        """Say what was done."""
        self._ended(action)
        super().finished(action, seconds)

    def failed(self, action: Action, error: SindplanError) -> None:
        """Say what failed."""
        self._ended(action)
        super().failed(action, error)

    def _ended(self, action: Action) -> None:
        with self._lock:
            self._running.pop(action.id, None)
            self._done.add(action.id)

    def _redraw(self) -> None:
        while not self._over.wait(_REDRAWN):
            with self._lock:
                self._write(self._erasing())
                self._draw()

    def _erasing(self) -> str:
        drawn, self._drawn = self._drawn, 0
        return f"\r\x1b[{drawn}A\x1b[J" if drawn else ""

    def _draw(self) -> None:
        if self._over.is_set():
            return
        width, height = shutil.get_terminal_size()
        lines = [line[: width - 1] for line in self._lines()][: max(1, height - 2)]
        self._write("".join(f"{line}\n" for line in lines))
        self._drawn = len(lines)

    def _lines(self) -> Iterator[str]:
        now = time.monotonic()
        running = sorted(self._running.items(), key=lambda item: item[1])
        for name, began in running[:_RUNNING_SHOWN]:
            yield f"  {what(self._actions[name])}, {now - began:.0f}s"
        if len(running) > _RUNNING_SHOWN:
            yield f"  and {len(running) - _RUNNING_SHOWN} more"
        yield from self._waiting()
        all_ = [name for name, action in self._actions.items() if action.step != BARRIER]
        yield f"  {len(self._done)} of {len(all_)} done, {len(running)} running, {self.seconds:.0f}s"

    def _waiting(self) -> Iterator[str]:
        """Yield what comes next, and what it waits for."""
        shown = 0
        for action in self._actions.values():
            if action.step == BARRIER or action.id in self._done or action.id in self._running:
                continue
            needed = set(self._needed(action))
            if needed and needed <= self._running.keys():
                names = fold(where(self._actions[name]) for name in sorted(needed))
                yield f"  {what(action)} waits for {', '.join(names)}"
                shown += 1
            if shown == _WAITING_SHOWN:
                return

    def _needed(self, action: Action) -> Iterator[str]:
        """Yield the actions that one still waits for, through barriers."""
        for name in action.needs:
            if self._actions[name].step == BARRIER:
                yield from self._needed(self._actions[name])
            elif name not in self._done:
                yield name

    def _write(self, text: str) -> None:
        # Nobody reads it any more: the work goes on.
        with suppress(OSError):
            click.echo(text, nl=False, err=True)


def what(action: Action) -> str:
    """Say what an action does to what."""
    return one_line(f"{where(action)}: {action.says}")


def where(action: Action) -> str:
    """Say what an action works on."""
    return one_line(", ".join(fold(str(change.address) for change in action.changes)) or str(action.scope))


def tell_slowest(lines: Iterable[str]) -> None:
    """Print what took longest."""
    found = [*lines]
    if found:
        output.say("Slowest:")
    for line in found:
        output.say(f"  {line}")
