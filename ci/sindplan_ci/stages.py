"""The two things that are decided with a token: what is said of a request, and what was approved when it is merged."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

from sindplan_ci.comment import MARKER, body
from sindplan_ci.forge import Approval, Forge, Request
from sindplan_ci.gitlab import GitLab
from sindplan_ci.http import Failed
from sindplan_ci.review import NoPlan, Review, read_review, read_text


@dataclass(frozen=True)
class Labels:
    """What a request must have.

    Attributes:
        destroy: For a plan that destroys.
        privileged: For a plan that gives new nodes privileges.
    """

    destroy: str
    privileged: str


def report(forge: Forge, folder: Path, *, head: str, base: str, labels: Labels, guarded: Sequence[str]) -> str:
    """Say on a request what an untrusted run has found, and return it.

    Args:
        folder: Holds what the run left: `plan.json`, and `plan.txt` with what sindplan printed.
        head: The commit that was planned, as the forge says it, never as the run does.
        guarded: Patterns of paths that say how plans are made: a run that they changed cannot be believed.
    """
    request = _only(forge.open_requests(head, base))
    if request is None:
        return f"No open request onto {base} has {head} as its newest commit: there is nothing to be said."
    touched = sorted(path for path in forge.files(request) if any(fnmatchcase(path, each) for each in guarded))
    # Between the two calls another commit may have come, and the files were its own.
    if request not in forge.open_requests(head, base):
        return f"{head} was replaced meanwhile: there is nothing to be said."
    review, text = _read(folder)
    verdict, right = judge(review, request.labels, labels, touched)
    forge.comment(request, MARKER, body(review, text, verdict, head))
    # What is right and has privileges has their label.
    approval = Approval(review.digest, review.hashed_privileges) if right and review is not None else None
    forge.decide(request, approval, verdict)
    return verdict


def sweep(forge: GitLab, *, base: str, labels: Labels, guarded: Sequence[str]) -> Iterator[str]:
    """Report on every open request whose newest commit was planned, and yield what was said."""
    for request in forge.all_open(base):
        with TemporaryDirectory() as folder:
            try:
                if forge.fetch(request, Path(folder)):
                    said = report(forge, Path(folder), head=request.head, base=base, labels=labels, guarded=guarded)
                    yield f"!{request.number}: {said}"
            except Failed as error:
                # One that cannot be reported on must not keep the others from it.
                yield f"!{request.number}: {error}"


def judge(
    review: Review | None, given: Collection[str], labels: Labels, touched: Collection[str] = ()
) -> tuple[str, bool]:
    """Return what is to be said of a plan, and whether it may be applied.

    Args:
        given: The labels that its request has.
        touched: What the request changes of how plans are made.
    """
    if review is None:
        return "No plan could be made.", False
    if touched:
        return "This request changes how plans are made, so its plan proves nothing: plan it by hand.", False
    if review.blocked:
        return "sindplan would refuse this plan.", False
    needed = (
        (review.destructive, "destroys or replaces what is there", labels.destroy),
        (bool(review.privileges), "gives new nodes privileges", labels.privileged),
    )
    missing = [
        f"This plan {what}: it needs the label `{label}`." for so, what, label in needed if so and label not in given
    ]
    if missing:
        return " ".join(missing), False
    return "Merging applies exactly this plan, or nothing.", True


def approved(forge: Forge, plan: Path, *, commit: str, base: str, labels: Labels) -> Approval:
    """Return what may be applied after a merge.

    Args:
        plan: What was planned on the engine itself from the merged commit.
        commit: The merged commit.

    Raises:
        Failed: It may not be applied, and why.
    """
    request = forge.merged_request(commit, base)
    if request is None:
        raise Failed(f"No merged request onto {base} has made {commit}: nothing is approved.")
    approval = forge.approved(request.head)
    if approval is None:
        raise Failed(f"The bot has approved no plan of {request.head}, the newest commit of #{request.number}.")
    try:
        review = read_review(plan)
    except NoPlan as error:
        raise Failed(str(error)) from None
    if review.digest != approval.digest:
        raise Failed(
            f"The engine's plan is {review.digest}, and {approval.digest} was approved: plan again with a new request."
        )
    verdict, right = judge(review, request.labels, labels)
    if not right:
        raise Failed(verdict)
    # A label says yes to those that the comment has listed, and an untrusted run has said which.
    if review.hashed_privileges != approval.privileges:
        raise Failed(
            f"The engine's plan gives new nodes other privileges than those that were listed and approved on "
            f"#{request.number}: plan again with a new request."
        )
    return approval


def _only(requests: Collection[Request]) -> Request | None:
    """Return the one request; of two with one commit it is not known which was planned."""
    if len(requests) > 1:
        raise Failed(f"{len(requests)} requests have the same newest commit: close all but one.")
    return next(iter(requests), None)


def _read(folder: Path) -> tuple[Review | None, str]:
    try:
        text = read_text(folder / "plan.txt")
    except NoPlan as error:
        text = str(error)
    try:
        return read_review(folder / "plan.json"), text
    except NoPlan as error:
        return None, f"{error}\n{text}"
