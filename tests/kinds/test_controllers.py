"""Two controllers: whom sindplan talks to, and how control goes back to the first, on simulated nodes."""

import struct
import time
from ipaddress import ip_network
from typing import Any

import pytest

from sindplan.kinds.config import PENDING
from sindplan.kinds.controllers import HEARTBEAT
from sindplan.model.declaration import Declaration
from sindplan.render.text import render_text
from sindplan.slurm.files import CONFIG
from tests.faults import FaultyEngine
from tests.kinds.recording import recorded_world
from tests.strategies import declared
from tests.world import IMAGE, World, new_world

FIRST, BACKUP, WORKER = "sind-dev-controller", "sind-dev-controller-backup", "sind-dev-worker-0"
SLURMCTLD = ("slurmctld.service",)


def declaration(*, backup: bool = True, workers: int = 1, **cluster: Any) -> Declaration:
    tables = {
        "image": IMAGE,
        "workers": {"cpu": {"count": workers}},
        **({"controller": {"backup": True}} if backup else {}),
    }
    return declared({"version": 1, "name": "lab", "realms": {"sind": {"clusters": {"dev": {**tables, **cluster}}}}})


@pytest.fixture
def world() -> World:
    """Return an engine with a cluster that has a backup controller."""
    made = new_world(seed=1)
    assert made.apply(declaration()).outcome.complete
    return made


def changed(world: World, wanted: Declaration) -> dict[str, list[str]]:
    return {str(one.address): [field.name for field in one.fields] for one in world.plan(wanted).changes}


def runs(world: World, node: str, unit: str = SLURMCTLD[0]) -> bool:
    return world.slurm.services(node, [unit])[unit]


# Coming and going


def test_a_backup_has_slurmctld_and_waits_for_the_first() -> None:
    world, log = recorded_world(new_world(seed=1))

    assert world.apply(declaration()).outcome.complete

    boots = [call[1] for call in log if call[0] == "boot"]
    assert boots.index(FIRST) < boots.index(BACKUP)
    assert runs(world, FIRST)
    assert runs(world, BACKUP)
    assert not [call for call in log if call[0] in ("stop_units", "start_units")]
    net = next(one for one in world.engine.networks() if one.name == "sind-dev-net")
    first, second = (ip_network(net.subnet)[at] for at in (10, 11))
    text = (world.engine.read(BACKUP, f"{CONFIG}/slurm.conf") or b"").decode()
    assert [line for line in text.splitlines() if line.startswith("SlurmctldHost")] == [
        f"SlurmctldHost=controller({first})",
        f"SlurmctldHost=controller-backup({second})",
    ]


def test_a_backup_comes_to_a_cluster_that_runs_and_goes_again() -> None:
    world = new_world(seed=1)
    world.apply(declaration(backup=False))
    first = world.engine.inspect_container(FIRST)
    assert first is not None

    for wanted in (declaration(), declaration(backup=False)):
        assert world.apply(wanted).outcome.complete
        assert world.plan(wanted).changes == ()
        again = world.engine.inspect_container(FIRST)
        assert again is not None
        assert (again.id, again.started_at) == (first.id, first.started_at)
    assert world.engine.inspect_container(BACKUP) is None


# The first is stopped


def test_a_stopped_first_controller_is_shown_as_its_power_alone(world: World) -> None:
    world.engine.stop(FIRST)

    assert changed(world, declaration()) == {"sind/dev/node/controller": ["power"]}


@pytest.mark.parametrize("stop", ["stop", "kill"])
def test_control_is_given_back_fast(world: World, stop: str) -> None:
    getattr(world.engine, stop)(FIRST)
    world, log = recorded_world(world)

    assert world.apply(declaration()).outcome.complete

    # A backup that is asked for control takes half a minute: so it is stopped first, and started again after.
    order = [call[:3] for call in log if call[0] in ("boot", "start_units", "stop_units", "reconfigure", "join")]
    assert [call[:2] for call in order] == [
        ("stop_units", BACKUP),
        ("boot", FIRST),
        ("start_units", BACKUP),
        ("join", FIRST),
    ]
    assert order[0][2] == order[2][2] == SLURMCTLD
    assert world.plan(declaration()).changes == ()


