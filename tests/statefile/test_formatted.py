"""Laws of formatting: nothing but the layout changes, nothing is lost, and doing it again changes nothing."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.model.declaration import Slurm
from sindplan.statefile.formatted import formatted
from sindplan.statefile.initial import initial
from tests.statefile.test_toml_lines import KEYS, TABLES
from tests.strategies import SETTINGS, documents

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))
LAW = settings(SETTINGS, max_examples=40)
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}|\'\'\'(?:[^\']|\'{1,2}(?!\'))*\'{3,5}'
    r'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|(?P<comment>#[^\n]*)',
    re.DOTALL,
)


def comments(text: str) -> Counter[str]:
    """Return the comments of a TOML text by a reading of its own."""
    return Counter(found["comment"].rstrip() for found in _TOKEN.finditer(text) if found["comment"] is not None)


def check(text: str) -> str:
    """Check every law of one text, and return it formatted."""
    done = formatted(text)
    assert repr(sorted_tables(tomllib.loads(done))) == repr(sorted_tables(tomllib.loads(text)))
    assert comments(done) == comments(text.replace("\r\n", "\n"))
    assert formatted(done) == done
    assert done.endswith("\n")
    assert not done.startswith("\n")
    return done


def sorted_tables(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_tables(value[key]) for key in sorted(value)}
    return [sorted_tables(item) for item in value] if isinstance(value, list) else value


@st.composite
def _spelled(draw: st.DrawFn, value: Any) -> str:
    """Draw a spelling of a value: blanks, comments and empty lines where TOML lets them be."""
    if isinstance(value, list) and draw(st.booleans()):
        gap = st.sampled_from(("", " ", "\n", " # c1\n", "\n\n  # c2\n", "# c3\n\n# c4\n\t"))
        inner = "".join(f"{draw(gap)}{draw(_spelled(item))}{draw(gap)},{draw(gap)}" for item in value)
        return f"[{draw(gap)}{inner if draw(st.booleans()) else inner.rpartition(',')[0]}{draw(gap)}]"
    if isinstance(value, dict):
        blank = st.sampled_from(("", " ", "\t"))
        pairs = [
            f"{draw(blank)}{key_text(key)}{draw(blank)}={draw(blank)}{draw(_spelled(item))}{draw(blank)}"
            for key, item in value.items()
        ]
        return f"{{{','.join(pairs)}}}" if pairs else "{ }"
    if isinstance(value, str) and "'''" not in value and "\r" not in value and draw(st.booleans()):
        literal = f"'''\n{value}'''"
        if not value.endswith("'") and parses(literal, value):
            return literal
    return tomli_w.dumps({"x": value}).partition("=")[2].strip()


def parses(literal: str, value: str) -> bool:
    try:
        return bool(tomllib.loads(f"x = {literal}")["x"] == value)
    except tomllib.TOMLDecodeError:
        return False


def key_text(key: str) -> str:
    return tomli_w.dumps({key: 1}).rpartition(" = ")[0]


@st.composite
def texts(draw: st.DrawFn, tables: dict[str, Any]) -> str:
    """Draw a text of some tables: in any order, some of them dotted or in braces, with comments everywhere."""
    marks = draw(st.integers(0, 3))
    above = (
        st.sampled_from(("", "", "\n", "# a\n", "\n\n# b\n# c\n", "# d\n\n\n", "  # e\n\n# f\n\n"))
        if marks
        else st.just("")
    )
    beside = st.sampled_from(("", "", "#x", "   # y  ")) if marks else st.just("")
    blank = st.sampled_from(("", " ", "\t "))
    end = draw(st.sampled_from(("\n", "\r\n")))

    def pair(key: str, value: Any) -> str:
        return f"{draw(above)}{draw(blank)}{key}{draw(blank)}={draw(blank)}{draw(_spelled(value))}{draw(beside)}\n"

    def table(path: tuple[str, ...], content: dict[str, Any]) -> Iterator[str]:
        deeper: dict[str, dict[str, Any]] = {}
        rows = []
        for key, value in content.items():
            how = draw(st.sampled_from(("own", "own", "braces", "dotted"))) if isinstance(value, dict) else "value"
            if how == "own":
                deeper[key] = value
            elif how == "dotted" and value:
                blanks = draw(blank)
                rows += [pair(f"{key_text(key)}{blanks}.{key_text(inner)}", item) for inner, item in value.items()]
            else:
                rows.append(pair(key_text(key), value))
        own = "".join(draw(st.permutations(rows)))
        if path:
            header = f"[{draw(blank)}{f'{draw(blank)}.'.join(map(key_text, path))}]{draw(beside)}\n"
            own = f"{draw(above)}{header}{own}"
        yield own
        for key, value in deeper.items():
            yield from table((*path, key), value)

    first, *others = table((), tables)
    text = first + "".join(draw(st.permutations(others))) + draw(above)
    return text.replace("\n", end) if "'''" not in text else text


@LAW
@given(st.data(), documents())
def test_a_state_file_keeps_all_but_its_layout(data: st.DataObject, document: dict[str, Any]) -> None:
    check(data.draw(texts(document)))


@LAW
@given(st.data(), TABLES.filter(bool))
def test_any_tables_keep_all_but_their_layout(data: st.DataObject, tables: dict[str, Any]) -> None:
    check(data.draw(texts(tables)))


@LAW
@given(st.data(), documents())
def test_the_order_of_what_the_grammar_names_does_not_matter(data: st.DataObject, document: dict[str, Any]) -> None:
    # Without comments, in one spelling: only the order of keys and of tables differs.
    def swapped(value: Any, *, names: bool = False) -> Any:
        if not isinstance(value, dict):
            return value
        keys = [*value] if names else data.draw(st.permutations([*value]))
        return {key: swapped(value[key], names=not names and key in BY_NAME) for key in keys}

    assert formatted(tomli_w.dumps(swapped(document))) == formatted(tomli_w.dumps(document))


BY_NAME = (
    "realms",
    "clusters",
    "workers",
    "partitions",
    "users",
    "groups",
    "accounts",
    "limits",
    "options",
    *(field.name for field in attrs.fields(Slurm)),
)
"""Tables whose keys are names, which keep their order; so do Slurm's fragments."""


