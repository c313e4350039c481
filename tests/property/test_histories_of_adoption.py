"""Histories of a cluster that sind made and that was taken over: the file is the one that `import` writes."""

import copy
import tomllib
from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from sindplan.importing.imports import import_clusters
from tests.property.histories import History, declared_by, live, small, world_with_neighbours
from tests.property.history_laws import OURS
from tests.property.test_histories import HISTORIES
from tests.sind_cluster import Sind, make_all


@cache
def _begun(*, old: bool) -> History:
    world = world_with_neighbours(1, pmix=True)
    tables = {"dev": {**small()["dev"], "db": {}, "submitter": {}, "users": {"alice": {}}}}
    make_all(Sind(world.engine, old=old), world.slurm, declared_by(tables))
    written = import_clusters(world.engine, world.slurm, [OURS], name="lab")
    history = History(world, tomllib.loads(written.text)["realms"]["sind"]["clusters"])
    # Whatever becomes of the file, there is a way back to what was imported.
    history.tried.append(history.tables)
    history.tell("made by sind, and imported")
    return history


def begun(*, old: bool) -> History:
    """Return the history of a cluster that was imported, and not applied yet.

    Args:
        old: Whether an older sind made it.
    """
    return copy.deepcopy(_begun(old=old))


def start(data: st.DataObject) -> History:
    """Return the history of a cluster that is about to be taken over, or has just been."""
    history = begun(old=data.draw(st.booleans()))
    if data.draw(st.booleans()):
        history.apply()
    return history


@HISTORIES
@given(st.data())
def test_every_history_of_a_cluster_of_sinds_arrives(data: st.DataObject) -> None:
    live(start(data), data)
