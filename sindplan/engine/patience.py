"""The one place that waits for Docker's own late bookkeeping.

Docker answers "removed" before the last reference to a volume is dropped, and ends an exec's output before it has noted
the exit code. Nothing can be listened to for either, so they are asked for again, with a growing pause and an end.
"""

import time
from collections.abc import Callable


def patiently(attempt: Callable[[], bool], first: float = 0.1, tries: int = 6) -> bool:
    """Call `attempt` until it returns true, at most `tries` times; the pause between doubles from `first` seconds.

    The defaults are those of sind: 3.1 seconds in all.
    """
    for number in range(tries):
        if attempt():
            return True
        if number < tries - 1:
            time.sleep(first * 2**number)
    return False
