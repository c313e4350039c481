"""From paths to documents: which files are read, and what can be wrong with a file before its grammar matters.

Whatever a path leads to, nothing here waits: only regular files are opened, and of them at most `LARGEST_FILE` bytes
are read.
"""

import os
import re
import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from sindplan.errors import Problem
from sindplan.statefile.toml_lines import DEEPEST, Places, TooDeep, find_places
from sindplan.statefile.wording import plain

LARGEST_FILE = 1024 * 1024
"""Bytes. Reading so many of the worst kind takes half a minute; a cluster of 1,000 nodes needs a hundredth."""

_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "UTF-8", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}
_PLACE = re.compile(r" \(at (?:line ([0-9]+), column ([0-9]+)|end of document)\)$")
# CPython reads no decimal integers longer than this and says so without a place (sys.int_info).
_LONG_INTEGER = re.compile(r"[0-9](?:_?[0-9]){4299}")


@frozen
class Document:
    """One state file, read as TOML and no further.

    Attributes:
        file: The path as it was given.
        content: The tables, as plain Python values.
        places: Where each key stands.
    """

    file: Path
    content: Mapping[str, Any]
    places: Places = field(factory=Places)


def find_files(paths: Sequence[Path]) -> tuple[tuple[Path, ...], tuple[Problem, ...]]:
    """Return the files that `paths` name, those of folders sorted, each once; and what is wrong with the folders."""
    files: dict[Path, Path] = {}
    problems = []
    for path in paths:
        try:
            found = _files_of(path)
        except (OSError, ValueError) as error:
            problems.append(Problem(path, 0, "", f"It cannot be read: {reason(error)}."))
            continue
        if not found:
            problems.append(Problem(path, 0, "", "The folder holds no *.toml.", "Only files directly in it are read."))
        for file in found:
            files.setdefault(file.absolute(), file)
    return tuple(files.values()), tuple(problems)


def _files_of(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    # Hidden files are locks and copies of editors.
    found = sorted(file for file in path.iterdir() if file.suffix == ".toml" and not file.name.startswith("."))
    # Who names a folder has not seen where its links lead to, and problems of a file quote from it.
    root = os.path.realpath(path)
    for file in found:
        if not Path(os.path.realpath(file)).is_relative_to(root):
            raise ValueError(
                f"the link {file.name!r} in it leads out of it; if that is meant, name that file by itself"
            )
    return found


class _Unreadable(Exception):
    def __init__(self, line: int, what: str, fix: str = "") -> None:
        super().__init__(what)
        self.line = line
        self.what = what
        self.fix = fix


def load(file: Path) -> Document | Problem:
    """Read one state file as TOML, or say the one thing that keeps it from being read."""
    try:
        text = _decoded(_content(file))
        content, places = _parsed(text)
    except _Unreadable as error:
        return Problem(file, error.line, "", error.what, error.fix)
    return Document(file, content, places)


def load_text(file: Path, data: bytes | None = None) -> tuple[bytes, str] | Problem:
    """Read one state file as text that is TOML, or say the one thing that keeps it from being read.

    Args:
        data: What is in it, when that was read already.
    """
    try:
        data = _content(file) if data is None else _small(data)
        text = _decoded(data)
        _parsed(text)
    except _Unreadable as error:
        return Problem(file, error.line, "", error.what, error.fix)
    return data, text


def _content(file: Path) -> bytes:
    try:
        data = read_at_most(file, LARGEST_FILE)
    except FileNotFoundError as error:
        raise _Unreadable(0, "There is no such file.", "`sindplan init` writes a first one.") from error
    except (OSError, ValueError) as error:
        raise _Unreadable(0, f"It cannot be read: {reason(error)}.") from error
    return _small(data)


def _small(data: bytes | None) -> bytes:
    if data is None or len(data) > LARGEST_FILE:
        raise _Unreadable(0, f"It is larger than {LARGEST_FILE // 1024**2} MiB.", "Split it: -f takes several files.")
    return data


def read_at_most(file: Path, size: int) -> bytes | None:
    """Return what is in a regular file, or None when it is larger. Raises OSError, or ValueError with a clause."""
    # Asked before opening, which alone may block or do something: pipes, terminals, tapes.
    _demand_regular(file.stat().st_mode)
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        _demand_regular(os.fstat(descriptor).st_mode)
        data = stream.read(size + 1)
    return None if len(data) > size else data


def _demand_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise ValueError("it is not a regular file")


def reason(error: Exception) -> str:
    """Return why something cannot be read, as a clause."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return plain(text[:1].lower() + text[1:])


def _decoded(data: bytes) -> str:
    for mark, name in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            raise _Unreadable(1, f"The file begins with a {name} byte order mark.", "Save it as UTF-8 without one.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"The file is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}."
        raise _Unreadable(line, what, "TOML is UTF-8 only: save the file so.") from error


def _parsed(text: str) -> tuple[Mapping[str, Any], Places]:
    try:
        # First: it refuses what `tomllib` would not come back from.
        places = find_places(text)
        content = tomllib.loads(text)
    except TooDeep as error:
        raise _Unreadable(error.line, f"Something is nested more than {DEEPEST} deep.") from error
    except RecursionError as error:
        raise _Unreadable(0, "Something is nested too deep.") from error
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(text, str(error)) from error
    except ValueError as error:
        found = _LONG_INTEGER.search(text)
        line = text.count("\n", 0, found.start()) + 1 if found else 0
        raise _Unreadable(line, "Not TOML: a number with thousands of digits.") from error
    if not content:
        raise _Unreadable(0, "The file is empty.", "A state file says at least `version = 1` and a `name`.")
    return content, places


# What YAML begins with: a marker, an item, a map in braces, or a key with a colon.
_YAML = re.compile(
    r"(?:[ \t\r\n]++|#[^\n]*+)*+"
    r"(?:---\s*\n|%YAML|-\s|\{|(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+:(?:\s|$))"
)
_FROM_YAML = (
    "This looks like YAML. State files are TOML; `sindplan convert FILE` makes one of a cluster file of sind's."
)

# What tomllib says, what the line looks like, and what its writer should know.
_SYNTAX_HINTS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("Expected '=' after a key", re.compile(r"[^=]*:"), "A key and its value have an equals sign between them."),
    ("Invalid value", re.compile(r"[^=]*=\s*[A-Za-z]"), 'Text stands in quotes: key = "text".'),
    ("Cannot overwrite a value", re.compile(""), "It is set twice; keep one."),
    ("Cannot declare", re.compile(""), "The table is named twice; put its keys together."),
)


def _syntax_error(text: str, message: str) -> _Unreadable:
    from_yaml = _FROM_YAML if _YAML.match(text) else ""
    last = text.removesuffix("\n").count("\n") + 1
    place = _PLACE.search(message)
    if place is None or place[1] is None:
        what = f"Not TOML: {plain(_PLACE.sub('', message))} (at the end of the file)."
        return _Unreadable(last, what, from_yaml)
    what = plain(message[: place.start()])
    line = min(int(place[1]), last)
    there = text.split("\n")[line - 1]
    fix = next((fix for sign, shape, fix in _SYNTAX_HINTS if sign in what and shape.match(there)), "")
    return _Unreadable(line, f"Not TOML: {what} (column {place[2]}).", from_yaml or fix)
