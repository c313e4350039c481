"""JSON of a few MiB does not become objects of some GiB."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.bounded import MOST_VALUES, json_of
from tests.strategies import SETTINGS

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@SETTINGS
@given(VALUES)
def test_it_is_json(value: object) -> None:
    assert json_of(json.dumps(value).encode()) == value


@pytest.mark.parametrize("unit", [b"[],", b"{},", b"[[[]]],", b"0,"])
def test_too_many_values_are_refused_before_they_are_made(unit: bytes) -> None:
    data = b"[" + unit * MOST_VALUES + b"0]"
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="more than 2000000 values"):
            json_of(data)
        assert tracemalloc.get_traced_memory()[1] < 1024**2
    finally:
        tracemalloc.stop()


def test_deep_ones_end() -> None:
    with pytest.raises(RecursionError):
        json_of(b"[" * 100_000)
