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
