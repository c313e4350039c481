"""Applying: what is taken back, what stays, and what is said about it."""

import threading
from ipaddress import ip_network
from typing import Any

import pytest

from sindplan.errors import EngineUnreachable, SindplanError
from sindplan.execute.apply import Applied, Settings, _only_own, _scopes_to_restore, apply, known_from
from sindplan.execute.executor import Outcome
from sindplan.execute.reporter import Reporter
from sindplan.kinds import labels
from sindplan.kinds.volume import Volume
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from sindplan.model.kind import Operation, Phase
from sindplan.plan.plan import Action, Change, Plan
from sindplan.workflow import Prepared, prepare_destroy
from tests.faults import FaultyEngine
from tests.strategies import declared
from tests.world import IMAGE, World, failures, new_world

DEV, OTHER, MESH = (Address.parse(text) for text in ("sind/dev", "sind/other", "sind/@mesh"))


def declaration(**clusters: dict[str, Any]) -> Declaration:
    tables = {key: {"image": IMAGE, **content} for key, content in (clusters or {"dev": {}}).items()}
    return declared({"version": 1, "name": "lab", "realms": {"sind": {"clusters": tables}}})


def act(scope: str, name: str = "a") -> Action:
    return Action(
        id=f"{name} {scope}", step=name, says=name, phase=Phase.BUILD, scope=Address.parse(scope), needs=(), changes=()
    )


@pytest.mark.parametrize(
    ("planned", "unfinished", "removing", "expected"),
    [
        (["sind/dev", "sind/@mesh"], ["sind/dev"], [], {"sind/dev", "sind/@mesh"}),
        # Another cluster was done and needs the mesh.
        (["sind/dev", "sind/other", "sind/@mesh"], ["sind/dev"], [], {"sind/dev"}),
        (
            ["sind/dev", "sind/other", "sind/@mesh"],
            ["sind/dev", "sind/other"],
            [],
            {"sind/dev", "sind/other", "sind/@mesh"},
        ),
        # Removals had begun.
        (["sind/dev", "sind/@mesh"], ["sind/dev"], ["sind/dev"], set()),
        (["sind/dev", "sind/other"], ["sind/dev", "sind/other"], ["sind/other"], {"sind/dev"}),
        # Only the mesh was at work.
        (["sind/@mesh"], ["sind/@mesh"], [], {"sind/@mesh"}),
        (["sind/dev", "sind/@mesh"], ["sind/@mesh"], [], set()),
        # Realms have nothing to do with each other.
        (["sind/dev", "ci/dev", "ci/@mesh"], ["ci/dev"], [], {"ci/dev", "ci/@mesh"}),
        (["sind/dev"], [], [], set()),
    ],
)
def test_which_clusters_are_taken_back(
    planned: list[str], unfinished: list[str], removing: list[str], expected: set[str]
) -> None:
    outcome = Outcome(
        not_started=tuple(act(scope, "b") for scope in unfinished), removing=frozenset(map(Address.parse, removing))
    )

    found = _scopes_to_restore(Plan(changes=(), actions=tuple(map(act, planned))), outcome)

    assert found == {Address.parse(scope) for scope in expected}


def test_only_what_this_apply_made_is_removed_in_taking_back() -> None:
    def change(operation: Operation, run: str) -> Change:
        volume = Volume(name="x", labels={}, run=run)
        before, after = (None, volume) if operation is Operation.CREATE else (volume, None)
        return Change(address=DEV / "volume" / run, operation=operation, before=before, after=after)

    changes = (change(Operation.DELETE, "own"), change(Operation.DELETE, "theirs"), change(Operation.CREATE, "any"))

    own, foreign = _only_own(changes, "own", frozenset(one.address for one in changes))

    assert [str(one.address) for one in own] == ["sind/dev/volume/own", "sind/dev/volume/any"]
    assert foreign == ("sind/dev/volume/theirs appeared meanwhile, was not made by this apply, and was left alone",)


class Heard(Reporter):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def planned(self, plan: Plan) -> None:
        self.lines.append(f"planned {len(plan.changes)}")

    def failed(self, action: Action, error: SindplanError) -> None:
        self.lines.append(f"failed {action.id}")

    def taking_back(self, plan: Plan) -> None:
        self.lines.append("taking back")


def test_a_failure_in_one_cluster_lets_the_other_finish_and_keeps_the_mesh() -> None:
    world, heard = new_world(), Heard()
    world.machine.broken.add("sind-dev-worker-0")
    both = declaration(dev={}, other={})

    applied = world.apply(both, reporter=heard)

    assert applied.restored == {DEV}
    assert applied.kept == frozenset()
    assert applied.leftovers == ()
    assert heard.lines == ["planned 54", "failed node.start sind/dev/node/worker-0", "taking back"]
    assert world.plan(declaration(other={})).changes == ()
    assert not [found for found in world.engine.containers() if "-dev-" in found.name]
    assert not [found for found in world.engine.volumes() if "-dev-" in found.name]
    assert {"sind-dns", "sind-ssh"} <= {found.name for found in world.engine.containers()}


