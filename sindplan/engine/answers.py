"""What an engine answers: read as it comes, in bounded time and memory, and believed only as far as it makes sense."""

import threading
import time
from collections.abc import Iterator, Mapping

import requests
from attrs import define

from sindplan.bounded import json_of
from sindplan.engine.calls import Call, Parsed
from sindplan.errors import EngineTimeout

# Bytes of an answer that is read whole. The lists of an engine with 1,000 nodes have some MiB.
LARGEST = 64 * 1024 * 1024
_PART = 64 * 1024
# Characters of an engine's own words that are kept.
_WORDS = 2000

# What comes of reading an answer that has not the shape it should have.
NONSENSE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


@define
class Answer:
    """An open answer: read it once, in the `with` block that opened it."""

    call: Call
    headers: Mapping[str, str]
    _response: requests.Response

    def body(self) -> bytes:
        """Read it whole.

        Raises:
            EngineTimeout: It did not end within the call's time.
            ValueError: It is larger than any answer.
        """
        data = bytearray()
        end = time.monotonic() + self.call.timeout
        while part := self._response.raw.read1(_PART, decode_content=True):
            data += part
            if len(data) > LARGEST:
                raise ValueError(f"more than {LARGEST // 1024**2} MiB")
            # A socket's own time limit is of silence only.
            if time.monotonic() >= end:
                raise late(self.call, self.call.timeout)
        # What has a length is at its end for urllib3 only when one reads on, and its connection is used again then.
        self._response.raw.read(1)
        return bytes(data)

    def parsed(self) -> Parsed:
        """Read it whole, as JSON. Raises one of `NONSENSE` besides what `body` raises."""
        return json_of(self.body())

    def message(self) -> str:
        """Return the engine's own words of an answer that is a refusal."""
        body = self.body()
        try:
            found = json_of(body)
        except NONSENSE:
            return body[: 4 * _WORDS].decode("utf-8", "replace")[:_WORDS]
        words = found.get("message", found) if isinstance(found, dict) else found
        return str(words).encode("utf-8", "replace").decode()[:_WORDS]

    def parts(self, seconds: float) -> Iterator[bytes]:
        """Yield bytes as they come.

        Raises:
            EngineTimeout: It did not end within `seconds`, silent or not.
        """
        raw = self._response.raw
        end = time.monotonic() + seconds
        # A socket's time limit is of silence only. This one ends a read that goes on in this thread.
        guillotine = threading.Timer(seconds, _shut, (raw,))
        guillotine.daemon = True
        guillotine.start()
        try:
            while part := raw.read1(_PART):
                yield part
        except Exception:
            if time.monotonic() < end:
                raise
        finally:
            guillotine.cancel()
        if time.monotonic() >= end:
            raise late(self.call, seconds)


def _shut(raw: Parsed) -> None:
    # It may have ended by itself meanwhile; the ssh transport cannot be shut and ends by its own time limit.
    try:
        raw.shutdown()
    except (OSError, ValueError, RuntimeError):
        return


def late(call: Call, seconds: float) -> EngineTimeout:
    """Return the error for an answer that takes longer than it may."""
    return EngineTimeout(f"Docker did not finish {call.words} within {seconds:g} seconds; its outcome is unknown.")


def in_words(error: Exception) -> str:
    """Say in a line what does not make sense about an answer; it may quote what was answered, line ends and all."""
    text = f"it lacks {error}" if isinstance(error, LookupError) else str(error)
    return " ".join(ascii(text)[1:-1].replace("\\n", " ").split())[:200]
