"""The line that is found for a key is one on which the key stands."""

import json
import tomllib
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from sindplan.statefile.toml_lines import DEEPEST, TooDeep, find_places
from tests.strategies import SETTINGS, documents

KEYS = st.one_of(
    st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6),
    st.sampled_from(("", ".", "a.b", "=", "#", "[x]", "'", '"', "\\", "\t", "\n")),
)
SCALARS = st.one_of(
    st.integers(-5, 5),
    st.booleans(),
    st.dates(),
    st.datetimes(),
    st.sampled_from(
        ("", "#", "]", "}", ",", "a = 1", "[a]", "'''", '"""', '""', "\\", "\n[a]\nb = 1\n", "\r\n", '"x"\\')
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=12,
)
TABLES = st.dictionaries(KEYS, VALUES, max_size=5)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the path of every key and array item in a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in inner for found in ((*path, key), *paths(item, (*path, key)))]


def last_key(path: tuple[str | int, ...]) -> str:
    return next(part for part in reversed(path) if isinstance(part, str))


def spellings(key: str) -> tuple[str, ...]:
    """Return the ways in which TOML writers spell a key."""
    unicode_escapes = "".join(f"\\u{ord(c):04x}" if c < " " else c for c in key)
    return key, json.dumps(key, ensure_ascii=False)[1:-1], unicode_escapes


def check(text: str) -> None:
    lines = text.replace("\r\n", "\n").split("\n")
    found = find_places(text).lines
    for path in paths(tomllib.loads(text)):
        assert path in found, path
        if isinstance(path[-1], str):
            assert any(spelling in lines[found[path] - 1] for spelling in spellings(last_key(path))), path


@SETTINGS
@given(TABLES, st.booleans())
def test_line_found_contains_the_last_key(tables: dict[str, Any], multiline: bool) -> None:
    check(tomli_w.dumps(tables, multiline_strings=multiline))


@SETTINGS
@given(documents())
def test_every_key_of_a_declaration_is_found(document: dict[str, Any]) -> None:
    check(tomli_w.dumps(document))


@SETTINGS
@given(st.text("[]{}\"'=.,# \t\r\nab1\\", max_size=40))
def test_no_text_breaks_the_finder(text: str) -> None:
    found = find_places(text).lines
    assert all(1 <= line <= text.count("\n") + 1 for line in found.values())


# One document with everything that hides keys or looks like them; the values name their own lines.
HAND_WRITTEN = r'''
top = 2 # top = 99
"quoted.key" = 3
'literal "key"' = 4
a.b . "c" = 5
text = """
[not.a.header]
top = 8
\""" still text ""
"""""
raw = """"two quotes""""
literal = \'\'\'
key = 13 \ '\'\'\'
array = [ # comment with ] and "
  15,
  [ { x = 16, y = "}" }, 16 ],
  # nothing, at all = 17
  { z = """
"19" = 19""", w = [ 19 ] },
]
inline = { "k[1]" = 21, deep.er = { est = 21 } }
  [ table . "sub table" ]  # [x]
  value = 23
[[many]]
n = 25
[many.inner]
n = 27
[[many]]
n = 29
[[many.list]]
n = 31
[table]
after = 33
date = 1979-05-27 07:32:00
'''.replace(r"\'\'\'", "'''")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("top",), 2),
        (("quoted.key",), 3),
        (('literal "key"',), 4),
        (("a", "b", "c"), 5),
        (("a", "b"), 5),
        (("text",), 6),
        (("raw",), 11),
        (("literal",), 12),
        (("array",), 14),
        (("array", 0), 15),
        (("array", 1, 0, "x"), 16),
        (("array", 2), 18),
        (("array", 2, "w"), 19),
        (("array", 3), 14),
        (("inline", "k[1]"), 21),
        (("inline", "deep", "er", "est"), 21),
        (("table", "sub table"), 22),
        (("table", "sub table", "value"), 23),
        (("many", 0), 24),
        (("many", 0, "inner", "n"), 27),
        (("many", 1, "n"), 29),
        (("many", 1, "list", 0, "n"), 31),
        (("table",), 32),
        (("table", "after"), 33),
        (("table", "date"), 34),
        (("table", "missing", "below"), 32),
        (("missing",), 0),
        ((), 0),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_hand_written_document(path: tuple[str | int, ...], line: int, newline: str) -> None:
    text = HAND_WRITTEN.replace("\n", newline)
    tomllib.loads(text)
    assert find_places(text).line(path) == line


@pytest.mark.parametrize(
    "text",
    [
        "\n" + ".".join(["a"] * 100_000) + " = 1",
        "\n[" + ".".join(["a"] * (DEEPEST + 1)) + "]",
        "\nx = " + "[" * 100_000,
        "\nx = " + "{a = " * 10_000,
    ],
    ids=["dotted", "header", "arrays", "inline"],
)
def test_what_is_nested_too_deep_is_told_early(text: str) -> None:
    with pytest.raises(TooDeep) as caught:
        find_places(text)
    assert caught.value.line == 2


def test_a_string_of_megabytes_is_skipped() -> None:
    text = 'x = """' + "\\\\\n" * 500_000 + '"""\nlast = 1'
    assert find_places(text).lines[("last",)] == 500_002
