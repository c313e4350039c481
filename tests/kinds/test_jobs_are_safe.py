"""Jobs are never lost without a word: what cannot be asked counts as busy."""

import pytest
from attrs import evolve

from sindplan.kinds.config import PENDING
from sindplan.model import names
from sindplan.model.declaration import Declaration, WorkerGroup
from sindplan.slurm.files import CONFIG
from sindplan.workflow import clusters_of, prepare_destroy
from tests.strategies import declared
from tests.world import IMAGE, World, new_world

CONTROLLER = "sind-dev-controller"


def _declaration(count: int) -> Declaration:
    cluster = {"image": IMAGE, "workers": {"cpu": {"count": count}}}
    return declared({"version": 1, "name": "lab", "realms": {"sind": {"clusters": {"dev": cluster}}}})


@pytest.fixture
def world() -> World:
    """Return an engine with a cluster of two workers, a job on each."""
    world = new_world()
    world.apply(_declaration(2))
    for worker in ("worker-0", "worker-1"):
        world.machine.submit(CONTROLLER, worker, f"job-{worker}", endless=True)
    return world


@pytest.mark.parametrize("damage", ["stop slurmctld", "stop munge and slurmctld", "stop", "pause", "remove"])
def test_no_worker_leaves_while_slurm_cannot_be_asked(world: World, damage: str) -> None:
    match damage:
        case "stop slurmctld":
            world.slurm.stop_units(CONTROLLER, ["slurmctld.service"])
        case "stop munge and slurmctld":
            world.slurm.stop_units(CONTROLLER, ["slurmctld.service", "munge.service"])
        case "stop":
            world.engine.stop(CONTROLLER)
        case "pause":
            world.engine.pause(CONTROLLER)
        case "remove":
            world.engine.remove_container(CONTROLLER)

    shrinking, mending = world.prepare(_declaration(1)), world.prepare(_declaration(2))

    (said,) = [finding.what for finding in shrinking.findings if finding.check == "jobs"]
    assert said == "slurmctld of sind/dev does not answer, so nobody can say whether worker-1 run jobs."
    assert shrinking.blocked
    assert not mending.blocked


def test_slurmctld_reads_files_without_a_worker_only_when_its_jobs_are_done(world: World) -> None:
    """Also when the file is right already, and only was not read: an apply was killed, or a hand wrote it."""
    file = f"{CONFIG}/sind-nodes.conf"
    text = (world.engine.read(CONTROLLER, file) or b"").decode()
    world.engine.write(CONTROLLER, file, text.replace(",worker-1", "").replace("NodeName=worker-1", "#").encode())
    world.engine.write(CONTROLLER, f"{CONFIG}/{PENDING}", b"")

    plan = world.plan(_declaration(1))

    needs = {action.step: action.needs for action in plan.actions}
    assert "slurm.drain sind/dev/slurm/node/worker-1" in needs["service.reconfigure"]


@pytest.mark.parametrize("stopped", [True, False])
def test_destroy_asks_about_jobs_and_about_those_it_cannot_see(world: World, stopped: bool) -> None:
    if stopped:
        world.slurm.stop_units(CONTROLLER, ["slurmctld.service"])
    clusters = clusters_of(_declaration(2))

    refused = prepare_destroy(world.engine, world.slurm, clusters)
    allowed = prepare_destroy(world.engine, world.slurm, clusters, allow_job_loss=True)

    assert refused.blocked
    assert not allowed.blocked
    assert [finding.check for finding in allowed.findings] == ["jobs"]


def test_destroy_asks_about_jobs_that_wait() -> None:
    world = new_world()
    world.apply(_declaration(1))
    world.machine.submit(CONTROLLER, "worker-0", "7", waiting=True)

    prepared = prepare_destroy(world.engine, world.slurm, clusters_of(_declaration(1)))

    (finding,) = prepared.findings
    assert finding.what == "sind/dev has the jobs 7; they would be lost."


def test_destroy_asks_about_the_queue_of_a_cluster_that_is_off() -> None:
    world = new_world()
    wanted = _declaration(1)
    off = evolve(wanted.realms["sind"].clusters["dev"], power="off")
    wanted = evolve(wanted, realms={"sind": evolve(wanted.realms["sind"], clusters={"dev": off})})
    world.apply(wanted)

    refused = prepare_destroy(world.engine, world.slurm, clusters_of(wanted))
    allowed = prepare_destroy(world.engine, world.slurm, clusters_of(wanted), allow_job_loss=True)

    assert [finding.what.partition(":")[0] for finding in refused.findings] == [
        "sind/dev is off, so nobody can say which jobs wait in its queue"
    ]
    assert (refused.blocked, allowed.blocked) == (True, False)


def test_a_worker_that_a_job_waits_for_by_name_is_not_the_first_to_leave() -> None:
    world = new_world()
    world.apply(_declaration(2))
    world.machine.submit(CONTROLLER, "worker-1", "7", waiting=True)

    plan = world.plan(_declaration(1))

    assert "sind/dev/node/worker-0" in {str(change.address) for change in plan.changes}


def test_a_job_that_waits_for_a_worker_by_name_keeps_it() -> None:
    world = new_world()
    world.apply(_declaration(1))
    world.machine.submit(CONTROLLER, "worker-0", "7", waiting=True)
    before = world.snapshot()

    applied = world.apply(_declaration(0))

    ((_, error),) = applied.outcome.failed
    assert error.summary == "The pending jobs 7 ask for worker-0 by name and would fail with it; it stays."
    assert world.snapshot() == before


def test_a_started_slurmctld_has_read_its_files() -> None:
    world = new_world()
    world.apply(_declaration(1))
    world.engine.write(CONTROLLER, f"{CONFIG}/{PENDING}", b"")
    world.engine.stop(CONTROLLER)

    world.apply(_declaration(1))

    assert world.plan(_declaration(1)).changes == ()


@pytest.mark.parametrize("container", [names.dns_container("sind"), names.relay_container("sind")])
def test_a_frozen_mesh_goes_on(container: str) -> None:
    world = new_world()
    world.apply(_declaration(1))
    world.engine.pause(container)

    assert world.apply(_declaration(1)).outcome.failed == ()

    assert world.plan(_declaration(1)).changes == ()


def test_groups_may_be_emptied_one_by_one() -> None:
    """A shrink to nothing and back leaves the rest alone."""
    world = new_world()
    two = _declaration(2)
    world.apply(two)
    cluster = two.realms["sind"].clusters["dev"]
    none = evolve(
        two,
        realms={
            "sind": evolve(two.realms["sind"], clusters={"dev": evolve(cluster, workers={"cpu": WorkerGroup(count=0)})})
        },
    )

    assert world.apply(none).outcome.failed == ()
    assert world.apply(two).outcome.failed == ()

    assert world.plan(two).changes == ()