def test_the_container_is_started_only_when_the_backup_has_stepped_back(world: World) -> None:
    world.engine.stop(FIRST)
    seen: list[bool] = []
    start = world.engine.start

    class Watching(FaultyEngine):
        """Looks at the backup when the first controller is started."""

    engine = Watching(world.engine)
    engine.start = lambda container: (seen.append(runs(world, BACKUP)), start(container))[1]

    assert world.apply(declaration(), engine=engine).outcome.complete

    assert seen == [False]
    assert runs(world, BACKUP)


def test_a_stopped_slurmctld_is_given_control_back_in_the_same_way(world: World) -> None:
    world.slurm.stop_units(FIRST, SLURMCTLD)
    assert changed(world, declaration()) == {"sind/dev/service/controller/slurmctld": ["active"]}
    world, log = recorded_world(world)

    assert world.apply(declaration()).outcome.complete

    assert [call[:2] for call in log if call[0] in ("start_units", "stop_units")] == [
        ("stop_units", BACKUP),
        ("start_units", FIRST),
        ("start_units", BACKUP),
    ]


def test_a_first_controller_that_was_frozen_for_a_moment_reads_its_files(world: World) -> None:
    world.engine.pause(FIRST)
    assert changed(world, declaration()) == {"sind/dev/node/controller": ["power"]}
    world, log = recorded_world(world)

    assert world.apply(declaration()).outcome.complete

    calls = [call[:2] for call in log if call[0] in ("start_units", "stop_units", "boot", "reconfigure")]
    assert calls == [("start_units", FIRST), ("reconfigure", FIRST)]
    assert world.plan(declaration()).changes == ()


def test_a_frozen_first_controller_does_not_wake_after_its_backup_has_taken_over(world: World) -> None:
    """What it would save then is older than what the backup has saved."""
    world.engine.pause(FIRST)
    beat = struct.pack(">QQ", int(time.time()), 1)
    world.engine.write(BACKUP, HEARTBEAT, beat)
    world, log = recorded_world(world)

    assert world.apply(declaration()).outcome.complete

    calls = [call[:2] for call in log if call[0] in ("start_units", "stop_units", "boot", "reconfigure")]
    assert calls == [("stop_units", BACKUP), ("boot", FIRST), ("start_units", BACKUP)]
    assert world.plan(declaration()).changes == ()


def test_the_backup_runs_again_even_when_the_first_does_not_come_up(world: World) -> None:
    world.engine.stop(FIRST)
    world.machine.broken.add(FIRST)

    applied = world.apply(declaration())

    assert not applied.outcome.complete
    assert runs(world, BACKUP)


def test_every_failing_call_of_a_failback_is_taken_back(world: World) -> None:
    world.engine.stop(FIRST)
    before = world.snapshot()
    prepared = world.prepare(declaration())
    for fail_at in range(1, 30):
        done = world.run(prepared, declaration(), engine=FaultyEngine(world.engine, fail_at))
        if done.outcome.complete:
            break
        if done.restored:
            assert world.snapshot() == before
        assert runs(world, BACKUP)
    else:
        raise AssertionError
    assert fail_at > 3
    assert world.plan(declaration()).changes == ()


# Changes while the backup is in control


def test_the_configuration_is_written_and_read_through_the_backup(world: World) -> None:
    world.slurm.stop_units(FIRST, SLURMCTLD)
    more = declaration(workers=2)
    assert set(changed(world, more)) >= {"sind/dev/file/sind-nodes.conf", "sind/dev/node/worker-1"}
    world, log = recorded_world(world)

    assert world.apply(more).outcome.complete

    assert {call[1] for call in log if call[0] == "install"} - {"sind-ssh"} == {BACKUP}
    assert world.plan(more).changes == ()
    view = world.slurm.view(FIRST)
    assert view is not None
    assert set(view.nodes) == {"worker-0", "worker-1"}
    assert not world.engine.has_file(FIRST, f"{CONFIG}/{PENDING}")


