"""What is wrong within a text is shown on its own line of the file, however the text is written."""

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.errors import Problem
from sindplan.statefile.text_lines import Spot
from sindplan.statefile.toml_lines import find_places
from tests.statefile.reading import CLUSTER, HEAD, problems, write
from tests.strategies import SETTINGS

_WORD = re.compile("[tw][0-9]+x")
"""Each line of a text below has one of its own; one with a w is wrong."""
_JOIN = st.sampled_from(("", "", "", "\\\n", "\\  \n\n\t "))


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Draw a text for slurm.conf as TOML has it."""
    wrong = draw(st.lists(st.booleans(), min_size=1, max_size=7))
    lines = [f"SlurmUser=w{index}x" if is_wrong else f"#t{index}x" for index, is_wrong in enumerate(wrong)]
    form = draw(st.sampled_from(("'''", '"""', '"')))
    if form == "'''":
        first, last = draw(st.sampled_from(("", "\n"))), draw(st.sampled_from(("", "\n")))
        return form + first + draw(st.sampled_from(("\n", "\n\n"))).join(lines) + last + form
    if form == '"':
        return form + draw(st.sampled_from((r"\n", r"\u000a", r"\U0000000A\n"))).join(lines) + form
    written = draw(st.sampled_from(("", "\n", "\\\n")))
    for line in lines:
        middle = draw(_JOIN)
        written += draw(_JOIN) + line + middle + ("y\\t\\\\x" if middle else "")
        written += draw(st.sampled_from(("\n", "\n", "\n\n", r"\n", r" \u000A\n")))
    return form + written + form


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a text and a state file with the text in one of the places where it can be."""
    text = draw(texts())
    other = draw(st.sampled_from(("", "slurm.cgroup = '''\n#\n\n'''\n", 'slurm.cgroup = """\\\n  \\\n#"""\n', "\n\n")))
    place = draw(
        st.sampled_from(
            (
                "slurm.main = {}\n",
                "slurm.main.'a' = {} # end\n",
                "slurm = {{ gres = '', main = {{ x = '''\n\n''', b = {} }} }}\n",
                f"[{CLUSTER}.slurm]\nmain = {{}}\n",
            )
        )
    )
    document = f'{HEAD}[{CLUSTER}]\nimage = "x"\n{other if place.startswith("slurm.") else ""}{place.format(text)}'
    return text, document.replace("\n", draw(st.sampled_from(("\n", "\r\n"))))


@SETTINGS
@given(documents())
def test_the_line_that_is_reported_holds_what_is_wrong(scratch: Path, drawn: tuple[str, str]) -> None:
    text, document = drawn
    (file,) = write(scratch, text=document)
    lines = [_WORD.findall(line) for line in document.split("\n")]

    found = [problem for problem in problems(file) if " sets SlurmUser: " in problem.what]

    assert sorted(problem.line for problem in found) == [
        number for number, words in enumerate(lines, 1) for word in words if word.startswith("w")
    ]
    said = tomllib.loads(f"text = {text}")["text"].split("\n")
    for problem in found:
        if problem.what.startswith("This line sets "):
            assert len(lines[problem.line - 1]) == 1
        else:
            number = int(problem.what.removeprefix("Line ").partition(" of the text sets ")[0])
            assert _WORD.findall(said[number - 1])[0] in lines[problem.line - 1]
    if text.startswith("'''"):
        assert all(problem.what.startswith("This line ") for problem in found)


@SETTINGS
@given(st.text('\\n"u0aA \n\tab', max_size=25), st.sampled_from(('"""', '"')))
def test_no_string_is_too_odd(written: str, quotes: str) -> None:
    document = f"\nkey = {quotes}{written}{quotes}\nlast = 1"
    try:
        text = tomllib.loads(document)["key"]
    except tomllib.TOMLDecodeError:
        return
    string = find_places(document).strings.get(("key",))
    assert (string is None) == ("\n" not in written and "\\" not in written)
    if string is not None:
        spots = [string.find(number) for number in range(1, text.count("\n") + 2)]
        assert all(2 <= spot.line <= 2 + written.count("\n") for spot in spots)
        assert all(one.line < other.line or not (one.is_own or other.is_own) for one, other in pairwise(spots))


HAND_WRITTEN = r'''
a = "one\ntwo"
b = """
one
two \
  still two
three"""
c = """\

  one
two\nthree
four"""
d = \'\'\'one\n
two\'\'\'
'''.replace(r"\'", "'")


@pytest.mark.parametrize(
    ("key", "number", "line", "is_own"),
    [
        ("a", 1, 2, False),
        ("a", 2, 2, False),
        ("b", 1, 4, True),
        ("b", 2, 5, False),
        ("b", 3, 7, True),
        ("c", 1, 10, True),
        ("c", 2, 11, False),
        ("c", 3, 11, False),
        ("c", 4, 12, True),
        ("d", 1, 13, True),
        ("d", 2, 14, True),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_hand_written_strings(key: str, number: int, line: int, newline: str, *, is_own: bool) -> None:
    string = find_places(HAND_WRITTEN.replace("\n", newline)).strings[(key,)]
    assert string.find(number) == Spot(line, is_own)


def _problem(folder: Path, lines: str) -> Problem:
    (file,) = write(folder, state=f'{HEAD}[{CLUSTER}]\nimage = "x"\n{lines}\n')
    (problem,) = problems(file)
    return problem


@pytest.mark.parametrize(
    ("lines", "line", "what"),
    [
        ("slurm.main = '''\n#\nSlurmdUser=x\n'''", 7, "This line sets SlurmdUser: slurmd runs as root."),
        ("slurm.main = 'SlurmdUser=x'", 5, "This line sets SlurmdUser: slurmd runs as root."),
        ('slurm.main = "#\\nSlurmdUser=x"', 5, "Line 2 of the text sets SlurmdUser: slurmd runs as root."),
        ('slurm.main = """\n#\n\nmy secret"""', 8, "This line cannot be read by Slurm."),
        (
            'slurm.plugstack.a = """\n#\\t\n# \\u0000"""',
            7,
            'This line holds the control character "\\u0000".',
        ),
        ("slurm.main = '''\n#\ninclude *'''", 7, 'This line includes "*": Slurm knows no wildcards here.'),
        # Of what Slurm itself takes for one line, the first.
        ("slurm.main = '''\n#\nA=1 \\\n my secret'''", 7, "This line cannot be read by Slurm."),
    ],
)
def test_the_message_goes_with_the_place(tmp_path: Path, lines: str, line: int, what: str) -> None:
    problem = _problem(tmp_path, lines)
    assert (problem.line, problem.what) == (line, what)


def test_other_problems_of_a_text_stand_at_its_key(tmp_path: Path) -> None:
    problem = _problem(tmp_path, "slurm.main.'../x' = '''\n#\n'''")
    assert (problem.line, problem.key) == (5, f'{CLUSTER}.slurm.main."../x"')


def test_a_long_text_with_a_problem_on_every_line_takes_no_time(tmp_path: Path) -> None:
    many = "SlurmUser=x\n" * 5_000
    (file,) = write(tmp_path, state=f"{HEAD}[{CLUSTER}]\nimage = 'x'\nslurm.main = '''\n{many}'''")
    assert [problem.line for problem in problems(file)] == list(range(6, 5_006))
