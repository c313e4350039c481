"""Threads for reads at once, kept for the whole process: a plan reads several times, and a thread costs more than a read."""

import functools
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

PARALLEL = 16
"""Calls in flight at once, as sind has it."""

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """What one observation has read for it."""

    def __init__(self, shared: ThreadPoolExecutor) -> None:
        self._shared = shared
        self._begun: list[Future[Any]] = []

    def submit(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have something called, and return what will hold its answer."""
        future = self._shared.submit(call, *args, **kwargs)
        self._begun.append(future)
        return future

    def end(self) -> None:
        """Drop what has not begun, and wait for what has: nothing reads on when nobody needs it any more."""
        wait([future for future in self._begun if not future.cancel()])


@contextmanager
def pool() -> Iterator[Threads]:
    """Yield threads whose waiting work is dropped when an error ends it."""
    threads = Threads(_shared())
    try:
        yield threads
    finally:
        threads.end()


@functools.cache
def _shared() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(PARALLEL, thread_name_prefix="observe")
