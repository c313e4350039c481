"""`sindplan snapshot` and `plan --against`: a plan where no engine can be reached."""

import json
import os
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sindplan.cli import options
from sindplan.cli.engines import _age
from sindplan.snapshots.reading import read_snapshot, write_snapshot
from sindplan.snapshots.taking import take
from sindplan.statefile import read
from tests.cli.conftest import ROOT, Call, write_state
from tests.world import World, new_world


@pytest.fixture
def snapshot(state: Path) -> Path:
    """A snapshot of a world in which the state file was applied; the file now wants two workers."""
    world = new_world(seed=1)
    world.apply(read([state]))
    file = state.with_name("there.json")
    file.write_bytes(write_snapshot(take(world.engine, world.slurm)))
    write_state(state.parent, 2)
    return file


def test_it_is_written_for_its_owner_alone_and_says_how_it_is_used(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))

    old = os.umask(0)
    try:
        said = call("snapshot", "--out", "there.json")
    finally:
        os.umask(old)

    file = state.with_name("there.json")
    assert (said.status, said.out) == (0, "")
    assert said.err == "Wrote there.json. To plan against it: sindplan plan --against there.json\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "sind-dev-worker-0" in {one.summary.name for one in read_snapshot(file, file.read_bytes()).containers}
    assert [one.name for one in state.parent.iterdir() if one.name.startswith(".")] == []
    # Over another one it may be written.
    assert call("snapshot", "--out", "there.json").status == 0


def test_cron_need_not_hear_of_it(world: World, state: Path, call: Call) -> None:
    said = call("snapshot", "-q", "--out", "there.json")

    assert (said.status, said.out, said.err) == (0, "", "")
    assert state.with_name("there.json").exists()


def test_it_is_written_over_nothing_else(world: World, folder: Path, call: Call) -> None:
    (folder / "notes.json").write_text('{"kind": "mine"}')
    (folder / "link").symlink_to(folder / "nowhere")

    for name, what in (("notes.json", "exists and is not a snapshot"), ("link", "exists and is not"), (".", "exists")):
        said = call("snapshot", "--out", name)
        assert (said.status, said.out) == (1, "")
        assert what in said.err
    assert (folder / "notes.json").read_text() == '{"kind": "mine"}'
    assert call("snapshot", "--out", "no/such/folder.json").status == 1
    assert call("snapshot").status == 64


def test_a_plan_against_it_is_the_plan_that_the_engine_would_have(snapshot: Path, call: Call) -> None:
    said = call("plan", "--against", "there.json", "--detailed-exitcode")

    assert said.status == 2
    assert "  # sind/dev/node/worker-1 will be created\n" in said.out
    assert said.err.startswith("Against a snapshot of the engine from 20")
    assert " seconds old." in said.err or " second old." in said.err
    world = new_world(seed=1)
    write_state(snapshot.parent, 1)
    world.apply(read([snapshot.with_name("sindplan.toml")]))
    write_state(snapshot.parent, 2)
    options_connected = options.connected
    options.connected = lambda: (world.engine, world.slurm)
    try:
        assert call("plan").out == said.out
    finally:
        options.connected = options_connected


def test_it_needs_no_docker_no_home_and_no_other_file(snapshot: Path) -> None:
    """As on a runner of a pull request: neither an engine nor its client's library is there."""
    code = (
        "import sys; sys.modules['docker'] = None\n"
        "from sindplan.cli.main import main; main(['plan', '--against', 'there.json', '--format', 'json'])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=False, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    changes = {one["address"] for one in json.loads(ran.stdout)["resource_changes"]}
    assert "sind/dev/node/worker-1" in changes


def test_a_plan_that_was_saved_against_it_is_the_engines_own(snapshot: Path, call: Call) -> None:
    assert call("plan", "--against", "there.json", "--out", "a.plan").status == 0

    engine = json.loads((snapshot.parent / "a.plan").read_text())["sindplan"]["engine"]
    assert engine == "00000000-0000-4000-8000-000000000000"


def test_what_is_wrong_with_the_file_is_told_with_its_place(snapshot: Path, call: Call) -> None:
    content = json.loads(snapshot.read_text())
    content["containers"][0]["summary"]["state"] = "asleep"
    snapshot.write_text(json.dumps(content))

    said = call("plan", "--against", "there.json")

    assert (said.status, said.out) == (1, "")
    assert "there.json: containers[0].summary.state: Is the text 'asleep', not 'created' or 'running' or" in said.err
    assert "Error: The snapshot is not valid: 1 problem." in said.err
    assert "sindplan snapshot --out FILE" in said.err
    for name in ("nothing.json", "."):
        assert call("plan", "--against", name).status == 1
    assert call("plan", "--against", "/dev/zero").status == 1


def test_it_says_when_daemons_were_not_asked(
    world: World, state: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.apply(read([state]))
    assert call("snapshot", "--out", "there.json", "--no-probe").status == 0
    monkeypatch.undo()
    monkeypatch.chdir(state.parent)

    said = call("plan", "--against", "there.json")

    assert said.status == 0
    assert "Daemons and Slurm were not asked when it was taken (--no-probe)" in said.err


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(0), "0 seconds old"),
        (timedelta(seconds=1), "1 second old"),
        (timedelta(seconds=61), "1 minute old"),
        (timedelta(minutes=119), "119 minutes old"),
        (timedelta(minutes=120), "2 hours old"),
        (timedelta(hours=47), "47 hours old"),
        (timedelta(days=3), "3 days old"),
        (timedelta(minutes=-5), "which is yet to come by this machine's clock"),
    ],
)
def test_its_age(ago: timedelta, words: str) -> None:
    now = datetime(2026, 1, 9, tzinfo=UTC)

    assert _age(now - ago, now) == words


def test_two_engines_cannot_be_named(snapshot: Path, call: Call) -> None:
    assert call("plan", "--against", "there.json", "--engine", "sim:other.json").status == 64
    for name in ("podman", "sim:", "docker:x", "sim"):
        assert call("plan", "--engine", name).status == 64
