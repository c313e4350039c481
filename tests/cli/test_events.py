"""`apply --json`: an event a line on stdout, whatever happens; what people read is on stderr."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sindplan.cli import options
from sindplan.kinds.relay import KNOWN_HOSTS
from sindplan.render.events_schema import events_schema
from sindplan.statefile import read
from tests.cli.conftest import ROOT, Call, Said, write_state
from tests.cli.test_output import EVIL, Failing
from tests.faults import FaultyEngine
from tests.world import World, new_world

VALIDATOR = jsonschema.Draft202012Validator(events_schema())
APPLY = ("apply", "--json", "--auto-approve")
WORKER = "sind-dev-worker-0"


def events_of(said: Said) -> list[dict[str, Any]]:
    """Return the events; each must be as the schema says, and the first and the last what they always are."""
    assert said.out.isascii()
    assert said.out.endswith("\n")
    assert all(char == "\n" or char.isprintable() for char in said.out)
    found = [json.loads(line) for line in said.out.splitlines()]
    for event in found:
        assert [error.message for error in VALIDATOR.iter_errors(event)] == [], event
    assert [event["type"] for event in (found[0], found[-1])] == ["version", "outcome"]
    assert found[-1]["outcome"]["exit_status"] == said.status
    return found


def of_type(events: Sequence[dict[str, Any]], *types: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] in types]


def ends(events: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return how each action that was started ended; none ends before it is started, and each once."""
    found: dict[str, str] = {}
    for event in of_type(events, "apply_start", "apply_complete", "apply_errored"):
        hook = event["hook"]
        key = f"{hook['id']} {hook['rolling_back']}"
        assert found.get(key, "") == ("" if event["type"] == "apply_start" else "apply_start")
        found[key] = event["type"]
    return found


def test_a_first_apply_is_told_from_the_plan_to_the_end(world: World, state: Path, call: Call) -> None:
    prepared = world.prepare(read([state]))

    said = call(*APPLY)

    events = events_of(said)
    assert said.status == 0
    assert world.plan(read([state])).empty
    planned = {
        (event["change"]["resource"]["addr"], event["change"]["action"]) for event in of_type(events, "planned_change")
    }
    assert planned == {(str(change.address), change.operation.value) for change in prepared.plan.changes}
    plan, done = of_type(events, "change_summary")
    assert plan["changes"]["digest"].startswith("sha256:")
    assert (plan["changes"]["add"], done["changes"]["add"]) == (len(planned), len(planned))
    assert events[-1]["outcome"] == {
        "result": "complete", "exit_status": 0, "done": ["sind/@mesh", "sind/dev"], "restored": [], "kept": [], "leftovers": [],
    }  # fmt: skip
    assert set(ends(events).values()) == {"apply_complete"}
    # What waits is started after what it waits for.
    started = [event["hook"]["id"] for event in of_type(events, "apply_start")]
    completed = {event["hook"]["id"]: place for place, event in enumerate(events) if event["type"] == "apply_complete"}
    begun = {event["hook"]["id"]: place for place, event in enumerate(events) if event["type"] == "apply_start"}
    waits = [
        (action.id, need)
        for action in prepared.plan.actions
        for need in action.needs
        if action.id in begun and need in begun
    ]
    assert waits
    assert all(completed[need] < begun[one] for one, need in waits)
    assert len(started) == len(set(started))
    # People read on.
    assert "  + node\n" in said.err
    assert "Apply complete! Resources: " in said.err


def test_nothing_to_do_is_told_too(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))

    events = events_of(call(*APPLY))

    assert [event["type"] for event in events] == ["version", "change_summary", "outcome"]
    assert events[-1]["outcome"]["result"] == "unchanged"


@given(fail_at=st.integers(0, 60))
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_apply_that_fails_anywhere_is_told_to_its_end(
    state: Path, call: Call, monkeypatch: pytest.MonkeyPatch, fail_at: int
) -> None:
    world = new_world(seed=1)
    before = world.snapshot()
    monkeypatch.setattr(options, "connected", lambda: (FaultyEngine(world.engine, fail_at), world.slurm))

    said = call(*APPLY)

    events = events_of(said)
    outcome = events[-1]["outcome"]
    if said.status == 0:
        assert outcome["result"] == "complete"
        return
    assert outcome["result"] == "failed"
    errors = [
        event["diagnostic"] for event in of_type(events, "diagnostic") if event["diagnostic"]["severity"] == "error"
    ]
    assert errors
    assert all(event in said.err for event in (error["summary"] for error in errors))
    if ends(events):
        # Unless all was done, and the lock could not be given back afterwards.
        assert "apply_errored" in ends(events).values() or set(ends(events).values()) == {"apply_complete"}
        assert "apply_start" not in ends(events).values()
    if world.snapshot() == before:
        assert outcome["done"] == outcome["kept"] == []


