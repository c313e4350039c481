"""Hands that find something otherwise than they expect: they say so, and have done nothing."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hands import DAMAGE, DoesNotFit, Hand
from tests.property.test_drift_table import DEV, FULL
from tests.strategies import SETTINGS
from tests.world import World, new_world


@pytest.fixture(scope="module")
def full() -> World:
    """Return a cluster with everything in it."""
    world = new_world(seed=31)
    assert world.apply(FULL).outcome.complete
    return world


@settings(SETTINGS, max_examples=60)
@given(st.data())
def test_a_damage_is_done_or_does_not_fit_and_changes_nothing(full: World, data: st.DataObject) -> None:
    world = copy.deepcopy(full)

    for _ in range(8):
        # Each twice: what was done already does not fit.
        damage, before = DAMAGE[data.draw(st.sampled_from(sorted(DAMAGE)))], world.snapshot()
        for _ in range(2):
            try:
                damage(Hand(world, DEV))
            except DoesNotFit:
                assert world.snapshot() == before
            else:
                assert world.snapshot() != before
            before = world.snapshot()
