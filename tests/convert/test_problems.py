"""What is wrong with a file is told whole: every problem with its line, its key and a remedy, and nothing else ever."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from sindplan.convert import convert
from sindplan.errors import DeclarationInvalid
from tests.convert.documents import documents
from tests.convert.test_round_trip import FILES, KEYS
from tests.strategies import SETTINGS

NAME = Path("cluster.yaml")


def problems(data: str | bytes) -> list[str]:
    """Return the problems of a file, without its name; none when it can be converted."""
    content = data if isinstance(data, bytes) else data.encode()
    try:
        convert(content, NAME, name="lab", image="node:1")
    except DeclarationInvalid as error:
        found = error.problems
    else:
        return []
    assert all(0 <= problem.line <= content.count(b"\n") + 1 for problem in found)
    return [str(problem).removeprefix(str(NAME)) for problem in found]


def test_every_problem_is_told_at_once_with_its_place_and_remedy() -> None:
    assert problems("""\
kind: cluster
name: Foo
defaults: {cpu: 2, memory: 1x}
realm: [x]
identity: nss
users:
  - alice
  - alice
  - {nme: x}
  - {name: bob, uid: "5", groups: [zz]}
storage: {dataStorage: {type: hostPath}}
slurm: {main: {a: }}
nodes:
  - contrller
  - db: 2
  - {role: submitter, managed: true, cpus: 1.5}
  - worker: 3
    cpus: 2
  - role: worker
    count: -1
    role: worker
""") == [
        ':1: kind: This must be "Cluster", not "cluster".\n    Did you mean `Cluster`?',
        (
            ':2: name: "Foo" is not a name.\n'
            "    A name of a realm or cluster is 1 to 63 of a-z, 0-9 and hyphens, with no hyphen at either end."
        ),
        ":3: defaults.cpu: There is no such key here.\n    Did you mean `cpus`?",
        (
            ":3: defaults.memory: '1x' is not a size.\n"
            '    A size is a number and a unit, such as "512m", "1.5g" or "2GiB".'
        ),
        ":4: realm: This must be text, not a list.",
        ':5: identity: This must be "local", "nssSlurm" or "clientIds", not "nss".',
        ':8: users[1]: "alice" stands on line 7 already.\n    Keep one of the two.',
        ":9: users[2].name: This key is required and missing.",
        ":9: users[2].nme: There is no such key here.\n    Did you mean `name`?",
        ':10: users[3].groups: There is no group "zz".\n    No group is declared.',
        ':10: users[3].uid: This must be a whole number, not the text "5".\n    Write digits, without quotes.',
        ":11: storage.dataStorage.type: There is no path.\n    Write `hostPath: …`, or `type: volume`.",
        ":12: slurm.main.a: It has no value.\n    Write one, or remove the name.",
        (
            ':14: nodes[0]: This must be "controller", "db", "api", "submitter" or "worker", not "contrller".\n'
            "    Did you mean `controller`?"
        ),
        ":15: nodes[1].db: `count` is not a key of a db.\n    Only workers are counted; remove it.",
        ':16: nodes[2].cpus: This must be a whole number, not "1.5".\n    Write digits, without quotes.',
        ":16: nodes[2].managed: `managed` is not a key of a submitter.\n    A submitter has nothing to manage; remove it.",
        (
            ":17: nodes[3].worker: With other keys the role needs a key of its own.\n"
            "    Write `role: worker`, and `count` if there are several."
        ),
        ":20: nodes[4].count: -1 is out of bounds.\n    Write a whole number from 0 to 65000.",
        ":21: nodes[4].role: The key stands on line 19 already.\n    Keep one of the two.",
    ]


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("[worker]", ":2: nodes: There is no controller.\n    Write `- controller` as an item."),
        ("[controller]", ":2: nodes: There is no worker.\n    Write `- worker` as an item."),
        (
            "[worker, controller, controller]",
            ":2: nodes[2]: There is a controller already: nodes[1], line 2.\n    A cluster has one.",
        ),
        (
            "[controller, worker, api, api]",
            ":2: nodes[3]: There is an api already: nodes[2], line 2.\n    A cluster has one.",
        ),
        (
            "[controller, {wroker: 3}]",
            ":2: nodes[1].wroker: This is neither a role nor a key of a node.\n    Did you mean `worker`?",
        ),
        (
            "[{role: controller, managed: false}, {role: worker, managed: true}]",
            (
                ":2: nodes[1].managed: The node cannot be managed where the controller is not.\n"
                "    Remove it here, or `managed: false` of the controller."
            ),
        ),
        (
            "[controller, {role: worker, backupController: true}]",
            (
                ":2: nodes[1].backupController: `backupController` is not a key of a worker.\n"
                "    The controller says it; remove it here."
            ),
        ),
        (
            "[controller, [worker]]",
            (
                ":2: nodes[1]: A node is a role, a role with a count, or a map.\n"
                "    The roles are controller, db, api, submitter and worker."
            ),
        ),
        ("[controller, worker, ~]", ":2: nodes[2]: The item is empty.\n    Remove it."),
        ("controller", ':2: nodes: This must be a list, not "controller".\n    Write it in brackets: [ … ].'),
        (
            "[controller, {role: worker, managed: 1}]",
            ':2: nodes[1].managed: This must be true or false, not "1".',
        ),
    ],
)
def test_nodes_that_sind_refuses(nodes: str, expected: str) -> None:
    assert problems(f"kind: Cluster\nnodes: {nodes}\n") == [expected]


def test_a_problem_of_a_value_stands_where_sinds_file_says_it() -> None:
    assert problems("""\
