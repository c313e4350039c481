"""Lines folded to the width of a terminal."""

import re
import unicodedata
from collections.abc import Iterator

_NARROWEST = 20
"""Columns; folding makes nothing better below."""
_HANGING = 4
_LEADING = re.compile(r"\s*")


def wrapped(line: str, width: int) -> Iterator[str]:
    """Yield a line in pieces that fit, the later ones set in deeper; broken at spaces where there are any."""
    if width < _NARROWEST or columns(line) <= width:
        yield line
        return
    found = _LEADING.match(line)
    assert found is not None, "no spaces are some, too"
    indent = " " * min(len(found[0]) + _HANGING, width // 2)
    prefix = ""
    while columns(prefix + line) > width:
        room = _fitting(line, width - len(prefix))
        # A break within the leading spaces would give an empty line.
        blank = line.rfind(" ", len(found[0]) + 1 if not prefix else 1, room + 1)
        end = blank if blank > 0 else room
        yield prefix + line[:end]
        line, prefix = line[end:].removeprefix(" "), indent
    yield prefix + line


def _fitting(line: str, width: int) -> int:
    """Return how many characters fit, one at least."""
    used = 0
    for place, char in enumerate(line):
        used += _columns(char)
        if used > width:
            return max(place, 1)
    return len(line)


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
