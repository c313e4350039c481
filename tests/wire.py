"""HTTP/1.1 as bytes between two sockets: heads are read, bodies are passed on as they come, in the form that they have."""

import contextlib
import select
import socket
from collections.abc import Iterator

from attrs import define, frozen

PART = 64 * 1024
_END = b"\r\n\r\n"
_LEFT = select.POLLRDHUP | select.POLLHUP | select.POLLERR | select.POLLNVAL
_SWITCHING, _FIRST_FINAL, _NO_CONTENT, _NOT_MODIFIED = 101, 200, 204, 304


class Gone(Exception):
    """Whoever was written to or waited for has left."""


@frozen
class Head:
    """The first lines of a request or an answer, with the empty one."""

    raw: bytes
    words: tuple[str, ...]
    fields: dict[str, str]

    @classmethod
    def parse(cls, raw: bytes) -> "Head":
        """Read a head."""
        first, *lines = raw.removesuffix(_END).decode("latin-1").split("\r\n")
        fields = (line.partition(":") for line in lines)
        return cls(raw, tuple(first.split(" ", 2)), {key.strip().lower(): value.strip() for key, _, value in fields})

    @property
    def method(self) -> str:
        """The method of a request."""
        return self.words[0]

    @property
    def status(self) -> int:
        """The status of an answer."""
        return int(self.words[1])

    @property
    def interim(self) -> bool:
        """Whether an answer is followed by another one to the same request."""
        return self.status < _FIRST_FINAL and self.status != _SWITCHING

    @property
    def length(self) -> int | None:
        """How many bytes follow; None when it is not said."""
        return int(self.fields["content-length"]) if "content-length" in self.fields else None

    @property
    def chunked(self) -> bool:
        """Whether the body says itself where it ends."""
        return "chunked" in self.fields.get("transfer-encoding", "").lower()

    def silent(self, method: str) -> bool:
        """Say whether an answer to `method` never has a body, whatever its fields say."""
        return method == "HEAD" or self.status in (_NO_CONTENT, _NOT_MODIFIED)

    def open_ended(self, method: str) -> bool:
        """Say whether an answer to `method` goes on until one side hangs up, and may be no HTTP any more."""
        return not self.silent(method) and not self.chunked and self.length is None


@define
class Peer:
    """One end: a socket, what was read of it too early, and whose leaving ends a wait for it."""

    sock: socket.socket
    other: socket.socket | None = None
    rest: bytes = b""

    def receive(self) -> bytes:
        """Return some bytes, none at the end.

        Raises:
            Gone: The other one left first.
        """
        if self.rest:
            data, self.rest = self.rest, b""
            return data
        if self.other is not None:
            ready = poll((self.sock, select.POLLIN), (self.other, _LEFT))
            if not ready.get(self.sock):
                raise Gone
        try:
            return self.sock.recv(PART)
        except OSError:
            return b""

    def head(self) -> Head | None:
        """Read a head; None when there is none any more."""
        data = b""
        while _END not in data:
            part = self.receive()
            if not part:
                return None
            data += part
        raw, _, self.rest = data.partition(_END)
        return Head.parse(raw + _END)

    def exactly(self, count: int) -> Iterator[bytes]:
        """Yield so many bytes in parts."""
        while count:
            data = self.receive()
            if not data:
                raise Gone
            part, self.rest = data[:count], data[count:]
            count -= len(part)
            yield part

    def line(self) -> bytes:
        """Read a line, with its end."""
        data = b""
        while b"\n" not in data:
            part = self.receive()
            if not part:
                raise Gone
            data += part
        line, end, self.rest = data.partition(b"\n")
        return line + end

    def body(self, head: Head) -> Iterator[bytes]:
        """Yield the body that follows a head, as it stands on the wire. One that nothing is said of is empty."""
        if not head.chunked:
            yield from self.exactly(head.length or 0)
            return
        size = -1
        while size:
            line = self.line()
            size = int(line.partition(b";")[0], 16)
            yield line
            if size:
                yield from self.exactly(size + len(b"\r\n"))
        while line != b"\r\n":  # after the last chunk, fields may follow
            line = self.line()
            yield line

    def answer(self, client: "Peer") -> Head:
        """Read the head of an answer; those before it that only announce it are passed on."""
        while answer := self.head():
            if not answer.interim:
                return answer
            client.send(answer.raw)
        raise Gone

    def answer_body(self, method: str, answer: Head) -> Iterator[bytes]:
        """Yield the body of an answer to `method`, if it has one, as it stands on the wire."""
        if answer.open_ended(method):
            yield from iter(self.receive, b"")
        elif not answer.silent(method):
            yield from self.body(answer)

    def send(self, data: bytes) -> None:
        """Write all of it.

        Raises:
            Gone: Nobody reads it.
        """
        try:
            self.sock.sendall(data)
        except OSError as error:
            raise Gone from error

    def wait_until_left(self) -> None:
        """Wait until it has hung up."""
        poll((self.sock, _LEFT))


def poll(*wanted: tuple[socket.socket, int]) -> dict[socket.socket, int]:
    """Wait for events of sockets, and return which came."""
    poller = select.poll()
    by_number = {}
    for sock, events in wanted:
        if sock.fileno() < 0:
            return {sock: select.POLLNVAL}
        by_number[sock.fileno()] = sock
        poller.register(sock, events)
    return {by_number[number]: events for number, events in poller.poll()}


def pass_request(client: Peer, engine: Peer, request: Head) -> None:
    """Pass a request on. What the engine does not want any more, since it has answered already, is read all the same."""
    engine.send(request.raw)
    parts = client.body(request)
    with contextlib.suppress(Gone):
        for part in parts:
            engine.send(part)
    for _ in parts:
        pass


def pass_answer(client: Peer, engine: Peer, method: str, answer: Head) -> None:
    """Pass an answer on. Raises Gone when the connection ends with it."""
    client.send(answer.raw)
    if answer.open_ended(method):
        relay(client, engine)
        raise Gone
    for part in engine.answer_body(method, answer):
        client.send(part)


def relay(client: Peer, engine: Peer) -> None:
    """Pass everything on in both directions until the engine ends it: a connection that is no HTTP any more.

    Whoever has written all passes that on, too: a command whose input ended goes on and prints.
    """
    client.other = engine.other = None
    engine_reads = True
    while True:
        wanted = [(engine.sock, select.POLLIN)]
        if engine_reads:
            wanted.append((client.sock, select.POLLIN))
        ready = {client.sock: 1} if client.rest else {engine.sock: 1} if engine.rest else poll(*wanted)
        if ready.get(client.sock):
            data = client.receive()
            if data:
                engine.send(data)
            else:
                engine_reads = False
                _end_of_writing(engine.sock)
        if ready.get(engine.sock):
            data = engine.receive()
            if not data:
                return
            client.send(data)


def _end_of_writing(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_WR)
    except OSError:
        return  # it has hung up: reading will tell
