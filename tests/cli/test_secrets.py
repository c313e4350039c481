"""Secrets and privileges on the command line: what is looked up, when, and what is said."""

import logging
from pathlib import Path

import pytest

from sindplan.cli import options
from sindplan.statefile import read
from tests.cli.conftest import Call
from tests.faults import MUTATING, FaultyEngine
from tests.world import World

STATE = """\
version = 1
name = "lab"

[realms.sind.clusters.dev]
image = "sindplan-node:26.05"
workers.cpu.count = {count}
db.storage_password = {password}
"""
BY_ENV, BY_FILE = '{ env = "SINDPLAN_SECRET_DB" }', '{ file = "lab/db" }'
SECRET = "c0rrect-horse"
DBD = "/etc/slurm/slurmdbd.conf"
MISSING = (
    "Error: Secrets are missing; nothing was changed. sind/dev: db.storage_password: {}\n"
    "  Set the variables, or point --secrets-dir at the folder of the files, and apply again.\n"
)


def declare(folder: Path, password: str, count: int = 1) -> Path:
    file = folder / "sindplan.toml"
    file.write_text(STATE.format(password=password, count=count), encoding="utf-8")
    return file


def test_an_apply_whose_secret_is_missing_changes_nothing(
    world: World, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SINDPLAN_SECRET_DB", raising=False)
    declare(folder, BY_ENV)
    before = world.snapshot()
    engine = FaultyEngine(world.engine, verbs=MUTATING - {"execute"})
    monkeypatch.setattr(options, "connected", lambda: (engine, world.slurm))

    said = call("apply", "--auto-approve")

    assert said.status == 1
    assert said.err == MISSING.format("the environment variable SINDPLAN_SECRET_DB is not set.")
    assert "Plan: " in said.out
    # Not even the lock was taken.
    assert engine.calls == []
    assert world.snapshot() == before


def test_an_apply_takes_its_secret_from_the_environment(
    world: World, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SINDPLAN_SECRET_DB", SECRET)
    declare(folder, BY_ENV)

    said = call("apply", "--auto-approve")

    assert said.status == 0
    assert f"StoragePass={SECRET}\n".encode() in (world.engine.read("sind-dev-controller", DBD) or b"")
    assert SECRET not in said.out + said.err


def test_an_apply_takes_its_secret_from_the_folder_that_is_named(world: World, folder: Path, call: Call) -> None:
    declare(folder, BY_FILE)
    (folder / "secrets/lab").mkdir(parents=True)
    (folder / "secrets/lab/db").write_text(f"{SECRET}\n")

    refused = call("apply", "--auto-approve")
    said = call("apply", "--auto-approve", "--secrets-dir", "secrets")

    assert refused.status == 1
    assert "the file 'lab/db' is looked for below --secrets-dir, which is not said." in refused.err
    assert said.status == 0
    assert f"StoragePass={SECRET}\n".encode() in (world.engine.read("sind-dev-controller", DBD) or b"")


@pytest.mark.parametrize("name", ["nowhere", "sindplan.toml"])
def test_a_folder_of_secrets_that_is_none_is_wrong_usage(name: str, world: World, folder: Path, call: Call) -> None:
    declare(folder, BY_FILE)

    said = call("apply", "--auto-approve", "--secrets-dir", name)

    assert said.status == 64
    assert "--secrets-dir" in said.err


@pytest.mark.parametrize("password", [BY_ENV, BY_FILE])
def test_a_plan_reads_no_secret(
    password: str, world: World, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SINDPLAN_SECRET_DB", raising=False)
    declare(folder, password)

    said = call("plan")

    assert (said.status, said.err) == (0, "")
    assert "+ StoragePass = (sensitive value)\n" in said.out


def test_an_apply_that_writes_no_secret_needs_none(
    world: World, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.apply(read([declare(folder, BY_ENV)]))
    monkeypatch.delenv("SINDPLAN_SECRET_DB", raising=False)

    assert call("apply").status == 0
    declare(folder, BY_ENV, count=2)
    assert call("apply", "--auto-approve").status == 0
    # A database that is to be made anew needs it again.
    world.engine.remove_container("sind-dev-db")
    before = world.snapshot()
    said = call("apply", "--auto-approve")
    assert said.status == 1
    assert "SINDPLAN_SECRET_DB is not set" in said.err
    assert world.snapshot() == before


def test_slurmdbd_conf_is_not_put_right_without_the_secret_that_is_in_it(
    world: World, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.apply(read([declare(folder, BY_ENV)]))
    monkeypatch.delenv("SINDPLAN_SECRET_DB", raising=False)
    world.engine.write("sind-dev-controller", DBD, b"# by hand\n")

    refused = call("apply", "--auto-approve")

    assert refused.status == 1
    assert "SINDPLAN_SECRET_DB is not set" in refused.err
    assert world.engine.read("sind-dev-controller", DBD) == b"# by hand\n"
    monkeypatch.setenv("SINDPLAN_SECRET_DB", SECRET)
    assert call("apply", "--auto-approve").status == 0
    assert f"StoragePass={SECRET}\n".encode() in (world.engine.read("sind-dev-controller", DBD) or b"")


def test_a_destroy_needs_no_secret(world: World, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    world.apply(read([declare(folder, BY_ENV)]))
    monkeypatch.delenv("SINDPLAN_SECRET_DB", raising=False)

    assert call("destroy", "-f", "sindplan.toml", "--auto-approve").status == 0
    assert not world.engine.containers()


@pytest.mark.parametrize("fail_at", [0, 12, 25])
def test_a_password_in_plain_text_is_warned_of_and_never_shown(
    fail_at: int,
    world: World,
    folder: Path,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    # One call of the first apply fails, and is taken back; the second finishes.
    engine = FaultyEngine(world.engine, fail_at)
    monkeypatch.setattr(options, "connected", lambda: (engine, world.slurm))
    declare(folder, f'"{SECRET}"')

    with caplog.at_level(logging.DEBUG):
        for arguments in (["validate"], ["plan"], ["apply", "--auto-approve"], ["plan"], ["apply", "--auto-approve"]):
            said = call(*arguments)
            assert SECRET not in said.out + said.err

    assert "sind/dev: db.storage_password is in plain text in the state file." in said.err
    assert SECRET not in caplog.text
    assert f"StoragePass={SECRET}\n".encode() in (world.engine.read("sind-dev-controller", DBD) or b"")


def test_devices_need_leave(world: World, folder: Path, call: Call) -> None:
    file = declare(folder, '"x"')
    file.write_text(file.read_text() + 'workers.cpu.devices = ["/dev/fuse"]\n', encoding="utf-8")
    before = world.snapshot()

    refused = call("apply", "--auto-approve")

    assert refused.status == 1
    assert refused.out.startswith("! sind/dev: worker-0: device of the host /dev/fuse\n")
    assert "say --allow-privileged if that is right.\n" in refused.err
    assert world.snapshot() == before
    assert call("apply", "--auto-approve", "--allow-privileged").status == 0
    found = world.engine.inspect_container("sind-dev-worker-0")
    assert found is not None
    assert found.spec.devices == ("/dev/fuse:/dev/fuse:rwm",)
    # Nothing new: nothing to ask about.
    assert call("apply", "--auto-approve").status == 0
