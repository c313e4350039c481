"""A stand-in of a forge's API on the loopback interface: it keeps what is written, and answers as the forge does."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "token-of-the-bot"
BOT = "github-actions[bot]"


class Hub:
    """GitHub, as far as it is asked: one repository."""

    def __init__(self) -> None:
        self.pulls: list[dict[str, Any]] = []
        self.changed: dict[int, list[dict[str, str]]] = {}
        self.comments: list[dict[str, Any]] = []
        self.checks: list[dict[str, Any]] = []
        self.calls: list[tuple[str, str]] = []
        self.on_call: Any = lambda _: None

    def open(
        self, number: int, head: str, *labels: str, base: str = "main", files: tuple[str, ...] = ("sindplan.toml",)
    ) -> None:
        """Open a pull request."""
        self.pulls.append(
            {
                "number": number,
                "state": "open",
                "head": {"sha": head, "repo": None},
                "base": {"ref": base},
                "labels": [{"name": label} for label in labels],
                "merged_at": None,
                "merge_commit_sha": "0" * 40,
            }
        )
        self.changed[number] = [{"filename": name} for name in files]

    def merge(self, number: int, commit: str) -> None:
        """Merge one."""
        (one,) = [one for one in self.pulls if one["number"] == number]
        one.update(state="closed", merged_at="2026-01-01T00:00:00Z", merge_commit_sha=commit)

    def say(self, number: int, login: str | None, body: str) -> None:
        """Let somebody comment."""
        user = None if login is None else {"login": login}
        self.comments.append({"id": len(self.comments) + 1, "number": number, "user": user, "body": body})

    def check(self, app: str, **content: Any) -> None:
        """Let an app make a check run."""
        self.checks.append({"id": len(self.checks) + 1, "app": {"slug": app}, "conclusion": None, **content})

    def answer(self, method: str, path: str, query: dict[str, str], content: Any) -> Any:  # noqa: PLR0911
        """Return what is answered; None for a 404."""
        match method, path.removeprefix("/repos/a/b").strip("/").split("/"):
            case "GET", ["pulls"]:
                return [
                    one for one in self.pulls if one["state"] == query["state"] and one["base"]["ref"] == query["base"]
                ]
            case "GET", ["commits", sha, "pulls"]:
                return [one for one in self.pulls if sha in (one["merge_commit_sha"], one["head"]["sha"])]
            case "GET", ["pulls", number, "files"]:
                return self.changed[int(number)]
            case "GET", ["issues", number, "comments"]:
                return [one for one in self.comments if one["number"] == int(number)]
            case "POST", ["issues", number, "comments"]:
                self.say(int(number), BOT, content["body"])
                return self.comments[-1]
            case "PATCH", ["issues", "comments", number]:
                self.comments[int(number) - 1].update(content)
                return self.comments[int(number) - 1]
            case "POST", ["check-runs"]:
                self.check("github-actions", **content)
                return self.checks[-1]
            case "GET", ["commits", sha, "check-runs"]:
                return {
                    "check_runs": [
                        one for one in self.checks if one["head_sha"] == sha and one["name"] == query["check_name"]
                    ]
                }
        return None


class Lab:
    """GitLab likewise: the project 5, and a bot whose id is 99."""

    BOT = 99

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.changed: dict[int, list[dict[str, str]]] = {}
        self.notes: list[dict[str, Any]] = []
        self.statuses: list[dict[str, Any]] = []
        self.pipelines: dict[int, list[dict[str, Any]]] = {}
        self.jobs: dict[int, list[dict[str, Any]]] = {}
        self.files: dict[tuple[int, str], bytes] = {}
        self.calls: list[tuple[str, str]] = []
        self.on_call: Any = lambda _: None

    def open(self, number: int, head: str, *labels: str, files: tuple[str, ...] = ("sindplan.toml",)) -> None:
        """Open a merge request."""
        one = {"iid": number, "sha": head, "labels": list(labels), "state": "opened", "target_branch": "main"}
        self.requests.append(
            one | {"merge_commit_sha": None, "squash_commit_sha": None, "changes_count": str(len(files))}
        )
        self.changed[number] = [{"old_path": name, "new_path": name} for name in files]

    def ran(self, number: int, head: str, *, project: int = 5, status: str = "success", **left: bytes) -> None:
        """Let the first stage have run on a request."""
        pipeline = 1000 + sum(map(len, self.pipelines.values()))
        self.pipelines.setdefault(number, []).insert(0, {"id": pipeline, "sha": head, "project_id": project})
        self.jobs[pipeline] = [{"id": pipeline * 10, "name": "sindplan plan", "status": status}]
        for name, content in left.items():
            self.files[pipeline * 10, name.replace("_", ".")] = content

    def status(self, author: int, head: str, name: str, status: str = "success") -> None:
        """Let somebody make a commit status."""
        one = {"id": len(self.statuses) + 1, "sha": head, "name": name, "status": status, "author": {"id": author}}
        self.statuses.append(one)

    def answer(self, method: str, path: str, query: dict[str, str], content: Any) -> Any:  # noqa: C901, PLR0911, PLR0912
        """Return what is answered; None for a 404."""
        if path == "/user":
            return {"id": self.BOT}
        match method, path.removeprefix("/projects/5").strip("/").split("/"):
            case "GET", ["merge_requests"]:
                return [one for one in self.requests if one["state"] == query["state"]]
            case "GET", ["merge_requests", number]:
                return next(one for one in self.requests if one["iid"] == int(number))
            case "GET", ["merge_requests", number, "diffs"]:
                return self.changed[int(number)]
            case "GET", ["merge_requests", number, "notes"]:
                return [one for one in self.notes if one["number"] == int(number)]
            case "POST", ["merge_requests", number, "notes"]:
                self.notes.append(
                    {"id": len(self.notes) + 1, "number": int(number), "author": {"id": self.BOT}, **content}
                )
                return self.notes[-1]
            case "PUT", ["merge_requests", _, "notes", number]:
                self.notes[int(number) - 1].update(content)
                return self.notes[int(number) - 1]
            case "GET", ["merge_requests", number, "pipelines"]:
                return self.pipelines.get(int(number), [])
            case "GET", ["pipelines", number, "jobs"]:
                return self.jobs[int(number)]
            case "GET", ["jobs", number, "artifacts", "sindplan-plan", name]:
                return self.files.get((int(number), name))
            case "POST", ["statuses", sha]:
                self.status(self.BOT, sha, content["name"], content["state"])
                return self.statuses[-1]
            case "GET", ["repository", "commits", sha, "statuses"]:
                return [one for one in self.statuses if one["sha"] == sha]
            case "GET", ["repository", "commits", sha, "merge_requests"]:
                return [
                    one
                    for one in self.requests
                    if sha in (one["merge_commit_sha"], one["squash_commit_sha"], one["sha"])
                ]
        return None


@contextmanager
def served(hub: Any) -> Iterator[str]:
    """Serve a stand-in, and yield its address."""

    class Handler(BaseHTTPRequestHandler):
        """Answers for the hub."""

        def _do(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length") or 0)
            content = json.loads(self.rfile.read(length)) if length else None
            query = {key: found[0] for key, found in parse_qs(parts.query).items()}
            hub.calls.append((self.command, parts.path))
            hub.on_call(hub)
            if TOKEN not in (self.headers.get("Authorization") or "") + (self.headers.get("PRIVATE-TOKEN") or ""):
                return self._send(401, {"message": "Requires authentication"})
            found = hub.answer(self.command, parts.path, query, content)
            if found is None:
                return self._send(404, {"message": "Not Found"})
            if "page" in query:
                found = _paged(found, int(query["page"]), int(query["per_page"]))
            return self._send(200, found)

        do_GET = do_POST = do_PATCH = do_PUT = _do  # noqa: N815

        def _send(self, status: int, found: Any) -> None:
            data = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _paged(found: Any, page: int, size: int) -> Any:
    if isinstance(found, dict):
        return {key: _paged(value, page, size) for key, value in found.items()}
    return found[(page - 1) * size : page * size]
