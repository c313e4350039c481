"""A socket before another one: each connection to it is passed on by a thread of its own, call by call."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

from attrs import Factory, define

from tests.wire import Gone, Head, Peer

Handler = Callable[[Peer, Peer, Head], None]
"""Passes on a call of a client to the engine, and its answer back. Raises Gone when the connection ends with it."""


@define
class Door:
    """The socket.

    Attributes:
        path: Its path.
        behind: The other one's path.
        handler: What is done with each call.
        closed: Whether it ends.
    """

    path: str
    behind: str
    handler: Handler
    closed: threading.Event = Factory(threading.Event)
    _open: set[socket.socket] = Factory(set)
    _threads: list[threading.Thread] = Factory(list)
    _lock: threading.Lock = Factory(threading.Lock)

    def open(self) -> None:
        """Begin."""
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(self.path)
        listening.listen(128)
        self._in_a_thread(self._accept, listening)

    def close(self) -> None:
        """End all connections, and wait until nothing is under way."""
        with self._lock:
            self.closed.set()
            for one in self._open:
                _hang_up(one)
        for thread in self._threads:
            thread.join()

    def _accept(self, listening: socket.socket) -> None:
        with self._while_open(listening), contextlib.suppress(OSError):
            while True:
                sock, _ = listening.accept()
                self._in_a_thread(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        behind = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with self._while_open(sock), self._while_open(behind), contextlib.suppress(Gone, ConnectionError):
            behind.connect(self.behind)
            client, engine = Peer(sock, other=behind), Peer(behind, other=sock)
            while request := client.head():
                client.other = None
                self.handler(client, engine, request)
                client.other = behind

    @contextlib.contextmanager
    def _while_open(self, sock: socket.socket) -> Iterator[None]:
        with self._lock:
            self._open.add(sock)
            if self.closed.is_set():
                _hang_up(sock)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(sock)
                sock.close()

    def _in_a_thread(self, function: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=function, args=arguments)
        self._threads.append(thread)
        thread.start()


def _hang_up(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
