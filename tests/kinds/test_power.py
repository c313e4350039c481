"""Nodes that are off: in which order they go and come, what is waited for, and what is not done meanwhile."""

from typing import Any

import pytest
from attrs import evolve

from sindplan.execute.reporter import Reporter
from sindplan.kinds.config import MARKS
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from sindplan.slurm.files import CONFIG
from sindplan.slurm.port import OFF_REASON
from sindplan.workflow import prepare_drift
from tests.faults import FaultyEngine
from tests.kinds.recording import recorded_world
from tests.preflight.found import declaration, found
from tests.world import World, new_world

CONTROLLER, BACKUP, DB = "sind-dev-controller", "sind-dev-controller-backup", "sind-dev-db"
TWO = {"workers": {"cpu": {"count": 2}}}
ALL = {"controller": {"backup": True}, "db": {}, "submitter": {}, **TWO}


def applied(**cluster: Any) -> World:
    world = new_world(seed=1)
    assert world.apply(declaration(**cluster)).outcome.complete
    return world


def quiet(world: World, wanted: Declaration) -> None:
    """Check that neither the declaration nor the record finds anything to do."""
    assert world.plan(wanted).changes == ()
    assert [one.plan.changes for one in prepare_drift(world.engine, world.slurm)] == [()]


def states(world: World) -> dict[str, str]:
    return {
        found.name.removeprefix("sind-dev-"): found.state
        for found in world.engine.containers()
        if found.name.startswith("sind-dev-")
    }


def reasons(world: World) -> dict[str, str]:
    container = world.engine.inspect_container(CONTROLLER)
    assert container is not None
    return dict(world.machine.controller(container).reasons)


