r"""Slurm's configuration language, read for look-ups: what a text sets, and on which line. It is never rewritten.

Read as Slurm itself reads (src/common/parse_config.c, alike in 24.11 and 26.05): `#` begins a comment unless a backslash
is before it, a backslash at the end of a line continues it, other backslashes vanish, a value is a word or in double
quotes, keys have no case. One parameter stands on a line, or a record such as `NodeName=…` with further parameters.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from attrs import frozen

BLANKS = " \t\n\v\f\r"
"""What C's isspace takes for blank: Python's own notion knows many more."""
BLANK = rf"[{BLANKS}]"
WORD = rf"[^{BLANKS}]"

# Possessive quantifiers: what cannot match must not be tried in all ways.
_CONTENT = re.compile(r"(?:[^\\#]++|\\.)*+\\?", re.DOTALL)
_PAIR = re.compile(rf'{BLANK}*+([A-Za-z0-9_.]++){BLANK}*+[-*+/]?={BLANK}*+(?:"([^"]*)"(?!{WORD})|({WORD}++))')
_INCLUDE = re.compile(rf"include{BLANK}++({WORD}++)", re.IGNORECASE | re.ASCII)
_QUOTED_ANYWAY = re.compile(rf"[{BLANKS}]|^$")


@frozen
class Parameter:
    """A key and its value, both as written, without quotes."""

    key: str
    value: str


@frozen
class Statement:
    """A parameter or record of a text.

    Attributes:
        line: On which line of the text it begins, counted from 1.
        key: The key in lower case; `include` for an inclusion.
        value: Its value, or the file that is included.
        parameters: What else stands on the line.
    """

    line: int
    key: str
    value: str
    parameters: tuple[Parameter, ...] = ()

    def get(self, key: str) -> str | None:
        """Return the value of a further parameter; of several the last, as Slurm does."""
        return next((found.value for found in reversed(self.parameters) if found.key.lower() == key.lower()), None)


@frozen
class Line:
    """A line as Slurm reads it: continuations joined, backslashes gone.

    Attributes:
        number: On which line of the text it begins, counted from 1.
        text: What it says.
        starts: Where in the text each character of it begins.
    """

    number: int
    text: str
    starts: tuple[int, ...]


@lru_cache(maxsize=64)
def statements(text: str) -> tuple[Statement, ...]:
    """Return what a text says, in order. What Slurm could not read is left out."""
    return tuple(found for found, _ in _read(text) if found is not None)


@lru_cache(maxsize=64)
def unread(text: str) -> tuple[int, ...]:
    """Return the lines that hold something that Slurm cannot read, for which it refuses the whole file."""
    return tuple(line for _, line in _read(text) if line)


def listed_in(value: str) -> frozenset[str]:
    """Return the items of a value that is a list, in lower case."""
    return frozenset(item.strip(BLANKS).lower() for item in value.split(",") if item.strip(BLANKS))


def is_yes(value: str | None) -> bool:
    """Say whether a value is one that Slurm takes for a yes."""
    return value is not None and value.lower() in {"yes", "up", "true", "1"}


def spelled(value: str) -> str:
    r"""Return a value as it is to be written. Raises ValueError when Slurm's language has no words for it."""
    if "\n" in value or "\0" in value or (_QUOTED_ANYWAY.search(value) and '"' in value) or value.startswith('"'):
        raise ValueError("Slurm's configuration cannot hold line breaks, nor double quotes beside blanks")
    escaped = value.replace("\\", "\\\\").replace("#", "\\#")
    return f'"{escaped}"' if _QUOTED_ANYWAY.search(value) else escaped


def lines(text: str, *, comments: bool = False) -> Iterator[Line]:
    """Yield the lines of a text, with comments taken away unless they are asked for."""
    position, number = 0, 1
    while position < len(text):
        first, said, starts = number, list[str](), list[int]()
        is_continued = True
        while is_continued and position < len(text):
            end = text.find("\n", position) + 1 or len(text)
            raw = text[position:end]
            content = raw if comments else _content(raw)
            body = _before_continuation(content)
            is_continued = body is not None
            more, where = _unescaped(content if body is None else body, position)
            said.append(more)
            starts += where
            position, number = end, number + 1
        yield Line(first, "".join(said), tuple(starts))


def _content(raw: str) -> str:
    match = _CONTENT.match(raw)
    assert match is not None
    return match[0]


def _before_continuation(content: str) -> str | None:
    """Return a line without its final backslash, if there is one that continues it. Blanks may follow it."""
    body = content.rstrip(BLANKS)
    backslashes = len(body) - len(body.rstrip("\\"))
    return body[:-1] if backslashes % 2 else None


def _unescaped(raw: str, position: int) -> tuple[str, Iterable[int]]:
    """Return a text without its backslashes, and where each character of it began."""
    if "\\" not in raw:
        return raw, range(position, position + len(raw))
    pairs = list(re.finditer(r"\\?(.)", raw, re.DOTALL))
    return "".join(pair[1] for pair in pairs), [position + pair.start() for pair in pairs]


def _read(text: str) -> Iterator[tuple[Statement | None, int]]:
    """Yield the statement of each line, and the line's number when not all of it is one."""
    for line in lines(text):
        # A byte order mark is no part of what an editor shows.
        said = line.text.lstrip("\ufeff")
        statement, end = _statement(line.number, said)
        yield statement, line.number if said[end:].strip(BLANKS) else 0


def _statement(number: int, said: str) -> tuple[Statement | None, int]:
    """Return the statement at the beginning of a line, and where it ends."""
    if include := _INCLUDE.match(said):
        return Statement(number, "include", include[1]), include.end()
    pairs, end = list[Parameter](), 0
    while match := _PAIR.match(said, end):
        quoted, word = match[2], match[3]
        pairs.append(Parameter(match[1], word if quoted is None else quoted))
        end = match.end()
    if not pairs:
        return None, 0
    return Statement(number, pairs[0].key.lower(), pairs[0].value, tuple(pairs[1:])), end
