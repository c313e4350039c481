"""Docker's multiplexed output: frames of stdout and stderr, each behind a head of 8 bytes."""

import struct
from collections.abc import Iterator

from attrs import define, field

# Bytes of a line that nobody looks for are not kept.
_LONGEST = 64 * 1024
_HEAD = struct.Struct(">BxxxL")
STDOUT, STDERR = 1, 2
# Docker's own words about a stream that broke are a fourth one (moby, stdcopy.Systemerr).
_KNOWN = {0: STDOUT, STDOUT: STDOUT, STDERR: STDERR, 3: STDERR}
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
        """Yield `(stream, payload)` for what `data` completes.

        Raises:
            ValueError: It is no such output.
        """
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
                    number, self._left = _HEAD.unpack(self._head)
                    if number not in _KNOWN:
                        raise ValueError(f"output of a stream {number}")
                    self._stream = _KNOWN[number]
                    self._head = b""
                continue
            part = data[at : at + self._left]
            at += len(part)
            self._left -= len(part)
            yield self._stream, part


@define
class Lines:
    """Cuts bytes into lines, decoded with replacement, without their ends; of a very long one only the beginning is kept."""

    _rest: bytearray = field(factory=bytearray, init=False)

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that `data` completes."""
        first, *others = data.split(b"\n")
        whole: list[str] = []
        self._keep(first)
        for part in others:
            whole += [_text(bytes(self._rest))]
            self._rest.clear()
            self._keep(part)
        return whole

    def end(self) -> list[str]:
        """Return the last line if it has no end."""
        rest = bytes(self._rest)
        self._rest.clear()
        return [_text(rest)] if rest else []

    def _keep(self, part: bytes) -> None:
        self._rest += part[: _LONGEST - len(self._rest)]


def _text(line: bytes) -> str:
    return line.decode(errors="replace").removesuffix("\r")
