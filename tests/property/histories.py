"""Random histories of one declaration: edits, damage by hands, applies that work, fail or are killed, and neighbours.

Each step is one line that says what was done, so that a history that fails can be read. The laws (see history_laws) are checked
after every apply.
"""

import copy
import json
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

from attrs import define, field
from hypothesis import note
from hypothesis import strategies as st

from sindplan.engine.records import Container
from sindplan.errors import EngineRefused, SindplanError
from sindplan.execute.apply import Applied, Settings
from sindplan.model import names
from sindplan.model.address import Address, below_any
from sindplan.model.declaration import Declaration
from sindplan.model.facts import IMAGE_LABEL
from sindplan.model.kind import Operation
from sindplan.preflight.allowed import NOTHING, Allowed
from sindplan.render.text import render_text
from sindplan.workflow import Prepared, prepare, prepare_destroy, prepare_drift, sweep_trials
from tests.faults import FaultyEngine, Mode
from tests.hands import DAMAGE, DoesNotFit, Hand
from tests.property.history_edits import EDITS, NEWER, OTHER, Tables, declaration_of, edited
from tests.property.history_laws import (
    OURS,
    PRECIOUS,
    TWO,
    Seen,
    differences,
    had_halves,
    jobs_are_kept,
    keys_stay,
    look,
    only_what_it_named,
    others_are_untouched,
    ours,
    places,
    told,
)
from tests.strategies import declared
from tests.world import IMAGE, IMAGE_FACTS, PASSWORD, World, failures, new_world

NEIGHBOUR = declared(
    {
        "version": 1,
        "name": "their-own",
        "realms": {"sind": {"clusters": {"other": {"image": IMAGE, "subnet": "10.99.0.0/24"}}}},
    }
)
T = TypeVar("T")
MODES: tuple[Mode, ...] = ("before", "after", "timeout", "timeout-before")
CONTROLLER = names.container(*OURS.parts, names.CONTROLLER)
ANYTHING = Allowed(jobs=True, data=(OURS, TWO), prune=True)


def small() -> Tables:
    """Return a cluster with two workers."""
    return {"dev": {"image": IMAGE, "workers": {"cpu": {"count": 2}}}}


@cache
def _first_world(seed: int, *, pmix: bool) -> World:
    world = new_world(seed=seed)
    plugins = [*IMAGE_FACTS["plugins"], *(["mpi_pmix"] if pmix else [])]
    for image, version in ((IMAGE, "26.05.5"), (OTHER, "26.05.5"), (NEWER, "26.11.1")):
        facts = {**IMAGE_FACTS, "slurm_version": version, "plugins": plugins}
        world.engine.add_image(image, labels={"sind.slurm.version": version, IMAGE_LABEL: json.dumps(facts)})
    assert world.apply(NEIGHBOUR).outcome.complete
    world.engine.create_volume(PRECIOUS, {})
    return world


def world_with_neighbours(seed: int, *, pmix: bool = False) -> World:
    """Return a world with a cluster of others in the same realm, and a volume whose name begins like ours.

    Args:
        pmix: Whether the images have what sind's name in slurm.conf.
    """
    return copy.deepcopy(_first_world(seed, pmix=pmix))


def declared_by(tables: Tables) -> Declaration:
    """Return what the clusters of a state file declare."""
    found = declaration_of(tables)
    assert found is not None
    return found


