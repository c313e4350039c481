"""The executor: order, failure, interruption. Plans are made by hand, steps are little functions."""

import threading
from collections.abc import Callable, Mapping

import pytest

from sindplan.engine.simulated import SimulatedEngine
from sindplan.errors import SindplanError
from sindplan.execute.executor import Outcome, execute
from sindplan.execute.reporter import Reporter
from sindplan.kinds.run import Known, Perform, Run
from sindplan.model.address import Address
from sindplan.model.kind import Phase
from sindplan.plan.graph import BARRIER
from sindplan.plan.plan import Action, Plan
from sindplan.slurm.simulated import SimulatedSlurm
from sindplan.slurm.simulated_machine import SlurmMachine

PHASES = {"build": Phase.BUILD, "remove": Phase.REMOVE, "seal": Phase.SEAL}


def action(text: str) -> Action:
    """Read `cluster name [phase] <need need`."""
    words, _, needs = text.partition("<")
    cluster, name, *phase = words.split()
    return Action(
        id=f"{cluster} {name}",
        step=BARRIER if name.startswith("barrier") else name,
        says=f"doing {name}",
        phase=PHASES[phase[0]] if phase else Phase.BUILD,
        scope=Address(("r", cluster)),
        needs=tuple(f"{cluster} {need}" for need in needs.split()),
        changes=(),
    )


def plan(*actions: str) -> Plan:
    return Plan(changes=(), actions=tuple(map(action, actions)))