def test_stop_on_failure_takes_nothing_back() -> None:
    world, heard = new_world(), Heard()
    world.machine.broken.add("sind-dev-worker-0")

    applied = world.apply(declaration(), reporter=heard, settings=Settings(on_failure="stop"))

    assert applied.restored == frozenset()
    assert applied.kept == {DEV}
    assert "taking back" not in heard.lines
    assert world.engine.inspect_container("sind-dev-worker-0") is not None
    world.machine.broken.clear()
    assert world.apply(declaration()).outcome.complete
    assert world.plan(declaration()).changes == ()


def test_an_interrupted_apply_is_taken_back() -> None:
    world, stop = new_world(), threading.Event()

    class Interrupts(Reporter):
        def finished(self, action: Action, seconds: float) -> None:
            if action.step == "node.create":
                stop.set()

    before = world.snapshot()

    applied = world.apply(declaration(), reporter=Interrupts(), stop=stop)

    assert applied.outcome.interrupted
    assert applied.restored == {DEV, MESH}
    assert world.snapshot() == before


def test_somebody_elses_object_that_appears_meanwhile_is_left_alone() -> None:
    world = new_world()
    world.machine.broken.add("sind-dev-worker-0")

    class Meddles(Reporter):
        """While the apply runs, sind adds a volume and a node to the cluster."""

        def failed(self, action: Action, error: SindplanError) -> None:
            world.engine.create_volume("sind-dev-home", labels.volume("sind", "dev", "home"))

    applied = world.apply(declaration(), reporter=Meddles())

    assert [found.name for found in world.engine.volumes()] == ["sind-dev-home"]
    assert applied.leftovers == (
        "sind/dev/volume/home appeared meanwhile, was not made by this apply, and was left alone",
    )


def without_engine_afterwards(world: World, prepared: Prepared) -> Applied:
    """Apply with an engine that is gone when it is asked what is there."""

    def gone() -> Any:
        raise EngineUnreachable("No engine answers.")

    return apply(
        prepared.plan,
        prepared.before,
        engine=world.engine,
        slurm=world.slurm,
        owner="lab",
        observe_again=gone,
        reporter=Reporter(),
        settings=Settings(),
    )


def test_an_engine_that_goes_away_is_said_so() -> None:
    world = new_world()
    world.machine.broken.add("sind-dev-worker-0")
    prepared = world.prepare(declaration())

    applied = without_engine_afterwards(world, prepared)

    assert applied.restored == frozenset()
    assert applied.kept == {DEV}
    why, *made = applied.leftovers
    assert why == "what was done could not be taken back: No engine answers"
    ids = {found.name: found.id[:12] for found in world.engine.containers()}
    assert (
        f"sind/dev/node/controller was made by this apply; `docker rm -f {ids['sind-dev-controller']}` removes it"
        in made
    )
    assert "sind/dev/volume/config was made by this apply; `docker volume rm sind-dev-config` removes it" in made
    everything = [*world.engine.containers(), *world.engine.networks(), *world.engine.volumes()]
    assert len(made) == len([found for found in everything if found.name not in {"bridge", "host", "none"}])


def test_of_a_cluster_that_is_done_nothing_is_said_to_be_left_over() -> None:
    world = new_world()
    world.machine.broken.add("sind-dev-worker-0")

    applied = without_engine_afterwards(world, world.prepare(declaration(dev={}, other={})))

    assert applied.kept == {DEV}
    _, *made = applied.leftovers
    assert made
    assert all(one.startswith("sind/dev/") for one in made)


def test_a_rollback_that_takes_too_long_is_given_up_and_says_what_is_left() -> None:
    world = new_world()
    world.machine.broken.add("sind-dev-worker-0")

    applied = world.apply(declaration(), settings=Settings(rollback=0))

    assert applied.restored == frozenset()
    assert applied.kept == {DEV}
    late, *left = applied.leftovers
    assert late == "taking back was given up after 0 seconds"
    worker = world.engine.inspect_container("sind-dev-worker-0")
    assert worker is not None
    assert f"sind/dev/node/worker-0 was made by this apply; `docker rm -f {worker.id[:12]}` removes it" in left
    assert "node.remove sind/dev/node/worker-0 was not done" in left
    world.machine.broken.clear()
    assert world.apply(declaration()).outcome.complete
    assert world.plan(declaration()).changes == ()