@define
class History:
    """A world, and what was done in it.

    Attributes:
        tables: What the state file says of our clusters now.
        running: What it said when it was applied last without a fault; None when nothing is there.
        tried: What it said since, when an apply was begun.
        said: One line a step.
    """

    world: World
    tables: Tables = field(factory=small)
    running: Tables | None = None
    tried: list[Tables] = field(factory=list)
    said: list[str] = field(factory=list)
    jobs: int = 0

    def tell(self, line: str) -> None:
        """Write a line of the history."""
        self.said.append(line)

    @property
    def declaration(self) -> Declaration:
        """What the state file declares."""
        return declared_by(self.tables)

    # Steps

    def edit(self, where: str, value: Any) -> None:
        """Edit the state file, unless the reader would refuse it then."""
        tables = edited(self.tables, where, value)
        if tables != self.tables and declaration_of(tables) is not None:
            self.tell(f"edit {where} = {value!r}")
            self.tables = tables

    def damage(self, name: str) -> None:
        """Let a hand do something."""
        try:
            DAMAGE[name](Hand(self.world, OURS))
        except (DoesNotFit, EngineRefused):
            return
        self.tell(f"a hand: {name}")
        # Jobs that it ended are its own loss.
        for job in [job for job, place in places(self.world).items() if place is None]:
            del self.world.machine.jobs[job]

    def start(self, short: str) -> None:
        """Let a hand start a node that is off."""
        found = self._node(short)
        if found is not None and found.state == "exited":
            self.tell(f"a hand: start {short}")
            # Its network may be gone.
            with suppress(EngineRefused):
                self.world.engine.start(found.id)

    def _node(self, short: str) -> Container | None:
        return self.world.engine.inspect_container(names.container(*OURS.parts, short))

    def submit(self, worker: str, *, endless: bool, waiting: bool) -> None:
        """Submit a job that runs, or one that waits for a worker by name."""
        found = self._node(names.CONTROLLER)
        view = self.world.slurm.view(CONTROLLER) if found is not None and found.state == "running" else None
        if view is None or worker not in view.nodes or (view.nodes[worker].states != "idle" and not waiting):
            return
        self.jobs += 1
        self.tell(f"job {self.jobs} {'for' if waiting else 'on'} {worker}{', endless' if endless else ''}")
        self.world.machine.submit(CONTROLLER, worker, f"{self.jobs}", endless=endless, waiting=waiting)

    def apply(self, allowed: Allowed = NOTHING, replace: Collection[Address] = ()) -> bool:
        """Apply, and check the laws; return whether the plan was not blocked."""
        prepared = self._prepared(allowed, replace)
        if prepared is not None:
            before = look(self.world)
            applied = self._run("apply", prepared)
            if not applied.outcome.complete:
                # What an apply may fail of is known: jobs that do not end, or that wait for a worker.
                assert all("jobs" in error.summary for _, error in applied.outcome.failed), failures(applied)
            self._ended(prepared, before, applied)
        return prepared is not None

    def apply_with_a_fault(self, at: int, mode: Mode) -> None:
        """Apply while the engine's call of that number fails; what was done is taken back, exactly."""
        prepared = self._prepared()
        if prepared is not None and not prepared.plan.empty:
            before = look(self.world)
            faulty = FaultyEngine(self.world.engine, fail_at=at, mode=mode)
            self._ended(prepared, before, self._run(f"apply, call {at} fails ({mode})", prepared, faulty))

    def apply_killed(self, at: int) -> None:
        """Apply, and kill it there: nothing is taken back, and nothing else is done."""
        prepared = self._prepared()
        if prepared is not None and not prepared.plan.empty:
            before = look(self.world)
            faulty = FaultyEngine(self.world.engine, fail_at=at, mode="dead")
            applied = self._run(f"apply, killed at call {at}", prepared, faulty, on_failure="stop")
            if applied.outcome.complete:
                self._arrived(prepared, before)
            else:
                self._kept(prepared, before, look(self.world))

    def destroy(self) -> None:
        """Destroy the cluster, which takes away what a hand put in its place, too."""
        prepared = prepare_destroy(
            self.world.engine, self.world.slurm, [OURS], declaration=self.declaration, allow_job_loss=True
        )
        if prepared.blocked or prepared.plan.empty:
            return
        before = look(self.world)
        applied = self._run("destroy", prepared, on_failure="stop")
        assert failures(applied) == []
        others_are_untouched(before, look(self.world))
        assert ours(self.world, OURS) == set()
        self._forget(OURS)

    def _forget(self, cluster: Address) -> None:
        volume = names.volume(*cluster.parts, "config")
        for job in [job for job, one in self.world.machine.jobs.items() if one.node.startswith(f"{volume}/")]:
            del self.world.machine.jobs[job]
        if cluster == OURS:
            self.running = None

    def finish(self) -> None:
        """Apply for good: the file as it is, or where that is blocked a file that was applied before."""
        for tables in (self.tables, self.running, *reversed(self.tried)):
            for allowed in (NOTHING, ANYTHING):
                if tables is not None:
                    self.tables = tables
                    # Jobs that do not end stand in the way of nothing but themselves.
                    self.world.machine.jobs.clear()
                    if self.apply(allowed):
                        return
        raise AssertionError("no way out: " + "; ".join(self.said[-2:]))

    # What becomes of them

    def _prepared(self, allowed: Allowed = NOTHING, replace: Collection[Address] = ()) -> Prepared | None:
        """Plan, which touches nothing and is the same each time; return None when the plan is blocked."""
        before = self.world.snapshot()
        try:
            prepared = prepare(self.world.engine, self.world.slurm, self.declaration, replace=replace, allowed=allowed)
        except SindplanError:
            if not replace:
                raise
            # Nothing to replace there.
            return None
        assert self.world.snapshot() == before
        assert PASSWORD not in render_text(prepared.plan)
        if not prepared.blocked:
            return prepared
        self.tell("blocked: " + "; ".join(sorted({finding.check for finding in prepared.findings})))
        # A plan that is blocked says what to do; here the edit is put back.
        if self.running is not None:
            self.tables = self.running
        return None

    def _run(self, how: str, prepared: Prepared, engine: FaultyEngine | None = None, **settings: Any) -> Applied:
        """Run a plan, one thing after the other, so that a history that fails fails again."""
        self.tried.append(self.tables)
        # As the command does, under the lock.
        sweep_trials(self.world.engine, prepared)
        more = Settings(
            parallelism=1, drain_timeouts=prepared.drain_timeouts, on_timeouts=prepared.on_timeouts, **settings
        )
        applied = self.world.run(prepared, self.declaration, engine=engine, settings=more)
        ended = "done" if applied.outcome.complete else "taken back" if not applied.kept else "left half way"
        self.tell(f"{how}, {ended}: {', '.join(_shown(prepared))}")
        for line in failures(applied):
            self.tell(f"   failed: {line}")
            assert PASSWORD not in line
            assert "sindplan has a fault" not in line
        return applied

    def _ended(self, prepared: Prepared, before: Seen, applied: Applied) -> None:
        if applied.outcome.complete:
            self._arrived(prepared, before)
            return
        after = look(self.world)
        scopes = {action.scope for action in prepared.plan.actions}
        if applied.restored >= scopes and not applied.leftovers:
            if not had_halves(prepared.plan):
                assert differences(told(before), told(after)) == []
        else:
            # What is left is said.
            assert (
                applied.kept
                or applied.leftovers
                or applied.restored | {a.scope for a in applied.outcome.done} >= scopes
            )
        self._kept(prepared, before, after)

    def _arrived(self, prepared: Prepared, before: Seen) -> None:
        declaration = self.declaration
        after = look(self.world)
        left = prepare(self.world.engine, self.world.slurm, declaration).plan
        # What could not be read, since what says it was down, is seen by the next plan.
        unseen = prepared.before.observed().unknown
        assert all(below_any(change.address, unseen) for change in left.changes), self.world.pending(declaration)
        if left.changes:
            assert self.apply()
            return
        # A mesh that was damaged may have lost what others had there: theirs to mend.
        drifted = [one.plan for one in prepare_drift(self.world.engine, self.world.slurm) if one.owner == "lab"]
        assert [str(change.address) for plan in drifted for change in plan.changes] == []
        only_what_it_named(prepared.plan, before, after)
        keys_stay(prepared.plan, before, after)
        self._kept(prepared, before, after)
        if TWO in prepared.clusters and "two" not in self.tables:
            assert ours(self.world, TWO) == set()
        self.running, self.tried = self.tables, []

    def _kept(self, prepared: Prepared, before: Seen, after: Seen) -> None:
        others_are_untouched(before, after)
        waiting = {job for job, one in self.world.machine.jobs.items() if one.waiting}
        given_up = " ".join(finding.what for finding in prepared.findings if finding.check == "jobs")
        jobs_are_kept(prepared.plan, before, after, waiting, given_up)


