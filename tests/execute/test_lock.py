"""The realm lock: sind's file and sind's network, one holder at a time."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sindplan.engine.records import NetworkSpec
from sindplan.engine.simulated import SimulatedEngine
from sindplan.errors import SindplanError
from sindplan.execute.lock import Waiting, locked, sweep

QUICK = Waiting(0, lambda _: None)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def _lock_network(engine: SimulatedEngine, **labels: str) -> str:
    marks = {f"sind.lock.{name.replace('_', '-')}": value for name, value in labels.items()}
    return engine.create_network(NetworkSpec(name="sind-lock", labels=marks, config_only=True))


def _held(engine: SimulatedEngine, realm: str) -> dict[str, str] | None:
    network = engine.inspect_network(f"{realm}-lock")
    return dict(network.labels) if network else None


def test_both_parts_are_held_and_let_go(tmp_path: Path) -> None:
    engine = SimulatedEngine()

    with locked(engine, ["sind"], QUICK):
        labels = _held(engine, "sind")
        assert labels is not None
        assert labels["sind.realm"] == "sind"
        assert labels["sind.lock.pid"] == str(os.getpid())
        assert {"token", "command", "host", "boot-id", "pid-ns"} <= {key.removeprefix("sind.lock.") for key in labels}
        assert (tmp_path / "sind" / "sind" / "lock").stat().st_mode & 0o777 == 0o600
        assert (tmp_path / "sind" / "sind").stat().st_mode & 0o777 == 0o700

    assert _held(engine, "sind") is None


def test_a_second_one_waits_for_the_first() -> None:
    engine = SimulatedEngine()
    order: list[str] = []
    waits = threading.Event()

    def second() -> None:
        with locked(engine, ["sind"], Waiting(30, lambda _: waits.set())):
            order.append("second")

    thread = threading.Thread(target=second)
    with locked(engine, ["sind"], QUICK):
        thread.start()
        assert waits.wait(20)
        order.append("first")
    thread.join(20)

    assert order == ["first", "second"]


def test_realms_do_not_wait_for_each_other() -> None:
    engine = SimulatedEngine()

    with locked(engine, ["a"], QUICK), locked(engine, ["b"], QUICK):
        assert _held(engine, "a")
        assert _held(engine, "b")


def test_a_lock_of_another_host_is_never_taken_over() -> None:
    engine = SimulatedEngine()
    _lock_network(engine, token="x", command="sind create", host="elsewhere", pid="1", boot_id="b", pid_ns="n")

    with (
        pytest.raises(SindplanError, match=r"locked by 'sind create' \(pid 1 on elsewhere\)") as raised,
        locked(engine, ["sind"], QUICK),
    ):
        pass

    assert "sindplan unlock sind" in raised.value.fix
    assert _held(engine, "sind") is not None


def test_a_lock_left_by_a_process_that_is_gone_is_taken_over() -> None:
    engine = SimulatedEngine()
    with locked(engine, ["sind"], QUICK):
        mine = _held(engine, "sind")
    assert mine is not None
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    left = mine | {"sind.lock.token": "left", "sind.lock.pid": gone.stdout.decode().strip()}
    engine.create_network(NetworkSpec(name="sind-lock", labels=left, config_only=True))

    with locked(engine, ["sind"], Waiting(5, lambda _: None)):
        labels = _held(engine, "sind")

    assert labels is not None
    assert labels["sind.lock.token"] != "left"


def test_a_lock_of_a_living_process_is_not_taken_over() -> None:
    engine = SimulatedEngine()
    with locked(engine, ["sind"], QUICK):
        mine = _held(engine, "sind")
    assert mine is not None
    engine.create_network(NetworkSpec(name="sind-lock", labels=mine | {"sind.lock.token": "other"}, config_only=True))

    with pytest.raises(SindplanError, match="is locked"), locked(engine, ["sind"], QUICK):
        pass


def test_a_network_that_is_no_lock_is_left_alone() -> None:
    engine = SimulatedEngine()
    _lock_network(engine)

    with pytest.raises(SindplanError, match="not a realm lock"), locked(engine, ["sind"], QUICK):
        pass

    assert _held(engine, "sind") == {}


def test_only_locks_whose_holders_are_gone_are_swept() -> None:
    engine = SimulatedEngine()
    with locked(engine, ["sind"], QUICK):
        mine = _held(engine, "sind")
        sweep(engine, ["sind", "nothing-here"])
        assert _held(engine, "sind") == mine
    assert mine is not None
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    left = mine | {"sind.lock.pid": gone.stdout.decode().strip()}
    engine.create_network(NetworkSpec(name="sind-lock", labels=left, config_only=True))

    sweep(engine, ["sind"])

    assert _held(engine, "sind") is None
