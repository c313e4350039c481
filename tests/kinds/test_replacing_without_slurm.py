"""Replacing nodes while slurmctld is down: it comes up first, and is asked then who is busy."""

import pytest

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