class Noting(Reporter):
    """Writes down what people are told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def noted(self, text: str) -> None:
        self.notes.append(text)


# In which order


def test_a_cluster_goes_down_from_the_workers_and_comes_up_from_the_db() -> None:
    world = applied(**ALL)
    calls: list[tuple[str, str]] = []
    for power, verb in (("off", "stop"), ("on", "start")):
        engine = FaultyEngine(world.engine, verbs=frozenset({verb}))
        wanted = declaration(**ALL, power=power)
        assert world.apply(wanted, engine=engine).outcome.complete
        quiet(world, wanted)
        ids = {found.id: found.name.removeprefix("sind-dev-") for found in world.engine.containers()}
        calls = [(name, ids[container]) for name, container in engine.calls]
        order = [node for _, node in calls]
        servers, others = ["controller-backup", "controller", "db"], {"submitter", "worker-0", "worker-1"}
        if power == "off":
            assert (set(order[:3]), order[3:]) == (others, servers)
            assert set(states(world).values()) == {"exited"}
        else:
            assert (order[:3], set(order[3:])) == (servers[::-1], others)
            assert reasons(world) == {}


def test_what_is_made_to_be_off_is_whole() -> None:
    off = {**ALL, "power": "off", "accounts": {"physics": {}}}
    world = applied(**off)
    quiet(world, declaration(**off))
    assert set(states(world).values()) == {"exited"}

    on = declaration(**{**off, "power": "on"})
    assert world.apply(on).outcome.complete

    quiet(world, on)
    view = world.slurm.view(CONTROLLER)
    assert view is not None
    assert {name: state.states for name, state in view.nodes.items()} == {"worker-0": "idle", "worker-1": "idle"}
    accounting = world.slurm.accounting(CONTROLLER)
    assert accounting is not None
    assert "physics" in accounting.accounts


def test_nothing_is_asked_of_slurm_while_it_is_off() -> None:
    off = {**ALL, "power": "off"}
    world, log = recorded_world(applied(**off))
    log.clear()

    more = {**off, "workers": {"cpu": {"count": 3}}, "slurm": {"main": "MaxJobCount=9\n"}, "api": {}}
    assert world.apply(declaration(**more)).outcome.complete

    assert not {call[0] for call in log} & {"join", "reconfigure", "drain", "resume", "change_accounting"}
    assert set(states(world).values()) == {"exited"}
    quiet(world, declaration(**more))
    assert b"MaxJobCount=9" in (world.engine.read(CONTROLLER, f"{CONFIG}/slurm.conf") or b"")


def test_what_was_edited_with_the_power_off_is_read_at_the_next_start() -> None:
    world = applied(**ALL)
    edit = {"slurm": {"main": "MaxJobCount=9\n", "slurmdbd": "PurgeJobAfter=1month\n"}}

    assert world.apply(declaration(**ALL, **edit, power="off")).outcome.complete

    assert not [mark for mark in MARKS.values() if world.engine.has_file(CONTROLLER, f"{CONFIG}/{mark}")]
    assert world.apply(declaration(**ALL, **edit)).outcome.complete
    quiet(world, declaration(**ALL, **edit))


def test_workers_that_stay_off_are_drained_when_their_cluster_comes_back() -> None:
    world = applied(**TWO, power="off")
    wanted = declaration(**TWO, powered_off="worker-1")

    assert world.apply(wanted).outcome.complete

    assert reasons(world) == {"worker-1": OFF_REASON}
    assert states(world) == {"controller": "running", "worker-0": "running", "worker-1": "exited"}
    quiet(world, wanted)


# Jobs


def test_jobs_are_waited_for() -> None:
    world = applied(**TWO)
    world.machine.submit(CONTROLLER, "worker-1", "17")

    assert world.apply(declaration(**TWO, power="off")).outcome.complete

    assert world.machine.jobs == {}


def test_a_job_that_does_not_end_keeps_everything_on() -> None:
    world = applied(**TWO)
    world.machine.submit(CONTROLLER, "worker-1", "17", endless=True)
    before = world.snapshot()

    ((_, error),) = world.apply(declaration(**TWO, power="off", drain_timeout="0s")).outcome.failed

    assert error.summary == "worker-1 still runs the jobs 17 after 0s; it stays."
    assert world.snapshot() == before


def test_an_apply_that_was_killed_while_it_waited_waits_again() -> None:
    world = applied(**TWO)
    world.machine.submit(CONTROLLER, "worker-1", "17", endless=True)
    world.slurm.drain(CONTROLLER, ["worker-1"], OFF_REASON)
    wanted = declaration(workers={"cpu": {"count": 2, "power": "off"}}, drain_timeout="0s")

    plan = world.plan(wanted)
    applied_ = world.apply(wanted)

    assert "sind/dev/slurm/node/worker-1" in {str(change.address) for change in plan.changes}
    assert not applied_.outcome.complete
    assert "17" in world.machine.jobs
    assert states(world)["worker-1"] == "running"


@pytest.mark.parametrize("power", ["off", "gone"])
def test_jobs_that_are_over_time_are_requeued_or_cancelled(power: str) -> None:
    for then, interactive, told in (
        ("requeue", False, "requeued the jobs 17"),
        ("requeue", True, "cancelling the jobs 17, which Slurm does not requeue"),
        ("cancel", False, "cancelling the jobs 17"),
    ):
        world = applied(**TWO)
        world.machine.submit(CONTROLLER, "worker-1", "17", endless=True, interactive=interactive)
        group: dict[str, Any] = {"count": 2, "power": "off"} if power == "off" else {"count": 0}
        wanted = declaration(workers={"cpu": {**group, "on_timeout": then}}, drain_timeout="0s")
        noting = Noting()

        assert world.apply(wanted, reporter=noting).outcome.complete

        assert noting.notes == [f"sind/dev/node/worker-1: drain_timeout is over; {told}"]
        view = world.slurm.view(CONTROLLER)
        assert view is not None
        assert view.pending_jobs == (("17",) if then == "requeue" and not interactive else ())
        quiet(world, wanted)


@pytest.mark.parametrize(("group", "cluster", "then"), [(None, "cancel", "cancel"), ("fail", "cancel", "fail")])
def test_a_group_decides_before_its_cluster(group: str | None, cluster: str, then: str) -> None:
    world = applied(**TWO)
    own = {"count": 2} if group is None else {"count": 2, "on_timeout": group}

    prepared = world.prepare(declaration(workers={"cpu": own}, on_timeout=cluster))

    assert prepared.on_timeouts[Address.parse("sind/dev/node/worker-0")] == then


def test_the_plan_says_which_jobs_would_be_ended() -> None:
    world = applied(**TWO)
    world.machine.submit(CONTROLLER, "worker-1", "17", endless=True)

    for more in ({"power": "off"}, {"count": 0, "power": "on"}):
        group = {"count": 2, "on_timeout": "cancel", **more}
        assert (
            "~drain",
            "sind/dev/node/worker-1 runs the jobs 17; those that do not end within 10m are cancelled.",
        ) in (found(world, declaration(workers={"cpu": group})))
    assert found(world, declaration(**TWO, on_timeout="cancel")) == []


# Drains of others


def test_an_administrator_s_drain_is_neither_written_over_nor_lifted() -> None:
    world = applied(**TWO)
    world.slurm.drain(CONTROLLER, ["worker-1"], "disk is broken")
    for wanted in (declaration(workers={"cpu": {"count": 2, "power": "off"}}), declaration(**TWO)):
        assert world.apply(wanted).outcome.complete
        assert reasons(world)["worker-1"] == "disk is broken"
        quiet(world, wanted)


def test_an_administrator_s_drain_outlives_a_shrink_that_fails() -> None:
    world = applied(**TWO)
    for worker in ("worker-0", "worker-1"):
        world.machine.submit(CONTROLLER, worker, f"job-{worker}", endless=True)
    world.slurm.drain(CONTROLLER, ["worker-1"], "disk is broken")

    assert not world.apply(declaration(workers={"cpu": {"count": 0}}, drain_timeout="0s")).outcome.complete

    assert reasons(world) == {"worker-1": "disk is broken"}


# What cannot be done


def test_what_lives_in_the_database_is_not_changed_while_it_is_off() -> None:
    account = {"db": {}, "accounts": {"physics": {"limits": {"MaxJobs": 5}}}}
    world = applied(**account, power="off")
    for power in ("off", "on"):
        other = {**account, "accounts": {"physics": {"limits": {"MaxJobs": 6}}}}
        assert ("power", "sind/dev is off, and account/physics would change, which only its database knows.") in (
            found(world, declaration(**other, power=power))
        )
        assert not world.prepare(declaration(**account, power=power)).blocked


def test_accounts_go_before_the_power_does() -> None:
    world = applied(db={}, accounts={"physics": {}, "chemistry": {}})

    said = found(world, declaration(db={}, accounts={"physics": {}}, power="off"))

    assert ("power", "sind/dev goes off, and account/chemistry with it, which its database knows.") in said
    added = declaration(db={}, accounts={"physics": {}, "chemistry": {}, "biology": {}}, power="off")
    assert world.apply(added).outcome.complete
    quiet(world, added)


def test_users_are_not_taken_from_nodes_that_are_off() -> None:
    both = {"users": {"alice": {}, "bob": {}}, **TWO}
    world = applied(**both, powered_off="worker-1")
    one = {**both, "users": {"alice": {}}}

    (said,) = found(world, declaration(**one, powered_off="worker-1"))

    assert said[1].startswith("bob would go from nodes of sind/dev that are off")
    more = declaration(**{**both, "users": {"alice": {}, "bob": {}, "eve": {}}}, powered_off="worker-1")
    assert world.apply(more).outcome.complete
    quiet(world, more)


def test_nobody_can_say_whether_workers_are_busy_when_slurm_does_not_answer() -> None:
    world = applied(**TWO)
    world.slurm.stop_units(CONTROLLER, ["slurmctld.service"])

    said = found(world, declaration(**TWO, power="off"))

    assert said[0][0] == "jobs"
    assert "worker-0, worker-1 run jobs" in said[0][1]


def test_a_worker_that_a_hand_starts_while_its_cluster_is_off_is_stopped_again() -> None:
    off = declaration(power="off")
    world = applied()
    world.apply(off)
    world.engine.start("sind-dev-worker-0")

    assert world.pending(off) == ["update sind/dev/node/worker-0 power: running -> stopped"]
    world.apply(off)
    quiet(world, off)
    # A controller that a hand starts as well may have begun jobs.
    world.engine.start("sind-dev-worker-0")
    world.engine.start("sind-dev-controller")
    world.machine.stop_unit(world.engine.inspect_container("sind-dev-controller"), "slurmctld.service")
    assert world.prepare(off).blocked


def test_a_worker_that_is_not_there_may_be_named_and_is_pointed_out() -> None:
    world = applied()

    said = found(world, declaration(powered_off="worker-[0,7]"))

    assert said == [("~power", "sind/dev has no worker-7: powered_off says nothing of a worker that is not there.")]


def test_a_failing_power_on_is_taken_back_whole() -> None:
    """Whatever call fails: afterwards everything is off and drained as it was, or on."""
    failed = 0
    for number in range(1, 40):
        world = applied(**ALL, power="off")
        before = world.snapshot()
        wanted = declaration(**ALL)
        engine = FaultyEngine(world.engine, fail_at=number)

        done = world.apply(wanted, engine=engine).outcome.complete

        failed += not done
        if not done and len(engine.calls) > 1 and states(world)["controller"] == "exited":
            assert world.snapshot() == before, number
        assert world.apply(evolve(wanted)).outcome.complete
        quiet(world, wanted)
    assert failed > 10
