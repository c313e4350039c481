"""The command line of the second stage; what it needs to know of the forge is in the environment that the forge sets."""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from sindplan_ci.forge import Forge
from sindplan_ci.github import GitHub
from sindplan_ci.gitlab import GitLab
from sindplan_ci.http import Failed
from sindplan_ci.review import NoPlan, read_review
from sindplan_ci.stages import Labels, approved, judge, report, sweep

LABELS = Labels(destroy="sindplan: destroy", privileged="sindplan: privileged")
GUARDED = (".github/*", ".gitlab-ci.yml", ".gitlab/*", "action.yml", "ci/*", "sindplan", "sindplan/*", ".gitmodules")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NUMBER = re.compile(r"[0-9]{1,18}")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")


def main(arguments: Sequence[str]) -> int:
    """Run a stage and return the exit status: 0 when it was done, 1 when it was not."""
    said = _parser().parse_args(arguments)
    try:
        return _run(said)
    except Failed as error:
        print(f"Error: {error}", file=sys.stderr)  # noqa: T201
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        print(f"Error: the forge has answered with what is not understood: {error!r}", file=sys.stderr)  # noqa: T201
    return 1


def _run(said: argparse.Namespace) -> int:
    labels = Labels(destroy=said.label, privileged=said.privileged_label)
    match said.stage:
        case "gate":
            return _gate(said, labels)
        case "approved":
            forge = _forge(said.bot, said.app)
            approval = approved(forge, said.plan, commit=said.commit, base=said.base, labels=labels)
            print(approval.digest, *(["--allow-privileged"] if approval.privileges else []))  # noqa: T201
            return 0
    forge, guarded = _forge(said.bot, said.app), (*GUARDED, *said.guard)
    if said.stage == "report":
        print(report(forge, said.folder, head=said.commit, base=said.base, labels=labels, guarded=guarded))  # noqa: T201
        return 0
    if not isinstance(forge, GitLab):
        raise Failed("sweep is for GitLab; on GitHub a run reports on itself.")
    for line in sweep(forge, base=said.base, labels=labels, guarded=guarded):
        print(line)  # noqa: T201
    return 0


def _gate(said: argparse.Namespace, labels: Labels) -> int:
    try:
        review = read_review(said.plan)
    except NoPlan as error:
        raise Failed(str(error)) from None
    verdict, right = judge(review, [name.strip() for name in said.labels.split(",")], labels)
    print(verdict)  # noqa: T201
    return 0 if right else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="What is decided about plans on pull requests, with a token.")
    stages = parser.add_subparsers(dest="stage", required=True)
    one = stages.add_parser("report", help="say on a request what an untrusted run has found")
    one.add_argument("--folder", type=Path, required=True, help="what the run has left")
    two = stages.add_parser("approved", help="print what `apply --approve` may be given after a merge")
    three = stages.add_parser("sweep", help="report on every open request; for GitLab")
    four = stages.add_parser("gate", help="fail when a plan needs a label that is missing; needs no token")
    four.add_argument("--labels", default="", help="the labels of the request, with commas between them")
    for each in (one, three):
        each.add_argument(
            "--guard", action="append", default=[], metavar="PATTERN", help="more paths that say how plans are made"
        )
    for each in (two, four):
        each.add_argument("--plan", type=Path, required=True, help="a plan as JSON: for an apply, the engine's own")
    for each in (one, two):
        each.add_argument("--commit", type=_commit, required=True, help="the newest commit, or the merged one")
    for each in (one, two, three, four):
        each.add_argument("--label", default=LABELS.destroy, help="what a plan that destroys needs")
        each.add_argument(
            "--privileged-label", default=LABELS.privileged, help="what a plan that gives new nodes privileges needs"
        )
    for each in (one, two, three):
        each.add_argument("--base", default="main", help="the branch that requests are merged onto")
        each.add_argument("--bot", default="github-actions[bot]", help="the login of the token's comments")
        each.add_argument("--app", default="github-actions", help="the app of the token's check runs")
    return parser


def _commit(text: str) -> str:
    if not _COMMIT.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no commit in full")
    return text


def _forge(bot: str, app: str) -> Forge:
    if os.environ.get("GITLAB_CI"):
        return _gitlab()
    token, repository = os.environ.get("GITHUB_TOKEN", ""), os.environ.get("GITHUB_REPOSITORY", "")
    if not token or not _REPOSITORY.fullmatch(repository):
        raise Failed("GITHUB_TOKEN and GITHUB_REPOSITORY must be set.")
    return GitHub(os.environ.get("GITHUB_API_URL", "https://api.github.com"), token, repository, bot=bot, app=app)


def _gitlab() -> GitLab:
    token, project = os.environ.get("SINDPLAN_BOT_TOKEN", ""), os.environ.get("CI_PROJECT_ID", "")
    if not token or not _NUMBER.fullmatch(project):
        raise Failed("SINDPLAN_BOT_TOKEN and CI_PROJECT_ID must be set.")
    return GitLab(os.environ.get("CI_API_V4_URL", "https://gitlab.com/api/v4"), token, int(project))
