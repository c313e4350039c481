"""GitHub: comments of issues, and check runs."""

from collections.abc import Collection, Mapping
from typing import Any

from sindplan_ci.forge import Approval, Request
from sindplan_ci.http import Client, Failed

CHECK = "sindplan plan"
_OURS = "sindplan:1:"
"""Begins the external id of our check runs. Those of jobs, which anybody may name likewise, get theirs from GitHub."""
_MOST_FILES = 3000
"""GitHub lists no more files of a pull request."""


class GitHub:
    """A repository.

    Args:
        api: Address of the API.
        repository: OWNER/NAME.
        bot: The login that comments of this token have.
        app: The short name of the app that check runs of this token have.
    """

    def __init__(self, api: str, token: str, repository: str, *, bot: str, app: str) -> None:
        headers = {
            "Authorization": f"Bearer {token}",
            "X-GitHub-Api-Version": "2022-11-28",
            "User-Agent": "sindplan-ci",
        }
        self._client = Client(api, headers)
        self._repository = f"/repos/{repository}"
        self._bot, self._app = bot, app

    def open_requests(self, head: str, base: str) -> Collection[Request]:
        """Return the open requests onto a branch whose newest commit is this one."""
        found = self._client.listed(f"{self._repository}/pulls", state="open", base=base)
        return [_request(one) for one in found if _request(one).head == head and one["base"]["ref"] == base]

    def merged_request(self, commit: str, base: str) -> Request | None:
        """Return the request whose merge onto a branch has made this commit."""
        merged = [
            one
            for one in self._client.listed(f"{self._repository}/commits/{commit}/pulls")
            if one.get("merged_at") and one.get("merge_commit_sha") == commit and one["base"]["ref"] == base
        ]
        return _request(merged[0]) if len(merged) == 1 else None

    def files(self, request: Request) -> frozenset[str]:
        """Return the paths that a request touches. Raises Failed when not all can be had."""
        found = list(self._client.listed(f"{self._repository}/pulls/{request.number}/files"))
        if len(found) >= _MOST_FILES:
            raise Failed(f"#{request.number} touches more files than GitHub lists.")
        return frozenset(str(one[key]) for one in found for key in ("filename", "previous_filename") if one.get(key))

    def comment(self, request: Request, marker: str, body: str) -> None:
        """Write the bot's comment that begins with a marker."""
        comments = self._client.listed(f"{self._repository}/issues/{request.number}/comments")
        for one in comments:
            if (one.get("user") or {}).get("login") == self._bot and str(one.get("body", "")).startswith(marker):
                self._client.call("PATCH", f"{self._repository}/issues/comments/{one['id']}", {"body": body})
                return
        self._client.call("POST", f"{self._repository}/issues/{request.number}/comments", {"body": body})

    def decide(self, request: Request, approval: Approval | None, verdict: str) -> None:
        """Make a check run on the request's newest commit."""
        shown = "" if approval is None else f"Digest: `{approval.digest}`"
        content: Mapping[str, Any] = {
            "name": CHECK,
            "head_sha": request.head,
            "status": "completed",
            "conclusion": "failure" if approval is None else "success",
            "external_id": f"{_OURS}{approval or ''}",
            "output": {"title": verdict[:200], "summary": f"{verdict}\n\n{shown}"},
        }
        self._client.call("POST", f"{self._repository}/check-runs", content)

    def approved(self, head: str) -> Approval | None:
        """Return what is approved by the newest check run of the bot on exactly this commit."""
        path = f"{self._repository}/commits/{head}/check-runs"
        ours = [
            one
            for one in self._client.listed(path, "check_runs", check_name=CHECK, filter="all")
            if one.get("name") == CHECK
            and one.get("head_sha") == head
            and (one.get("app") or {}).get("slug") == self._app
            and str(one.get("external_id")).startswith(_OURS)
        ]
        if not ours:
            return None
        newest = max(ours, key=lambda one: int(one["id"]))
        if newest.get("conclusion") != "success":
            return None
        return Approval.read(str(newest["external_id"]).removeprefix(_OURS))


def _request(one: Mapping[str, Any]) -> Request:
    labels = frozenset(str(label["name"]) for label in one["labels"])
    return Request(int(one["number"]), str(one["head"]["sha"]), labels)
