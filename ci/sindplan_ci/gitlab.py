"""GitLab: notes of merge requests, and commit statuses."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from sindplan_ci.forge import Approval, Request
from sindplan_ci.http import Client, Failed

JOB = "sindplan plan"
_LEFT = ("plan.json", "plan.txt")
_OURS = "sindplan "
"""Begins the name of our commit statuses; the approval is the rest, since GitLab may refuse to let a status become another."""


class GitLab:
    """A project. The bot, which the token is of, must start no pipelines: a job is a commit status of whoever started it."""

    def __init__(self, api: str, token: str, project: int) -> None:
        self._client = Client(api, {"PRIVATE-TOKEN": token, "User-Agent": "sindplan-ci"})
        self._id = project
        self._project = f"/projects/{project}"
        self._bot: int = self._client.call("GET", "/user")["id"]

    def all_open(self, base: str) -> Collection[Request]:
        """Return all open requests onto a branch."""
        found = self._client.listed(f"{self._project}/merge_requests", state="opened", target_branch=base)
        return [_request(one) for one in found if one["target_branch"] == base]

    def open_requests(self, head: str, base: str) -> Collection[Request]:
        """Return the open requests onto a branch whose newest commit is this one."""
        return [one for one in self.all_open(base) if one.head == head]

    def merged_request(self, commit: str, base: str) -> Request | None:
        """Return the request whose merge onto a branch has made this commit."""
        merged = [
            one
            for one in self._client.listed(f"{self._project}/repository/commits/{commit}/merge_requests")
            if one["state"] == "merged" and one["target_branch"] == base and commit == _made_by(one)
        ]
        return _request(merged[0]) if len(merged) == 1 else None

    def files(self, request: Request) -> frozenset[str]:
        """Return the paths that a request touches. Raises Failed when not all can be had."""
        where = f"{self._project}/merge_requests/{request.number}"
        found = list(self._client.listed(f"{where}/diffs"))
        if str(self._client.call("GET", where)["changes_count"] or 0) != str(len(found)):
            raise Failed(f"!{request.number} touches more files than GitLab lists.")
        return frozenset(str(one[key]) for one in found for key in ("old_path", "new_path"))

    def comment(self, request: Request, marker: str, body: str) -> None:
        """Write the bot's note that begins with a marker."""
        notes = f"{self._project}/merge_requests/{request.number}/notes"
        for one in self._client.listed(notes):
            if one["author"]["id"] == self._bot and str(one["body"]).startswith(marker):
                # Requests are looked at again and again.
                if one["body"].strip() != body.strip():
                    self._client.call("PUT", f"{notes}/{one['id']}", {"body": body})
                return
        self._client.call("POST", notes, {"body": body})

    def decide(self, request: Request, approval: Approval | None, verdict: str) -> None:
        """Make a commit status that has the approval; of a plan that is not approved there is none."""
        if approval is not None and self.approved(request.head) != approval:
            content = {"state": "success", "name": f"{_OURS}{approval}", "description": verdict[:200]}
            self._client.call("POST", f"{self._project}/statuses/{request.head}", content)

    def approved(self, head: str) -> Approval | None:
        """Return what is approved by the newest commit status of the bot on exactly this commit."""
        ours = [
            (int(one["id"]), approval)
            for one in self._client.listed(f"{self._project}/repository/commits/{head}/statuses", all="true")
            if one["sha"] == head
            and one["status"] == "success"
            and (one.get("author") or {}).get("id") == self._bot
            and str(one["name"]).startswith(_OURS)
            and (approval := Approval.read(str(one["name"]).removeprefix(_OURS))) is not None
        ]
        return max(ours, key=lambda one: one[0])[1] if ours else None

    def fetch(self, request: Request, folder: Path) -> bool:
        """Put into a folder what the newest run on a request's newest commit has left; return whether one has ended."""
        found = self._client.listed(f"{self._project}/merge_requests/{request.number}/pipelines")
        runs = [one for one in found if one["sha"] == request.head and one["project_id"] == self._id]
        if not runs:
            return False
        newest = max(int(one["id"]) for one in runs)
        jobs = [one for one in self._client.listed(f"{self._project}/pipelines/{newest}/jobs") if one["name"] == JOB]
        if not jobs or jobs[0]["status"] not in ("success", "failed"):
            return False
        for name in _LEFT:
            left = self._client.file(f"{self._project}/jobs/{int(jobs[0]['id'])}/artifacts/sindplan-plan/{name}")
            if left is not None:
                (folder / name).write_bytes(left)
        return True


def _made_by(one: Mapping[str, Any]) -> str:
    """Return the commit that a merge has made: its own, the squashed one, or the newest where it was fast-forward."""
    return str(one.get("merge_commit_sha") or one.get("squash_commit_sha") or one["sha"])


def _request(one: Mapping[str, Any]) -> Request:
    return Request(int(one["iid"]), str(one["sha"]), frozenset(map(str, one["labels"])))
