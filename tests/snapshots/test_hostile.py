"""Snapshots that somebody has damaged or made up: every problem with its place, no traceback, no end that does not come."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.errors import SindplanError, SnapshotInvalid
from sindplan.snapshots.reading import MOST_TOLD, read_snapshot, write_snapshot
from sindplan.snapshots.recorded import recorded
from sindplan.snapshots.simulation import photograph, simulate
from sindplan.snapshots.snapshot import Snapshot
from sindplan.snapshots.taking import take
from sindplan.workflow import prepare, prepare_drift
from tests.strategies import SETTINGS, declared
from tests.world import IMAGE, new_world

FILE = Path("there.json")
DECLARATION = declared(
    {
        "version": 1,
        "name": "lab",
        "realms": {
            "sind": {
                "clusters": {
                    "dev": {
                        "image": IMAGE,
                        "controller": {"backup": True},
                        "db": {"storage_password": {"env": "SINDPLAN_SECRET_DB"}},
                        "submitter": {},
                        "users": {"anna": {}},
                        "accounts": {"physics": {}},
                        "workers": {"cpu": {"count": 2}},
                    }
                }
            }
        },
    }
)


def _made() -> bytes:
    world = new_world(seed=1)
    world.apply(DECLARATION)
    world.machine.submit("sind-dev-controller", "worker-0", "7")
    return write_snapshot(take(world.engine, world.slurm))


MADE = _made()
KEPT = write_snapshot(photograph(simulate(read_snapshot(FILE, MADE), "sim:there.json")))
"""The same, with what a simulated engine knows beside."""

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**30, -1, 0, 2**31, "", "/", "0.0.0.0/0", "255.255.255.255/0", "worker-999999999", "a" * 5000])
    | st.floats(allow_nan=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Any:
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _places(inner, (*path, at))


PLACES = {made: [path for path in _places(json.loads(made)) if path] for made in (MADE, KEPT)}
TEXTS = [
    "",
    "x",
    "sind",
    "dev",
    "0",
    "-1",
    "{}",
    "[]",
    '{"units": 7}',
    "worker-1",
    "running",
    "created",
    "\u0000",
    "10.0.0.0/8",
    "é" * 99,
]


def _like(old: Any) -> "st.SearchStrategy[Any]":
    """Return values that the grammar takes in the place of another, mostly."""
    if isinstance(old, bool):
        return st.just(not old)
    if isinstance(old, int):
        return st.sampled_from([0, 1, -1, 2**31, 2**62])
    if isinstance(old, str):
        return st.sampled_from(TEXTS) | st.text(max_size=30)
    if isinstance(old, list):
        return st.permutations(old) if len(old) < 50 else st.just([])
    return st.just({})


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """Draw a snapshot of which some places were changed, most of them to what the grammar takes."""
    made = draw(st.sampled_from((MADE, KEPT)))
    content = json.loads(made)
    # Those of the simulation alone are fewer.
    own = [path for path in PLACES[made] if path[0] == "simulated"] or PLACES[made]
    for _ in range(draw(st.integers(1, 6))):
        *way, last = draw(st.sampled_from(PLACES[made]) | st.sampled_from(own))
        inner = content
        # An earlier change may have taken the place away.
        with suppress(KeyError, IndexError, TypeError):
            for step in way:
                inner = inner[step]
            old = inner[last]
            how = draw(st.sampled_from(("other", "like", "like", "like", "gone", "twice")))
            if how == "gone":
                del inner[last]
            elif how == "twice" and isinstance(inner, list):
                inner.append(old)
            else:
                inner[last] = draw(JSON if how == "other" else _like(old))
    return content


def _read(data: bytes) -> Snapshot | None:
    """Read a snapshot; return None when it was refused as it should be."""
    try:
        return read_snapshot(FILE, data)
    except SnapshotInvalid as error:
        told = [str(problem) for problem in error.problems]
    except SindplanError as error:
        told = [error.summary.replace("there.json is", "there.json: is")]
    assert told
    assert all(one.startswith("there.json:") for one in told)
    return None


def _used(data: bytes) -> None:
    """Read a snapshot and plan against it, as the commands do; only errors that people can read may come."""
    snapshot = _read(data)
    if snapshot is None:
        return
    assert read_snapshot(FILE, write_snapshot(snapshot)) == snapshot
    engine, slurm = recorded(snapshot)
    for probe in (True, False):
        with suppress(SindplanError):
            prepare(engine, slurm, DECLARATION, surroundings=snapshot.surroundings, probe=probe)
        with suppress(SindplanError):
            prepare_drift(engine, slurm, surroundings=snapshot.surroundings)
    with suppress(SindplanError):
        rehearsal = simulate(snapshot, "sim:there.json")
        prepare(rehearsal.engine, rehearsal.slurm, DECLARATION, surroundings=snapshot.surroundings)
        write_snapshot(photograph(rehearsal))


@settings(SETTINGS, max_examples=120)
@given(damaged())
def test_a_damaged_snapshot_is_told_or_planned_against(content: Any) -> None:
    _used(json.dumps(content).encode("utf-8", "surrogatepass"))


@settings(SETTINGS, max_examples=60)
@given(st.data())
def test_bytes_that_were_damaged(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(MADE)))
    until = data.draw(st.integers(at, min(at + 40, len(MADE))))
    _used(MADE[:at] + data.draw(st.binary(max_size=8)) + MADE[until:])


@settings(SETTINGS, max_examples=100)
@given(JSON)
def test_any_json_is_told(content: Any) -> None:
    with pytest.raises(SindplanError):
        read_snapshot(FILE, json.dumps(content).encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "there.json:1: It is not JSON: Expecting value (column 1)."),
        (b"\xff\xfe", "there.json: It is not UTF-8: byte 0."),
        (b"[" * 100_000, "there.json: Something is nested too deep."),
        (b'{"a": {"b": 1, "b": 2}}', "there.json: b: The key stands twice in one table."),
        (
            b'{"a": ' + b"1" * 5000 + b"}",
            "there.json: It is not JSON: a number that is none, or has thousands of digits.",
        ),
        (b'{"kind": NaN}', "there.json: It is not JSON: a number that is none, or has thousands of digits."),
        (b'{"kind": "plan"}', "there.json: It is not a snapshot of sindplan's."),
    ],
)
def test_what_is_no_snapshot_at_all(data: bytes, said: str) -> None:
    with pytest.raises(SnapshotInvalid) as caught:
        read_snapshot(FILE, data)

    assert str(caught.value.problems[0]).startswith(said)


def test_all_problems_are_told_with_their_places() -> None:
    content = json.loads(MADE)
    content["taken"] = 7
    content["networks"][0]["name"] = None
    del content["containers"][1]["summary"]["id"]
    content["containers"][0]["summary"]["stat"] = "x"
    content["engine"]["cpus"] = "many"

    with pytest.raises(SnapshotInvalid) as caught:
        read_snapshot(FILE, json.dumps(content).encode())

    assert [(problem.key, problem.what) for problem in caught.value.problems] == [
        ("taken", "Is a number, not a text."),
        ("engine.cpus", "Is the text 'many', not a whole number."),
        ("networks[0].name", "Is nothing, not a text."),
        ("containers[0].summary.stat", "Is no field of this version's."),
        ("containers[1].summary.id", "Is missing."),
    ]


def test_what_no_engine_says_is_told_too() -> None:
    content = json.loads(MADE)
    bridge = next(at for at, one in enumerate(content["networks"]) if one.get("subnet"))
    content["networks"][bridge]["subnet"] = "10.0.0.0/33"
    content["volumes"].append(content["volumes"][0])
    content["taken"] = "yesterday"

    with pytest.raises(SnapshotInvalid) as caught:
        read_snapshot(FILE, json.dumps(content).encode())

    assert [problem.key for problem in caught.value.problems] == ["taken", "volumes", f"networks[{bridge}].subnet"]


def test_of_very_many_problems_some_are_told_and_the_rest_counted() -> None:
    content = json.loads(MADE)
    content["networks"] = [7] * 1000

    with pytest.raises(SnapshotInvalid) as caught:
        read_snapshot(FILE, json.dumps(content).encode())

    assert len(caught.value.problems) == MOST_TOLD + 1
    assert caught.value.problems[-1].what == "And 950 more."


def test_a_snapshot_of_another_version_is_told_with_its_maker() -> None:
    content = json.loads(MADE) | {"format": 2, "version": "9.9"}

    with pytest.raises(SindplanError, match=r"a snapshot of sindplan 9\.9, which this version .* does not understand"):
        read_snapshot(FILE, json.dumps(content).encode())
