"""The second stage on a stand-in of GitHub: one comment, a check run on the exact commit, and nothing that a stranger can approve."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sindplan_ci import comment, main
from sindplan_ci.github import CHECK
from tests.ci.forges import BOT, TOKEN, Hub, served

HEAD, OTHER, MERGED = "a" * 40, "b" * 40, "c" * 40
DIGEST, ANOTHER = (f"sha256:{hashlib.sha256(text).hexdigest()}" for text in (b"1", b"2"))
CREATE, DELETE, REPLACE = ["create"], ["delete"], ["delete", "create"]
ADMIN = "sind/dev: worker-1: added capability SYS_ADMIN"
PRIVILEGED = "sindplan: privileged"
APPROVED = f"{DIGEST}:privileges:{hashlib.sha256(json.dumps([ADMIN]).encode()).hexdigest()}"
"""By which the forge keeps that a plan was approved whose one privilege is that one."""

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    found = Hub()
    with served(found) as address:
        monkeypatch.setenv("GITHUB_API_URL", address)
        monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
        monkeypatch.setenv("GITHUB_REPOSITORY", "a/b")
        yield found


@pytest.fixture
def run(hub: Hub, capsys: pytest.CaptureFixture[str]) -> Run:
    def ran(*arguments: str) -> tuple[int, str, str]:
        status = main.main(arguments)
        said = capsys.readouterr()
        assert TOKEN not in said.out + said.err
        return status, said.out, said.err

    return ran


def left(
    folder: Path,
    *actions: Any,
    text: str = "Plan: some.",
    digest: Any = DIGEST,
    blocked: Any = False,
    privileges: Any = (),
) -> Path:
    """Leave what an untrusted run leaves."""
    changes = [{"address": f"sind/dev/x/{n}", "change": {"actions": one}} for n, one in enumerate(actions)]
    content = {
        "resource_changes": changes,
        "sindplan": {"digest": digest, "blocked": blocked, "privileges": privileges},
    }
    (folder / "plan.json").write_text(json.dumps(content))
    (folder / "plan.txt").write_text(text)
    return folder


def reported(run: Run, folder: Path, head: str = HEAD) -> str:
    status, out, err = run("report", "--folder", str(folder), "--commit", head)
    assert (status, err) == (0, "")
    return out


def last(hub: Hub) -> dict[str, Any]:
    return hub.checks[-1]


def test_one_comment_is_posted_and_then_updated(hub: Hub, run: Run, tmp_path: Path) -> None:
    hub.open(7, HEAD)
    for number in range(130):
        hub.say(7, "somebody", f"{number}")
    # Neither a stranger's marker nor a user who is gone is the bot's.
    hub.say(7, "stranger", f"{comment.MARKER} mine")
    hub.say(7, None, f"{comment.MARKER} a ghost's")
    before = len(hub.comments)

    reported(run, left(tmp_path, CREATE, text="first"))
    reported(run, left(tmp_path, CREATE, CREATE, text="second"))

    (ours,) = hub.comments[before:]
    assert ours["body"].startswith(f"{comment.MARKER}\n\n### sindplan: 2 to create\n")
    assert "second" in ours["body"]
    assert "first" not in ours["body"]
    assert hub.comments[130]["body"] == f"{comment.MARKER} mine"
    assert (last(hub)["head_sha"], last(hub)["conclusion"], last(hub)["name"]) == (HEAD, "success", CHECK)
    assert DIGEST in last(hub)["external_id"]


@pytest.mark.parametrize("actions", [DELETE, REPLACE])
def test_a_plan_that_destroys_needs_the_label(hub: Hub, run: Run, tmp_path: Path, actions: list[str]) -> None:
    hub.open(7, HEAD)

    assert "needs the label `sindplan: destroy`" in reported(run, left(tmp_path, CREATE, actions))
    assert (last(hub)["conclusion"], DIGEST in last(hub)["external_id"]) == ("failure", False)

    hub.pulls[0]["labels"] = [{"name": "sindplan: destroy"}]
    reported(run, tmp_path)
    assert last(hub)["conclusion"] == "success"


@pytest.mark.parametrize(
    "damage",
    [
        {"digest": "sha256:1"},
        {"digest": 7},
        {"digest": f"{DIGEST}\n"},
        {"blocked": True},
        {"blocked": None},
        {"actions": ["forget"]},
        {"actions": [["delete"]]},
        {"actions": "create"},
        {"raw": "["},
        {"raw": "[" * 100_000},
        {"raw": ""},
        {"raw": '{"sindplan": 3}'},
        {"raw": json.dumps({"resource_changes": [], "sindplan": {"digest": DIGEST, "blocked": False}})},
        {"privileges": None},
        {"privileges": "SYS_ADMIN"},
        {"privileges": [["SYS_ADMIN"]]},
        {"raw": None},
    ],
)
def test_what_is_no_plan_is_told_and_never_approved(hub: Hub, run: Run, tmp_path: Path, damage: dict[str, Any]) -> None:
    hub.open(7, HEAD)
    raw, actions = damage.pop("raw", False), damage.pop("actions", CREATE)
    left(tmp_path, actions, **damage)
    if raw is None:
        (tmp_path / "plan.json").unlink()
    elif raw is not False:
        (tmp_path / "plan.json").write_text(raw)

    reported(run, tmp_path)

    assert last(hub)["conclusion"] == "failure"
    assert len(hub.comments) == 1


def test_links_out_of_the_folder_are_not_followed(hub: Hub, run: Run, tmp_path: Path) -> None:
    hub.open(7, HEAD)
    secret = tmp_path / "secret"
    secret.write_text("a secret of the runner's")
    folder = tmp_path / "left"
    folder.mkdir()
    (folder / "plan.txt").symlink_to(secret)
    (folder / "plan.json").symlink_to("/dev/zero")

    reported(run, folder)

    assert "a secret" not in hub.comments[0]["body"]


@pytest.mark.parametrize("path", [".github/workflows/sindplan-plan.yml", ".github/x", "ci/plan.sh", "action.yml"])
def test_a_request_that_changes_how_plans_are_made_is_not_believed(
    hub: Hub, run: Run, tmp_path: Path, path: str
) -> None:
    hub.open(7, HEAD, files=("sindplan.toml", path))
    assert "plan it by hand" in reported(run, left(tmp_path, CREATE))
    assert last(hub)["conclusion"] == "failure"

    # Nor one that moves such a file away, or stands behind a hundred others.
    hub.changed[7] = [{"filename": f"{n}"} for n in range(150)] + [{"filename": "y", "previous_filename": path}]
    reported(run, tmp_path)
    assert last(hub)["conclusion"] == "failure"


def test_more_files_than_are_listed_are_not_believed(hub: Hub, run: Run, tmp_path: Path) -> None:
    hub.open(7, HEAD, files=tuple(map(str, range(3000))))

    status, _, err = run("report", "--folder", str(left(tmp_path, CREATE)), "--commit", HEAD)

    assert (status, hub.checks) == (1, [])
    assert "more files than GitHub lists" in err


def test_a_run_of_an_older_commit_says_nothing(hub: Hub, run: Run, tmp_path: Path) -> None:
    hub.open(7, OTHER)
    hub.open(8, HEAD, base="elsewhere")

    assert "nothing to be said" in reported(run, left(tmp_path, CREATE))

    assert (hub.comments, hub.checks) == ([], [])


def test_a_commit_that_comes_meanwhile_gets_nothing_of_the_older_one(hub: Hub, run: Run, tmp_path: Path) -> None:
    hub.open(7, HEAD, files=(".github/workflows/x.yml",))

    def pushed(found: Hub) -> None:
        # Between the question which request it is and the one which files it touches.
        if found.calls[-1][1].endswith("/files"):
            found.changed[7] = [{"filename": "sindplan.toml"}]
            found.pulls[0]["head"]["sha"] = OTHER

    hub.on_call = pushed
    assert "nothing to be said" in reported(run, left(tmp_path, CREATE))
    assert (hub.comments, hub.checks) == ([], [])


def test_two_requests_of_one_commit_are_not_guessed_at(hub: Hub, run: Run, tmp_path: Path) -> None:
    hub.open(7, HEAD)
    hub.open(8, HEAD)

    status, _, err = run("report", "--folder", str(left(tmp_path, CREATE)), "--commit", HEAD)

    assert (status, hub.comments, hub.checks) == (1, [], [])
    assert "close all but one" in err


def approve(run: Run, folder: Path) -> tuple[int, str, str]:
    return run("approved", "--plan", str(folder / "plan.json"), "--commit", MERGED)


def test_the_approved_plan_is_applied_and_no_other(hub: Hub, run: Run, tmp_path: Path) -> None:
    hub.open(7, HEAD)
    reported(run, left(tmp_path, CREATE))
    hub.merge(7, MERGED)

    assert approve(run, tmp_path) == (0, f"{DIGEST}\n", "")

    left(tmp_path, CREATE, digest=ANOTHER)
    status, out, err = approve(run, tmp_path)
    assert (status, out) == (1, "")
    assert "plan again" in err


def test_a_digest_that_anybody_has_written_approves_nothing(hub: Hub, run: Run, tmp_path: Path) -> None:
    hub.open(7, HEAD)
    hub.merge(7, MERGED)
    left(tmp_path, CREATE)
    good = {"name": CHECK, "head_sha": HEAD, "conclusion": "success", "external_id": f"sindplan:1:{DIGEST}"}
    # In comments, even of the bot; by another app; of another name; on another commit; by a job that is called alike.
    hub.say(7, BOT, f"{comment.MARKER}\nDigest: `{DIGEST}`")
    hub.check("stranger", **good)
    hub.check("github-actions", **{**good, "name": "other"})
    hub.check("github-actions", **{**good, "head_sha": OTHER})
    hub.check(
        "github-actions", **{**good, "external_id": "1c8bd2e0-5a5e-5b8e-9d43-1f0f0a0a0a0a", "output": {"title": DIGEST}}
    )
    hub.check("github-actions", **{**good, "conclusion": "failure"})

    status, out, err = approve(run, tmp_path)

    assert (status, out) == (1, "")
    assert "has approved no plan" in err
    hub.check("github-actions", **good)
    assert approve(run, tmp_path)[0] == 0
    # What was decided last counts.
    hub.check("github-actions", **{**good, "conclusion": "failure", "external_id": "sindplan:1:"})
    assert approve(run, tmp_path)[0] == 1


def test_a_commit_that_no_request_made_applies_nothing(hub: Hub, run: Run, tmp_path: Path) -> None:
    hub.open(7, HEAD)
    reported(run, left(tmp_path, CREATE))

    assert "No merged request" in approve(run, tmp_path)[2]
    hub.merge(7, OTHER)
    assert approve(run, tmp_path)[0] == 1


def test_the_label_is_asked_for_again_when_the_engine_has_planned(hub: Hub, run: Run, tmp_path: Path) -> None:
    """A run that lied about what its plan destroys gains nothing."""
    hub.open(7, HEAD)
    reported(run, left(tmp_path, CREATE))
    hub.merge(7, MERGED)
    left(tmp_path, DELETE)

    assert "needs the label" in approve(run, tmp_path)[2]
    hub.pulls[0]["labels"] = [{"name": "sindplan: destroy"}]
    assert approve(run, tmp_path)[0] == 0


def test_a_plan_with_privileges_needs_the_label_of_its_own(hub: Hub, run: Run, tmp_path: Path) -> None:
    hub.open(7, HEAD, "sindplan: destroy")
    left(tmp_path, CREATE, privileges=[ADMIN])

    assert f"gives new nodes privileges: it needs the label `{PRIVILEGED}`" in reported(run, tmp_path)
    assert (last(hub)["conclusion"], DIGEST in last(hub)["external_id"]) == ("failure", False)
    assert f"New nodes get privileges:\n\n```text\n{ADMIN}\n```\n" in hub.comments[0]["body"]

    # One label is not the other.
    hub.pulls[0]["labels"] = [{"name": PRIVILEGED}]
    assert reported(run, tmp_path) == "Merging applies exactly this plan, or nothing.\n"
    assert (last(hub)["conclusion"], last(hub)["external_id"]) == ("success", f"sindplan:1:{APPROVED}")
    left(tmp_path, DELETE, privileges=[ADMIN])
    assert "needs the label `sindplan: destroy`" in reported(run, tmp_path)
    hub.pulls[0]["labels"] = []
    said = reported(run, tmp_path)
    assert "`sindplan: destroy`" in said
    assert f"`{PRIVILEGED}`" in said


def test_privileges_are_allowed_where_they_were_approved_and_the_label_is_still_there(
    hub: Hub, run: Run, tmp_path: Path
) -> None:
    hub.open(7, HEAD, PRIVILEGED)
    reported(run, left(tmp_path, CREATE, privileges=[ADMIN]))
    hub.merge(7, MERGED)

    assert approve(run, tmp_path) == (0, f"{DIGEST} --allow-privileged\n", "")
    hub.pulls[0]["labels"] = []
    status, out, err = approve(run, tmp_path)
    assert (status, out) == (1, "")
    assert "needs the label" in err


def test_a_label_alone_allows_no_privileges(hub: Hub, run: Run, tmp_path: Path) -> None:
    """A run that hid some or all of its plan's privileges gains nothing, whatever labels the request has."""
    hub.open(7, HEAD, PRIVILEGED)
    reported(run, left(tmp_path, CREATE))
    assert last(hub)["external_id"] == f"sindplan:1:{DIGEST}"
    hub.merge(7, MERGED)
    assert approve(run, tmp_path) == (0, f"{DIGEST}\n", "")
    status, out, err = approve(run, left(tmp_path, CREATE, privileges=[ADMIN]))

    assert (status, out) == (1, "")
    assert "other privileges than those that were listed and approved on #7" in err