def test_a_failure_after_removals_began_says_what_is_left() -> None:
    world = new_world()
    two = declaration(dev={"workers": {"a": {"count": 2}}})
    one = declaration(dev={"workers": {"a": {"count": 1}}})
    world.apply(two)
    prepared = world.prepare(one)
    # The first container to go is the one in which the configuration was tried.
    faulty = FaultyEngine(world.engine, fail_at=2, verbs=frozenset({"remove_container"}))

    applied = world.run(prepared, one, engine=faulty)

    assert applied.kept == {DEV}
    assert applied.restored == frozenset()
    assert [action.id for action in applied.outcome.not_started] == ["cluster-record.write sind/dev/record"]
    assert world.apply(one).outcome.complete
    assert world.plan(one).changes == ()


def test_a_busy_worker_that_stays_busy_fails_the_apply_and_is_put_back_to_work() -> None:
    world = new_world()
    two = declaration(dev={"workers": {"a": {"count": 2, "drain_timeout": "0s"}}})
    one = declaration(dev={"workers": {"a": {"count": 1, "drain_timeout": "0s"}}})
    world.apply(two)
    for short in ("worker-0", "worker-1"):
        world.machine.submit("sind-dev-controller", short, f"job-{short}", endless=True)
    before = world.snapshot()

    applied = world.apply(one)

    ((action, error),) = applied.outcome.failed
    assert action.id == "slurm.drain sind/dev/slurm/node/worker-1"
    assert error.summary == "worker-1 still runs the jobs job-worker-1 after 0s; it stays."
    assert "longer drain_timeout" in error.fix
    assert applied.restored == {DEV, MESH}
    assert world.snapshot() == before


def test_an_administrators_drain_is_theirs() -> None:
    world = new_world()
    world.apply(declaration())
    world.slurm.drain("sind-dev-controller", ["worker-0"], "broken fan")
    before = world.snapshot()

    assert world.plan(declaration()).changes == ()
    world.apply(declaration(dev={"submitter": {}}))

    view = world.slurm.view("sind-dev-controller")
    assert view is not None
    assert (view.nodes["worker-0"].states, view.nodes["worker-0"].reason) == ("drained", "broken fan")
    assert before != world.snapshot()


def test_a_drain_that_a_killed_sindplan_left_is_lifted() -> None:
    world = new_world()
    world.apply(declaration())
    world.slurm.drain("sind-dev-controller", ["worker-0"], "sindplan: leaving")

    (change,) = world.plan(declaration()).changes
    assert [(one.before, one.after) for one in change.fields] == [("leaving", "in service")]
    world.apply(declaration())
    assert world.plan(declaration()).changes == ()


def test_what_a_run_knows_from_the_start() -> None:
    world = new_world()
    world.apply(declaration())

    known = known_from(world.observe(declaration()))

    worker = world.engine.inspect_container("sind-dev-worker-0")
    assert worker is not None
    assert known.ids[DEV / "node/worker-0"] == worker.id
    assert known.host_keys[DEV / "node/worker-0"] == worker.labels[labels.HOST_KEY]
    subnets = {found.name: found.subnet for found in world.engine.networks()}
    assert known.subnets[DEV] == subnets["sind-dev-net"]
    assert known.dns["sind"] == str(ip_network(subnets["sind-mesh"])[-2])
    assert known.relay_keys["sind"].startswith("ssh-ed25519 ")
    assert "\n" not in known.relay_keys["sind"]


def test_every_object_says_who_made_it() -> None:
    world = new_world()
    world.apply(declaration())
    world.apply(declaration(dev={"submitter": {}}))

    marks = [
        found.labels
        for found in (*world.engine.containers(), *world.engine.networks(), *world.engine.volumes())
        if found.name not in ("bridge", "host", "none")
    ]
    assert marks
    assert {mark[labels.OWNER] for mark in marks} <= {"lab", ""}
    # Each apply has a token of its own.
    assert len({mark[labels.RUN] for mark in marks}) == 2


def test_a_cluster_whose_realm_has_no_relay_any_more_is_destroyed_all_the_same() -> None:
    """A hand has removed it; the lines that only it could take out stay on its volume, which is told."""
    world = new_world(seed=1)
    both = declaration(dev={}, other={})
    assert world.apply(both).outcome.complete
    world.engine.remove_container("sind-ssh")
    told: list[str] = []

    class Told(Reporter):
        def noted(self, text: str) -> None:
            told.append(text)

    prepared = prepare_destroy(
        world.engine, world.slurm, [Address.parse("sind/dev")], declaration=both, allow_job_loss=True
    )
    applied = world.run(prepared, both, reporter=Told(), settings=Settings(on_failure="stop"))

    assert failures(applied) == []
    assert world.engine.inspect_container("sind-dev-controller") is None
    assert told == ["sind/dev: its known hosts stay on the relay's volume, since there is no relay of sind"]
    assert failures(world.apply(both)) == []
    assert world.pending(both) == []
