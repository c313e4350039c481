"""The executor: runs the actions of a plan, many at once, and decides nothing.

Only the calling thread keeps the books, so there are no locks here. An action starts as soon as what it waits for is done.
When one fails, nothing more is started in its cluster; other clusters go on; what runs is waited for.
"""

import threading
import time
import traceback
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter

from attrs import define, field, frozen

from sindplan.errors import SindplanError
from sindplan.execute.reporter import Reporter
from sindplan.kinds.run import Perform, Run
from sindplan.model.address import Address
from sindplan.model.kind import Phase
from sindplan.plan.graph import BARRIER
from sindplan.plan.plan import Action, Plan

HEARTBEAT = 10.0
"""Seconds of silence after which it is said what goes on."""


@frozen(kw_only=True)
class Outcome:
    """How an execution ended.

    Attributes:
        done: Actions that were done, in the order in which they ended.
        failed: Actions that failed, and why.
        not_started: Actions that were left out because of a failure or an interruption.
        removing: Clusters in which removals, or another action without a way back, had begun: they cannot be taken back.
        interrupted: Whether it was stopped from outside.
    """

    done: tuple[Action, ...] = ()
    failed: tuple[tuple[Action, SindplanError], ...] = ()
    not_started: tuple[Action, ...] = ()
    removing: frozenset[Address] = frozenset()
    interrupted: bool = False

    @property
    def complete(self) -> bool:
        """Whether everything was done."""
        return not self.failed and not self.not_started

    @property
    def unfinished(self) -> frozenset[Address]:
        """Clusters (and meshes) in which something was left undone."""
        return frozenset(action.scope for action in (*self.not_started, *(action for action, _ in self.failed)))


@define
class _Books:
    """What the scheduling thread writes down."""

    actions: Mapping[str, Action]
    sorter: TopologicalSorter[str]
    done: list[Action] = field(factory=list)
    failed: list[tuple[Action, SindplanError]] = field(factory=list)
    failed_scopes: set[Address] = field(factory=set)
    removing: set[Address] = field(factory=set)
    running: dict[Future[None], tuple[Action, float]] = field(factory=dict)

    def startable(self, stop: threading.Event) -> list[Action]:
        """Return what may start now, passing through barriers."""
        found: list[Action] = []
        while ready := sorted(self.sorter.get_ready()):
            for name in ready:
                action = self.actions[name]
                if stop.is_set() or action.scope in self.failed_scopes:
                    # Never marked done, so nothing that waits for it becomes ready.
                    continue
                if action.final or action.phase >= Phase.REMOVE:
                    self.removing.add(action.scope)
                if action.step == BARRIER:
                    self.sorter.done(name)
                else:
                    found.append(action)
        return found

    def outcome(self, stop: threading.Event) -> Outcome:
        """Return how it went."""
        over = {action.id for action in self.done} | {action.id for action, _ in self.failed}
        return Outcome(
            done=tuple(self.done),
            failed=tuple(self.failed),
            not_started=tuple(a for a in self.actions.values() if a.id not in over and a.step != BARRIER),
            removing=frozenset(self.removing),
            interrupted=stop.is_set(),
        )


def execute(
    plan: Plan,
    run: Run,
    perform: Mapping[str, Perform],
    reporter: Reporter,
    *,
    parallelism: int = 16,
    stop: threading.Event | None = None,
) -> Outcome:
    """Run a plan.

    Args:
        perform: What to do for each step, by name.
        parallelism: How many actions run at once.
        stop: Set it from outside to start nothing more.
    """
    stop = stop or threading.Event()
    books = _Books(
        actions={action.id: action for action in plan.actions},
        sorter=TopologicalSorter({action.id: action.needs for action in plan.actions}),
    )
    books.sorter.prepare()
    with ThreadPoolExecutor(parallelism, thread_name_prefix="apply") as threads:
        while True:
            for action in books.startable(stop):
                reporter.started(action)
                books.running[threads.submit(perform[action.step], run, action)] = (action, time.monotonic())
            if not books.running:
                return books.outcome(stop)
            finished, _ = wait(books.running, timeout=HEARTBEAT, return_when=FIRST_COMPLETED)
            if not finished:
                for action, began in books.running.values():
                    reporter.still(action, time.monotonic() - began)
            for future in finished:
                _write_down(books, future, reporter)


def _write_down(books: _Books, future: Future[None], reporter: Reporter) -> None:
    action, began = books.running.pop(future)
    error = future.exception()
    if error is None:
        books.done.append(action)
        books.sorter.done(action.id)
        reporter.finished(action, time.monotonic() - began)
        return
    if not isinstance(error, SindplanError):
        # A fault of sindplan's own: what was done is taken back as after any other failure.
        where = "".join(traceback.format_tb(error.__traceback__)[-1:]).strip()
        error = SindplanError(f"sindplan has a fault: {type(error).__name__}: {error} ({where})", "Please report it.")
    books.failed.append((action, error))
    books.failed_scopes.add(action.scope)
    reporter.failed(action, error)
