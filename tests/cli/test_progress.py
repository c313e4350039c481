"""What an apply says while it goes on: drawn over on a terminal, a line with its time elsewhere, and how long all took."""

import re
from pathlib import Path

import pytest
from click import unstyle

from sindplan.cli.progress import Live, Progress, tell_slowest
from sindplan.errors import SindplanError
from sindplan.plan.plan import Action, Plan
from sindplan.statefile import read
from tests.cli.conftest import Call
from tests.cli.test_output import ESC, on_a_terminal
from tests.world import World

STAMP = re.compile(r"^[0-2][0-9]:[0-5][0-9]:[0-6][0-9] ", re.MULTILINE)
_MOVE = re.compile(r"\r?\x1b\[(\d+)A\x1b\[J")


def screen(text: str) -> list[str]:
    """Return what is left on a terminal of a text that moves up and erases."""
    lines = [""]
    at = 0
    for found in _MOVE.finditer(text):
        lines = _written(lines, text[at : found.start()])
        assert lines[-1] == ""
        lines = [*lines[: -1 - int(found[1])], ""]
        at = found.end()
    return _written(lines, text[at:])


def _written(lines: list[str], text: str) -> list[str]:
    first, *others = text.split("\n")
    return [*lines[:-1], lines[-1] + first, *others]


def test_on_a_terminal_what_runs_is_drawn_and_nothing_of_it_stays(state: Path) -> None:
    drawn = on_a_terminal("apply", "--auto-approve", "-f", str(state), TERM="xterm", COLUMNS="100", LINES="40")

    assert re.search(r"\n  [0-9]+ of [0-9]+ done, [0-9]+ running, 0s\n", drawn)
    assert re.search(r"\n  sind/\S+: [a-z ]+, 0s\n", drawn)
    assert re.search(r" waits for sind/", drawn)
    left = [unstyle(line) for line in screen(drawn)]
    assert not [line for line in left if " running, " in line or " waits for " in line or line.endswith(", 0s")]
    assert "sind/dev/node/worker-0: starting took 0.0s" in [STAMP.sub("", line) for line in left]
    assert [line for line in left if line.startswith("Apply complete! Resources: 29 added, 0 changed, 0 destroyed.")]


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TERM": ""}])
def test_a_terminal_that_cannot_be_drawn_on_gets_lines(environment: dict[str, str], state: Path) -> None:
    said = on_a_terminal("--no-color", "apply", "--auto-approve", "-f", str(state), **environment)

    assert ESC not in said
    assert "worker-0: starting took 0.0s" in said


def test_elsewhere_every_line_has_its_time(state: Path, world: World, call: Call) -> None:
    said = call("apply", "--auto-approve")

    lines = said.err.splitlines()
    assert lines
    assert all(STAMP.match(line) for line in lines), lines
    assert "sind/dev/node/worker-0: starting took 0.0s" in [STAMP.sub("", line) for line in lines]


def test_quiet_and_verbose(state: Path, world: World, call: Call) -> None:
    quiet = call("apply", "--auto-approve", "-q")
    assert (quiet.status, quiet.err) == (0, "")
    assert "Apply complete!" in quiet.out
    loud = call("destroy", "--auto-approve", "-v")
    assert "sind/dev/node/worker-0: removing ..." in loud.err


def test_quiet_says_what_fails(state: Path, world: World, call: Call) -> None:
    world.machine.broken.add("sind-dev-worker-0")

    said = call("apply", "--auto-approve", "--quiet")

    assert said.status == 1
    assert "Taking back what was done" in said.err
    assert " failed\n" in said.err
    assert "Error: " in said.err
    assert " took " not in said.err


@pytest.fixture
def plan(world: World, state: Path) -> Plan:
    return world.plan(read([state]))


def actions(plan: Plan) -> list[Action]:
    return [action for action in plan.actions if action.changes]


def test_the_slowest_are_told(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    told = Progress()
    for action, seconds in zip(actions(plan), (0.4, 3.0, 12.0, 1.0, 2.0), strict=False):
        told.finished(action, seconds)
    capsys.readouterr()

    tell_slowest(told.slowest())

    assert re.findall(r"took (.*)$", capsys.readouterr().err, re.MULTILINE) == ["12.0s", "3.0s", "2.0s"]
    tell_slowest(Progress().slowest())
    assert capsys.readouterr().err == ""


def test_what_waits_is_told_with_what_it_waits_for(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    live = Live()
    live.planned(plan)
    first = [action for action in actions(plan) if not action.needs]
    for action in first:
        live.started(action)
    live.failed(first[-1], SindplanError("no"))
    live.noted(f"{ESC}[2J")

    drawn = capsys.readouterr().err

    assert f"1 of {len(actions(plan))} done, {len(first) - 1} running" in drawn
    assert " waits for " in drawn
    assert f"{ESC}[2J" not in drawn
