"""`--target`, `--exclude` and `--destroy` of plan and apply: what is said, what is done, and plans that are saved with them."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Call, write_state
from tests.world import World

YES = "--auto-approve"


@pytest.fixture
def damaged(world: World, state: Path, call: Call) -> Path:
    """Two workers that somebody removed, of three."""
    write_state(state.parent, 3)
    assert call("apply", YES).status == 0
    for name in ("worker-1", "worker-2"):
        world.engine.remove_container(f"sind-dev-{name}")
    return state


def nodes(world: World) -> set[str]:
    return {summary.name for summary in world.engine.containers() if "worker" in summary.name}


def test_a_target_brings_what_it_needs_and_says_that_it_is_a_part(world: World, damaged: Path, call: Call) -> None:
    said = call("plan", "--target", "sind/dev/node/worker-2")

    assert "# sind/dev/node/worker-2 will be created" in said.out
    assert "worker-1" not in said.out
    assert "This is a part of the plan: " in said.out
    assert call("apply", YES, "--target", "sind/dev/node/worker-2").status == 0
    assert nodes(world) == {"sind-dev-worker-0", "sind-dev-worker-2"}
    assert call("apply", YES).status == 0
    assert call("plan", "--detailed-exitcode").status == 0


def test_what_is_excluded_stays_as_it_is(world: World, damaged: Path, call: Call) -> None:
    assert call("apply", YES, "--exclude", "sind/dev/node/worker-2").status == 0

    assert nodes(world) == {"sind-dev-worker-0", "sind-dev-worker-1"}
    said = call("plan", "--exclude", "sind/dev", "--detailed-exitcode")
    assert said.status == 0
    assert said.out.startswith("No changes to what was named.\nThis is a part of the plan: ")


def test_a_saved_part_is_that_part(world: World, damaged: Path, call: Call) -> None:
    assert call("plan", "--target", "sind/dev/node/worker-1", "--out", "part").status == 0
    content = json.loads(Path("part").read_text(encoding="utf-8"))
    assert content["complete"] is False
    assert content["sindplan"]["options"]["target"] == ["sind/dev/node/worker-1"]

    said = call("apply", "part")

    assert said.status == 0, said
    assert nodes(world) == {"sind-dev-worker-0", "sind-dev-worker-1"}
    # It works once, though no record was written by it.
    world.engine.remove_container("sind-dev-worker-1")
    again = call("apply", "part")
    assert again.status == 1
    assert "another apply has been made since" in again.err


def test_an_address_at_which_nothing_is_is_an_error(world: World, state: Path, call: Call) -> None:
    for option in ("--target", "--exclude"):
        said = call("plan", option, "sind/dev/node/worker-9")
        assert said.status == 1
        assert said.err.startswith("Error: There is nothing at sind/dev/node/worker-9.\n  Name what is declared")


@pytest.mark.parametrize("option", ["--target", "--exclude"])
def test_a_part_of_a_cluster_is_not_destroyed(world: World, damaged: Path, call: Call, option: str) -> None:
    """The end of a node would be that of its cluster, volumes included: nobody means that who names the node."""
    said = call("plan", "--destroy", option, "sind/dev/node/worker-0")

    assert (said.status, said.out) == (64, "")
    assert "--destroy takes whole clusters: name REALM/CLUSTER, not sind/dev/node/worker-0" in said.err


def test_of_two_clusters_the_one_that_is_named_goes_alone(world: World, folder: Path, call: Call) -> None:
    """Their mesh stays, as `destroy sind/dev` leaves it."""
    state = write_state(folder, 1)
    state.write_text(state.read_text() + '[realms.sind.clusters.other]\nimage = "sindplan-node:26.05"\n')
    call("apply", "--auto-approve")
    others = {one.name: one.id for one in world.engine.containers() if not one.name.startswith("sind-dev-")}

    said = call("apply", "--auto-approve", "--destroy", "--target", "sind/dev")

    assert said.status == 0, said
    assert {one.name: one.id for one in world.engine.containers()} == others
    assert "sind/other" not in said.out
    assert call("plan", "--detailed-exitcode", "--exclude", "sind/dev").status == 0
    assert call("apply", "--auto-approve", "--destroy", "--exclude", "sind/dev").status == 0
    assert world.engine.containers() == ()
    assert call("plan", "--destroy", "--target", "sind/gone").status == 1


def test_destroy_by_plan_and_apply(world: World, damaged: Path, call: Call) -> None:
    said = call("plan", "--destroy", "--out", "end")
    assert "to destroy." in said.out
    assert " 0 to add, 0 to change, " in said.out

    said = call("apply", "end")

    assert said.status == 0, said
    assert "Destroy complete!" in said.out
    assert not world.engine.containers()
    assert call("plan", "--destroy").out == "Nothing to destroy.\n"
    assert call("apply", "--destroy").status == 0
