"""`--engine sim:FILE`: commands on a simulated engine that outlives them in a file."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sindplan.cli import rehearsal
from sindplan.snapshots.reading import read_snapshot
from tests.cli.conftest import ROOT, Call, write_state

APPLY = ("apply", "--engine", "sim:lab.json", "--auto-approve")
PLAN = ("plan", "--engine", "sim:lab.json", "--detailed-exitcode")
PASSWORD = "not-to-be-kept-in-any-file"
WITH_DATABASE = """\
version = 1
name = "lab"
[realms.sind.clusters.dev]
image = "sindplan-node:26.05"
workers.cpu.count = 1
accounts.physics = {}
[realms.sind.clusters.dev.db]
storage_password = { env = "SINDPLAN_SECRET_DB" }
"""


def test_an_apply_is_kept_and_a_plan_writes_nothing(state: Path, call: Call) -> None:
    file = state.with_name("lab.json")

    assert call(*PLAN).status == 2
    assert not file.exists()
    old = os.umask(0)
    try:
        assert call(*APPLY).status == 0
    finally:
        os.umask(old)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {one.name for one in state.parent.iterdir()} == {"sindplan.toml", "lab.json"}

    kept, node = file.read_bytes(), file.stat().st_ino
    assert call(*PLAN).status == 0
    assert call(*APPLY).status == 0
    assert call("drift", "--engine", "sim:lab.json").status == 0
    assert (file.read_bytes(), file.stat().st_ino) == (kept, node)
    write_state(state.parent, 2)
    assert call(*PLAN).status == 2
    assert call("destroy", "--engine", "sim:lab.json", "--auto-approve").status == 0
    assert read_snapshot(file, file.read_bytes()).containers == ()


def test_no_password_and_no_key_is_kept(state: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    state.write_text(WITH_DATABASE, encoding="utf-8")
    monkeypatch.setenv("SINDPLAN_SECRET_DB", PASSWORD)

    assert call(*APPLY).status == 0
    kept = state.with_name("lab.json").read_text(encoding="utf-8")

    assert PASSWORD not in kept
    assert "PRIVATE KEY" not in kept
    # An apply knows the password, and nothing in the file can say that it is another.
    monkeypatch.delenv("SINDPLAN_SECRET_DB")
    assert call(*PLAN).status == 0


def test_it_needs_no_docker_and_no_home_and_takes_no_lock_of_the_user(state: Path) -> None:
    """A user's real realm of the same name is none of its business."""
    code = "import sys; sys.modules['docker'] = None\nfrom sindplan.cli.main import main; main(sys.argv[1:])"
    ran = subprocess.run(
        [sys.executable, "-c", code, *APPLY],
        env={"PYTHONPATH": str(ROOT), "XDG_STATE_HOME": "/nowhere/to/be/written"},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    assert b"Apply complete!" in ran.stdout


def test_of_two_at_once_the_second_is_told_and_the_first_ones_work_stays(state: Path, call: Call) -> None:
    assert call(*APPLY).status == 0
    file = state.with_name("lab.json")
    slow, _, _ = rehearsal.open_rehearsal(Path("lab.json"))
    slow.create_volume("mine", {})
    write_state(state.parent, 2)
    assert call(*APPLY).status == 0
    kept = file.read_bytes()

    with pytest.raises(Exception, match=r"Another command has changed lab\.json meanwhile"):
        slow.close()

    assert file.read_bytes() == kept


def test_a_link_leads_to_the_file(state: Path, call: Call) -> None:
    (state.parent / "far").mkdir()
    (state.parent / "lab.json").symlink_to("far/there.json")

    assert call(*APPLY).status == 0

    assert (state.parent / "lab.json").is_symlink()
    assert json.loads((state.parent / "far/there.json").read_text())["kind"] == "sindplan snapshot"


def test_what_cannot_be_a_rehearsal_is_told_before_anything_is_done(state: Path, call: Call) -> None:
    (state.parent / "notes.json").write_text('{"kind": "mine"}')
    for name, why in (
        ("notes.json", "It is not a snapshot of sindplan's."),
        ("no/such/lab.json", "is no folder"),
        (".", "it is not a regular file"),
        ("/dev/zero", "it is not a regular file"),
        ("sindplan.toml", "It is not JSON"),
    ):
        said = call("apply", "--engine", f"sim:{name}", "--auto-approve")
        assert (said.status, said.out) == (1, ""), name
        assert why in said.err, said
    assert (state.parent / "notes.json").read_text() == '{"kind": "mine"}'


def test_a_snapshot_is_not_written_over_it(state: Path, call: Call) -> None:
    assert call(*APPLY).status == 0
    kept = state.with_name("lab.json").read_bytes()

    for engine in ((), ("--engine", "sim:lab.json")):
        said = call("snapshot", *engine, "--out", "lab.json")
        assert said.status == 1
        assert "lab.json exists and is not a snapshot of an engine" in said.err
    assert state.with_name("lab.json").read_bytes() == kept
    for _ in range(2):
        assert call("snapshot", "--engine", "sim:lab.json", "--out", "there.json").status == 0


def test_a_snapshot_that_it_goes_on_from_is_told_to_be_one_no_more(state: Path, call: Call) -> None:
    assert call(*APPLY).status == 0
    file = state.with_name("lab.json")
    real = json.loads(file.read_text())
    del real["simulated"]
    file.write_text(json.dumps(real, indent=1))
    write_state(state.parent, 2)

    assert "was a snapshot of an engine" in call(*APPLY).err
    said = call("plan", "--against", "lab.json")

    assert said.err.startswith("Against a snapshot of a simulated engine from ")
    assert "No changes." in said.out
    assert "was a snapshot" not in call("destroy", "--engine", "sim:lab.json", "--auto-approve").err
