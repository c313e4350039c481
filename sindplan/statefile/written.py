"""A TOML document as it is written: its tables, keys and values in their own spelling, each with the comments at it.

Only for text that `tomllib` reads; what the document means, that alone says.

A comment belongs to what it stands beside, or else to what follows it. The end of a table has those that stand directly below
its last line, with an empty line after them.
"""

import re
from typing import TypeAlias

from attrs import define, evolve, field, frozen

from sindplan.statefile.toml_lines import BARE_KEY, BARE_VALUE, BLANK, STRING, unquoted

_TRIVIA = re.compile(r"(?:[ \t\n]++|#[^\n]*+)*+")
_COMMENT = re.compile(r"#[^\n]*+")
_COMMA = re.compile(r",?")
_DIRECTIVES = ("#:", "#!")
"""What editors and shells look for in a file's first lines."""

Lines = tuple[str, ...]
"""Comments, one a line; an empty text is one or more empty lines."""
Path = tuple[str | int, ...]


@frozen
class Scalar:
    """Anything but an array or a table, as it is written."""

    text: str


@frozen
class Item:
    """A value in an array."""

    value: "Value"
    above: Lines = ()
    beside: str = ""


@frozen
class Array:
    """An array.

    Attributes:
        below: Comments before its end.
        spread: Whether it has several lines.
    """

    items: tuple[Item, ...]
    below: Lines = ()
    spread: bool = False


@frozen
class Inline:
    """A table in braces."""

    pairs: "tuple[Pair, ...]"


Value: TypeAlias = Scalar | Array | Inline


@frozen
class Pair:
    """A key and its value.

    Attributes:
        names: The parts of the key.
        key: As it is written, without blanks.
    """

    names: tuple[str, ...]
    key: str
    value: Value
    above: Lines = ()
    beside: str = ""


@frozen(kw_only=True)
class Section:
    """A table with a header, or what stands before the first one.

    Attributes:
        path: Where the table is; of arrays of tables with the index.
        header: As it is written, without blanks; empty for what stands before the first one.
        below: Comments at its end.
    """

    path: Path = ()
    header: str = ""
    above: Lines = ()
    beside: str = ""
    pairs: tuple[Pair, ...] = ()
    below: Lines = ()


@frozen
class Written:
    """A document.

    Attributes:
        head: Comments that stay at the beginning, with the empty line after them.
        foot: Comments that stay at the end.
    """

    head: Lines
    sections: tuple[Section, ...]
    foot: Lines


def take_apart(text: str) -> Written:
    """Return the parts of a document that `tomllib` reads."""
    return _Reader(text.replace("\r\n", "\n")).document()


