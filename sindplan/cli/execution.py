"""Showing a plan, asking, executing it and saying how it went: what apply and destroy have in common."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import click
from attrs import frozen

from sindplan.cli import events, options, output
from sindplan.cli.ask import agreed
from sindplan.cli.options import Command
from sindplan.cli.progress import Progress, progress, tell_slowest
from sindplan.engine.port import Engine
from sindplan.execute.apply import Applied, OnFailure, Settings, apply
from sindplan.execute.executor import Outcome
from sindplan.execute.lock import Waiting, locked, sweep
from sindplan.model.address import Address
from sindplan.model.hidden import Hidden
from sindplan.model.units import parse_duration
from sindplan.observe.observation import Observation
from sindplan.plan.plan import Plan
from sindplan.preflight.finding import Finding
from sindplan.render.events import counted
from sindplan.render.text import NO_CHANGES, render_text
from sindplan.slurm.port import Slurm
from sindplan.workflow import Prepared, sweep_trials

if TYPE_CHECKING:
    from sindplan.reviewed import Reviewed

INTERRUPTED = 130
NO_LIMIT = 24 * 3600
"""What 0 means for a wait: as long as it takes, within a day."""


class _Duration(click.ParamType[int]):
    """`90s`, `5m`, `1h`."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return parse_duration(str(value)) if value != "0" else 0
        except ValueError as error:
            self.fail(f"{error}; say 90s, 5m or 1h", param, ctx)


wait_option = click.option(
    "--wait", type=_Duration(), default="5m", show_default=True, help="How long a node may take; 0 for no limit."
)


lock_option = click.option(
    "--lock-timeout",
    type=_Duration(),
    default="10m",
    show_default=True,
    help="How long to wait for another sindplan or sind that works on the realm.",
)


rollback_option = click.option(
    "--rollback-timeout",
    type=_Duration(),
    default="10m",
    show_default=True,
    help="How long taking back may take after a failure; 0 for no limit.",
)


def loudness(command: Command) -> Command:
    """Add `-q` and `-v`."""
    for decorator in (
        click.option("-v", "--verbose", is_flag=True, help="Say what begins, too."),
        click.option(
            "-q", "--quiet", is_flag=True, help="Say nothing of what goes on, but what fails and how it ends."
        ),
    ):
        command = decorator(command)
    return command


@frozen(kw_only=True)
class Words:
    """How a command speaks of what it does."""

    nothing: str = NO_CHANGES
    done: str = "Apply complete!"
    operation: str = "apply"


APPLY = Words()
DESTROY = Words(nothing="Nothing to destroy.", done="Destroy complete!", operation="destroy")


@frozen(kw_only=True)
class Consent:
    """What the user has agreed to beforehand."""

    auto_approve: bool = False
    allow_privileged: bool = False
    reviewed: "Reviewed | None" = None


def execute_prepared(
    prepared: Prepared,
    prepare_again: Callable[[], Prepared],
    engine: Engine,
    slurm: Slurm,
    *,
    observe_again: Callable[[], Observation],
    consent: Consent,
    on_failure: OnFailure,
    parallelism: int,
    wait: int,
    lock_timeout: int,
    rollback_timeout: int = 0,
    secrets: Callable[[Plan], Mapping[Address, Hidden]] = lambda _: {},
    words: Words = APPLY,
    quiet: bool = False,
    verbose: bool = False,
) -> int:
    """Show a plan, ask, lock, plan again, execute; return the exit status.

    What was agreed to is what is done: when the plan under the lock is another, it is shown and asked again.

    Args:
        secrets: Looks up the secrets that a plan needs, by cluster.
    """
    output.engine(prepared.engine)
    realms = [cluster.realm for cluster in prepared.clusters]
    status = _offer(prepared, consent, words)
    if status is not None:
        if status == 0:
            # A destroy that was killed at its very end leaves nothing but its lock.
            sweep(engine, realms)
        return status
    # Before anything is locked or changed: a secret that is missing is no reason to take back.
    secrets(prepared.plan)
    with locked(engine, realms, Waiting(lock_timeout, output.say), shared=not options.rehearsing()):
        again = prepare_again()
        sweep_trials(engine, again)
        if not _same(again, prepared):
            output.say("The engine changed meanwhile; this is the plan now:")
            status = _offer(again, consent, words, told=prepared.findings)
            if status is not None:
                return status
        status = _execute(
            again,
            engine,
            slurm,
            observe_again,
            words,
            Settings(
                parallelism=parallelism,
                wait=wait or NO_LIMIT,
                rollback=rollback_timeout or NO_LIMIT,
                on_failure=on_failure,
                drain_timeouts=again.drain_timeouts,
                on_timeouts=again.on_timeouts,
                secrets=secrets(again.plan),
            ),
            progress(quiet=quiet, verbose=verbose),
        )
        if status == 0 and consent.reviewed is not None:
            consent.reviewed.spend(engine, again)
        return status


