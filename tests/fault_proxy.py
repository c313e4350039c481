"""A socket before a real Docker Engine's, at which the Nth call fails in the way that is asked for; `tools/fault-proxy` runs it.

Everything else passes as it is: streams, archives, events, connections that are taken over. Whoever may use the engine behind it may
use this socket, and nobody else.
"""

import contextlib
import json
import os
import re
import signal
import socket
import struct
import tempfile
import threading
from collections.abc import Collection, Iterator
from typing import Any, Literal
from urllib.parse import urlsplit

from attrs import Factory, define, field, frozen

from tests.door import Door
from tests.wire import Gone, Head, Peer, pass_answer, pass_request

Fault = Literal[
    "refuse", "hang", "drop",
    "refuse-done", "silence", "drop-done", "cut", "slow", "late",
    "kill", "kill-under-way", "kill-done",
]  # fmt: skip
FAULTS = {
    "refuse": "answered with a status; the engine does not see it",
    "hang": "no answer; the engine does not see it",
    "drop": "the connection ends; the engine does not see it",
    "refuse-done": "done, and answered with a status",
    "silence": "done, and no answer",
    "drop-done": "done, and the connection ends",
    "cut": "done, and the connection ends in the middle of the answer",
    "slow": "done, and answered after some seconds",
    "late": "the connection ends, and it is done after some more calls",
    "kill": "whoever calls is killed; the engine does not see it",
    "kill-under-way": "whoever calls is killed when the engine has the call, but has not answered",
    "kill-done": "whoever calls is killed when the call is done",
}
"""What can be done to a call."""
_UNSEEN = {"refuse", "hang", "drop", "late", "kill"}

READS = r"(GET|HEAD) "
READS_AND_COMMANDS = r"(GET|HEAD) |POST /(containers/[^/]+/exec|exec/[^/]+/start)$"
"""What may pass where the engine is only looked at, and where commands may run in containers for that."""
CHANGES = r"(?!GET |HEAD |POST /containers/[^/]+/wait)"
"""Calls that change the engine, or may: a command in a container is two of them."""

FORBIDDEN = 403
_VERSION = re.compile(r"^/v[0-9.]+(?=/)")
_CREDENTIALS = struct.Struct("3i")


@frozen
class Seen:
    """A call that came.

    Attributes:
        number: Among those that count, from 1; 0 when it does not count.
        what: Method and path, without the API's version.
        status: Of the engine's answer, or of the one in its place; 0 when there was none.
        fault: What was done to it.
    """

    number: int
    what: str
    status: int = 0
    fault: str = ""

    def __str__(self) -> str:
        number = str(self.number or "-")
        return f"{number:>5}  {self.status or '   '}  {self.what}{f'  ({self.fault})' if self.fault else ''}"