def test_the_configuration_is_written_through_the_backup_while_the_first_is_down(world: World) -> None:
    world.engine.stop(FIRST)
    more = declaration(workers=2)
    world, log = recorded_world(world)

    assert world.apply(more).outcome.complete

    assert {call[1] for call in log if call[0] == "install"} - {"sind-ssh"} == {BACKUP}
    assert runs(world, FIRST)
    assert runs(world, BACKUP)
    assert world.plan(more).changes == ()


def test_a_worker_leaves_through_the_backup_and_its_jobs_are_waited_for(world: World) -> None:
    world.machine.submit(BACKUP, "worker-0", "7")
    world.slurm.stop_units(FIRST, SLURMCTLD)
    none = declaration(workers=0)
    assert not world.prepare(none).blocked
    world, log = recorded_world(world)

    assert world.apply(none).outcome.complete

    assert {call[2] for call in log if call[0] == "drain"} == {("worker-0",)}
    assert world.machine.jobs == {}
    assert world.plan(none).changes == ()


def test_a_job_keeps_a_worker_in_the_eyes_of_the_backup_too(world: World) -> None:
    world.machine.submit(BACKUP, "worker-0", "7", endless=True)
    world.slurm.stop_units(FIRST, SLURMCTLD)
    none = declaration(workers=0, drain_timeout="0s")

    done = world.apply(none)

    assert [error.summary for _, error in done.outcome.failed] == ["worker-0 still runs the jobs 7 after 0s; it stays."]
    assert world.engine.inspect_container(WORKER) is not None


def test_the_backup_is_said_to_be_in_control(world: World) -> None:
    beat = struct.pack(">QQ", int(time.time()), 1)
    world.engine.write(BACKUP, "/var/spool/slurmctld/heartbeat", beat)

    said = [finding.what for finding in world.prepare(declaration()).findings]

    assert said == [
        "The backup controller is in control of sind/dev; it gives control back when the first one is started."
    ]


# Both down, or one gone


@pytest.mark.parametrize("how", ["stop", "slurmctld"])
def test_with_both_down_nobody_can_say_who_is_busy(world: World, how: str) -> None:
    for node in (FIRST, BACKUP):
        if how == "stop":
            world.engine.stop(node)
        else:
            world.slurm.stop_units(node, SLURMCTLD)

    blocked = world.prepare(declaration(workers=0))
    assert [finding.check for finding in blocked.findings] == ["jobs"]
    assert world.apply(declaration()).outcome.complete

    assert runs(world, FIRST)
    assert runs(world, BACKUP)
    assert world.plan(declaration()).changes == ()


def test_with_both_down_the_first_comes_first(world: World) -> None:
    for node in (BACKUP, FIRST):
        world.engine.stop(node)
    world, log = recorded_world(world)

    assert world.apply(declaration()).outcome.complete

    assert [call[1] for call in log if call[0] == "boot"] == [FIRST, BACKUP]


def test_the_backup_of_a_failback_that_was_killed_comes_after_the_first(world: World) -> None:
    # Starting the first stops the backup while it runs: whoever started the backup meanwhile would see it fail.
    world.engine.stop(FIRST)
    world.slurm.stop_units(BACKUP, SLURMCTLD)
    prepared = world.prepare(declaration())
    needs = {action.step: action.needs for action in prepared.plan.actions}
    assert needs["service.start"] == tuple(a.id for a in prepared.plan.actions if a.step == "node.start")

    assert world.run(prepared, declaration()).outcome.complete
    assert world.plan(declaration()).changes == ()