def test_privileges_that_anybody_has_written_are_none(hub: Hub, run: Run, tmp_path: Path) -> None:
    hub.open(7, HEAD, PRIVILEGED)
    hub.merge(7, MERGED)
    left(tmp_path, CREATE, privileges=[ADMIN])
    good = {"name": CHECK, "head_sha": HEAD, "conclusion": "success", "external_id": f"sindplan:1:{APPROVED}"}
    hub.check("github-actions", **{**good, "external_id": f"sindplan:1:{DIGEST}"})
    hub.say(7, BOT, f"{comment.MARKER} {good['external_id']}")
    hub.check("stranger", **good)
    hub.check("github-actions", **{**good, "head_sha": OTHER})
    assert approve(run, tmp_path)[:2] == (1, "")
    for text in (
        f"{APPROVED}0",
        f"{APPROVED}\n",
        APPROVED[:-1],
        f"{DIGEST}:privileges:",
        f"{DIGEST} --allow-privileged",
    ):
        hub.check("github-actions", **{**good, "external_id": f"sindplan:1:{text}"})
        assert "has approved no plan" in approve(run, tmp_path)[2]

    hub.check("github-actions", **good)
    assert approve(run, tmp_path)[:2] == (0, f"{DIGEST} --allow-privileged\n")
    # Nor is anything allowed to a plan that has others, more, or none.
    for others in (["sind/dev: worker-1: added capability CHOWN"], [ADMIN, ADMIN], []):
        assert approve(run, left(tmp_path, CREATE, privileges=others))[:2] == (1, "")


def test_errors_of_the_forge_are_told(hub: Hub, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("report", "--folder", str(left(tmp_path, CREATE)), "--commit", HEAD)
    hub.pulls.append({"base": 3})
    assert run(*arguments)[0] == 1
    monkeypatch.setenv("GITHUB_TOKEN", "wrong")
    assert "answered with 401" in run(*arguments)[2]
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    assert "got no answer" in run(*arguments)[2]
    monkeypatch.setenv("GITHUB_API_URL", "file:///etc/passwd")
    assert "no address of an API" in run(*arguments)[2]
    monkeypatch.setenv("GITHUB_REPOSITORY", "a/b/../c")
    assert "must be set" in run(*arguments)[2]