kind: Cluster
nodes:
  - controller
  - worker
  - role: worker
    capAdd:
      - SYS_ADMIN
      - CAP_NICE
""")[0].startswith(":8: nodes[2].capAdd[1]: ")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ": The file is empty.\n    A cluster file of sind's says at least `kind: Cluster`."),
        (b"# nothing\n---\n", ": The file is empty.\n    A cluster file of sind's says at least `kind: Cluster`."),
        (b"nodes: []", ": kind: This key is required and missing."),
        (b"[]", ": This must be a map of keys, not a list."),
        (
            b"kind: Cluster\n---\nkind: Cluster\n",
            ":2: Another document begins here.\n    Convert each by itself, into files of their own.",
        ),
        (b"kind: Cluster\nname: \xff", ":2: The file is not UTF-8: byte 20 is 0xff.\n    Save it as UTF-8."),
        ("kind: Cluster".encode("utf-16"), ":1: The file is UTF-16.\n    Save it as UTF-8."),
        (b"kind: Cluster\nname: a\0b", ":2: Not YAML: a control character, U+0000."),
        (
            b"kind: Cluster\ndefaults:\n\tcpus: 1",
            (":3: Not YAML: found character '\\t' that cannot start any token (while scanning for the next token).\n"
            "    YAML is indented with spaces, never with tabs."),
        ),
        (
            b"name: &a x\nrealm: &a y",
            (":2: Not YAML: second occurrence (found duplicate anchor 'a'; first occurrence).\n"
            "    Give each anchor a name of its own."),
        ),
        (b'kind: "\\UFFFFFFFF"', ":1: Not YAML: an escape or a number that means nothing."),
        (b"a:\n  " + b"[" * 100_000, ":2: Not YAML: something is nested more than 32 deep."),
        (b"x" * (1024**2 + 1), ": It is larger than 256 KiB.\n    A cluster of sind's is much less."),
        (b"kind: !!binary aGk=", ':1: kind: The tag "binary" means nothing here.\n    Remove it.'),
        (b"!!python/object/apply:os.system {}", ': The tag "python/object/apply:os.system" means nothing here.\n    Remove it.'),
        (b"kind: Cluster\n? [a]\n: b", ':2: "?": A key must be text, not a list.'),
        (b'kind: Cluster\nname: "\\ud800"', ":2: name: There is half a character in it: an escape from \\ud800 to \\udfff."),
        (
            b"kind: Cluster\ndefaults: &a {<<: *a}",
            ':2: defaults."<<": `<<` leads in a circle here, or through too many maps.',
        ),
        (b"kind: Cluster\nnodes: &a [controller, worker, *a]", (":2: nodes[2]: A node is a role, a role with a count, or a map.\n"
            "    The roles are controller, db, api, submitter and worker.")),
        (b"kind: Cluster\ndefaults: {<<: 3}", ':2: defaults."<<": `<<` takes the keys of another map, not "3".'),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read(data: bytes, expected: str) -> None:
    assert problems(data) == [expected]


def test_aliases_cannot_make_a_file_large() -> None:
    laughs = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    merges = "".join(f"b{n}: &b{n} {{<<: [*b{n - 1}, *b{n - 1}]}}\n" for n in range(1, 30))
    many = f"nodes: [&c {{{', '.join(f'k{n}: 1' for n in range(2000))}}}{', *c' * 2000}]\n"

    assert len(problems(f"a0: &a0 [x]\n{laughs}b0: &b0 {{cpus: 1}}\n{merges}defaults: *b29\n")) == 61
    assert "The file says more than 200000 things; an alias counts as often as it is used." in problems(many)[-1]


_VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-2, 70_000), st.floats(), st.text(max_size=5), st.sampled_from(KEYS)
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.sampled_from(KEYS), st.integers(0, 9)), inner, max_size=5),
    ),
    max_leaves=20,
)


@SETTINGS
@given(document=documents(), changes=st.lists(st.tuples(st.integers(0, 200), _VALUES), min_size=1, max_size=4))
def test_whatever_is_said_is_translated_or_refused(document: dict[str, Any], changes: list[tuple[int, Any]]) -> None:
    for position, value in changes:
        _put(document, position, value)

    problems(yaml.safe_dump(document))


def _put(document: dict[str, Any], position: int, value: Any) -> None:
    """Put a value in a place of a document."""
    places: list[tuple[Any, Any]] = []
    ahead: list[Any] = [document]
    for table in ahead:
        found = list(table.items() if isinstance(table, dict) else enumerate(table))
        places += [(table, key) for key, _ in found]
        ahead += [inner for _, inner in found if isinstance(inner, dict | list)]
    table, key = places[position % len(places)]
    table[key] = value


@SETTINGS
@given(data=st.one_of(st.binary(max_size=60), st.text("-: \n\t[]{}&*!|>'\"%@`,?#<ak0~", max_size=60).map(str.encode)))
@example(b"%YAML 1." + b"1" * 5000 + b"\n---")
def test_nothing_at_all_makes_it_fail(data: bytes) -> None:
    problems(data)


@SETTINGS
@given(file=st.sampled_from(FILES), at=st.integers(0, 2000), length=st.integers(0, 9), instead=st.binary(max_size=4))
def test_no_slip_makes_it_fail(file: Path, at: int, length: int, instead: bytes) -> None:
    data = file.read_bytes()
    at %= len(data)

    problems(data[:at] + instead + data[at + length :])
