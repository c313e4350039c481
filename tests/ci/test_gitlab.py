"""The second stage on a stand-in of GitLab."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from sindplan_ci import comment, main
from sindplan_ci.gitlab import JOB
from tests.ci.forges import TOKEN, Lab, served
from tests.ci.test_github import ADMIN, ANOTHER, APPROVED, DIGEST, HEAD, MERGED, OTHER, PRIVILEGED
from tests.cli.conftest import ROOT

Run = Callable[..., tuple[int, str, str]]
RECIPE = yaml.safe_load((ROOT / "examples" / "ci" / "gitlab-ci.yml").read_text(encoding="utf-8"))


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    found = Lab()
    with served(found) as address:
        monkeypatch.setenv("GITLAB_CI", "true")
        monkeypatch.setenv("CI_API_V4_URL", address)
        monkeypatch.setenv("CI_PROJECT_ID", "5")
        monkeypatch.setenv("SINDPLAN_BOT_TOKEN", TOKEN)
        yield found


@pytest.fixture
def run(lab: Lab, capsys: pytest.CaptureFixture[str]) -> Run:
    def ran(*arguments: str) -> tuple[int, str, str]:
        status = main.main(arguments)
        said = capsys.readouterr()
        assert TOKEN not in said.out + said.err
        return status, said.out, said.err

    return ran


def plan(*actions: list[str], digest: str = DIGEST, privileges: tuple[str, ...] = ()) -> bytes:
    changes = [{"change": {"actions": one}} for one in actions]
    said = {"digest": digest, "blocked": False, "privileges": privileges}
    return json.dumps({"resource_changes": changes, "sindplan": said}).encode()


def test_every_open_request_gets_one_note_which_is_written_anew_only_for_news(lab: Lab, run: Run) -> None:
    lab.open(7, HEAD)
    lab.open(8, OTHER)
    lab.notes.append({"id": 1, "number": 7, "author": {"id": 1}, "body": f"{comment.MARKER} a stranger's"})
    lab.ran(7, HEAD, plan_json=plan(["create"]), plan_txt=b"first")
    lab.ran(8, OTHER, status="failed", plan_txt=b"invalid")

    assert run("sweep")[:2] == (0, "!7: Merging applies exactly this plan, or nothing.\n!8: No plan could be made.\n")
    assert [(one["number"], one["author"]["id"]) for one in lab.notes] == [(7, 1), (7, 99), (8, 99)]
    assert [one["name"] for one in lab.statuses] == [f"sindplan {DIGEST}"]
    before = len([call for call in lab.calls if call[0] != "GET"])
    run("sweep")
    assert len([call for call in lab.calls if call[0] != "GET"]) == before

    lab.ran(7, HEAD, plan_json=plan(["delete"], digest=ANOTHER), plan_txt=b"second")
    assert "needs the label" in run("sweep")[1]
    assert "second" in lab.notes[1]["body"]
    assert len(lab.notes) == 3
    assert len(lab.statuses) == 1


def test_what_is_not_of_the_newest_commit_or_of_a_fork_or_still_runs_says_nothing(lab: Lab, run: Run) -> None:
    lab.open(7, HEAD)
    lab.ran(7, OTHER, plan_json=plan(["create"]))
    lab.ran(7, HEAD, project=6, plan_json=plan(["create"]))

    assert run("sweep")[:2] == (0, "")
    lab.ran(7, HEAD, status="running")
    assert run("sweep")[:2] == (0, "")
    assert (lab.notes, lab.statuses) == ([], [])


@pytest.mark.parametrize("path", [".gitlab-ci.yml", "sindplan", "sindplan/ci/plan.sh", ".gitmodules"])
def test_a_request_that_changes_how_plans_are_made_is_not_believed(lab: Lab, run: Run, path: str) -> None:
    lab.open(7, HEAD, files=("sindplan.toml", path))
    lab.ran(7, HEAD, plan_json=plan(["create"]))

    assert "plan it by hand" in run("sweep")[1]
    assert lab.statuses == []


def test_more_files_than_are_listed_are_not_believed_and_the_next_request_is_reported_on(lab: Lab, run: Run) -> None:
    lab.open(7, HEAD)
    lab.open(8, OTHER)
    lab.requests[0]["changes_count"] = "1000+"
    for number, head in ((7, HEAD), (8, OTHER)):
        lab.ran(number, head, plan_json=plan(["create"]), plan_txt=b"")

    assert "!7: !7 touches more files than GitLab lists." in run("sweep")[1]
    assert [one["number"] for one in lab.notes] == [8]


def test_the_approved_digest_is_the_bots_on_the_exact_commit(lab: Lab, run: Run, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_bytes(plan(["create"]))
    arguments = ("approved", "--plan", str(tmp_path / "plan.json"), "--commit", MERGED)
    lab.open(7, HEAD)
    assert "No merged request" in run(*arguments)[2]
    lab.requests[0].update(state="merged", merge_commit_sha=MERGED)
    # A stranger's job may be called so; the bot may have approved another commit; a comment says nothing.
    lab.status(1, HEAD, f"sindplan {DIGEST}")
    lab.status(99, OTHER, f"sindplan {DIGEST}")
    lab.status(99, HEAD, f"sindplan {DIGEST}", "failed")
    lab.status(99, HEAD, f"sindplan {DIGEST}x")
    lab.notes.append({"id": 1, "number": 7, "author": {"id": 99}, "body": f"{comment.MARKER} `{DIGEST}`"})
    assert "has approved no plan" in run(*arguments)[2]

    lab.status(99, HEAD, f"sindplan {DIGEST}")

    assert run(*arguments) == (0, f"{DIGEST}\n", "")
    (tmp_path / "plan.json").write_bytes(plan(["delete"]))
    assert "needs the label" in run(*arguments)[2]
    (tmp_path / "plan.json").write_bytes(plan(["create"], digest=ANOTHER))
    assert "was approved" in run(*arguments)[2]


def test_privileges_need_a_label_when_they_are_approved_and_when_they_are_given(
    lab: Lab, run: Run, tmp_path: Path
) -> None:
    content = plan(["create"], privileges=(ADMIN,))
    (tmp_path / "plan.json").write_bytes(content)
    arguments = ("approved", "--plan", str(tmp_path / "plan.json"), "--commit", MERGED)
    lab.open(7, HEAD)
    lab.ran(7, HEAD, plan_json=content, plan_txt=b"")
    assert f"needs the label `{PRIVILEGED}`" in run("sweep")[1]
    assert lab.statuses == []
    assert ADMIN in lab.notes[0]["body"]
    lab.requests[0]["labels"] = [PRIVILEGED]
    lab.requests[0].update(state="merged", merge_commit_sha=MERGED)
    # A stranger's job may be called so; an approval without them allows none, whatever the labels.
    lab.status(1, HEAD, f"sindplan {APPROVED}")
    lab.status(99, HEAD, f"sindplan {DIGEST}")
    assert "other privileges than" in run(*arguments)[2]

    lab.requests[0]["state"] = "opened"
    run("sweep")
    run("sweep")
    assert [one["name"] for one in lab.statuses[2:]] == [f"sindplan {APPROVED}"]
    lab.requests[0]["state"] = "merged"

    assert run(*arguments) == (0, f"{DIGEST} --allow-privileged\n", "")
    lab.requests[0]["labels"] = []
    assert "needs the label" in run(*arguments)[2]


@pytest.mark.parametrize(
    ("labels", "status"), [("", 1), ("sindplan: destroy", 1), (PRIVILEGED, 0), (f"a,{PRIVILEGED}", 0)]
)
def test_the_gate_asks_for_the_label_of_privileges(tmp_path: Path, labels: str, status: int) -> None:
    (tmp_path / "plan.json").write_bytes(plan(["create"], privileges=(ADMIN,)))

    assert main.main(("gate", "--plan", str(tmp_path / "plan.json"), "--labels", labels)) == status


@pytest.mark.parametrize(
    ("actions", "labels", "status"),
    [("create", "", 0), ("delete", "", 1), ("delete", "a,sindplan: destroy", 0), ("delete", "sindplan: destroyer", 1)],
)
def test_the_gate_needs_no_token(tmp_path: Path, actions: str, labels: str, status: int) -> None:
    (tmp_path / "plan.json").write_bytes(plan([actions]))

    assert main.main(("gate", "--plan", str(tmp_path / "plan.json"), "--labels", labels)) == status
    assert main.main(("gate", "--plan", str(tmp_path / "nothing"))) == 1


def test_the_recipe_calls_what_there_is_and_gives_requests_no_token() -> None:
    jobs = {name: one for name, one in RECIPE.items() if isinstance(one, dict) and "script" in one}
    assert {one["stage"] for one in jobs.values()} == set(RECIPE["stages"])
    (planning,) = [name for name, one in jobs.items() if "merge_request_event" in one["rules"][0]["if"]]
    assert planning == JOB
    assert "SINDPLAN_BOT_TOKEN" not in str(jobs[planning])
    assert "tags" not in jobs[planning]
    for name, one in jobs.items():
        if name != planning:
            assert "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH" in one["rules"][0]["if"]
        for line in one["script"]:
            for script in [word for word in line.split() if word.startswith("sindplan/ci/")]:
                assert (ROOT / script.removeprefix("sindplan/")).is_file()