@LAW
@given(st.lists(st.tuples(KEYS, st.lists(KEYS, max_size=2)), min_size=1, max_size=4))
def test_arrays_of_tables_keep_their_order(parts: list[tuple[str, list[str]]]) -> None:
    check(
        "".join(f"[[x.{key_text(key)}]]\nb=1#c\n" + "".join("# d\na = [1]\n" for _ in more[:1]) for key, more in parts)
    )


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_examples_are_in_this_layout(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert check(text) == text


def test_the_first_state_file_is_in_this_layout() -> None:
    text = initial("lab", "x")
    assert check(text) == text


def test_comments_go_where_what_they_belong_to_goes() -> None:
    assert (
        check(UNTIDY)
        == """\
#:schema state.schema.json
# Ours.

version = 1
# whose
name = "lab"  # ours

# the cluster
[realms.sind.clusters.dev]  # dev
image = "x"  # which
defaults = { cpus = 1, memory = "1g" }
storage = { mount_path = "/d" }  #seen
managed = true                   # by Slurm

# all in one
[realms.sind.clusters.dev.workers.b]
count = 2
features = [
    # why
    "one",  # first
    "two",
    # last
]
# gres = "gpu:1"

[realms.sind.clusters.dev.workers.a]

# Nothing more.
"""
    )


UNTIDY = """

#:schema state.schema.json
# Ours.


# whose
name="lab" # ours
version   = 1
# all in one
[ realms.sind . clusters.dev.workers.b]
features = [
# why
"one", # first
  "two"
  # last
]
count = 2
# gres = "gpu:1"

# the cluster
[realms.sind.clusters.dev]# dev
defaults={memory="1g",cpus=1}
image = "x" # which
managed    = true     # by Slurm
storage={mount_path="/d"} #seen
[realms.sind.clusters.dev.workers.a]


# Nothing more.

"""