class Heard(Reporter):
    """Writes down what it is told, and by which thread."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.threads: set[int] = set()

    def _hear(self, line: str) -> None:
        self.lines.append(line)
        self.threads.add(threading.get_ident())

    def started(self, action: Action) -> None:
        self._hear(f"started {action.id}")

    def finished(self, action: Action, seconds: float) -> None:
        assert seconds >= 0
        self._hear(f"finished {action.id}")

    def failed(self, action: Action, error: SindplanError) -> None:
        self._hear(f"failed {action.id}: {error.summary}")


class Steps(dict[str, Perform]):
    """Every step is done; some do more."""

    def __init__(self, **more: Callable[[], None]) -> None:
        super().__init__()
        self.done: list[str] = []
        self._more = more

    def __missing__(self, step: str) -> Perform:
        def perform(_: Run, action: Action) -> None:
            if more := self._more.get(step):
                more()
            self.done.append(action.id)

        return perform


def run_plan(
    wanted: Plan,
    steps: Mapping[str, Perform],
    *,
    parallelism: int = 4,
    stop: threading.Event | None = None,
    heard: Reporter | None = None,
) -> Outcome:
    machine = SlurmMachine()
    engine = SimulatedEngine(machine=machine)
    run = Run(engine=engine, slurm=SimulatedSlurm(engine, machine), owner="o", token="t", wait=1, known=Known())
    return execute(wanted, run, steps, heard or Reporter(), parallelism=parallelism, stop=stop)


def ids(actions: tuple[Action, ...]) -> list[str]:
    return [one.id for one in actions]


def fail(text: str = "no", error: type[Exception] = SindplanError) -> Callable[[], None]:
    def failing() -> None:
        raise error(text)

    return failing


def test_everything_is_done_after_what_it_needs() -> None:
    steps, heard = Steps(), Heard()

    outcome = run_plan(plan("c a", "c b <a", "c d <a b", "e a"), steps, heard=heard)

    assert outcome.complete
    assert outcome.unfinished == frozenset()
    assert sorted(steps.done) == ["c a", "c b", "c d", "e a"]
    assert [one for one in steps.done if one[0] == "c"] == ["c a", "c b", "c d"]
    assert sorted(ids(outcome.done)) == sorted(steps.done)
    assert sorted(heard.lines) == sorted(f"{what} {one}" for one in steps.done for what in ("started", "finished"))
    # Who listens needs no lock.
    assert heard.threads == {threading.get_ident()}


def test_a_plan_without_actions_is_done() -> None:
    assert run_plan(plan(), Steps()).complete


def test_what_may_run_together_does() -> None:
    together = threading.Barrier(3)
    steps = Steps(a=lambda: together.wait(30), b=lambda: together.wait(30), c=lambda: together.wait(30))

    assert run_plan(plan("x a", "x b", "x c"), steps, parallelism=3).complete


def test_no_more_run_at_once_than_allowed() -> None:
    running, most = 0, 0
    lock = threading.Lock()

    def busy() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        with lock:
            running -= 1

    steps = Steps(**dict.fromkeys("abcdefgh", busy))

    assert run_plan(plan(*(f"x {name}" for name in "abcdefgh")), steps, parallelism=1).complete
    assert most == 1


def test_a_failure_stops_its_cluster_and_no_other() -> None:
    steps, heard = Steps(b=fail("no luck")), Heard()

    outcome = run_plan(plan("c a", "c b <a", "c d <b", "c e <d", "o a", "o d <a"), steps, heard=heard)

    assert [(one.id, error.summary) for one, error in outcome.failed] == [("c b", "no luck")]
    assert ids(outcome.not_started) == ["c d", "c e"]
    assert "o d" in steps.done
    assert outcome.unfinished == {Address(("r", "c"))}
    assert not outcome.complete
    assert not outcome.interrupted
    assert "failed c b: no luck" in heard.lines
    assert "started c d" not in heard.lines


def test_what_runs_when_another_fails_is_waited_for_and_its_successors_are_not_started() -> None:
    failed = threading.Event()

    class Waits(Heard):
        def failed(self, action: Action, error: SindplanError) -> None:
            super().failed(action, error)
            failed.set()

    # `slow` ends only after the failure was written down.
    steps = Steps(bad=fail(), slow=lambda: failed.wait(30) and None)

    outcome = run_plan(plan("c bad", "c slow", "c next <slow"), steps, heard=Waits())

    assert ids(outcome.done) == ["c slow"]
    assert ids(outcome.not_started) == ["c next"]


def test_two_failures_are_both_told() -> None:
    together = threading.Barrier(2)

    def fails() -> None:
        together.wait(30)
        raise SindplanError("both")

    outcome = run_plan(plan("c a", "c b"), Steps(a=fails, b=fails))

    assert sorted(one.id for one, _ in outcome.failed) == ["c a", "c b"]


def test_a_fault_of_our_own_is_a_failure_like_any_other() -> None:
    outcome = run_plan(plan("c a", "c b <a"), Steps(a=fail("oops", KeyError)))

    ((_, error),) = outcome.failed
    assert type(error) is SindplanError
    assert error.summary.startswith("sindplan has a fault: KeyError: 'oops' (")
    assert "test_executor.py" in error.summary
    assert error.fix == "Please report it."
    assert ids(outcome.not_started) == ["c b"]


def test_a_step_that_nobody_performs_does_not_hang() -> None:
    with pytest.raises(KeyError, match="a"):
        run_plan(plan("c a"), {})


def test_an_interruption_before_the_start_starts_nothing() -> None:
    stop = threading.Event()
    stop.set()
    steps = Steps()

    outcome = run_plan(plan("c a", "c b <a"), steps, stop=stop)

    assert steps.done == []
    assert ids(outcome.not_started) == ["c a", "c b"]
    assert outcome.interrupted
    assert not outcome.failed
    assert not outcome.complete


def test_an_interruption_lets_what_runs_end() -> None:
    stop = threading.Event()
    steps = Steps(a=stop.set)

    outcome = run_plan(plan("c a", "c b <a", "o a", "o b <a"), steps, stop=stop, parallelism=1)

    assert outcome.interrupted
    assert "c a" in ids(outcome.done) or "o a" in ids(outcome.done)
    assert {"c b", "o b"} <= set(ids(outcome.not_started))


def test_an_interruption_after_the_end_is_no_failure() -> None:
    stop = threading.Event()

    outcome = run_plan(plan("c a"), Steps(a=stop.set), stop=stop)

    assert outcome.complete


def test_barriers_are_passed_and_not_reported() -> None:
    steps, heard = Steps(), Heard()

    outcome = run_plan(plan("c a", "c barrier remove <a", "c b remove <barrier"), steps, heard=heard)

    assert outcome.complete
    assert steps.done == ["c a", "c b"]
    assert ids(outcome.done) == ["c a", "c b"]
    assert not [line for line in heard.lines if "barrier" in line]
    assert outcome.removing == {Address(("r", "c"))}


def test_removing_begins_at_the_barrier_and_in_its_cluster_only() -> None:
    wanted = plan(
        "c a", "c barrier remove <a", "c b remove <barrier", "o a", "o barrier remove <a", "o b remove <barrier"
    )

    failed_before = run_plan(wanted, Steps(a=fail()))
    failed_after = run_plan(wanted, Steps(b=fail()))

    assert failed_before.removing == frozenset()
    assert ids(failed_before.not_started) == ["c b", "o b"]
    assert failed_after.removing == {Address(("r", "c")), Address(("r", "o"))}
    assert failed_after.not_started == ()


def test_a_sealed_cluster_counts_as_removing() -> None:
    """What was recorded is not taken back: the record is written when everything else is done."""
    outcome = run_plan(plan("c a", "c barrier seal <a", "c b seal <barrier"), Steps(b=fail()))

    assert outcome.removing == {Address(("r", "c"))}
