"""Laws of snapshots: a plan against one is the plan against the engine that it was taken of, to the byte; and none holds a secret."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.kinds.key import FILES, SHORTEST
from sindplan.render.text import render_text
from sindplan.saved import Options, describe, digest_of
from sindplan.snapshots.reading import read_snapshot, write_snapshot
from sindplan.snapshots.recorded import recorded
from sindplan.snapshots.schema import snapshot_schema
from sindplan.snapshots.snapshot import Snapshot
from sindplan.snapshots.taking import take
from sindplan.workflow import Prepared, prepare, prepare_drift
from tests.edits import edited
from tests.property.histories import HANDS, History, live, world_with_neighbours
from tests.property.test_plan_laws import situations
from tests.strategies import SETTINGS, declarations
from tests.world import PASSWORD, World

LAW = settings(SETTINGS, max_examples=20)
VALIDATOR = jsonschema.Draft202012Validator(snapshot_schema())
NOW = "2026-01-01T00:00:00+00:00"


def taken(world: World) -> Snapshot:
    """Take a snapshot, and read it back from bytes."""
    data = write_snapshot(take(world.engine, world.slurm))
    found = read_snapshot(Path("a.json"), data)
    assert write_snapshot(found) == data
    assert PASSWORD.encode() not in data
    assert b"PRIVATE KEY" not in data
    for secret in keys_of(world):
        assert base64.b64encode(secret)[:-4] not in data
        assert json.dumps(secret.decode("utf-8", "replace")).encode() not in data
    assert [error.message for error in VALIDATOR.iter_errors(json.loads(data))] == []
    return found


def keys_of(world: World) -> Iterator[bytes]:
    """Yield the keys of all clusters."""
    for container in world.engine.containers():
        for file in FILES.values():
            if len(found := world.engine.read(container.id, file.path) or b"") >= SHORTEST:
                yield found


def told(prepared: Prepared, declaration: Any) -> Any:
    """Return all that is said of a plan."""
    return (
        digest_of(prepared),
        render_text(prepared.plan),
        describe(prepared, declaration, Options(), NOW),
        [(action.id, action.needs) for action in prepared.plan.actions],
        prepared.drain_timeouts,
    )


@LAW
@given(st.data())
def test_a_plan_against_a_snapshot_is_the_plan_against_the_engine(data: st.DataObject) -> None:
    situation = data.draw(situations())
    world, first = situation.world, situation.declaration
    snapshot = taken(world)
    engine, slurm = recorded(snapshot)
    for declaration in (first, data.draw(edited(first)), data.draw(declarations())):
        live_plan = prepare(world.engine, world.slurm, declaration)
        against = prepare(engine, slurm, declaration, surroundings=snapshot.surroundings)
        assert told(against, declaration) == told(live_plan, declaration)
        no_probe = prepare(engine, slurm, declaration, surroundings=snapshot.surroundings, probe=False)
        assert told(no_probe, declaration) == told(
            prepare(world.engine, world.slurm, declaration, probe=False), declaration
        )


@settings(SETTINGS, max_examples=20)
@given(st.data())
def test_after_any_history_plan_and_drift_against_a_snapshot_are_those_of_the_engine(data: st.DataObject) -> None:
    history = History(world_with_neighbours(data.draw(st.integers(0, 9))))
    try:
        live(history, data)
        history.damage(data.draw(st.sampled_from(HANDS)))
    finally:
        world = history.world
    snapshot = taken(world)
    engine, slurm = recorded(snapshot)
    against = prepare(engine, slurm, history.declaration, surroundings=snapshot.surroundings)
    assert told(against, history.declaration) == told(world.prepare(history.declaration), history.declaration)
    drift = prepare_drift(engine, slurm, surroundings=snapshot.surroundings)
    assert [render_text(one.plan) for one in drift] == [
        render_text(one.plan) for one in prepare_drift(world.engine, world.slurm)
    ]
