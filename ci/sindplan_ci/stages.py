"""The two things that are decided with a token: what is said of a request, and what was approved when it is merged."""

from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

from sindplan_ci.comment import MARKER, body
from sindplan_ci.forge import Forge, Request
from sindplan_ci.gitlab import GitLab
from sindplan_ci.http import Failed
from sindplan_ci.review import NoPlan, Review, read_review, read_text


def report(forge: Forge, folder: Path, *, head: str, base: str, label: str, guarded: Sequence[str]) -> str:
    """Say on a request what an untrusted run has found, and return it.

    Args:
        folder: Holds what the run left: `plan.json`, and `plan.txt` with what sindplan printed.
        head: The commit that was planned, as the forge says it, never as the run does.
        label: What a request must have for a plan that destroys.
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
    verdict, right = judge(review, request.labels, label, touched)
    forge.comment(request, MARKER, body(review, text, verdict, head))
    forge.decide(request, review.digest if right and review is not None else "", verdict)
    return verdict


def sweep(forge: GitLab, *, base: str, label: str, guarded: Sequence[str]) -> Iterator[str]:
    """Report on every open request whose newest commit was planned, and yield what was said."""
    for request in forge.all_open(base):
        with TemporaryDirectory() as folder:
            try:
                if forge.fetch(request, Path(folder)):
                    said = report(forge, Path(folder), head=request.head, base=base, label=label, guarded=guarded)
                    yield f"!{request.number}: {said}"
            except Failed as error:
                # One that cannot be reported on must not keep the others from it.
                yield f"!{request.number}: {error}"


def judge(
    review: Review | None, labels: Collection[str], label: str, touched: Collection[str] = ()
) -> tuple[str, bool]:
    """Return what is to be said of a plan, and whether it may be applied."""
    if review is None:
        return "No plan could be made.", False
    if touched:
        return "This request changes how plans are made, so its plan proves nothing: plan it by hand.", False
    if review.blocked:
        return "sindplan would refuse this plan.", False
    if review.destructive and label not in labels:
        return f"This plan destroys or replaces what is there: it needs the label `{label}`.", False
    return "Merging applies exactly this plan, or nothing.", True


def approved(forge: Forge, plan: Path, *, commit: str, base: str, label: str) -> str:
    """Return the digest that may be applied after a merge.

    Args:
        plan: What was planned on the engine itself from the merged commit.
        commit: The merged commit.

    Raises:
        Failed: It may not be applied, and why.
    """
    request = forge.merged_request(commit, base)
    if request is None:
        raise Failed(f"No merged request onto {base} has made {commit}: nothing is approved.")
    digest = forge.approved(request.head)
    if not digest:
        raise Failed(f"The bot has approved no plan of {request.head}, the newest commit of #{request.number}.")
    try:
        review = read_review(plan)
    except NoPlan as error:
        raise Failed(str(error)) from None
    if review.digest != digest:
        raise Failed(f"The engine's plan is {review.digest}, and {digest} was approved: plan again with a new request.")
    verdict, right = judge(review, request.labels, label)
    if not right:
        raise Failed(verdict)
    return digest


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
