"""Histories of a cluster with everything in it, which runs when they begin."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.property.histories import History, cluster_tables, steps
from tests.property.test_histories import HISTORIES


def everything() -> dict[str, Any]:
    """Return a cluster with all roles, people and accounts."""
    return {
        **cluster_tables(),
        "db": {},
        "api": {},
        "submitter": {},
        "accounts": {"physics": {"limits": {"MaxJobs": 5}}, "chemistry": {}},
        "users": {"alice": {"accounts": ["physics"]}},
        "slurm": {"main": {"10-a": "# a\n", "20-b": "MaxJobCount=7\n"}},
    }


@HISTORIES
@given(st.data())
def test_every_history_of_a_whole_cluster_arrives(data: st.DataObject) -> None:
    history = History(seed=data.draw(st.integers(0, 9)), tables=everything())
    history.apply()

    data.draw(steps(history))

    history.apply()
