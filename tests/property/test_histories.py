"""Histories that begin with nothing: whatever edits and hands do, an apply arrives, and one that fails leaves no trace."""

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.property.histories import History, step
from tests.strategies import SETTINGS


@settings(SETTINGS, max_examples=60, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.data())
def test_every_history_arrives(data: st.DataObject) -> None:
    history = History(seed=data.draw(st.integers(0, 9)))
    for _ in range(data.draw(st.integers(2, 7))):
        data.draw(st.composite(lambda draw: step(draw, history))())
    history.apply()
