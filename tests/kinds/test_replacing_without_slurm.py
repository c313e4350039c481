"""Replacing nodes while slurmctld is down: it comes up first, and is asked then who is busy."""

import pytest

from sindplan.execute.apply import Settings
from tests.preflight.found import declaration
from tests.world import failures, new_world

CONTROLLER = "sind-dev-controller"
TWO = {"workers": {"cpu": {"count": 2}}}


@pytest.mark.parametrize("damage", ["stop slurmctld", "remove the controller", "stop the controller"])
def test_a_controller_that_is_down_comes_up_before_workers_are_drained(damage: str) -> None:
    world = new_world(seed=1)
    assert failures(world.apply(declaration(**TWO))) == []
    world.machine.submit(CONTROLLER, "worker-1", "17")
    match damage:
        case "stop slurmctld":
            world.slurm.stop_units(CONTROLLER, ["slurmctld.service"])
        case "remove the controller":
            world.engine.remove_container(CONTROLLER)
        case "stop the controller":
            world.engine.stop(CONTROLLER)
    wanted = declaration(**TWO, storage={"mount_path": "/scratch"})

    assert failures(world.apply(wanted)) == []

    assert world.pending(wanted) == []


def test_workers_that_are_replaced_meanwhile_are_waited_for_by_a_new_controller() -> None:
    """It knows nobody, so all have to join; one that a hand has stopped can when it has been replaced."""
    world = new_world(seed=1)
    assert failures(world.apply(declaration(**TWO))) == []
    world.engine.stop("sind-dev-worker-0")
    world.engine.remove_container(CONTROLLER)
    wanted = declaration(workers={"cpu": {"count": 2, "tmp_size": "64m"}})

    assert failures(world.apply(wanted, settings=Settings(parallelism=1))) == []

    assert world.pending(wanted) == []
