"""Text of others in markdown (GFM and GitLab's): it says what it says, and does nothing.

A mention tells somebody, a link leads somewhere, `#1` ties an issue to it: no text from a plan may do so. Within code nothing of
that happens; in prose a space without width stands within whatever would be taken for one.
"""

import re
from collections.abc import Sequence

_RUN = re.compile(r"`+")
_SIGNS = re.compile(r"([\\`*_{}\[\]()+!|~^=.-])")
# A dollar sign begins a formula, and GitHub looks for those before it looks for backslashes.
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "$": "&#36;"})
_APART = "&#8203;"
_CALLS = re.compile(r"([@#&%!$~^](?=[\w\"@])|[*\[](?=\w+:)|:(?=//|[\w+-]+:)|(?<=[Ww]{2})[Ww](?=\.)|(?<=[Gg][Hh])-)")
"""Signs that mention people, issues, snippets, labels or iterations, and those that a link or a picture cannot do without."""


def code(text: str) -> str:
    """Return text of one line as a span of code."""
    ticks = "`" * (1 + longest_run(text))
    # One space at either end belongs to the span where a backtick, a space or nothing would begin or end it.
    pad = " " if not text.strip() or text[0] in " `" or text[-1] in " `" else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def prose(text: str) -> str:
    """Return text of one line as prose."""
    # The expression has one group: every second piece is a sign.
    return "".join(_plain(piece) + _APART * (place % 2) for place, piece in enumerate(_CALLS.split(text)))


def _plain(piece: str) -> str:
    return _SIGNS.sub(r"\\\1", piece.translate(_HTML))


def fence(lines: Sequence[str], language: str) -> str:
    """Return lines as a block of code that nothing in them ends."""
    ticks = "`" * max(3, 1 + max(map(longest_run, lines), default=0))
    return "\n".join([f"{ticks}{language}", *lines, ticks])


def longest_run(text: str) -> int:
    """Return the length of the longest run of backticks."""
    return max((len(run) for run in _RUN.findall(text)), default=0)
