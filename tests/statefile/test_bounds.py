"""The spellings that the schema gives to editors are those that the model itself reads."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.model.declaration import Declaration
from sindplan.model.names import FIXED_NODES, fqdn, is_dns_label, worker
from sindplan.model.units import parse_duration, parse_memory, parse_tmpfs_size
from sindplan.statefile.bounds import LARGEST_WORKER, NAMES
from sindplan.statefile.spellings import DURATION, MEMORY, TMP_SIZE, Spelling
from tests.strategies import SETTINGS

LABEL = NAMES[Declaration, "realms"]


def refusal(parse: Callable[[str], Any], text: str) -> str:
    """Return what a parser says against a text; nothing when it takes it."""
    try:
        parse(text)
    except ValueError as error:
        return str(error)
    return ""


@SETTINGS
@given(st.one_of(st.text("az09-", max_size=70), st.text(max_size=3), st.from_regex(LABEL.pattern, fullmatch=True)))
def test_labels(text: str) -> None:
    assert LABEL.fits(text) == is_dns_label(text)


@pytest.mark.parametrize(
    ("spelling", "parse", "alphabet"),
    [
        (MEMORY, parse_memory, "019.kmgtpibKMGTPIB "),
        (TMP_SIZE, parse_tmpfs_size, "019kmgtpe%KMGTPE"),
        (DURATION, parse_duration, "019hms"),
    ],
    ids=["memory", "tmp_size", "duration"],
)
@SETTINGS
@given(data=st.data())
def test_units(spelling: Spelling, parse: Callable[[str], Any], alphabet: str, data: st.DataObject) -> None:
    text = data.draw(st.one_of(st.from_regex(spelling.pattern, fullmatch=True), st.text(alphabet, max_size=8)))
    # What is spelled right can still be too small or too large.
    assert spelling.fits(text) == ("is not a" not in refusal(parse, text))


def test_no_name_of_a_node_is_too_long_for_dns() -> None:
    # This is why no rule is about it.
    longest = max((*FIXED_NODES, worker(LARGEST_WORKER)), key=len)
    assert len(fqdn("r" * 63, "c" * 63, longest)) <= 253
