"""`--json`: what happens, an event a line on stdout as it happens (see render.events); what people read goes to stderr then."""

import functools
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from sindplan import __version__
from sindplan.cli import output
from sindplan.errors import DeclarationInvalid, NodeFailed, SindplanError
from sindplan.execute.apply import Applied
from sindplan.execute.reporter import Reporter
from sindplan.plan.plan import Action, Plan
from sindplan.preflight.finding import Finding, Severity
from sindplan.render import events
from sindplan.render.events import Event

if TYPE_CHECKING:
    from sindplan.workflow import Prepared

INTERRUPTED = 130


def streamed(command: Callable[..., int]) -> Callable[..., int]:
    """Add `--json` to a command that executes a plan."""

    @functools.wraps(command)
    def wrapper(*arguments: object, as_json: bool, **named: Any) -> int:  # noqa: ANN401 - whatever the command takes
        if not as_json:
            return command(*arguments, **named)
        if not any(named.get(option) for option in ("auto_approve", "approve", "saved")):
            others = " or --approve DIGEST, or apply a saved plan" if "approve" in named else ""
            raise click.UsageError(f"--json cannot ask: say --auto-approve{others}.")
        stream = Stream()
        click.get_current_context().meta[output.EVENTS] = stream
        try:
            status = command(*arguments, **named)
        except BaseException as error:
            stream.broke(error)
            raise
        stream.ended(status)
        return status

    option = click.option(
        "--json", "as_json", is_flag=True, help="Print what happens as events, one JSON object a line; never asks."
    )
    return option(wrapper)


def current() -> "Stream | None":
    """Return the stream that was asked for, if one was."""
    found = output.stream()
    return found if isinstance(found, Stream) else None


class Stream:
    """Events on stdout. Work goes on when nobody reads them any more."""

    def __init__(self) -> None:
        # Notes come from any thread.
        self._lock = threading.Lock()
        self._readable = True
        self._plan: Plan | None = None
        self._applied: Applied | None = None
        self._operation = ""
        self._told: set[Finding] = set()
        self.write(events.version(__version__))

    def write(self, event: Event) -> None:
        """Write an event down at once."""
        text = events.line(event, datetime.now(UTC).isoformat(timespec="milliseconds"))
        with self._lock:
            if not self._readable:
                return
            try:
                sys.stdout.write(text)
                sys.stdout.flush()
            except OSError:
                self._readable = False

    def offered(self, prepared: "Prepared") -> None:
        """Tell a plan that is about to be executed, or refused."""
        from sindplan.saved import digest_of

        self._plan = prepared.plan
        for change in prepared.plan.changes:
            self.write(events.planned_change(change))
        for finding in prepared.findings:
            if finding not in self._told:
                self._told.add(finding)
                blocks = finding.severity is Severity.BLOCKS
                self.write(events.diagnostic(blocks=blocks, summary=finding.what, detail=finding.fix))
        self.write(events.planned(prepared.plan, digest_of(prepared)))

    def applied(self, applied: Applied, operation: str) -> None:
        """Tell how an execution went; `operation` is `apply` or `destroy`."""
        self._applied, self._operation = applied, operation
        for action, problem in applied.outcome.failed:
            self._diagnose(problem, action)

    def _diagnose(self, problem: SindplanError, action: Action | None = None) -> None:
        addresses = [str(change.address) for change in action.changes] if action is not None else []
        if isinstance(problem, DeclarationInvalid):
            for one in problem.problems:
                self.write(events.diagnostic(blocks=True, summary=str(one)))
        self.write(
            events.diagnostic(
                blocks=True,
                summary=problem.summary,
                detail=problem.fix,
                addresses=addresses,
                more=problem.diagnostics if isinstance(problem, NodeFailed) else "",
            )
        )

    def broke(self, error: BaseException) -> None:
        """Tell what ended the command."""
        if isinstance(error, SindplanError):
            self._diagnose(error)
        interrupted = isinstance(error, KeyboardInterrupt | click.Abort)
        if not interrupted and not isinstance(error, SindplanError | OSError):
            self.write(events.diagnostic(blocks=True, summary=f"sindplan has a fault: {type(error).__name__}: {error}"))
        self._end("interrupted" if interrupted else "failed", INTERRUPTED if interrupted else 1)

    def ended(self, status: int) -> None:
        """Tell how the command ended."""
        if self._applied is None:
            self._end("refused" if status else "unchanged", status)
        elif status == 0:
            if self._plan is not None:
                self.write(events.done(self._plan, self._operation))
            self._end("complete", status)
        else:
            self._end("interrupted" if status == INTERRUPTED else "failed", status)

    def _end(self, result: str, status: int) -> None:
        scopes: dict[str, list[str]] = {}
        if self._applied is not None and self._plan is not None:
            applied = self._applied
            scopes = {
                "done": sorted(
                    {str(action.scope) for action in self._plan.actions}
                    - {str(scope) for scope in applied.outcome.unfinished | applied.restored}
                ),
                "restored": sorted(map(str, applied.restored)),
                "kept": sorted(map(str, applied.kept)),
                "leftovers": [*applied.leftovers],
            }
        self.write(events.outcome(result, status, scopes))


class Reporting(Reporter):
    """Tells a stream what it hears, and another reporter, too."""

    def __init__(self, stream: Stream, other: Reporter) -> None:
        self._stream = stream
        self._other = other
        self._back = False

    def planned(self, plan: Plan) -> None:
        """Pass it on."""
        self._other.planned(plan)

    def started(self, action: Action) -> None:
        """Tell that an action was started."""
        self._other.started(action)
        self._stream.write(events.started(action, back=self._back))

    def still(self, action: Action, seconds: float) -> None:
        """Tell that it goes on."""
        self._other.still(action, seconds)
        self._stream.write(events.going_on(action, seconds, back=self._back))

    def finished(self, action: Action, seconds: float) -> None:
        """Tell that it was done."""
        self._other.finished(action, seconds)
        self._stream.write(events.finished(action, seconds, back=self._back))

    def noted(self, text: str) -> None:
        """Tell what people would not expect."""
        self._other.noted(text)
        self._stream.write(events.noted(text))

    def failed(self, action: Action, error: SindplanError) -> None:
        """Tell that it failed."""
        self._other.failed(action, error)
        self._stream.write(events.failed(action, back=self._back))

    def taking_back(self, plan: Plan) -> None:
        """Tell that what follows takes back what was done."""
        self._other.taking_back(plan)
        self._back = True
        self._stream.write(events.taking_back(plan))
