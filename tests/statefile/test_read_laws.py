"""Laws of reading: whatever is in the file, it is a declaration or a list of problems that point into the file."""

import copy
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

import attrs
import tomli_w
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sindplan.model.declaration import Declaration
from sindplan.model.units import spell_duration, spell_memory
from sindplan.statefile import read
from sindplan.statefile.bounds import NAMES
from tests.statefile.reading import problems, read_text, write
from tests.statefile.test_toml_lines import KEYS, VALUES
from tests.strategies import SETTINGS, declared, documents

SOUP = st.lists(
    st.one_of(
        st.sampled_from(
            (
                *(field.name for field in attrs.fields(Declaration)),
                'version = 1\nname = "x"\n',
                "[realms.sind.clusters.dev]\n",
                "[realms.sind.clusters.dev.workers.cpu]\n",
                'image = "x"\n',
                "count = ",
                "[[",
                "]",
                "{",
                "}",
                '"""',
                "'''",
                "\n",
                "\\",
                "\x00",
                "\u202e",
                "9" * 5000,
                "0x" + "f" * 40,
                "1979-05-27",
                "nan",
            )
        ),
        st.text(max_size=5),
    ),
    max_size=12,
).map(lambda parts: "".join(parts).encode())


def points_into(file: Path, data: bytes) -> None:
    """Check that reading ends in a declaration or in problems with lines of the file."""
    last = max(data.replace(b"\r\n", b"\n").removesuffix(b"\n").count(b"\n") + 1, 1)
    for problem in problems(file):
        assert problem.file == file
        assert 0 <= problem.line <= last
        assert problem.what.endswith(".") or problem.what.endswith(")")
        assert str(problem).replace("\n", "").replace("…", "").isascii()


@SETTINGS
@given(st.one_of(st.binary(max_size=200), SOUP))
def test_any_bytes(scratch: Path, data: bytes) -> None:
    (file,) = write(scratch, any=data)
    points_into(file, data)


@SETTINGS
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_any_tables(scratch: Path, tables: dict[str, Any]) -> None:
    text = tomli_w.dumps({"version": 1, "name": "x", "realms": {"r": {"clusters": {"c": tables}}}, **tables})
    (file,) = write(scratch, any=text)
    points_into(file, text.encode())


@SETTINGS
@given(documents())
def test_valid_documents_are_read(scratch: Path, document: dict[str, Any]) -> None:
    assert read_text(scratch, tomli_w.dumps(document)) == declared(document)


Key = tuple[tuple[str, ...], type]
"""The path of a key and the class whose field it is."""


def keys_of(document: dict[str, Any], owner: type = Declaration, path: tuple[str, ...] = ()) -> Iterator[Key]:
    """Yield every key of the grammar, not of names, in a document."""
    for field in attrs.fields(owner):
        value = document.get(field.name)
        here = (*path, field.name)
        if value is None:
            continue
        yield here, owner
        inner = [kind for kind in _classes(field.type) if attrs.has(kind)]
        if not inner or not isinstance(value, dict):
            continue
        if (owner, field.name) in NAMES:
            for name, table in value.items():
                yield from keys_of(table, inner[0], (*here, name))
        else:
            yield from keys_of(value, inner[0], here)


def a_key_of(document: dict[str, Any]) -> st.SearchStrategy[Key]:
    return st.sampled_from(sorted(keys_of(document), key=lambda key: key[0]))


def _classes(kind: Any) -> list[Any]:
    return [kind, *(inner for argument in getattr(kind, "__args__", ()) for inner in _classes(argument))]


def changed(document: dict[str, Any], path: tuple[str, ...], key: str, value: Any = None) -> dict[str, Any]:
    """Return a copy of the document with a key under another name, or with another value."""
    result = copy.deepcopy(document)
    table = result
    for part in path[:-1]:
        table = table[part]
    old = table.pop(path[-1])
    table[key] = old if value is None else value
    return result