def _offer(prepared: Prepared, consent: Consent, words: Words, told: tuple[Finding, ...] = ()) -> int | None:
    """Show a plan and ask; return an exit status when it is not to be executed."""
    reviewed = consent.reviewed
    # One that has moved is refused before its successor is announced; a digest's successor is shown, to be approved.
    done = reviewed.check(prepared) if reviewed is not None and reviewed.saved is not None else ""
    show(prepared, words.nothing, told)
    if (stream := events.current()) is not None:
        stream.offered(prepared)
    if reviewed is not None and (done := done or reviewed.check(prepared)):
        output.say(done)
    if not prepared.blocked and prepared.plan.empty:
        return 0
    if prepared.blocked or not _agreed(prepared, consent):
        output.say("Nothing was changed.")
        return 1
    return None


def show(prepared: Prepared, nothing: str = NO_CHANGES, told: tuple[Finding, ...] = ()) -> None:
    """Print a plan: privileges first, findings that were not told before last."""
    for privilege in prepared.privileges:
        output.data(f"! {privilege}")
    # That nothing is to be done would be a lie about clusters that are left out because they are somebody else's.
    if not (prepared.blocked and prepared.plan.empty):
        output.data(render_text(prepared.plan, nothing))
    output.findings(finding for finding in prepared.findings if finding not in told)


def _same(one: Prepared, other: Prepared) -> bool:
    """Say whether two plans do the same: the same actions for the same changes, whose texts may read alike."""
    from sindplan.saved import digest_of

    return (
        digest_of(one) == digest_of(other)
        and [action.id for action in one.plan.actions] == [action.id for action in other.plan.actions]
        and one.blocked == other.blocked
        and one.privileges == other.privileges
    )


def _execute(
    prepared: Prepared,
    engine: Engine,
    slurm: Slurm,
    observe_again: Callable[[], Observation],
    words: Words,
    settings: Settings,
    telling: Progress,
) -> int:
    stream = events.current()
    with telling as progress, _interruptible() as stop:
        applied = apply(
            prepared.plan,
            prepared.before,
            engine=engine,
            slurm=slurm,
            owner=prepared.owner,
            observe_again=observe_again,
            reporter=progress if stream is None else events.Reporting(stream, progress),
            settings=settings,
            stop=stop,
        )
    if stream is not None:
        stream.applied(applied, words.operation)
    status = _tell(prepared.plan, applied, words, telling.seconds)
    tell_slowest(telling.slowest())
    return status


def _agreed(prepared: Prepared, consent: Consent) -> bool:
    if consent.auto_approve or consent.reviewed is not None:
        if prepared.privileges and not consent.allow_privileged:
            output.say("New nodes would get the privileges listed above: say --allow-privileged if that is right.")
            return False
        return True
    return agreed("Do this?")


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C (or SIGTERM) sets; the second one ends the process at once."""
    stop = threading.Event()

    def interrupted(_: int, __: FrameType | None) -> None:
        if stop.is_set():
            os._exit(INTERRUPTED)
        stop.set()
        # os.write: click's echo may be in the middle of a line.
        os.write(2, b"\nInterrupted: what runs is finished, then what was done is taken back. Again: stop now.\n")

    before = {number: signal.signal(number, interrupted) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(plan: Plan, applied: Applied, words: Words, seconds: float) -> int:
    outcome = applied.outcome
    if outcome.complete:
        counts = counted(plan.counts)
        output.data(
            f"{words.done} Resources: {counts['add']} added, {counts['change']} changed, "
            f"{counts['remove']} destroyed. ({seconds:.1f}s)"
        )
        return 0
    output.failures(outcome.failed)
    output.say("")
    done = {action.scope for action in plan.actions} - outcome.unfinished - applied.restored
    for scope in sorted(done):
        output.say(f"{scope} is done.")
    for scope in sorted(applied.restored):
        output.say(f"{scope} is as it was before.")
    for scope in sorted(applied.kept):
        output.say(f"{scope} {_left(outcome, scope)}")
    for leftover in applied.leftovers:
        output.say(f"Left over: {leftover}.")
    return INTERRUPTED if outcome.interrupted else 1


def _left(outcome: Outcome, scope: Address) -> str:
    """Say how a cluster is left that is neither done nor as it was before."""
    left = sum(action.scope == scope for action in outcome.not_started)
    if left:
        return f"is left half way, with {left} still to do. Run the same command again."
    return "is left with everything done but what failed. Mend what is told above, then run the same command again."
