"""The exit status of every command in every outcome: 0 done, 1 failed, 2 there are changes, 64 wrong usage, 130 interrupted."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from sindplan.cli import main, options
from sindplan.engine.simulated import DEFAULT_INFO
from sindplan.errors import EngineUnreachable
from sindplan.statefile import read
from tests.cli.conftest import Call, write_state
from tests.cli.test_unlock import lock
from tests.world import World

YES = "--auto-approve"
CLUSTER = "kind: Cluster\nname: dev\nnodes:\n  - controller\n  - worker: 1\n"


def _nothing(_: World, __: Path) -> None:
    """Only a state file of one worker."""


def _applied(world: World, folder: Path) -> None:
    assert world.apply(read([folder / "sindplan.toml"])).outcome.complete


def _drifted(world: World, folder: Path) -> None:
    _applied(world, folder)
    world.engine.remove_container("sind-dev-worker-0")


def _edited(world: World, folder: Path) -> None:
    _applied(world, folder)
    write_state(folder, 2)


def _anothers(world: World, folder: Path) -> None:
    _applied(world, folder)
    file = folder / "sindplan.toml"
    file.write_text(file.read_text(encoding="utf-8").replace('"lab"', '"other"'), encoding="utf-8")


def _broken(world: World, _: Path) -> None:
    world.machine.broken.add("sind-dev-worker-0")


def _invalid(_: World, folder: Path) -> None:
    (folder / "sindplan.toml").write_text("version = 1\nrealmz = 3\n", encoding="utf-8")
    (folder / "cluster.yaml").write_text("nodes: 3\n", encoding="utf-8")


def _no_toml(_: World, folder: Path) -> None:
    (folder / "sindplan.toml").write_text("version: 1\n", encoding="utf-8")


def _untidy(_: World, folder: Path) -> None:
    file = folder / "sindplan.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("version = 1", "version=1"), encoding="utf-8")


def _missing(_: World, folder: Path) -> None:
    (folder / "sindplan.toml").unlink()
    (folder / "cluster.yaml").unlink()


def _forgotten(world: World, folder: Path) -> None:
    _applied(world, folder)
    _missing(world, folder)


def _locked(world: World, _: Path) -> None:
    lock(world)


def _saved(world: World, folder: Path) -> None:
    assert main.run(["plan", "--out", "saved"]) == 0


def _moved_since(world: World, folder: Path) -> None:
    _applied(world, folder)
    write_state(folder, 2)
    _saved(world, folder)
    world.engine.remove_container("sind-dev-worker-0")


def _too_old(world: World, _: Path) -> None:
    world.engine._info = evolve(DEFAULT_INFO, version="27.0.1", cgroup_version="1")


SITUATIONS: Mapping[str, Callable[[World, Path], None]] = {
    "nothing runs": _nothing,
    "as declared": _applied,
    "drifted": _drifted,
    "edited": _edited,
    "another's": _anothers,
    "a node does not boot": _broken,
    "invalid file": _invalid,
    "not toml": _no_toml,
    "untidy": _untidy,
    "no file": _missing,
    "applied and forgotten": _forgotten,
    "locked": _locked,
    "an engine that is too old": _too_old,
    "saved": _saved,
    "moved since it was saved": _moved_since,
}

OUTCOMES: Mapping[str, Mapping[str, Mapping[str, int]]] = {
    "init": {"init": {"nothing runs": 1, "no file": 0}, "init -f a/b/c.toml": {"nothing runs": 1}},
    "validate": {"validate": {"nothing runs": 0, "as declared": 0, "invalid file": 1, "no file": 1}},
    "fmt": {
        "fmt": {"nothing runs": 0, "invalid file": 0, "not toml": 1, "no file": 1},
        "fmt --check": {"nothing runs": 0, "untidy": 1, "not toml": 1, "no file": 1},
        "fmt --check sindplan.toml .": {"untidy": 1},
        "fmt - sindplan.toml": {"nothing runs": 64},
    },
    "plan": {
        "plan": {
            "nothing runs": 0,
            "as declared": 0,
            "drifted": 0,
            "edited": 0,
            "another's": 1,
            "invalid file": 1,
            "no file": 1,
            "locked": 0,
            "an engine that is too old": 1,
        },
        "plan --detailed-exitcode": {
            "nothing runs": 2,
            "as declared": 0,
            "drifted": 2,
            "edited": 2,
            "another's": 1,
            "invalid file": 1,
            "no file": 1,
        },
        "plan --detailed-exitcode --format json": {"nothing runs": 2, "as declared": 0, "another's": 1},
        "plan --detailed-exitcode --target sind/dev/node/worker-0": {"drifted": 2, "as declared": 0, "edited": 0},
        "plan --detailed-exitcode --exclude sind/dev": {"edited": 0},
        "plan --target sind/dev/node/worker-7": {"drifted": 1},
        "plan --target a//b": {"drifted": 64},
        "plan --destroy --detailed-exitcode": {"nothing runs": 0, "as declared": 2, "another's": 1},
        "plan --destroy --replace sind/dev": {"as declared": 64},
        "plan --destroy --target sind/dev/node/worker-0": {"as declared": 64},
        "plan --destroy --target sind/dev": {"as declared": 0},
        "plan --out p": {"nothing runs": 0, "another's": 1},
        "plan --out a/b/p": {"nothing runs": 1},
        "plan --against there.json": {"nothing runs": 1},
        "plan --against a.json --engine sim:b.json": {"nothing runs": 64},
        "plan --engine podman": {"nothing runs": 64},
    },
    "show": {
        "show saved": {"saved": 0, "moved since it was saved": 0, "nothing runs": 1},
        "show saved --format markdown": {"saved": 0},
        "show sindplan.toml": {"nothing runs": 1},
        "show": {"saved": 64},
    },
    "graph": {
        "graph": {
            "nothing runs": 0,
            "as declared": 0,
            "drifted": 0,
            "edited": 0,
            "another's": 1,
            "invalid file": 1,
            "no file": 1,
            "locked": 0,
        },
        "graph --format mermaid saved": {"saved": 0, "moved since it was saved": 0, "nothing runs": 1},
        "graph --format text": {"nothing runs": 64},
        "graph saved --prune": {"saved": 64},
        "graph saved --target sind/dev": {"saved": 64},
        "graph --target sind/dev": {"nothing runs": 0},
        "graph saved --engine sim:a.json": {"saved": 64},
        "graph --against there.json": {"nothing runs": 1},
    },
    "apply": {
        f"apply {YES}": {
            "nothing runs": 0,
            "as declared": 0,
            "drifted": 0,
            "edited": 0,
            "another's": 1,
            "a node does not boot": 1,
            "invalid file": 1,
            "no file": 1,
        },
        f"apply {YES} --on-failure stop": {"a node does not boot": 1},
        # Nobody is there to say yes.
        "apply": {"nothing runs": 1, "as declared": 0},
        f"apply {YES} --lock-timeout 1s": {"locked": 1},
        f"apply {YES} --target sind/dev/node/worker-0": {"drifted": 0, "a node does not boot": 1},
        f"apply {YES} --destroy": {"nothing runs": 0, "as declared": 0, "another's": 1},
        "apply --destroy": {"nothing runs": 0, "as declared": 1},
        "apply saved --target sind": {"saved": 64},
        f"apply saved {YES}": {"saved": 0, "moved since it was saved": 1, "nothing runs": 1},
        "apply saved --prune": {"saved": 64},
        "apply --approve sha256:1": {"nothing runs": 64},
        f"apply --approve sha256:{'0' * 64}": {"nothing runs": 1},
        f"apply --json {YES}": {"nothing runs": 0, "as declared": 0, "a node does not boot": 1, "invalid file": 1},
        "apply --json saved": {"saved": 0, "nothing runs": 1},
        "apply --json": {"nothing runs": 64},
    },
    "destroy": {
        f"destroy {YES}": {
            "nothing runs": 0,
            "as declared": 0,
            "drifted": 0,
            "invalid file": 1,
            "no file": 1,
            "another's": 1,
        },
        f"destroy sind/dev {YES}": {"as declared": 0, "applied and forgotten": 0, "no file": 1},
        "destroy": {"as declared": 1, "nothing runs": 0},
        f"destroy {YES} --lock-timeout 1s": {"locked": 0},
        f"destroy {YES} --json": {"nothing runs": 0, "as declared": 0, "invalid file": 1},
        "destroy --json": {"as declared": 64},
        f"destroy sind/dev/node/x {YES}": {"as declared": 64},
    },
    "drift": {
        "drift": {"nothing runs": 0, "as declared": 0, "drifted": 2, "edited": 0, "no file": 0},
        "drift --realm sind": {"as declared": 0, "drifted": 2},
        "drift --realm other": {"drifted": 1},
        "drift --format json": {"as declared": 0, "drifted": 2},
        "drift --format markdown": {"as declared": 0, "drifted": 2},
        "drift --format prometheus --out a.prom": {"nothing runs": 0, "as declared": 0, "drifted": 2},
        "drift --out sindplan.toml": {"as declared": 1},
        "drift --out a/b/c": {"as declared": 1},
        "drift --format xml": {"as declared": 64},
    },
    "doctor": {
        "doctor": {"nothing runs": 0, "an engine that is too old": 1},
        "doctor --format json": {"nothing runs": 0, "an engine that is too old": 1},
        "doctor -o json": {"nothing runs": 0},
    },
    "import": {
        "import sind/dev": {"as declared": 0, "nothing runs": 1},
        "import -o sindplan.toml sind/dev": {"as declared": 1},
        "import": {"as declared": 64},
    },
    "convert": {
        "convert cluster.yaml": {"nothing runs": 0, "invalid file": 1, "no file": 1},
        "convert -o sindplan.toml cluster.yaml": {"nothing runs": 1},
        "convert": {"nothing runs": 64},
    },
    "unlock": {
        "unlock sind": {"nothing runs": 0, "locked": 1},
        f"unlock sind {YES}": {"locked": 64},
        f"unlock sind {YES} --id x": {"locked": 1},
    },
    "snapshot": {
        "snapshot --out there.json": {"nothing runs": 0, "as declared": 0, "locked": 0, "no file": 0},
        "snapshot --out sindplan.toml": {"nothing runs": 1},
        "snapshot --out a/b/there.json": {"nothing runs": 1},
        "snapshot": {"nothing runs": 64},
    },
    "schema": {"schema": {"nothing runs": 0}},
    "completion": {
        "completion bash": {"no file": 0},
        "completion tcsh": {"no file": 64},
        "completion": {"no file": 64},
    },
}
"""Exit status by command, by how it is called, by situation."""

ROWS = [
    (arguments, situation, status)
    for calls in OUTCOMES.values()
    for arguments, situations in calls.items()
    for situation, status in situations.items()
]
ENGINE = [
    "plan",
    "graph",
    f"apply {YES}",
    f"destroy {YES}",
    "drift",
    "doctor",
    "import sind/dev",
    "unlock sind",
    "snapshot --out there.json",
]
"""What needs an engine."""


@pytest.fixture
def files(state: Path) -> Path:
    """A folder with a state file, and a cluster file of sind's."""
    (state.parent / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    return state.parent


def test_every_command_is_in_the_table() -> None:
    assert OUTCOMES.keys() == set(main._COMMANDS)
    for command, calls in OUTCOMES.items():
        assert all(arguments.split()[0] == command for arguments in calls)


@pytest.mark.parametrize(("arguments", "situation", "status"), ROWS)
def test_exit_status(world: World, files: Path, call: Call, arguments: str, situation: str, status: int) -> None:
    SITUATIONS[situation](world, files)
    said = call(*arguments.split())
    assert said.status == status, said


@pytest.mark.parametrize(("arguments", "situation"), [("apply", "nothing runs"), ("destroy", "as declared")])
@pytest.mark.parametrize(("answer", "status"), [("yes\n", 0), ("no\n", 1), ("\n", 1)])
def test_of_who_is_asked(
    world: World, files: Path, call: Call, terminal: Any, arguments: str, situation: str, answer: str, status: int
) -> None:
    SITUATIONS[situation](world, files)
    terminal(answer)
    assert call(arguments).status == status


@pytest.mark.parametrize("command", OUTCOMES)
def test_wrong_usage(world: World, files: Path, call: Call, command: str) -> None:
    before = world.snapshot()
    assert call(command, "--no-such-option").status == 64
    assert call(command, "--help").status == 0
    assert world.snapshot() == before


@pytest.mark.parametrize(
    ("error", "status"),
    [(EngineUnreachable("No engine answers."), 1), (KeyboardInterrupt(), 130), (RuntimeError("a fault of our own"), 1)],
)
@pytest.mark.parametrize("arguments", ENGINE)
def test_ended_by_an_error(
    files: Path, call: Call, monkeypatch: pytest.MonkeyPatch, arguments: str, error: BaseException, status: int
) -> None:
    def connected() -> Any:
        raise error

    monkeypatch.setattr(options, "connected", connected)
    assert call(*arguments.split()).status == status
