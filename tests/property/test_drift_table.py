"""What hands can do to a cluster, one thing after the other: seen as drift, mended by an apply, and then gone."""

import pytest

from sindplan.model.address import Address
from sindplan.workflow import prepare_drift
from tests.hands import DAMAGE, Hand
from tests.kinds.test_config import DEV, declaration
from tests.world import World, new_world

FULL = declaration(
    db={},
    api={},
    submitter={},
    workers={"cpu": {"count": 2}},
    accounts={"physics": {"limits": {"MaxJobs": 5}}, "chemistry": {}},
    users={"alice": {"accounts": ["physics"]}},
    slurm={"main": {"10-a": "# a\n", "20-b": "MaxJobCount=7\n"}},
)
BY_SLURM_KEY = declaration(identity="client_ids", submitter={}, workers={"cpu": {"count": 2}})
PAIR = declaration(controller={"backup": True}, workers={"cpu": {"count": 2}})


def addresses(sees: tuple[str, ...]) -> set[Address]:
    """Return full addresses of what a damage changes."""
    return {
        Address.parse(f"sind/{name}.dev" if "/" in name.removeprefix("@mesh/") else f"sind/{name}")
        if name.startswith("@mesh/")
        else DEV / name
        for name in sees
    }


def drift(world: World) -> dict[Address, str]:
    """Return what drifted, and why the plan says it does."""
    return {
        change.address: change.reason for one in prepare_drift(world.engine, world.slurm) for change in one.plan.changes
    }


AS_DRIFT = {"changed outside sindplan", "declared and applied before, and gone", "there, and not declared"}


@pytest.mark.parametrize("name", DAMAGE)
def test_what_a_hand_did_is_seen_and_mended(name):
    damage = DAMAGE[name]
    world = new_world(seed=31)
    assert world.apply(FULL).outcome.complete
    assert drift(world) == {}
    whole = ids(world)

    damage(Hand(world, DEV))

    found = drift(world)
    planned = world.prepare(FULL)
    assert not planned.blocked, planned.findings
    assert {change.address: change.reason for change in planned.plan.changes if change.address in found} == found
    if damage.no_drift:
        assert found == {}
        return
    if name == "remove the record":
        # Nobody can tell any more; that it is gone is said (tests/cli/test_drift.py).
        assert found == {}
        assert addresses(damage.sees) == {change.address for change in planned.plan.changes}
    else:
        assert addresses(damage.sees) <= found.keys()
        assert set(found.values()) <= AS_DRIFT
    assert world.apply(FULL).outcome.complete
    assert world.pending(FULL) == []
    assert drift(world) == {}
    # What is there still is what it was; only what was removed is made anew.
    assert {key for key in whole if ids(world).get(key) != whole[key]} <= damage.removes


def ids(world: World) -> dict[str, str]:
    """Return the id of each container by name."""
    return {found.name: found.id for found in world.engine.containers()}