@pytest.mark.parametrize("removed", [True, False])
def test_a_backup_waits_for_a_database_though_the_first_needs_nothing(world: World, *, removed: bool) -> None:
    wanted = declaration(db={})
    assert world.apply(wanted).outcome.complete
    world.engine.stop("sind-dev-db")
    if removed:
        world.engine.remove_container(BACKUP)
    else:
        world.slurm.stop_units(BACKUP, SLURMCTLD)
    plan = world.plan(wanted)

    database = next(action.id for action in plan.actions if action.id == "node.start sind/dev/node/db")
    starts = "node.start sind/dev/node/controller-backup" if removed else "service.start"
    (found,) = [action for action in plan.actions if starts in (action.id, action.step)]
    assert database in found.needs
    assert world.apply(wanted).outcome.complete


@pytest.mark.parametrize("gone", [FIRST, BACKUP])
def test_a_controller_that_was_removed_by_hand_is_made_anew(world: World, gone: str) -> None:
    keys = world.engine.get_files(WORKER, "/etc/munge/munge.key")
    world.engine.remove_container(gone)

    plan = world.plan(declaration())
    created = {str(one.address) for one in plan.changes if one.before is None}
    short = gone.removeprefix("sind-dev-")
    assert f"sind/dev/node/{short}" in created
    assert not any("/file/" in address or "/key/" in address for address in created)
    assert world.apply(declaration()).outcome.complete

    assert world.engine.get_files(WORKER, "/etc/munge/munge.key") == keys
    assert runs(world, gone)
    assert world.plan(declaration()).changes == ()


def test_a_removed_first_controller_comes_back_while_the_backup_serves(world: World) -> None:
    world.engine.remove_container(FIRST)
    world.machine.submit(BACKUP, "worker-0", "7", endless=True)
    world, log = recorded_world(world)

    assert world.apply(declaration(workers=2)).outcome.complete

    order = [
        call[:2] for call in log if call[0] in ("boot", "start_units", "stop_units") and call[1] in (FIRST, BACKUP)
    ]
    assert order == [("stop_units", BACKUP), ("boot", FIRST), ("start_units", BACKUP)]
    assert "7" in world.machine.jobs


def test_a_stopped_backup_is_started_and_nothing_else(world: World) -> None:
    world.engine.stop(BACKUP)
    assert changed(world, declaration()) == {"sind/dev/node/controller-backup": ["power"]}
    world, log = recorded_world(world)

    assert world.apply(declaration()).outcome.complete

    assert [call[:2] for call in log if call[0] in ("boot", "start_units", "stop_units")] == [("boot", BACKUP)]


def test_a_plan_with_the_first_stopped_reads_like_this(world: World) -> None:
    world.engine.stop(FIRST)

    assert render_text(world.plan(declaration())).splitlines()[4:8] == [
        "  # sind/dev/node/controller will be updated in-place",
        "  # (changed outside sindplan)",
        "  ~ node",
        '      ~ power = "stopped" -> "running"',
    ]


def test_a_job_keeps_a_worker_while_the_first_controller_is_down(world: World) -> None:
    world.machine.submit(BACKUP, "worker-0", "7", endless=True)
    world.engine.stop(FIRST)

    done = world.apply(declaration(workers=0, drain_timeout="0s"))

    assert [error.summary for _, error in done.outcome.failed] == ["worker-0 still runs the jobs 7 after 0s; it stays."]
    assert world.engine.inspect_container(WORKER) is not None


def test_a_worker_leaves_though_the_first_controller_is_down(world: World) -> None:
    world.machine.submit(BACKUP, "worker-0", "7")
    world.engine.stop(FIRST)
    none = declaration(workers=0)
    prepared = world.prepare(none)
    assert not prepared.blocked
    world, log = recorded_world(world)

    assert world.apply(none).outcome.complete

    assert [call[1:3] for call in log if call[0] == "drain"] == [(BACKUP, ("worker-0",))]
    assert world.machine.jobs == {}
    assert world.plan(none).changes == ()
