"""Histories of a cluster with everything in it, which runs when they begin."""

import copy
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from tests.property.histories import History, live, small, world_with_neighbours
from tests.property.history_edits import Tables
from tests.property.test_histories import HISTORIES


def everything() -> Tables:
    """Return a cluster with all roles, people and accounts."""
    return {
        "dev": {
            **small()["dev"],
            "db": {},
            "api": {},
            "submitter": {},
            "accounts": {"physics": {"limits": {"MaxJobs": 5}}, "chemistry": {}},
            "groups": {"hpc": {}},
            "users": {"alice": {"accounts": ["physics"]}, "bob": {}},
            "slurm": {"main": {"10-a": "# a\n", "20-b": "MaxJobCount=7\n"}},
        }
    }


@cache
def _begun(seed: int) -> History:
    history = History(world_with_neighbours(seed), everything())
    history.apply()
    return history


def start(data: st.DataObject) -> History:
    """Return the history of a cluster that runs."""
    return copy.deepcopy(_begun(data.draw(st.integers(0, 3))))


@HISTORIES
@given(st.data())
def test_every_history_of_a_whole_cluster_arrives(data: st.DataObject) -> None:
    live(start(data), data)
