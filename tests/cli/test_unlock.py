"""A lock is taken away by its id, with consent, and never from somebody who is seen to be at work."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from sindplan.engine.records import NetworkSpec
from tests.cli.conftest import Call
from tests.world import World

Typed = Callable[[str], None]


def lock(world: World, **more: str) -> str:
    marks = {
        "sind.realm": "sind",
        "sind.lock.token": "t",
        "sind.lock.command": "sind create",
        "sind.lock.host": "elsewhere",
        "sind.lock.pid": "12",
        **more,
    }
    return world.engine.create_network(NetworkSpec(name="sind-lock", labels=marks, config_only=True))


def test_nothing_to_unlock(world: World, folder: Path, call: Call) -> None:
    said = call("unlock", "sind")

    assert (said.status, said.err) == (0, "Nobody holds the lock of the realm 'sind' on the engine.\n")


@pytest.mark.parametrize(("answer", "status", "gone"), [("yes\n", 0, True), ("y\n", 1, False), ("\n", 1, False)])
def test_the_holder_is_shown_and_only_yes_is_taken(
    world: World, folder: Path, call: Call, terminal: Typed, answer: str, status: int, gone: bool
) -> None:
    made = lock(world)
    terminal(answer)

    said = call("unlock", "sind")

    assert said.status == status
    assert f"held by 'sind create' (pid 12 on elsewhere).\nIts id is {made}." in said.err
    assert (world.engine.inspect_network("sind-lock") is None) == gone


def test_unasked_it_must_be_named(world: World, folder: Path, call: Call) -> None:
    made = lock(world)

    assert call("unlock", "sind", "--auto-approve").status == 64
    assert call("unlock", "sind").status == 1
    other = call("unlock", "sind", "--auto-approve", "--id", "another")
    assert other.status == 1
    assert f"is {made}, held by 'sind create' (pid 12 on elsewhere), not another." in other.err
    assert world.engine.inspect_network("sind-lock") is not None
    assert call("unlock", "sind", "--auto-approve", "--id", made).status == 0
    assert world.engine.inspect_network("sind-lock") is None


def test_it_is_not_taken_from_a_process_that_runs_here(world: World, folder: Path, call: Call) -> None:
    made = lock(
        world,
        **{
            "sind.lock.host": socket.gethostname(),
            "sind.lock.pid": str(os.getpid()),
            "sind.lock.boot-id": Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip(),
            "sind.lock.pid-ns": str(Path("/proc/self/ns/pid").readlink()),
        },
    )

    said = call("unlock", "sind", "--auto-approve", "--id", made)

    assert said.status == 1
    assert "That process runs on this machine." in said.err
    assert world.engine.inspect_network("sind-lock") is not None


def test_another_network_of_that_name_stays(world: World, folder: Path, call: Call) -> None:
    world.engine.create_network(NetworkSpec(name="sind-lock", labels={}, config_only=True))

    said = call("unlock", "sind")

    assert said.status == 1
    assert "'sind-lock' is not a realm lock; it was left as it is." in said.err
    assert world.engine.inspect_network("sind-lock") is not None


def test_a_realm_s_name_is_data(world: World, folder: Path, call: Call) -> None:
    for name in ("../x", "a b", "\x1b[31m", "sind-lock; rm -rf /"):
        said = call("unlock", name)
        assert said.status == 0
        assert said.err == f"Nobody holds the lock of the realm {name!r} on the engine.\n"