def _shown(prepared: Prepared) -> list[str]:
    signs = {Operation.CREATE: "+", Operation.UPDATE: "~", Operation.DELETE: "-", Operation.REPLACE: "-/+"}
    return [
        f"{signs[change.operation]}{re.sub('^sind/(dev/)?', '', str(change.address))}"
        for change in prepared.plan.changes
    ]


# What is not undone to the byte when an apply is taken back: a key that was emptied is gone then, and nonsense stays mended.
HANDS = sorted(set(DAMAGE) - {"empty the munge key", "break the Corefile"})
WORKERS = ("worker-0", "worker-1")
REPLACED = (OURS, OURS / "node/controller", OURS / "node/worker-0", OURS / "node/db", Address.parse("sind/two"))
_STEPS = (
    "edit",
    "edit",
    "edit",
    "damage",
    "damage",
    "start",
    "apply",
    "apply",
    "replace",
    "fault",
    "killed",
    "job",
    "destroy",
)


def live(history: History, data: st.DataObject) -> None:
    """Draw a few steps, do them, and end as every history must; hypothesis prints the lines of one that does not."""
    try:
        for _ in range(data.draw(st.integers(2, 6))):
            _step(history, data.draw)
        history.finish()
    except BaseException:
        note("\n".join(f"{number}. {line}" for number, line in enumerate(history.said, 1)))
        raise


def _step(history: History, draw: Callable[[st.SearchStrategy[T]], T]) -> None:
    match draw(st.sampled_from(_STEPS)):
        case "edit":
            where, values = draw(st.sampled_from(EDITS))
            history.edit(where, draw(st.sampled_from(values)))
        case "damage":
            history.damage(draw(st.sampled_from(HANDS)))
        case "start":
            history.start(draw(st.sampled_from(("controller", "worker-0", "db"))))
        case "job":
            endless, waiting = draw(st.sampled_from(((False, False), (False, False), (True, False), (False, True))))
            history.submit(draw(st.sampled_from(WORKERS)), endless=endless, waiting=waiting)
        case "destroy":
            if draw(st.integers(0, 3)) == 0:
                history.destroy()
        case how:
            _apply(history, how, draw)


def _apply(history: History, how: str, draw: Callable[[st.SearchStrategy[T]], T]) -> None:
    match how:
        case "apply":
            history.apply(draw(st.sampled_from((NOTHING, NOTHING, ANYTHING))))
        case "replace":
            history.apply(ANYTHING, [draw(st.sampled_from(REPLACED))])
        case "fault":
            history.apply_with_a_fault(draw(st.integers(1, 60)), draw(st.sampled_from(MODES)))
        case "killed":
            history.apply_killed(draw(st.integers(1, 60)))