@define
class _Reader:
    text: str
    place: int = 0
    tables: dict[Path, int] = field(factory=dict)
    """Arrays of tables, with the index of their last table."""

    def document(self) -> Written:
        head, above = _head(self.lines())
        sections = [Section()]
        while not self.ended():
            if self.next() == "[":
                sections.append(self.header(above))
            else:
                pair = evolve(self.pair(), above=above)
                beside = self.beside()
                last = sections[-1]
                sections[-1] = evolve(last, pairs=(*last.pairs, evolve(pair, beside=beside)))
            above = self.lines()
            if self.ended() or self.next() == "[":
                below, above = _tail(above, ended=self.ended())
                sections[-1] = evolve(sections[-1], below=below)
        return Written(head, tuple(one for one in sections if one.header or one.pairs), _trimmed(above))

    def header(self, above: Lines) -> Section:
        many = self.text.startswith("[[", self.place)
        self.skip(2 if many else 1)
        names, key = self.key()
        self.skip(2 if many else 1)
        path: Path = ()
        for depth, name in enumerate(names, 1):
            path = (*path, name)
            if depth == len(names) and many:
                self.tables[path] = self.tables.get(path, -1) + 1
            if path in self.tables:
                path = (*path, self.tables[path])
        # Empty lines before a header are not the writer's business.
        above = above[1:] if above[:1] == ("",) else above
        return Section(path=path, header=f"[[{key}]]" if many else f"[{key}]", above=above, beside=self.beside())

    def key(self) -> tuple[tuple[str, ...], str]:
        names, spelled = [], []
        while True:
            self.take(BLANK)
            quoted = self.next() in "\"'"
            part = self.take(STRING if quoted else BARE_KEY)
            names.append(unquoted(part) if quoted else part)
            spelled.append(part)
            self.take(BLANK)
            if self.next() != ".":
                return tuple(names), ".".join(spelled)
            self.skip(1)

    def pair(self) -> Pair:
        names, key = self.key()
        self.skip(1)
        self.take(BLANK)
        return Pair(names, key, self.value())

    def value(self) -> Value:
        match self.next():
            case '"' | "'":
                return Scalar(self.take(STRING))
            case "[":
                return self.array()
            case "{":
                return self.inline()
        return Scalar(self.take(BARE_VALUE).rstrip())

    def array(self) -> Array:
        self.skip(1)
        items: list[Item] = []
        spread = False
        while True:
            before = self.place
            # What is said beside an item may stand on either side of its comma.
            beside = self.beside() if items else ""
            self.take(_COMMA)
            beside = " ".join(part for part in (beside, self.beside() if items else "") if part)
            if beside:
                items[-1] = evolve(items[-1], beside=beside)
            above = self.lines()
            more = self.take(_COMMA)
            if more:
                above = (*above, *self.lines())
            spread = spread or "\n" in self.text[before : self.place]
            if self.next() == "]":
                self.skip(1)
                return Array(tuple(items), _without_blanks(above), spread)
            items.append(Item(self.value(), _without_blanks(above)))

    def inline(self) -> Inline:
        self.skip(1)
        pairs = []
        self.lines()
        while self.next() != "}":
            pairs.append(self.pair())
            self.lines()
            self.take(_COMMA)
            self.lines()
        self.skip(1)
        return Inline(tuple(pairs))

    def beside(self) -> str:
        """Take a comment on the same line."""
        self.take(BLANK)
        return self.take(_COMMENT).rstrip() if self.next() == "#" else ""

    def lines(self) -> Lines:
        """Take comments and empty lines up to what comes next; what stands beside something must have been taken."""
        fresh = self.text[self.place - 1 : self.place] in ("", "\n")
        rows = [row.strip(" \t") for row in self.take(_TRIVIA).split("\n")]
        # The first row ends the line of what came before, the last begins that of what comes.
        rows = rows if rows[-1] else rows[:-1]
        rows = rows[1:] if rows[:1] == [""] and not fresh else rows
        return tuple(row for number, row in enumerate(rows) if row or not number or rows[number - 1])

    def ended(self) -> bool:
        return self.place >= len(self.text)

    def next(self) -> str:
        return self.text[self.place : self.place + 1]

    def skip(self, count: int) -> None:
        self.place += count

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.place)
        assert match is not None, "the text is TOML"
        self.place = match.end()
        return match[0]


def _head(lines: Lines) -> tuple[Lines, Lines]:
    """Return what stays at the beginning of the file, and what is above its first key or table."""
    lines = lines[1:] if lines[:1] == ("",) else lines
    if "" in lines:
        return _parted(lines, len(lines) - lines[::-1].index(""))
    return _parted(lines, next((at for at, line in enumerate(lines) if not line.startswith(_DIRECTIVES)), len(lines)))


def _tail(lines: Lines, *, ended: bool) -> tuple[Lines, Lines]:
    """Return what is at the end of a table, and what is above the next one, or at the end of the file."""
    if "" in lines:
        return _parted(lines, lines.index(""))
    return (lines, ()) if ended else ((), lines)


def _parted(lines: Lines, at: int) -> tuple[Lines, Lines]:
    return lines[:at], lines[at:]


def _trimmed(lines: Lines) -> Lines:
    lines = lines[1:] if lines[:1] == ("",) else lines
    return lines[:-1] if lines[-1:] == ("",) else lines


def _without_blanks(lines: Lines) -> Lines:
    return tuple(line for line in lines if line)
