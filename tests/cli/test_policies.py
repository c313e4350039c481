"""Policies on the JSON of plans: the examples stop a plan that removes a volume, and no other."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from regopy import Interpreter

from sindplan.statefile import read
from tests.cli.conftest import ROOT, Call, write_state
from tests.world import World

POLICY = ROOT / "examples/policy"


def run(command: list[str], plan: str) -> tuple[int, str]:
    done = subprocess.run(command, input=plan.encode(), capture_output=True, check=False, timeout=60)
    return done.returncode, (done.stdout + done.stderr).decode()


def in_python(plan: str) -> tuple[int, str]:
    return run([sys.executable, str(POLICY / "keep_volumes.py")], plan)


def in_rego(plan: str) -> tuple[int, str]:
    """Do what Conftest does with a policy: `deny` and `warn` of package main, each message a line."""
    rego = Interpreter()
    rego.add_module("keep_volumes", (POLICY / "keep_volumes.rego").read_text())
    rego.set_input(json.loads(plan))
    denied, warned = (json.loads(str(rego.query(f"data.main.{rule}")))["expressions"][0] for rule in ("deny", "warn"))
    return int(bool(denied)), "\n".join([*denied, *warned])


@pytest.fixture(params=[in_python, in_rego])
def judge(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_a_plan_that_removes_volumes_is_stopped(world: World, folder: Path, call: Call, judge: Any) -> None:
    file = write_state(folder, 1)
    world.apply(read([file]))
    file.write_text(file.read_text().replace("clusters.dev", "clusters.other"))
    plan = call("plan", "--prune", "--format", "json").out

    status, said = judge(plan)

    gone = [one for one in json.loads(plan)["resource_changes"] if one["change"]["actions"] == ["delete"]]
    volumes = [one["address"] for one in gone if one["type"] == "volume"]
    assert status == 1
    assert {"sind/dev/volume/config", "sind/dev/volume/state"} <= set(volumes)
    for address in volumes:
        assert f"{address} would be removed, and the data in it" in said
    assert "sind/other" not in said


def test_other_plans_pass_and_what_a_hand_did_is_told(world: World, folder: Path, call: Call, judge: Any) -> None:
    file = write_state(folder, 2)
    first = call("plan", "--format", "json").out
    world.apply(read([file]))
    write_state(folder, 1)
    fewer = call("plan", "--format", "json").out
    write_state(folder, 2)
    world.engine.remove_container("sind-dev-worker-0")
    mended = call("plan", "--format", "json").out

    assert any(one["change"]["actions"] == ["delete"] for one in json.loads(fewer)["resource_changes"])
    assert judge(first)[0] == judge(fewer)[0] == judge(mended)[0] == 0
    assert "sind/dev/node/worker-0 was changed by hand: declared and applied before, and gone" in judge(mended)[1]
    assert "by hand" not in judge(first)[1] + judge(fewer)[1]


@pytest.mark.parametrize("text", ["{}", "[]", "null", '{"format_version": "1.2", "resource_changes": []}'])
def test_what_is_no_plan_is_stopped(judge: Any, text: str) -> None:
    status, said = judge(text)

    assert status == 1
    assert "not a plan" in said
