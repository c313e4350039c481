"""On which line of the file a line of a string's text stands: strings of several lines are where Slurm's text is."""

import re
from array import array
from functools import lru_cache

from attrs import frozen

_BASIC, _LITERAL = '"', "'"
_QUOTES = 3
# A backslash at the end of a line takes away all that is blank up to the next word; an escape may be a line break.
_BREAK = re.compile(
    r"(?P<joined>\\[ \t]*\n[ \t\n]*)|(?P<escaped>\\(?:n|u000[aA]|U0000000[aA]))|\\.|(?P<newline>\n)", re.DOTALL
)
_NEWLINE = re.compile(r"(?P<newline>\n)")


@frozen
class Spot:
    """Where a line of a text begins.

    Attributes:
        line: The line of the file, counted from 1.
        is_own: Whether the text's line is all that is on the file's.
    """

    line: int
    is_own: bool


@frozen
class Literal:
    """A string as it is written, and the line of the file on which it opens."""

    written: str
    line: int

    def find(self, number: int) -> Spot:
        """Return where the line of this number in the text, counted from 1, begins."""
        start = _starts(self.written, self.line)[number - 1]
        return Spot(abs(start), is_own=start > 0)


# A text of megabytes may have a problem on every line.
@lru_cache(maxsize=16)
def _starts(written: str, line: int) -> "array[int]":
    """Return the file's line on which each line of the text begins; negative where that is not all that is on it."""
    is_triple = written[:_QUOTES] in {_BASIC * _QUOTES, _LITERAL * _QUOTES}
    body = written[_QUOTES:-_QUOTES] if is_triple else written[1:-1]
    # A line break right after the quotes is not of the text.
    body, line = (body[1:], line + 1) if body.startswith("\n") else (body, line)
    starts = array("q")
    start, begin, is_own = line, 0, True
    for found in (_BREAK if written.startswith(_BASIC) else _NEWLINE).finditer(body):
        kind = found.lastgroup
        if kind == "joined":
            line += found[0].count("\n")
            # At the beginning of a line it only moves where that begins.
            if found.start() == begin:
                start, begin = line, found.end()
            else:
                is_own = False
        elif kind is not None:
            is_apart = kind == "newline"
            starts.append(start if is_own and is_apart else -start)
            line += is_apart
            start, begin, is_own = line, found.end(), is_apart
    starts.append(start if is_own else -start)
    return starts
