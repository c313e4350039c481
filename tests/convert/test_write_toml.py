"""Text and numbers stand in TOML as they were, whatever they are."""

import tomllib
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from sindplan.convert import convert
from sindplan.convert.tables import Key, Table, content
from sindplan.convert.write_toml import write_toml
from sindplan.statefile.structure import structure
from tests.strategies import SETTINGS

_TEXT = st.text(
    st.one_of(
        st.characters(exclude_categories=("Cs",)),
        st.sampled_from("'\"\\\n\r\t #=\0\x7f\x85\ufeff\u2028"),
    ),
)


@SETTINGS
@given(texts=st.dictionaries(_TEXT, st.one_of(_TEXT, st.integers(-(2**63) + 1, 2**63 - 1), st.booleans())))
@example({"a": "'''"}).via("three quotes")
@example({"a": "\n'''\n"})
@example({"a": '\n"""\r'})
@example({"a": '\n""""""""\0"'})
@example({"a": "\nends with '"})
@example({"a": "\n\n"})
@example({"a": "\n\\"})
def test_what_is_written_is_read(texts: dict[str, str | int | bool]) -> None:
    small = Table(tuple(Key(key, value) for key, value in texts.items()))
    table = Table(
        (
            *small.keys,
            Key("\n many", Table((Key("one", small), Key("two", Table())), lists=True)),
            Key(" 'more'", Table((Key("a", small, above=("said",)), Key("b", Table(), beside="too")), below=("end",))),
        )
    )

    assert tomllib.loads(write_toml(table)) == content(table)


@SETTINGS
@given(text=st.text(st.one_of(st.characters(exclude_categories=("Cs", "Cc")), st.sampled_from("'\"\\\n\r\t"))))
def test_slurm_text_is_carried_byte_for_byte(text: str) -> None:
    # What begins with it is a comment to Slurm, and sets nothing.
    line = "#" + text.replace("\n", "\n#")
    source = yaml.safe_dump({"kind": "Cluster", "slurm": {"main": line}})

    written = convert(source.encode(), Path("a.yaml"), name="lab", image="node:1")

    cluster = structure(tomllib.loads(written)).declaration.realms["sind"].clusters["default"]
    assert cluster.slurm.main == line


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("a=b", '"a=b"'),
        ('a="b"', "'a=\"b\"'"),
        ('it\'s "so"', '"it\'s \\"so\\""'),
        ("a\n", "'''\na\n'''"),
        ("\\ \"a\" 'b'\n\tc", "'''\n\\ \"a\" 'b'\n\tc'''"),
        ("a\r\nb\r\n", '"""\na\\r\nb\\r\n"""'),
        ("'''\n\\", '"""\n\'\'\'\n\\\\"""'),
        ("\x1b[31m", '"\\u001b[31m"'),
        ("grüße", '"grüße"'),
    ],
)
def test_text_is_spelled_as_plainly_as_it_can_be(text: str, spelled: str) -> None:
    assert write_toml(Table((Key("a", text),))) == f"a = {spelled}\n"
