"""Emptying a worker: it takes no new jobs, and those that it has are waited for, then dealt with as is declared.

An administrator's own drain is theirs: it is neither written over nor lifted.
"""

from sindplan.errors import NodeFailed, SindplanError
from sindplan.kinds.controllers import asked
from sindplan.kinds.run import Run
from sindplan.model.address import Address
from sindplan.model.declaration import DRAIN_TIMEOUT
from sindplan.model.units import spell_duration
from sindplan.slurm.port import SlurmNodeState

_SLICE = 10
"""Seconds after which a wait for jobs looks up whether it was interrupted."""
_ENDING = 120
"""Seconds that jobs have to end once they are told to: Slurm gives them KillWait, 30 seconds unless set, and clears up."""


def drained(run: Run, cluster: Address, short: str, reason: str, *, for_good: bool = False) -> None:
    """Drain a worker and wait until no job is left on it, as `drain_timeout` and `on_timeout` say.

    A worker that Slurm does not know is empty. When this fails the worker is in service again, as it was.

    Args:
        reason: Why, one of those of the Slurm port.
        for_good: Whether Slurm will forget the worker: pending jobs that ask for it by name would fail then.

    Raises:
        SindplanError: Slurm cannot be asked, or jobs are left.
    """
    controller, view = asked(run, cluster)
    if controller is None or view is None:
        if run.taking_back:
            # What this run made never became part of a cluster that answers.
            return
        raise SindplanError(
            f"slurmctld of {cluster} does not answer, so nobody can say whether {short} is busy.",
            "Mend the controller first (sindplan plan shows what it needs), then take workers away.",
        )
    if short not in view.nodes:
        return
    if for_good:
        _spare_the_waiting(run, short, view.nodes[short])
    if not view.nodes[short].drained_by_others and not _drain(run, controller, short, reason):
        return
    node = cluster / "node" / short
    timeout, then = run.drain_timeouts.get(node, DRAIN_TIMEOUT), run.on_timeouts.get(node, "fail")
    left = _wait_empty(run, controller, short, timeout)
    try:
        if left and then != "fail" and not run.stop.is_set() and not run.taking_back:
            left = _end(run, controller, node, left, requeue=then == "requeue")
            timeout += _ENDING
        _leave_none(run, short, left, timeout)
        if for_good and then == "requeue":
            # A job that was put back may ask for this very worker.
            again = run.slurm.view(controller)
            _spare_the_waiting(run, short, again.nodes.get(short) if again else None)
    except SindplanError:
        lift(run, controller, [short])
        raise


def lift(run: Run, controller: str, workers: list[str], reason: str = "") -> list[str]:
    """Put workers back into service that sindplan has drained, for that reason if one is given; return which."""
    view = run.slurm.view(controller) if workers else None
    states = view.nodes if view else {}
    own = [short for short in workers if short in states and states[short].drained_by_us]
    own = [short for short in own if states[short].reason.startswith(reason)]
    if own:
        run.slurm.resume(controller, own)
    return own


def _leave_none(run: Run, short: str, left: tuple[str, ...], timeout: int) -> None:
    if left:
        when = "at the interruption" if run.stop.is_set() else f"after {spell_duration(timeout)}"
        raise SindplanError(
            f"{short} still runs the jobs {', '.join(left)} {when}; it stays.",
            "Wait for the jobs or cancel them (scancel), give the group a longer drain_timeout, or say with on_timeout what "
            "happens to jobs then.",
        )


def _spare_the_waiting(run: Run, short: str, state: SlurmNodeState | None) -> None:
    if state is not None and state.waiting and not run.taking_back:
        raise SindplanError(
            f"The pending jobs {', '.join(state.waiting)} ask for {short} by name and would fail with it; it stays.",
            "Let them run, cancel them (scancel), or have them ask for something else (scontrol update).",
        )


def _drain(run: Run, controller: str, short: str, reason: str) -> bool:
    """Drain a worker; say whether Slurm still knows it."""
    try:
        run.slurm.drain(controller, [short], reason)
    except NodeFailed:
        again = run.slurm.view(controller)
        if again is None or short in again.nodes:
            raise
        # The reconfigure of an apply that was killed has just taken it out.
        return False
    return True


def _wait_empty(run: Run, controller: str, short: str, timeout: int) -> tuple[str, ...]:
    """Wait for a worker's jobs, in slices, so that an interruption is heard; return those that are left."""
    left: tuple[str, ...] = ()
    for waited in range(0, max(timeout, 1), _SLICE):
        left = run.slurm.wait_empty(controller, [short], min(_SLICE, timeout - waited))
        if not left or run.stop.is_set():
            break
    return left


def _end(run: Run, controller: str, node: Address, jobs: tuple[str, ...], *, requeue: bool) -> tuple[str, ...]:
    """Put jobs back into the queue or cancel them, and wait until they are gone; return those that are not."""
    cancelled = run.slurm.requeue(controller, jobs) if requeue else jobs
    requeued = [job for job in jobs if job not in cancelled]
    if requeued:
        run.say(f"{node}: drain_timeout is over; requeued the jobs {', '.join(requeued)}")
    if cancelled:
        why = ", which Slurm does not requeue" if requeue else ""
        run.say(f"{node}: drain_timeout is over; cancelling the jobs {', '.join(cancelled)}{why}")
        run.slurm.cancel(controller, cancelled)
    return _wait_empty(run, controller, node.name, _ENDING)
