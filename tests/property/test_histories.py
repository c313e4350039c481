"""Histories that begin with nothing: whatever edits and hands do, an apply arrives, and one that fails leaves no trace."""

import os

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.property.histories import History, live, world_with_neighbours
from tests.strategies import SETTINGS

# Shrinking takes many minutes, and a history of a few lines can be read as it is. The same ones each time, so that a change is
# blamed for what it breaks; SINDPLAN_HISTORIES=5000 looks for new ones, that many a test.
_SEARCHED = os.environ.get("SINDPLAN_HISTORIES")
HISTORIES = settings(
    SETTINGS,
    max_examples=int(_SEARCHED or 670),
    derandomize=not _SEARCHED,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)


@HISTORIES
@given(st.data())
def test_every_history_arrives(data: st.DataObject) -> None:
    live(History(world_with_neighbours(data.draw(st.integers(0, 9)))), data)
