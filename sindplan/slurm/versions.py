"""Slurm's releases: which one can follow which.

Slurm, Upgrade Guide ("Release and support"): a release reads the state, the database and the messages of the two major releases
before it, since 24.11 of the three before it. Nothing older reads what a newer one wrote.
"""

from typing import Literal

_HALF_YEARLY_SINCE = (24, 5)
"""The first release of the rhythm of May and November; before it there was one in nine months."""
_BEFORE = ((20, 2), (20, 11), (21, 8), (22, 5), (23, 2), (23, 11))
_THREE_SINCE = (24, 11)

Step = Literal["same", "upgrade", "downgrade", "too far", "unknown"]


def release(version: str) -> tuple[int, int] | None:
    """Return the major release of a version such as `26.05.5`: (26, 5); None when it is not one."""
    parts = version.split(".")[:2]
    if len(parts) < 2 or not all(part.isascii() and part.isdecimal() and len(part) <= 2 for part in parts):  # noqa: PLR2004
        return None
    return int(parts[0]), int(parts[1])


def step(before: str, after: str) -> Step:
    """Say what it means to go from one version to another."""
    old, new = release(before), release(after)
    if old is None or new is None:
        return "unknown"
    if old == new:
        return "same"
    if new < old:
        return "downgrade"
    return "too far" if _place(new) - _place(old) > reach(new) else "upgrade"


def reach(new: tuple[int, int]) -> int:
    """Return how many releases back a release can follow."""
    return 3 if new >= _THREE_SINCE else 2


def is_upgrade(before: str, after: str) -> bool:
    """Say whether a newer Slurm would take over what an older one left; yes where nobody knows."""
    return before != after and step(before, after) != "same"


def _place(found: tuple[int, int]) -> int:
    """Return the place of a release in the order of releases."""
    if found < _HALF_YEARLY_SINCE:
        return sum(found >= other for other in _BEFORE) - len(_BEFORE) - 1
    years, months = found[0] - _HALF_YEARLY_SINCE[0], found[1] - _HALF_YEARLY_SINCE[1]
    return 2 * years + round(months / 6)
