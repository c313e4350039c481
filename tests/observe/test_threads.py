"""Threads for reads: whoever ends its reading leaves nothing behind that still reads."""

import contextlib
import threading

import pytest

from sindplan.observe.threads import PARALLEL, pool


def test_answers_and_errors_come_to_who_asked() -> None:
    with pool() as threads:
        answers = [threads.submit(int, str(number)) for number in range(3 * PARALLEL)]
        broken = threads.submit(int, "x")

        assert [answer.result() for answer in answers] == [*range(3 * PARALLEL)]
        with pytest.raises(ValueError, match="invalid literal"):
            broken.result()


def test_an_error_drops_what_waits_and_waits_for_what_runs() -> None:
    began, go = threading.Barrier(PARALLEL + 1), threading.Event()

    def read() -> bool:
        began.wait(10)
        return go.wait(10)

    with contextlib.suppress(KeyError), pool() as threads:
        running = [threads.submit(read) for _ in range(PARALLEL)]
        waiting = [threads.submit(int) for _ in range(PARALLEL)]
        # Those that run go on when the last one that waits has been dropped.
        waiting[-1].add_done_callback(lambda _: go.set())
        began.wait(10)
        raise KeyError

    assert all(future.cancelled() for future in waiting)
    assert [future.done() and future.result() for future in running] == [True] * PARALLEL


def test_one_ends_its_own_reads_alone() -> None:
    began, go = threading.Event(), threading.Event()

    def read() -> str:
        began.set()
        return "read" if go.wait(10) else "given up"

    with pool() as mine:
        slow = mine.submit(read)
        assert began.wait(10)
        with pool() as others:
            assert others.submit(str, 1).result() == "1"
        assert not slow.done()
        go.set()
        assert slow.result() == "read"
