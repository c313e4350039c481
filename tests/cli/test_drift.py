"""`sindplan drift`, as cron runs it."""

from pathlib import Path

from sindplan.statefile import read
from tests.cli.conftest import Call
from tests.world import World


def test_nothing_at_all_is_silent(world: World, call: Call) -> None:
    said = call("drift")

    assert (said.status, said.out, said.err) == (0, "", "")


def test_without_drift_it_is_silent_and_needs_no_file(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    state.unlink()

    said = call("drift")

    assert (said.status, said.out, said.err) == (0, "", "")


def test_drift_is_reported_with_2(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    world.engine.stop("sind-dev-worker-0")

    said = call("drift")

    assert said.status == 2
    assert said.out.startswith("Clusters of 'lab' drifted; an apply would do this:\n")
    assert "  # sind/dev/node/worker-0 will be updated in-place\n  # (changed outside sindplan)\n" in said.out
    assert said.out.endswith("\nPlan: 0 to add, 1 to change, 0 to destroy.\n")
    assert call("drift", "--realm", "other").status == 0
    assert call("drift", "--realm", "sind").status == 2


def test_a_cluster_without_a_record_is_not_called_clean(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    world.engine.remove_network("sind-dev-record")

    said = call("drift")

    assert said.status == 2
    assert "Warning: Nothing says what was applied last to sind/dev" in said.err
    assert call("drift", "--realm", "other").status == 0


def test_a_volume_that_a_hand_made_anew_is_told_with_its_remedy(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    for found in world.engine.containers():
        if found.name.startswith("sind-dev-"):
            world.engine.remove_container(found.id)
    world.engine.remove_volume("sind-dev-data")
    world.engine.create_volume("sind-dev-data", {})

    said = call("drift")

    assert said.status == 2
    assert "  # sind/dev/volume/data will be created\n  # (declared and applied before, and gone)\n" in said.out
    assert "Blocked: The volume 'sind-dev-data' is not the one that sindplan made for sind/dev" in said.err
    assert "docker volume rm sind-dev-data" in said.err
    assert "sind-dev-data" in {volume.name for volume in world.engine.volumes()}
