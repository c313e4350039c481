"""The realm lock: whose locks are taken over, and whose never are. Nobody waits here."""

import os
import socket
from pathlib import Path

import pytest

from sindplan.engine.records import NetworkSpec
from sindplan.errors import SindplanError
from sindplan.execute.lock import Waiting, locked, state_folder
from sindplan.kinds import labels
from tests.world import World, new_world

AT_ONCE = Waiting(0, lambda _: None)
BOOT = Path("/proc/sys/kernel/random/boot_id")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def locks(world: World) -> dict[str, dict[str, str]]:
    return {found.name: dict(found.labels) for found in world.engine.networks() if found.name.endswith("-lock")}


def holder(world: World, **changed: str) -> str:
    """Make a lock as sind would, held by a process of this machine that is no more unless told otherwise."""
    marks = {
        labels.REALM: "sind",
        "sind.lock.token": "somebody",
        "sind.lock.command": "sind create",
        "sind.lock.host": socket.gethostname(),
        # No process has this number (proc(5), pid_max).
        "sind.lock.pid": "4194305",
        "sind.lock.boot-id": BOOT.read_text("ascii").strip(),
        "sind.lock.pid-ns": str(Path("/proc/self/ns/pid").readlink()),
    }
    marks |= {f"sind.lock.{key.replace('_', '-')}": value for key, value in changed.items()}
    return world.engine.create_network(NetworkSpec(name="sind-lock", labels=marks, config_only=True))


def test_a_lock_is_let_go_by_an_error_too() -> None:
    world = new_world()
    with pytest.raises(KeyError), locked(world.engine, ["sind"], AT_ONCE):
        raise KeyError
    with locked(world.engine, ["sind"], AT_ONCE):
        assert set(locks(world)) == {"sind-lock"}


def test_nobody_else_gets_a_lock_that_is_held() -> None:
    world = new_world()
    with locked(world.engine, ["sind"], AT_ONCE):
        before = locks(world)
        # Another process of this user is kept out by the file, another user or host by the network.
        with (
            pytest.raises(SindplanError, match="is locked by another sindplan"),
            locked(world.engine, ["sind"], AT_ONCE),
        ):
            raise AssertionError
        assert locks(world) == before
        with locked(world.engine, ["ci"], AT_ONCE):
            assert set(locks(world)) == {"sind-lock", "ci-lock"}


@pytest.mark.parametrize(
    "changed",
    [
        {"host": "elsewhere"},
        {"boot_id": "another-boot"},
        {"pid_ns": "pid:[1]"},
        {"pid": str(os.getpid())},
        {"pid": "x"},
        {"pid": "9" * 5000},
    ],
)
def test_a_lock_whose_holder_may_live_is_not_taken_over(changed: dict[str, str], state: Path) -> None:
    world = new_world()
    theirs = holder(world, **changed)

    with (
        pytest.raises(SindplanError, match="The realm 'sind' is locked") as caught,
        locked(world.engine, ["sind"], AT_ONCE),
    ):
        raise AssertionError

    assert "sindplan unlock sind" in caught.value.fix
    assert world.engine.inspect_network("sind-lock").id == theirs


def test_a_lock_whose_holder_is_no_more_is_taken_over() -> None:
    world = new_world()
    theirs = holder(world)

    with locked(world.engine, ["sind"], Waiting(5, lambda _: None)):
        found = world.engine.inspect_network("sind-lock")
        assert found is not None
        assert found.id != theirs
        assert found.labels["sind.lock.token"] != "somebody"
    assert locks(world) == {}


def test_the_network_of_a_successor_is_not_removed() -> None:
    world = new_world()
    with locked(world.engine, ["sind"], AT_ONCE):
        # Somebody took it for stale, by hand, and holds one of their own now.
        world.engine.remove_network(world.engine.inspect_network("sind-lock").id)
        theirs = holder(world)
    assert world.engine.inspect_network("sind-lock").id == theirs


def test_who_waits_says_for_whom() -> None:
    world, heard = new_world(), []
    holder(world, host="elsewhere", command="sind create")

    with pytest.raises(SindplanError, match="elsewhere"), locked(world.engine, ["sind"], Waiting(0.01, heard.append)):
        raise AssertionError

    assert len(heard) == 1
    assert heard[0].startswith("Waiting for the lock of the realm 'sind', held by ")


def test_a_state_folder_that_cannot_be_made_is_said_so(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (state / "sind").write_text("a file", encoding="ascii")

    with (
        pytest.raises(SindplanError, match="cannot be opened") as caught,
        locked(new_world().engine, ["sind"], AT_ONCE),
    ):
        raise AssertionError
    assert "XDG_STATE_HOME" in caught.value.fix


@pytest.mark.parametrize("value", ["", "relative/path"])
def test_the_state_folder_is_absolute(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", value)
    monkeypatch.setenv("HOME", "/home/somebody")

    assert state_folder("sind") == Path("/home/somebody/.local/state/sind/sind")
