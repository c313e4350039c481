"""Slurm's language is read as Slurm reads it."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sindplan.slurm.text import Parameter, Statement, is_yes, lines, listed_in, spelled, statements, unread

# What makes a difference to the reader, often.
TEXTS = st.lists(
    st.sampled_from(
        ["Key", "include ", "NodeName", "=", " = ", "a", '"', "#", "\\", "\n", "\r\n", " ", "\t", ",", "+=", "é", "_.9"]
    ),
    max_size=30,
).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("# only a comment\n\n \t\n", []),
        ("SlurmctldPort=6817\n", [(1, "slurmctldport", "6817", {})]),
        ("STATESAVELOCATION = /x", [(1, "statesavelocation", "/x", {})]),
        ("A=1 # B=2\nC=3#4\n", [(1, "a", "1", {}), (2, "c", "3", {})]),
        ("A=1\\#2\nB=\\\\\nC=3\n", [(1, "a", "1#2", {}), (2, "b", "\\", {}), (3, "c", "3", {})]),
        (
            "NodeName=a \\\n\tCPUs=2\\\n  State=UP\nB=1\n",
            [(1, "nodename", "a", {"CPUs": "2", "State": "UP"}), (4, "b", "1", {})],
        ),
        ("A=1,\\  \r\n2\r\nB=1\r\n", [(1, "a", "1,2", {}), (3, "b", "1", {})]),
        # A comment takes its own line break away with it, but joins nothing.
        ("A=1 \\\n# B=2 \\\nC=3\n", [(1, "a", "1", {}), (3, "c", "3", {})]),
        ("# the end \\\nA=1\n", [(2, "a", "1", {})]),
        (
            'DownNodes=w-1 Reason="fan \\#3 broken" State=DOWN',
            [(1, "downnodes", "w-1", {"Reason": "fan #3 broken", "State": "DOWN"})],
        ),
        ('A="x" B=""x C=""\n', [(1, "a", "x", {"B": '""x', "C": ""})]),
        ("include sub.conf\nINCLUDE\t/x y", [(1, "include", "sub.conf", {}), (2, "include", "/x", {})]),
        ("Include=sub.conf", [(1, "include", "sub.conf", {})]),
        ("Weights+=5\nA*=2", [(1, "weights", "5", {}), (2, "a", "2", {})]),
        ("\ufeffA=1", [(1, "a", "1", {})]),
        ("A=1\\", [(1, "a", "1", {})]),
        ("A = \n=1\nnothing", []),
    ],
)
def test_texts(text: str, expected: list[tuple[int, str, str, dict[str, str]]]) -> None:
    wanted = [
        Statement(line, key, value, tuple(Parameter(*pair) for pair in more.items()))
        for line, key, value, more in expected
    ]
    assert list(statements(text)) == wanted


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A=1\nPartitionName=p Nodes=x\ninclude x\n# fine\n\n", ()),
        ("A=1\n  include x\n", (2,)),
        ("A=1 \\\n two words\nB=1\nC=a b\n", (1, 4)),
        ('A="open\n', ()),
        ('A="open and more\n', (1,)),
        ("\ufeffA=1\n\n\nA\n", (4,)),
        ("include a b\n", (1,)),
    ],
)
def test_lines_that_slurm_cannot_read(text: str, found: tuple[int, ...]) -> None:
    assert unread(text) == found


def strip_comments(line: str) -> str:
    backslashes = 0
    for index, character in enumerate(line):
        if character == "#" and backslashes % 2 == 0:
            return line[:index]
        backslashes = backslashes + 1 if character == "\\" else 0
    return line


def strip_continuation(line: str) -> str:
    index, backslashes = len(line) - 1, 0
    while index >= 0:
        if line[index] == "\\":
            backslashes += 1
        elif line[index] not in " \t\n\v\f\r" or backslashes:
            break
        index -= 1
    return line[: index + backslashes] if backslashes % 2 else line


def strip_escapes(line: str) -> str:
    stripped, index = "", 0
    while index < len(line):
        index += line[index] == "\\"
        stripped += line[index : index + 1]
        index += 1
    return stripped


def as_in_c(text: str) -> list[tuple[int, str]]:
    """Return line numbers and lines as the functions of parse_config.c make them, step by step."""
    found, number = [], 1
    physical = re.findall(r"[^\n]*\n|[^\n]+", text)
    while physical:
        buffer, first, is_continued = "", number, True
        while physical and is_continued:
            line = strip_comments(physical.pop(0))
            number += 1
            body = strip_continuation(line)
            buffer += body
            is_continued = body != line
        found.append((first, strip_escapes(buffer)))
    return found


@given(TEXTS)
@example("\\\\\\\n#\\\n\\#\n")
def test_lines_are_those_of_slurm(text: str) -> None:
    assert [(line.number, line.text) for line in lines(text)] == as_in_c(text)


@given(st.one_of(TEXTS, st.text()))
def test_no_text_is_too_odd(text: str) -> None:
    found = statements(text)

    numbers = [statement.line for statement in found]
    assert numbers == sorted(set(numbers))
    assert all(1 <= number <= text.count("\n") + 1 for number in [*numbers, *unread(text)])


@given(st.one_of(TEXTS, st.text()), st.booleans())
def test_every_character_is_found_again_where_it_stood(text: str, comments: bool) -> None:
    for line in lines(text, comments=comments):
        assert len(line.starts) == len(line.text)
        for start, character in zip(line.starts, line.text, strict=True):
            assert text[start] == character or text[start : start + 2] == f"\\{character}"


@given(st.one_of(st.text('ab "#\\\t=,é', max_size=8), st.text()))
def test_what_is_spelled_is_read_again(value: str) -> None:
    try:
        said = spelled(value)
    except ValueError:
        assert "\n" in value or "\0" in value or '"' in value
        return
    (found,) = statements(f"# before\nKey={said}\n")

    assert found == Statement(2, "key", value)
    assert unread(f"Key={said} More={said}\n") == ()


KEYS = st.from_regex(r"[A-Za-z0-9_.]{1,8}", fullmatch=True).filter(lambda key: key.lower() != "include")
VALUES = st.text("ab,:/=-[]", min_size=1, max_size=6) | st.just("a b") | st.just("fan #3")


@st.composite
def known(draw: st.DrawFn) -> tuple[str, list[tuple[int, str, str, tuple[Parameter, ...]]]]:
    """Draw a text with what it says: statements with their lines, in all spellings."""
    text, expected = "", []
    for _ in range(draw(st.integers(0, 5))):
        text += draw(st.sampled_from(["", "\n", "# A=1\n", "#\\\n", "  \r\n", "# x\n\n"]))
        pairs = draw(st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=3))
        expected.append(
            (text.count("\n") + 1, pairs[0][0].lower(), pairs[0][1], tuple(Parameter(*pair) for pair in pairs[1:]))
        )
        equals = draw(st.sampled_from(["=", " = ", "\t=", "= "]))
        between = draw(st.sampled_from([" ", "\t ", " \\\n", "\\\n\t", " \\ \r\n  "]))
        text += between.join(f"{key}{equals}{spelled(value)}" for key, value in pairs)
        text += draw(st.sampled_from(["\n", "\r\n", " # more\n", " \\\n\n"]))
    return text, expected


@given(known())
def test_statements_have_their_lines(drawn: tuple[str, list[tuple[int, str, str, tuple[Parameter, ...]]]]) -> None:
    text, expected = drawn

    assert list(statements(text)) == [Statement(*one) for one in expected]
    assert unread(text) == ()


def test_a_long_text_takes_no_long_time() -> None:
    for text in ("a" * 10**6, "=" * 10**5, 'a="' * 10**5, "\\\n" * 10**5, "\\" * 10**6, "a=1 " * 10**5, "#" * 10**6):
        statements(text)


def test_the_last_of_several_parameters_counts() -> None:
    (found,) = statements("PartitionName=a State=UP state=DOWN")

    assert (found.get("STATE"), found.get("Nodes")) == ("DOWN", None)


def test_lists_and_truth() -> None:
    assert listed_in("auth/JWT, , a") == {"auth/jwt", "a"}
    assert [is_yes(value) for value in ("YES", "up", "1", "True", "NO", "", None)] == [True] * 4 + [False] * 3
