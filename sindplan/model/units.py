"""Sizes and durations as people spell them.

Sizes are Docker's (docker/go-units `RAMInBytes`): a number with an optional fraction, a unit b, k, m, g, t or p
with an optional `b` or `ib`, any case, powers of 1024. Durations are Go's (`1h30m`, `90s`), as docker and sind take them.
"""

import re
from typing import NewType

Bytes = NewType("Bytes", int)
"""A size in bytes."""

TmpfsSize = NewType("TmpfsSize", str)
"""The kernel's tmpfs `size=` (tmpfs(5)): digits with an optional k, m, g, t, p, e or %, in lower case."""

Seconds = NewType("Seconds", int)
"""A duration in whole seconds."""

MIB = 1024 * 1024
SMALLEST_MEMORY = Bytes(6 * MIB)
"""What dockerd accepts at least as a memory limit (moby daemon_unix.go, linuxMinMemory)."""
LARGEST_MEMORY = Bytes(2**63 - 1)

# `[0-9]`, not `\d`: the latter takes every script's digits.
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(?:([kmgtp])i?b?|b)?", re.IGNORECASE)
_TMPFS = re.compile(r"[0-9]+[kmgtpe%]?", re.IGNORECASE)
_DURATION = re.compile(r"(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?")
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def parse_memory(text: str) -> Bytes:
    """Return the size in bytes of a memory limit, rounded down. Raises ValueError with a sentence."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a size")
    number, unit = match[1], (match[2] or "").lower()
    whole, _, fraction = number.partition(".")
    scale = 1024 ** _POWER[unit]
    # Integers throughout: a float loses bytes from 2^53 on.
    size = int(whole) * scale + (int(fraction) * scale // 10 ** len(fraction) if fraction else 0)
    if size < SMALLEST_MEMORY:
        raise ValueError(f"{text!r} is less than the 6m that Docker demands")
    if size > LARGEST_MEMORY:
        raise ValueError(f"{text!r} is more than Docker can count")
    return Bytes(size)


def spell_memory(size: int) -> str:
    """Spell a size in bytes with the largest unit that divides it: `536870912` is `512m`."""
    for unit in ("p", "t", "g", "m", "k"):
        scale = 1024 ** _POWER[unit]
        if size >= scale and size % scale == 0:
            return f"{size // scale}{unit}"
    return str(size)


def parse_tmpfs_size(text: str) -> TmpfsSize:
    """Return a tmpfs size in its normal spelling. Raises ValueError with a sentence."""
    if _TMPFS.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not a tmpfs size")
    if not text.rstrip("kmgtpeKMGTPE%").strip("0"):
        raise ValueError("a tmpfs of size 0 has no limit at all")
    return TmpfsSize(text.lower())


def parse_duration(text: str) -> Seconds:
    """Return the seconds of `90s`, `10m` or `1h30m`. Raises ValueError with a sentence."""
    match = _DURATION.fullmatch(text)
    if match is None or not text:
        raise ValueError(f"{text!r} is not a duration")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return Seconds(hours * 3600 + minutes * 60 + seconds)


def spell_duration(seconds: int) -> str:
    """Spell seconds as `1h30m`; the inverse of `parse_duration` up to spelling."""
    hours, rest = divmod(seconds, 3600)
    minutes, left = divmod(rest, 60)
    parts = [f"{value}{unit}" for value, unit in ((hours, "h"), (minutes, "m"), (left, "s")) if value]
    return "".join(parts) or "0s"
