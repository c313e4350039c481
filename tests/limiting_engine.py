"""A door to a real engine that says it holds limits, and writes down which it is asked for.

An engine whose cgroup tree has no controllers drops limits, and sindplan asks such a one for none. Behind this door it is asked:
limits that were sent are shown again by inspection, as an engine that holds them would do. Everything else passes as it is.

The door is a port of this machine, not a socket: of an engine that may be elsewhere nobody asks whether this machine could keep
what is said there (nsdelegate, which hosts without controllers mostly lack).
"""

import contextlib
import http.client
import json
import re
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any
from urllib.parse import urlsplit

from attrs import Factory, define

LIMITS = ("Memory", "MemorySwap", "CpuPeriod", "CpuQuota", "NanoCpus")
_INFO = re.compile(r"(/v[\d.]+)?/info$")
_CREATE = re.compile(r"(/v[\d.]+)?/containers/create$")
_ONE = re.compile(r"(/v[\d.]+)?/containers/(?P<id>[^/]+)/(?P<what>json|update)$")
_OF_THE_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "content-length"}


@define
class LimitingEngine:
    """What was asked of it.

    Attributes:
        address: Of the door, as in DOCKER_HOST.
        behind: The real engine's socket.
        updates: Container and body of each call that updates limits, in order.
        held: The limits of containers, by id.
    """

    address: str
    behind: str
    updates: list[tuple[str, dict[str, Any]]] = Factory(list)
    held: dict[str, dict[str, Any]] = Factory(dict)

    def heard(self, path: str, sent: bytes, status: int, answer: bytes) -> bytes:
        """Note what a call says of limits, and return its answer as an engine that holds them would give it."""
        one = _ONE.search(path)
        if status >= http.HTTPStatus.BAD_REQUEST or not answer:
            return answer
        said = json.loads(answer)
        if _INFO.search(path):
            said |= {"MemoryLimit": True, "CpuCfsQuota": True, "CpuCfsPeriod": True}
        elif _CREATE.search(path):
            self.held[said["Id"]] = _limits(json.loads(sent)["HostConfig"])
        elif one and one["what"] == "update":
            self.updates.append((one["id"], json.loads(sent)))
            self.held.setdefault(one["id"], {}).update(_limits(json.loads(sent)))
        elif one:
            said["HostConfig"] |= self.held.get(said["Id"], {})
        return json.dumps(said).encode()


def _limits(body: dict[str, Any]) -> dict[str, Any]:
    return {key: body[key] for key in LIMITS if key in body}


class _Behind(http.client.HTTPConnection):
    """A connection to a socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self._path)


class _Handler(BaseHTTPRequestHandler):
    """One call at a time goes through; an answer that nobody looks into is passed on as it comes."""

    server: "_Server"

    def _pass(self) -> None:
        engine, path = self.server.engine, urlsplit(self.path).path
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        behind = _Behind(engine.behind)
        with contextlib.closing(behind):
            headers = {key: value for key, value in self.headers.items() if key.lower() not in _OF_THE_CONNECTION}
            behind.request(self.command, self.path, sent or None, headers)
            answer = behind.getresponse()
            self.send_response(answer.status)
            for key, value in answer.getheaders():
                if key.lower() not in _OF_THE_CONNECTION:
                    self.send_header(key, value)
            self.send_header("Connection", "close")
            if any(form.search(path) for form in (_INFO, _CREATE, _ONE)):
                data = engine.heard(path, sent, answer.status, answer.read())
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
                return
            self.end_headers()
            while data := answer.read1(65536):
                self.wfile.write(data)
                self.wfile.flush()

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _pass  # noqa: N815 - the names that http.server looks for

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 64
    engine: LimitingEngine

    def handle_error(self, *_: object) -> None:
        """Callers that hang up are no fault of the door's."""


@contextlib.contextmanager
def limiting(behind: str) -> Iterator[LimitingEngine]:
    """Open the door on loopback.

    Args:
        behind: The real engine's address, a socket.
    """
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.engine = LimitingEngine(f"tcp://127.0.0.1:{server.server_address[1]}", urlsplit(behind).path)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.engine
        finally:
            server.shutdown()
            thread.join()