def test_a_failure_says_of_which_resource_and_how_its_cluster_is_left(world: World, state: Path, call: Call) -> None:
    world.machine.broken.add(WORKER)

    events = events_of(call(*APPLY))

    (problem,) = [event["diagnostic"] for event in of_type(events, "diagnostic")]
    assert problem["addresses"] == ["sind/dev/node/worker-0"]
    assert of_type(events, "rollback_start")
    assert events[-1]["outcome"]["restored"] == ["sind/@mesh", "sind/dev"]
    assert any(hook["rolling_back"] for hook in (event["hook"] for event in of_type(events, "apply_complete")))


def test_what_a_node_said_is_told_as_it_is_and_commands_no_terminal(
    world: World, state: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "connected", lambda: (world.engine, Failing(world)))

    events = events_of(call(*APPLY))

    outputs = {event["diagnostic"]["output"] for event in of_type(events, "diagnostic")}
    assert f"out {EVIL}\nmore {EVIL}" in outputs


def test_what_is_refused_is_told(world: World, state: Path, call: Call) -> None:
    broken = state.parent / "broken.toml"
    broken.write_text("version = 1\nrealmz = 3\n", encoding="utf-8")

    invalid = events_of(call(*APPLY, "-f", "broken.toml"))
    other = events_of(call("apply", "--json", "--approve", "sha256:" + "0" * 64))

    assert any("realmz" in event["diagnostic"]["summary"] for event in of_type(invalid, "diagnostic"))
    assert "which was approved" in of_type(other, "diagnostic")[0]["diagnostic"]["summary"]
    assert world.engine.containers() == ()


def test_an_apply_that_could_not_ask_is_wrong_usage_and_prints_no_event(world: World, state: Path, call: Call) -> None:
    said = call("apply", "--json")

    assert (said.status, said.out) == (64, "")
    assert "--json cannot ask" in said.err


@pytest.mark.parametrize("command", [("destroy",), ("apply", "--destroy")])
def test_a_destroy_is_told_in_the_same_way(world: World, state: Path, call: Call, command: tuple[str, ...]) -> None:
    assert call(*APPLY).status == 0

    events = events_of(call(*command, "--json", "--auto-approve"))

    counts = [event["changes"] for event in of_type(events, "change_summary")]
    assert [one["operation"] for one in counts] == ["plan", "destroy"]
    assert counts[0]["remove"] == counts[1]["remove"] > 0
    assert set(ends(events).values()) == {"apply_complete"}
    assert (world.engine.containers(), events[-1]["outcome"]["result"]) == ((), "complete")
    assert events_of(call(*command, "--json", "--auto-approve"))[-1]["outcome"]["result"] == "unchanged"
    assert call(*command, "--json").status == 64


def test_events_command_no_terminal_and_tell_no_secret(world: World, state: Path, call: Call) -> None:
    state.write_text(state.read_text() + 'db.storage_password = "c0rrect-horse"\n')
    first = call(*APPLY)
    world.engine.write("sind-ssh", KNOWN_HOSTS, b"\x1b[2J\x7f.dev.sind.sind ssh-ed25519 \x1b[2J\n")

    said = call(*APPLY)

    assert any("\\x1b[2J\\x7f" in event["@message"] for event in events_of(said))
    assert "c0rrect-horse" not in first.out + first.err + said.out + said.err


@pytest.mark.parametrize("reads", [0, 1])
def test_an_apply_goes_on_when_nobody_reads_its_events_any_more(folder: Path, reads: int) -> None:
    write_state(folder, 1)
    command = [sys.executable, "-m", "tests.cli.simulated", *APPLY]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env={"PYTHONPATH": str(ROOT)}
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for _ in range(reads):
            assert json.loads(process.stdout.readline())["type"] == "version"
        process.stdout.close()
        said = process.stderr.read().decode()

    assert "Apply complete! Resources: " in said
    assert "Traceback" not in said
