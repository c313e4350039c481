"""Where the keys of a TOML document and the lines of its texts stand, which no TOML reader of Python says.

This only points: `tomllib` alone says what a document means, and a miss here costs a vaguer line in a message, never a
wrong value. It runs first, though, and keeps from `tomllib` what would take it hours or break its recursion.
"""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from attrs import field, frozen

from sindplan.statefile.text_lines import Literal
from sindplan.statefile.wording import KeyPath

# Possessive quantifiers: a string of megabytes must not fill the matcher's stack with ways back.
STRING = re.compile(
    r'"""(?:[^"\\]++|\\.|"{1,2}(?!"))*+"{3,5}'
    r"|'''(?:[^']++|'{1,2}(?!'))*+'{3,5}"
    r'|"(?:[^"\\\n]++|\\.)*+"'
    r"|'[^'\n]*+'",
    re.DOTALL,
)
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
BARE_VALUE = re.compile(r"[^,\]}#\n]+")
BLANK = re.compile(r"[ \t]*")
_TRIVIA = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")


DEEPEST = 64
"""Longest key path that is read: `tomllib` recurses into values and is quadratic in the length of a dotted key."""


class TooDeep(ValueError):
    """Something is nested deeper than `DEEPEST`; holds the line."""

    def __init__(self, line: int) -> None:
        super().__init__(f"nested more than {DEEPEST} deep")
        self.line = line


@frozen
class Places:
    """Where things stand in a document.

    Attributes:
        lines: The line of each key and array item, counted from 1.
        strings: As they are written, those whose text may have several lines.
    """

    lines: Mapping[KeyPath, int] = field(factory=dict)
    strings: Mapping[KeyPath, Literal] = field(factory=dict)

    def line(self, path: KeyPath) -> int:
        """Return the line of a key, or of the nearest table around it; 0 when nothing on the path is in the file."""
        while path:
            if path in self.lines:
                return self.lines[path]
            path = path[:-1]
        return 0


def find_places(text: str) -> Places:
    """Return where each key and array item of a TOML document stands.

    Of text that is not TOML, what stands before the mistake is found. Raises TooDeep.
    """
    scanner = _Scanner(text)
    # The end of the text in the middle of something, no token where one must be, a bad escape in a key.
    with suppress(IndexError, tomllib.TOMLDecodeError):
        scanner.document()
    return Places(scanner.lines, scanner.strings)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n")
        self.position = 0
        self.lines: dict[KeyPath, int] = {}
        self.strings: dict[KeyPath, Literal] = {}
        self.breaks = [match.start() for match in re.finditer("\n", self.text)]
        self.tables: dict[KeyPath, int] = {}
        """Arrays of tables, with the index of their last table."""

    def document(self) -> None:
        prefix: KeyPath = ()
        self.skip(_TRIVIA)
        while self.position < len(self.text):
            if self.text[self.position] == "[":
                prefix = self.header()
            else:
                self.pair(prefix)
            self.skip(_TRIVIA)

    def header(self) -> KeyPath:
        many = self.text.startswith("[[", self.position)
        self.position += 2 if many else 1
        line = self.line()
        parts = self.key()
        self.position += 2 if many else 1
        path: KeyPath = ()
        for depth, part in enumerate(parts, 1):
            path = (*path, part)
            self.found(path, line)
            if depth == len(parts) and many:
                self.tables[path] = self.tables.get(path, -1) + 1
            elif depth == len(parts):
                # A table's own header beats the header of a table below it that came first.
                self.lines[path] = line
            if path in self.tables:
                path = (*path, self.tables[path])
                self.found(path, line)
        return path

    def pair(self, prefix: KeyPath) -> None:
        line = self.line()
        path = prefix
        for part in self.key():
            path = (*path, part)
            self.found(path, line)
        self.position += 1
        self.skip(BLANK)
        self.value(path)

    def key(self) -> tuple[str, ...]:
        parts = []
        while True:
            self.skip(BLANK)
            if self.text[self.position] in "\"'":
                parts.append(unquoted(self.take(STRING)))
            else:
                parts.append(self.take(BARE_KEY))
            self.skip(BLANK)
            if self.text[self.position] != ".":
                return tuple(parts)
            self.position += 1

    def value(self, path: KeyPath) -> None:
        opening = self.text[self.position]
        if opening in "\"'":
            line, written = self.line(), self.take(STRING)
            if "\n" in written or "\\" in written:
                self.strings[path] = Literal(written, line)
        elif opening in "[{":
            self.position += 1
            self.items(path, "]" if opening == "[" else "}")
        else:
            self.take(BARE_VALUE)

    def items(self, path: KeyPath, closing: str) -> None:
        index = 0
        self.skip(_TRIVIA)
        while self.text[self.position] != closing:
            if closing == "}":
                self.pair(path)
            else:
                item = (*path, index)
                self.found(item, self.line())
                self.value(item)
            index += 1
            self.skip(_TRIVIA)
            if self.text[self.position] == ",":
                self.position += 1
                self.skip(_TRIVIA)
        self.position += 1

    def found(self, path: KeyPath, line: int) -> None:
        if len(path) > DEEPEST:
            raise TooDeep(line)
        self.lines.setdefault(path, line)

    def line(self) -> int:
        return bisect_right(self.breaks, self.position - 1) + 1

    def skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.position)
        self.position = match.end() if match else self.position

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.position)
        if match is None:
            raise IndexError(self.position)
        self.position = match.end()
        return match[0]


def unquoted(literal: str) -> str:
    """Return a quoted key."""
    # A quoted key is a one-line string: TOML's own reader undoes its escapes.
    value: Any = tomllib.loads(f"key = {literal}")["key"]
    return str(value)