@define
class FaultProxy:
    """What is done, and what was seen.

    Attributes:
        behind: The engine's socket.
        socket: The socket that this listens at.
        fault: What is done to the calls of which the number is in `at`.
        counting: A pattern of the calls that count, put at the beginning of `METHOD /path?query`.
        passing: A pattern of the calls that pass; others are refused with 403.
        status: With which it is refused.
        seconds: How long `slow` takes.
        later: How many more calls of those that count come before one that is `late`.
        seen: All calls in the order in which they were answered.
    """

    behind: str
    socket: str
    fault: Fault = "refuse"
    at: Collection[int] = ()
    counting: str = CHANGES
    passing: str = ""
    status: int = 500
    seconds: float = 1.0
    later: int = 3
    seen: list[Seen] = Factory(list)
    _count: int = 0
    _late: list[tuple[int, bytes]] = Factory(list)
    _lock: threading.Lock = Factory(threading.Lock)
    _door: Door = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._door = Door(self.socket, self.behind, self._pass)

    @property
    def address(self) -> str:
        """As in DOCKER_HOST."""
        return f"unix://{self.socket}"

    @property
    def count(self) -> int:
        """How many calls came that count."""
        return self._count

    @property
    def struck(self) -> tuple[Seen, ...]:
        """The calls to which something was done."""
        with self._lock:
            return tuple(seen for seen in self.seen if seen.fault)

    def open(self) -> None:
        """Begin."""
        self._door.open()

    def close(self) -> None:
        """End all connections; do what is late."""
        self._door.close()
        for _, request in self._late:
            self._deliver(request)
        self._late.clear()

    def _pass(self, client: Peer, engine: Peer, request: Head) -> None:
        """Pass a call and its answer on, or fail it. Raises Gone when the connection ends with it."""
        what = f"{request.method} {_VERSION.sub('', request.words[1])}"
        number, fault = self._numbered(what)
        if not re.match(self.passing, what):
            self._note(number, what, FORBIDDEN, "refused")
            for _ in client.body(request):
                pass
            _refuse(client, request, FORBIDDEN)
        elif fault in _UNSEEN:
            self._note(number, what, self.status if fault == "refuse" else 0, fault)
            self._unseen(fault, client, request)
        else:
            pass_request(client, engine, request)
            if fault == "kill-under-way":
                self._note(number, what, 0, fault)
                _kill(client)
                raise Gone
            answer = engine.answer(client)
            self._note(number, what, answer.status, fault)
            if fault == "slow":
                self._door.closed.wait(self.seconds)
            if fault in ("", "slow"):
                pass_answer(client, engine, request.method, answer)
            else:
                self._done(fault, client, engine, request, answer)

    def _note(self, number: int, what: str, status: int, fault: str) -> None:
        with self._lock:
            self.seen.append(Seen(number, what, status, fault))

    def _numbered(self, what: str) -> tuple[int, str]:
        due = []
        with self._lock:
            number = 0
            if re.match(self.counting, what):
                self._count += 1
                number = self._count
            due = [request for at, request in self._late if at <= self._count]
            self._late = [(at, request) for at, request in self._late if at > self._count]
        for request in due:
            self._deliver(request)
        return number, self.fault if number in self.at else ""

    def _unseen(self, fault: str, client: Peer, request: Head) -> None:
        """Fail a call that the engine does not see."""
        body = b"".join(client.body(request))
        if fault == "refuse":
            _refuse(client, request, self.status)
            return
        if fault == "kill":
            _kill(client)
        elif fault == "hang":
            client.wait_until_left()
        elif fault == "late":
            with self._lock:
                self._late.append((self._count + self.later, request.raw + body))
        raise Gone

    def _done(self, fault: str, client: Peer, engine: Peer, request: Head, answer: Head) -> None:
        """Fail a call that was done."""
        body = b"".join(engine.answer_body(request.method, answer))
        if fault == "refuse-done":
            _refuse(client, request, self.status)
            return
        if fault == "kill-done":
            _kill(client)
        elif fault == "silence":
            client.wait_until_left()
        elif fault == "cut":
            client.send(answer.raw + body[: len(body) // 2] if body else answer.raw[: len(answer.raw) // 2])
        raise Gone

    def _deliver(self, request: bytes) -> None:
        """Do what is late; nobody is there any more to hear of it."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock, contextlib.suppress(Gone, OSError):
            sock.connect(self.behind)
            engine = Peer(sock)
            engine.send(request)
            if answer := engine.head():
                for _ in engine.answer_body("POST", answer):
                    pass


def _refuse(client: Peer, request: Head, status: int) -> None:
    text = json.dumps({"message": f"the fault proxy refuses {request.method}"}).encode()
    head = f"HTTP/1.1 {status} Refused\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    client.send(head.encode() + (b"" if request.method == "HEAD" else text))


def _kill(client: Peer) -> None:
    credentials = client.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, _, _ = _CREDENTIALS.unpack(credentials)
    if process in (0, os.getpid()):
        raise RuntimeError("whoever calls is not to be killed from here")
    os.kill(process, signal.SIGKILL)


@contextlib.contextmanager
def fault_proxy(address: str, fault: Fault = "refuse", at: Collection[int] = (), **more: Any) -> Iterator[FaultProxy]:
    """Open a socket of the user's own before an engine.

    Args:
        address: The engine's, a socket.
        fault: What is done to the calls of which the number is in `at`.
        more: What else FaultProxy has.
    """
    place = urlsplit(address)
    if place.scheme != "unix":
        raise ValueError(f"{address} is no socket: only an engine of this machine can be put behind the proxy")
    with tempfile.TemporaryDirectory(prefix="fault-proxy-") as folder:
        proxy = FaultProxy(place.path, f"{folder}/docker.sock", fault, at, **more)
        proxy.open()
        try:
            yield proxy
        finally:
            proxy.close()
