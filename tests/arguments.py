"""What everybody on this machine can read of the commands that run: their arguments, sampled while something goes on."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

PAUSE = 0.01
"""Seconds between two looks."""


@contextlib.contextmanager
def sampled_arguments() -> Iterator[set[bytes]]:
    """Yield the arguments of all processes, those in nodes too, as they are seen; whole when it ends."""
    seen: set[bytes] = set()
    done = threading.Event()

    def look() -> None:
        while not done.wait(PAUSE):
            for process in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    seen.add(process.read_bytes())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()