@SETTINGS
@given(documents(), st.data())
def test_a_key_with_one_wrong_letter_is_refused(scratch: Path, document: dict[str, Any], data: st.DataObject) -> None:
    path, owner = data.draw(a_key_of(document))
    key = path[-1]
    at = data.draw(st.integers(0, len(key) - 1))
    letter = data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz_"))
    left, right = key[:at], key[at + 1 :]
    wrong = data.draw(st.sampled_from((left + right, left + letter + key[at:], left + letter + right)))
    # `group` and `groups` are two keys of one table.
    assume(wrong not in attrs.fields_dict(owner))
    (file,) = write(scratch, typo=tomli_w.dumps(changed(document, path, wrong)))
    found = [problem for problem in problems(file) if problem.what == "There is no such key here."]
    assert len(found) == 1
    assert any(words in found[0].fix for words in ("Did you mean", "The keys here are", "is a key of"))


@SETTINGS
@given(documents(), st.data())
def test_a_value_of_another_type_is_refused(scratch: Path, document: dict[str, Any], data: st.DataObject) -> None:
    path, owner = data.draw(a_key_of(document))
    wrong = data.draw(st.sampled_from((True, 7, 2.5, "?", [], ["x"])))
    # Slurm's texts and passwords are strings or tables.
    kind = attrs.fields_dict(owner)[path[-1]].type
    assume(get_origin(kind) is not UnionType or type(wrong) not in get_args(kind))
    value: Any = document
    for part in path:
        value = value[part]
    assume(type(value) is not type(wrong))
    (file,) = write(scratch, type=tomli_w.dumps(changed(document, path, path[-1], wrong)))
    assert any(problem.key.endswith(path[-1]) and "must be" in problem.what for problem in problems(file))


@SETTINGS
@given(documents(), st.randoms(use_true_random=False))
def test_the_order_of_keys_means_nothing(scratch: Path, document: dict[str, Any], random: Any) -> None:
    def shuffled(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        items = list(value.items())
        random.shuffle(items)
        return {key: shuffled(item) for key, item in items}

    assert read_text(scratch, tomli_w.dumps(shuffled(document))) == declared(document)


@SETTINGS
@given(documents())
def test_the_spelling_of_sizes_means_nothing(scratch: Path, document: dict[str, Any]) -> None:
    expected = declared(document)

    def respelled(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: respelled(item, key) for key, item in value.items()}
        respell = {"memory": lambda text: spell_memory(_memory(text)).upper(), "tmp_size": str.upper}.get(name)
        return respell(value) if respell else value

    assert read_text(scratch, tomli_w.dumps(respelled(document))) == expected


def _memory(text: str) -> int:
    table = {"version": 1, "name": "x", "realms": {"r": {"clusters": {"c": {"defaults": {"memory": text}}}}}}
    size = declared(table).realms["r"].clusters["c"].defaults.memory
    assert size is not None
    return size


@SETTINGS
@given(documents())
def test_a_declaration_may_be_spread_over_files(scratch: Path, document: dict[str, Any]) -> None:
    head = {"version": document["version"], "name": document["name"]}
    parts = [
        {**head, "realms": {realm: {"clusters": {name: cluster}}}}
        for realm, content in document["realms"].items()
        for name, cluster in content["clusters"].items()
    ]
    meshes = {realm: {"mesh": content["mesh"]} for realm, content in document["realms"].items() if "mesh" in content}
    texts = [tomli_w.dumps(part) for part in (*parts, {**head, "realms": meshes})]
    files = write(scratch, **{f"part{index}": text for index, text in enumerate(texts)})
    assert read(files) == declared(document)


@settings(SETTINGS, max_examples=20)
@given(documents(), documents())
def test_every_file_is_told_of(scratch: Path, one: dict[str, Any], two: dict[str, Any]) -> None:
    files = write(scratch, one=tomli_w.dumps({**one, "zzz": 1}), two=tomli_w.dumps({**two, "zzz": 1}))
    found = problems(*files)
    assert {problem.file for problem in found if problem.key == "zzz"} == set(files)
    assert found == sorted(found)


@SETTINGS
@given(st.integers(0, 10**6))
def test_durations_read_back_as_spelled(scratch: Path, seconds: int) -> None:
    text = f'version = 1\nname = "x"\n[realms.r.clusters.c]\nimage = "i"\ndrain_timeout = "{spell_duration(seconds)}"'
    assert tomllib.loads(text)
    assert read_text(scratch, text).realms["r"].clusters["c"].drain_timeout == seconds
