"""Node sets of workers: what ClusterShell reads, within bounds that are checked before it counts anything."""

import re
from contextlib import suppress

import pytest
from ClusterShell.NodeSet import NodeSet
from hypothesis import given
from hypothesis import strategies as st

from sindplan.statefile.clusters import highest_worker
from sindplan.statefile.node_set import worker_indexes
from tests.strategies import SETTINGS

INDEXES = st.sets(st.integers(0, 65000), max_size=20)


@SETTINGS
@given(INDEXES.filter(bool))
def test_reads_what_clustershell_writes(indexes: set[int]) -> None:
    text = str(NodeSet.fromlist([f"worker-{index}" for index in indexes]))
    assert worker_indexes(text) == indexes


@SETTINGS
@given(st.text("worke-0123[],/!&^@ ", max_size=30))
def test_any_text_is_a_set_or_a_sentence(text: str) -> None:
    with suppress(ValueError):
        assert all(0 <= index <= 65000 for index in worker_indexes(text))


@SETTINGS
@given(INDEXES, st.integers(0, 50))
def test_counted_workers_take_the_lowest_free_indexes(named: set[int], counted: int) -> None:
    free = [index for index in range(200) if index not in named][:counted]
    assert highest_worker(frozenset(named), counted) == max([*named, *free], default=-1)


@pytest.mark.parametrize(
    ("text", "indexes"),
    [
        ("worker-0", {0}),
        ("worker-[0-3,7]", {0, 1, 2, 3, 7}),
        ("worker-[0-9/3]", {0, 3, 6, 9}),
        ("worker-1,worker-[3-4]", {1, 3, 4}),
        ("worker-[0-4]!worker-2", {0, 1, 3, 4}),
        ("worker-[0-4]&worker-[3-9]", {3, 4}),
        ("worker-[0-2]^worker-[2-3]", {0, 1, 3}),
        ("worker-0!worker-0", set()),
    ],
)
def test_notation(text: str, indexes: set[int]) -> None:
    assert worker_indexes(text) == indexes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", '"" is not a node set of 1 to 4096 characters'),
        ("worker-" + "1" * 4096, "is not a node set of 1 to 4096 characters"),
        ("@workers", '"@workers" is not a node set of workers'),
        ("controller", '"controller" is not a node set of workers'),
        ("worker-01", '"worker-01" is not a node set of workers'),
        ("worker-[00-10]", '"worker-[00-10]" is not a node set of workers'),
        ("worker-1,", '"worker-1," is not a node set of workers'),
        (",worker-1", '",worker-1" is not a node set of workers'),
        ("worker-1 worker-2", '"worker-1 worker-2" is not a node set of workers'),
        ("worker-[0-1]-[0-1]", '"worker-[0-1]-[0-1]" is not a node set of workers'),
        ("worker-٣", '"worker-\\u0663" is not a node set of workers'),
        ("worker-1\n", '"worker-1\\u000a" is not a node set of workers'),
        ("worker-65001", "the highest worker is worker-65000"),
        ("worker-[0-999999999999]", "the highest worker is worker-65000"),
        ("worker-[5-3]", "the range 5-3 is backwards"),
        ("worker-[0-3/0]", "a step of 0 makes no range"),
        ("worker-[1-3,2]", '"worker-[1-3,2]" names a worker twice'),
        ("worker-1,worker-1", '"worker-1,worker-1" names a worker twice'),
        ("worker-[0-65000],worker-[0-65000]", "names more than 65000 workers"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        worker_indexes(text)
