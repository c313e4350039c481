"""Docker's multiplexed output: frames of stdout and stderr, each behind a head of 8 bytes."""

import struct
from collections.abc import Iterator

from attrs import define, field

_HEAD = struct.Struct(">BxxxL")
STDOUT, STDERR = 1, 2
MULTIPLEXED = "application/vnd.docker.multiplexed-stream"


@define
class Frames:
    """Takes bytes as they come and gives whole or partial payloads with their stream's number.

    A payload is passed on as soon as a part of it is here. With `plain` (a container that has a terminal) there are no heads
    and all is stdout.
    """

    plain: bool = False
    _head: bytes = field(default=b"", init=False)
    _stream: int = field(default=STDOUT, init=False)
    _left: int = field(default=0, init=False)

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield `(stream, payload)` for what `data` completes."""
        if self.plain:
            yield STDOUT, data
            return
        at = 0
        while at < len(data):
            if self._left == 0:
                take = _HEAD.size - len(self._head)
                self._head += data[at : at + take]
                at += take
                if len(self._head) == _HEAD.size:
                    self._stream, self._left = _HEAD.unpack(self._head)
                    self._head = b""
                continue
            part = data[at : at + self._left]
            at += len(part)
            self._left -= len(part)
            yield self._stream, part


@define
class Lines:
    """Cuts bytes into lines, decoded with replacement, without their ends."""

    _rest: bytes = field(default=b"", init=False)

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that `data` completes."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        return [_text(line) for line in whole]

    def end(self) -> list[str]:
        """Return the last line if it has no end."""
        rest, self._rest = self._rest, b""
        return [_text(rest)] if rest else []


def _text(line: bytes) -> str:
    return line.decode(errors="replace").removesuffix("\r")
