"""The recipes as they stand: what they may do, and their commands run from a request to an apply."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from sindplan.cli.main import run
from sindplan_ci.main import GUARDED
from tests.ci.forges import TOKEN, Hub, Lab, served
from tests.ci.test_github import HEAD, MERGED, PRIVILEGED
from tests.ci.test_gitlab import RECIPE
from tests.cli.conftest import ROOT, write_state

GITHUB = ROOT / "examples" / "ci" / "github"
STAGES = {
    name: yaml.safe_load((GITHUB / f"sindplan-{name}.yml").read_text(encoding="utf-8"))
    for name in ("plan", "report", "apply")
}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
ON = True
"""YAML 1.1 takes the key `on` for it."""


def steps(stage: str) -> list[dict[str, Any]]:
    ((_, job),) = STAGES[stage]["jobs"].items()
    found: list[dict[str, Any]] = job["steps"]
    return found


def test_who_plans_may_only_read_and_has_no_secret() -> None:
    plan = STAGES["plan"]
    text = (GITHUB / "sindplan-plan.yml").read_text(encoding="utf-8")

    assert plan["permissions"] == {"contents": "read"}
    assert "pull_request" in plan[ON]
    assert "pull_request_target" not in text
    assert "secrets" not in text
    assert "token" not in text
    (job,) = plan["jobs"].values()
    assert "permissions" not in job
    assert "self-hosted" not in str(job["runs-on"])


def test_who_has_a_token_checks_out_nothing_of_the_request() -> None:
    for step in steps("report"):
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["repository"] == "OWNER/sindplan"
            assert "ref" not in step["with"]
    assert STAGES["report"]["permissions"] == {
        "actions": "read", "checks": "write", "contents": "read", "pull-requests": "write",
    }  # fmt: skip
    assert STAGES["report"][ON]["workflow_run"]["workflows"] == [STAGES["plan"]["name"]]


@pytest.mark.parametrize("stage", [*STAGES, "action"])
def test_nothing_that_others_wrote_is_put_into_a_script(stage: str) -> None:
    for step in steps(stage) if stage in STAGES else ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False


def test_the_action_has_the_inputs_that_the_recipe_gives() -> None:
    (step,) = [step for step in steps("plan") if step["uses"].startswith("OWNER/")]
    assert step["with"].keys() <= ACTION["inputs"].keys()
    assert {name for name, one in ACTION["inputs"].items() if one.get("required")} <= step["with"].keys()
    (kept,) = [step for step in steps("plan") if "upload-artifact" in step["uses"]]
    assert kept["with"]["path"] == ACTION["inputs"]["folder"]["default"]
    assert ".github/*" in GUARDED


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with sindplan, whose engine is a simulated one, and the recipes' files where they check them out."""
    folder = tmp_path / "runner"
    folder.mkdir()
    (folder / "temp" / "sindplan" / "bin").mkdir(parents=True)
    code = (
        "import sys; from sindplan.cli.main import main; own = sys.argv[1:]; "
        f"main(own if any('against' in one for one in own) else [*own, '--engine', 'sim:{folder}/engine.json'])"
    )
    program = folder / "temp" / "sindplan" / "bin" / "sindplan"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -c "{code}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    for name in ("sindplan", ".sindplan"):
        (folder / name).symlink_to(ROOT)
    (folder / "request").mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def hub() -> Hub:
    return Hub()


