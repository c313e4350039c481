"""Laws of planning and applying, on the simulated engine (design section 9)."""

from hypothesis import given, settings

from sindplan.model.declaration import Declaration
from tests.strategies import SETTINGS, declarations
from tests.world import new_world

LAW = settings(SETTINGS, max_examples=60)


@LAW
@given(declarations())
def test_a_plan_right_after_an_apply_is_empty(declaration: Declaration) -> None:
    world = new_world(seed=1)

    applied = world.apply(declaration)

    assert applied.outcome.failed == ()
    assert world.plan(declaration).changes == ()
