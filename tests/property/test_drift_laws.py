"""Laws of drift: what was applied is none, whatever it was; what a hand changed is, and needs no state file to be seen."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.errors import SindplanError
from sindplan.model.address import Address
from sindplan.statefile.recorded import recorded_declaration
from sindplan.workflow import clusters_of, prepare_drift
from tests.edits import DAMAGE, nodes_of
from tests.strategies import SETTINGS, declarations
from tests.world import new_world

LAW = settings(SETTINGS, max_examples=25)


@LAW
@given(declarations())
def test_what_was_applied_is_no_drift(declaration):
    world = new_world(seed=11)
    world.apply(declaration)

    assert [one.plan.changes for one in prepare_drift(world.engine, world.slurm)] == [()]


@LAW
@given(st.data())
def test_what_a_hand_changed_is_the_drift_that_a_plan_shows(data):
    declaration = data.draw(declarations())
    world = new_world(seed=12)
    world.apply(declaration)
    cluster = data.draw(st.sampled_from(clusters_of(declaration)))
    DAMAGE[data.draw(st.sampled_from(sorted(DAMAGE)))](world, data.draw(st.sampled_from(nodes_of(world, cluster))))

    (drift,) = prepare_drift(world.engine, world.slurm)
    (elsewhere,) = prepare_drift(world.engine, world.slurm, [cluster.realm])

    planned = world.plan(declaration)
    assert {change.address for change in drift.plan.changes} == {change.address for change in planned.changes}
    assert {c.address for c in elsewhere.plan.changes} <= {c.address for c in drift.plan.changes}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"workers": 7}', '{"unheard": 1}'])
def test_a_record_that_makes_no_sense_is_said_so(text):
    with pytest.raises(SindplanError, match="The record of sind/dev makes no sense"):
        recorded_declaration("lab", {Address(("sind", "dev")): text})