def shell(script: str, folder: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run a step as a runner does."""
    path = f"{folder}/temp/sindplan/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "RUNNER_TEMP": f"{folder}/temp", "HOME": str(folder), "LANG": "C.UTF-8", **more}
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def plan_step(folder: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    (step,) = [step for step in ACTION["runs"]["steps"] if step["name"] == "Plan"]
    inputs = {"FILE": "request/sindplan.toml", "SNAPSHOT": "engine.json", "FOLDER": "temp/left"}
    assert step["env"].keys() == inputs.keys()
    return shell(step["run"], folder, GITHUB_ACTION_PATH=str(ROOT), **inputs, **more)


def step_of(stage: str) -> str:
    (found,) = [step["run"] for step in steps(stage) if "run" in step]
    return str(found)


def test_from_a_request_to_an_apply(runner: Path, hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    write_state(runner, 1)
    assert run(["apply", "--engine", "sim:engine.json", "--auto-approve"]) == 0
    write_state(runner / "request", 2)
    planned = plan_step(runner, GITHUB_TOKEN="not to be handed on", SINDPLAN_SECRET_X="neither")
    assert planned.returncode == 0, planned
    assert "Plan: " in planned.stdout
    with served(hub) as address:
        forge = {"GITHUB_API_URL": address, "GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": "a/b"}
        hub.open(7, HEAD)
        told = shell(step_of("report"), runner, HEAD_SHA=HEAD, **forge)
        assert (told.returncode, told.stdout) == (0, "Merging applies exactly this plan, or nothing.\n"), told
        assert re.search("# sind/dev/node/worker-1 will be created", hub.comments[0]["body"])

        # Before it is merged nothing can be applied.
        write_state(runner, 2)
        refused = shell(step_of("apply"), runner, GITHUB_SHA=MERGED, **forge)
        assert refused.returncode == 1
        assert "Error: No merged request" in refused.stderr
        assert _workers(runner) == 1
        hub.merge(7, MERGED)
        # What is merged must be what was planned.
        write_state(runner, 3)
        assert shell(step_of("apply"), runner, GITHUB_SHA=MERGED, **forge).returncode == 1
        assert _workers(runner) == 1
        write_state(runner, 2)
        applied = shell(step_of("apply"), runner, GITHUB_SHA=MERGED, **forge)
        assert applied.returncode == 0, applied
        assert _workers(runner) == 2
    capsys.readouterr()


ADMINS = '[realms.sind.clusters.dev.workers.tracing]\ncount = 1\ncap_add = ["SYS_ADMIN"]\n'


def write_privileged(folder: Path) -> None:
    file = write_state(folder, 1)
    file.write_text(f"{file.read_text(encoding='utf-8')}{ADMINS}", encoding="utf-8")


def test_on_github_privileges_are_given_when_their_label_was(
    runner: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    write_state(runner, 1)
    assert run(["apply", "--engine", "sim:engine.json", "--auto-approve"]) == 0
    write_privileged(runner / "request")
    write_privileged(runner)
    assert plan_step(runner).returncode == 0
    with served(hub) as address:
        forge = {"GITHUB_API_URL": address, "GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": "a/b"}
        hub.open(7, HEAD)
        assert "needs the label" in shell(step_of("report"), runner, HEAD_SHA=HEAD, **forge).stdout
        hub.merge(7, MERGED)
        hub.pulls[0]["labels"] = [{"name": PRIVILEGED}]
        assert shell(step_of("apply"), runner, GITHUB_SHA=MERGED, **forge).returncode == 1
        assert _workers(runner) == 1

        hub.pulls[0]["state"] = "open"
        told = shell(step_of("report"), runner, HEAD_SHA=HEAD, **forge)
        assert told.stdout == "Merging applies exactly this plan, or nothing.\n", told
        assert "added capability SYS_ADMIN\n```" in hub.comments[0]["body"]
        hub.merge(7, MERGED)
        applied = shell(step_of("apply"), runner, GITHUB_SHA=MERGED, **forge)
        assert applied.returncode == 0, applied
        assert _workers(runner) == 2
    capsys.readouterr()


def job_of(name: str) -> str:
    """Return what a job of GitLab's runs, but for what fetches sindplan and the snapshot."""
    lines = [line for line in RECIPE[name]["script"] if not line.startswith(("pip ", "git "))]
    return "\n".join(lines)


def test_on_gitlab_privileges_are_given_when_their_label_was(runner: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_state(runner, 1)
    assert run(["apply", "--engine", "sim:engine.json", "--auto-approve"]) == 0
    (runner / "lab.json").write_bytes((runner / "engine.json").read_bytes())
    write_privileged(runner)
    common = {"GITLAB_CI": "true", "CI_PROJECT_ID": "5", "CI_DEFAULT_BRANCH": "main", "CI_COMMIT_SHA": MERGED}
    planned = shell(job_of("sindplan plan"), runner, CI_MERGE_REQUEST_LABELS="", **common)
    assert planned.returncode == 1
    assert planned.stdout.endswith(f"This plan gives new nodes privileges: it needs the label `{PRIVILEGED}`.\n"), (
        planned
    )
    assert shell(job_of("sindplan plan"), runner, CI_MERGE_REQUEST_LABELS=PRIVILEGED, **common).returncode == 0
    lab = Lab()
    with served(lab) as address:
        forge = {"CI_API_V4_URL": address, "SINDPLAN_BOT_TOKEN": TOKEN, **common}
        lab.open(7, HEAD)
        left = {
            name: (runner / "sindplan-plan" / name.replace("_", ".")).read_bytes() for name in ("plan_json", "plan_txt")
        }
        lab.ran(7, HEAD, **left)
        assert "needs the label" in shell(job_of("sindplan report"), runner, **forge).stdout
        lab.requests[0].update(state="merged", merge_commit_sha=MERGED, labels=[PRIVILEGED])
        assert shell(job_of("sindplan apply"), runner, **forge).returncode == 1
        assert _workers(runner) == 1

        lab.requests[0]["state"] = "opened"
        assert "Merging applies" in shell(job_of("sindplan report"), runner, **forge).stdout
        lab.requests[0]["state"] = "merged"
        applied = shell(job_of("sindplan apply"), runner, **forge)
        assert applied.returncode == 0, applied
        assert _workers(runner) == 2
    capsys.readouterr()


def _workers(folder: Path) -> int:
    containers = json.loads((folder / "engine.json").read_text())["containers"]
    return sum("worker" in one["summary"]["name"] for one in containers)


def test_a_state_file_that_is_invalid_leaves_its_problems_and_no_plan(runner: Path) -> None:
    write_state(runner, 1)
    assert run(["apply", "--engine", "sim:engine.json", "--auto-approve"]) == 0
    (runner / "request" / "sindplan.toml").write_text("version = 1\nrealmz = 3\n")

    planned = plan_step(runner)

    assert planned.returncode == 1
    assert "realmz" in (runner / "temp" / "left" / "plan.txt").read_text()
    assert not (runner / "temp" / "left" / "plan.json").exists()


def test_no_variable_of_the_runner_reaches_who_plans(runner: Path) -> None:
    program = runner / "temp" / "sindplan" / "bin" / "sindplan"
    program.write_text("#!/bin/sh\nenv\n", encoding="utf-8")

    plan_step(runner, GITHUB_TOKEN="ghs_secret", ACTIONS_RUNTIME_TOKEN="secret")

    names = {line.partition("=")[0] for line in (runner / "temp" / "left" / "plan.txt").read_text().splitlines()}
    assert names - {"PWD", "_", "SHLVL", "OLDPWD"} == {"PATH", "LANG"}
