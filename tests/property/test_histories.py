"""Histories that begin with nothing: whatever edits and hands do, an apply arrives, and one that fails leaves no trace."""

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.property.histories import History, steps
from tests.strategies import SETTINGS

# Shrinking takes many minutes, and a history of a few lines can be read as it is.
HISTORIES = settings(SETTINGS, max_examples=1000, phases=(Phase.explicit, Phase.reuse, Phase.generate))


@HISTORIES
@given(st.data())
def test_every_history_arrives(data: st.DataObject) -> None:
    history = History(seed=data.draw(st.integers(0, 9)))

    data.draw(steps(history))

    history.apply()
