"""Jobs that a plan would end or begin anew are named, and block it."""

from typing import Any

import pytest

from sindplan.preflight.allowed import Allowed
from sindplan.workflow import prepare
from tests.preflight.found import declaration
from tests.world import World, new_world

CONTROLLER = "sind-dev-controller"
TWO = {"cpu": {"count": 2, "cpus": 1}}
EXTRA = "PartitionName=extra Nodes=ALL State=UP\n"


def world(**cluster: Any) -> World:
    world = new_world(seed=1)
    assert world.apply(declaration(**cluster)).outcome.complete
    return world


def jobs(world: World, **cluster: Any) -> list[str]:
    return [finding.what for finding in world.prepare(declaration(**cluster)).findings if finding.check == "jobs"]


def test_other_cpus_of_a_busy_node_are_named_with_the_jobs() -> None:
    there = world(workers=TWO)
    there.machine.submit(CONTROLLER, "worker-1", "17")

    (said,) = jobs(there, workers={"cpu": {"count": 2, "cpus": 2}})

    assert said == "sind/dev: worker-1 gets other CPUs (CPUs 1 -> 2), and Slurm begins the jobs 17 that run there anew."


def test_idle_nodes_and_pending_jobs_are_no_matter() -> None:
    there = world(workers=TWO)
    there.machine.submit(CONTROLLER, "worker-1", "17", waiting=True)

    assert jobs(there, workers={"cpu": {"count": 2, "cpus": 2}}) == []


@pytest.mark.parametrize(
    "edit",
    [
        {"workers": {"cpu": {"count": 2, "cpus": 1, "memory": "768m"}}},
        {"workers": {"cpu": {"count": 2, "cpus": 1, "features": ["x"]}}},
        {"workers": {"cpu": {"count": 3, "cpus": 1}}},
        {"workers": TWO, "slurm": {"main": "SlurmctldPort=7000\n"}},
        {"workers": TWO, "slurm": {"main": EXTRA}},
    ],
)
def test_what_lets_jobs_be_is_not_blocked(edit: dict[str, Any]) -> None:
    there = world(workers=TWO)
    there.machine.submit(CONTROLLER, "worker-1", "17")

    assert jobs(there, **edit) == []


def test_a_partition_that_goes_fails_its_jobs() -> None:
    there = world(workers=TWO, slurm={"main": EXTRA})
    there.machine.submit(CONTROLLER, "worker-0", "17", partition="extra")
    there.machine.submit(CONTROLLER, "worker-1", "18", partition="extra", waiting=True)
    there.machine.submit(CONTROLLER, "worker-1", "19")

    (said,) = jobs(there, workers=TWO)

    assert said == "sind/dev: the partition extra would go, and Slurm fails the jobs 17, 18 that run or wait in it."


def test_a_group_that_goes_with_its_partition_waits_for_its_jobs() -> None:
    groups = {"cpu": {"count": 1}, "gpu": {"count": 1, "partition": ""}}
    there = world(workers=groups)
    there.machine.submit(CONTROLLER, "worker-1", "17", partition="gpu")

    assert jobs(there, workers={"cpu": {"count": 1}}) == []


def test_what_was_allowed_is_said_all_the_same() -> None:
    there = world(workers=TWO)
    there.machine.submit(CONTROLLER, "worker-1", "17")
    wanted = declaration(workers={"cpu": {"count": 2, "cpus": 2}})

    assert prepare(there.engine, there.slurm, wanted).blocked
    allowed = prepare(there.engine, there.slurm, wanted, allowed=Allowed(jobs=True))

    assert not allowed.blocked
    assert [finding.check for finding in allowed.findings] == ["jobs"]
