"""Pieces of a plan as text. Whole plans are golden (tests/golden)."""

from typing import ClassVar

import pytest
from attrs import field, frozen
from hypothesis import given
from hypothesis import strategies as st

from sindplan.model.address import Address
from sindplan.model.kind import Operation
from sindplan.model.resource import IN_PLACE, REPLACE, EngineObject, FieldChange, Resource, difference
from sindplan.plan.plan import Change, Plan
from sindplan.render.body import diff
from sindplan.render.escape import escaped, one_line
from sindplan.render.node_sets import fold
from sindplan.render.text import render_text
from sindplan.render.wrap import columns, wrapped


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        ([], []),
        (["a/node/worker-0"], ["a/node/worker-0"]),
        (["a/node/worker-2", "a/node/worker-0", "a/node/worker-1"], ["a/node/worker-[0-2]"]),
        (["a/node/worker-9", "a/node/worker-10", "a/node/worker-12"], ["a/node/worker-[9-10,12]"]),
        (["a/service/worker-0/ssh", "a/service/worker-1/ssh"], ["a/service/worker-[0-1]/ssh"]),
        (
            ["a/service/worker-0/ssh", "a/service/worker-1/munge"],
            ["a/service/worker-0/ssh", "a/service/worker-1/munge"],
        ),
        (["a/record/worker-0.dev", "a/record/worker-1.dev", "b"], ["a/record/worker-[0-1].dev", "b"]),
        # What is not a worker's name is not folded.
        (["a/worker-01", "a/worker-1", "a/coworker-2x"], ["a/coworker-2x", "a/worker-01", "a/worker-1"]),
        (["worker-" + "9" * 5000], ["worker-" + "9" * 5000]),
        (["worker-0-pool/worker-1", "worker-0-pool/worker-2"], ["worker-0-pool/worker-1", "worker-0-pool/worker-2"]),
    ],
)
def test_names_are_folded_by_the_number_of_a_worker(names: list[str], folded: list[str]) -> None:
    assert sorted(fold(names)) == sorted(folded)


@given(st.sets(st.integers(0, 200), min_size=1))
def test_folding_loses_no_worker(indexes: set[int]) -> None:
    (folded,) = fold(f"r/c/node/worker-{index}" for index in indexes)

    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

    assert set(NodeSet(folded.rpartition("/")[2], resolver=RESOLVER_NOGROUP)) == {f"worker-{i}" for i in indexes}


@given(st.text())
def test_what_is_escaped_commands_no_terminal(text: str) -> None:
    shown = escaped(text)

    assert all(char in "\n\t" or char.isprintable() for char in shown)
    assert shown.encode().decode() == shown
    assert not text.isprintable() or shown == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [("\x1b[31m", "\\x1b[31m"), ("a\rb", "a\\rb"), ("\u202e", "\\u202e"), ("\ud800", "\\ud800"), ("é\t\n", "é\t\n")],
)
def test_what_is_escaped(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_a_diff_has_two_lines_around_and_no_file_names() -> None:
    before = "".join(f"{number}\n" for number in range(9))

    assert list(diff(before, before.replace("4\n", "four\nfive\x07\n"))) == [
        "@@ -3,5 +3,6 @@", " 2", " 3", "-4", "+four", "+five\\x07", " 5", " 6",
    ]  # fmt: skip
    assert list(diff("", "a\n")) == ["@@ -0,0 +1 @@", "+a"]
    assert list(diff("a\n", "a\n")) == []


@frozen(kw_only=True)
class Thing(Resource):
    KIND: ClassVar[str] = "thing"

    memory: int | None = field(default=None, metadata=IN_PLACE)
    cpus: int | None = field(default=None, metadata=IN_PLACE)
    mode: int = field(default=0o644, metadata=IN_PLACE)
    content: str = field(default="", metadata=IN_PLACE)
    running: bool = field(default=False, metadata=IN_PLACE)
    text: str = field(default="", metadata=IN_PLACE)


@frozen(kw_only=True)
class Part(EngineObject):
    """What is replaced when its size changes."""

    KIND: ClassVar[str] = "part"

    size: str = field(metadata=REPLACE)
    colour: str = field(default="", metadata=IN_PLACE)


def update(address: str, before: Thing, after: Thing) -> Change:
    return Change(
        address=Address.parse(address),
        operation=Operation.UPDATE,
        before=before,
        after=after,
        fields=difference(before, after),
        reason="because",
    )


def body(change: Change) -> list[str]:
    text = render_text(Plan(changes=(change,), actions=()))
    lines = [line.strip() for line in text.partition("  ~ thing\n")[2].splitlines() if line][:-1]
    return [line for line in lines if not line.startswith("#")]


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (Thing(memory=2**29), Thing(memory=2**30), '~ memory = "512m" -> "1g"'),
        (Thing(memory=None), Thing(memory=2**30 + 1), '~ memory = null -> "1073741825"'),
        (Thing(cpus=1), Thing(cpus=None), "~ cpus = 1 -> null"),
        (Thing(), Thing(running=True), "~ running = false -> true"),
        (Thing(mode=0o600), Thing(), "~ mode = 0600 -> 0644"),
        (Thing(), Thing(text='\x1b"é'), '~ text = "" -> "\\x1b"é"'),
        # A value forges no line.
        (Thing(), Thing(text="a\nPlan: 0\tto"), '~ text = "" -> "a\\nPlan: 0\\tto"'),
        (Thing(text="<address of worker-3>"), Thing(text="x"), '~ text = (known after apply) -> "x"'),
    ],
)
def test_values_as_people_read_them(before: Thing, after: Thing, line: str) -> None:
    assert body(update("r/c/thing/x", before, after)) == [line]


def test_equal_changes_of_workers_are_one_block_and_others_are_not() -> None:
    changes = (
        *(
            update(f"r/c/thing/worker-{i}", Thing(content=f"worker-{i} a\n"), Thing(content=f"worker-{i} b\n"))
            for i in (0, 1, 2)
        ),
        update("r/c/thing/worker-3", Thing(content="worker-3 a\n"), Thing(content="worker-3 c\n")),
        update("r/d/thing/worker-0", Thing(content="worker-0 a\n"), Thing(content="worker-0 b\n")),
    )

    text = render_text(Plan(changes=changes, actions=()))

    assert [line for line in text.splitlines() if line.startswith("  # r")] == [
        "  # r/c/thing/worker-[0-2] will be updated in-place (3 resources)",
        "  # r/c/thing/worker-3 will be updated in-place",
        "  # r/d/thing/worker-0 will be updated in-place",
    ]
    assert "      -worker-0 a\n" in text
    assert "worker-N" not in text


def test_of_a_large_plan_equal_changes_in_several_clusters_are_one_block() -> None:
    changes = tuple(
        update(f"r/{cluster}/thing/worker-{i}", Thing(cpus=1), Thing(cpus=2)) for cluster in "cd" for i in range(51)
    )

    text = render_text(Plan(changes=changes, actions=()))

    assert "  # r/c/thing/worker-[0-50]\n  # r/d/thing/worker-[0-50] will be updated in-place (102 resources)\n" in text


def test_removals_and_replacements_come_first_and_the_legend_has_only_what_is_used() -> None:
    thing = Thing()

    def change(operation: Operation) -> Change:
        before = None if operation is Operation.CREATE else thing
        after = None if operation is Operation.DELETE else thing
        return Change(address=Address(("r", "c", operation.value)), operation=operation, before=before, after=after)

    text = render_text(Plan(changes=tuple(map(change, Operation)), actions=()))

    assert [line.split()[1] for line in text.splitlines() if line.startswith("  # r")] == [
        "r/c/delete", "r/c/replace", "r/c/update", "r/c/create",
    ]  # fmt: skip
    assert text.endswith("\nPlan: 2 to add, 1 to change, 2 to destroy.\n1 of these is a replacement.\n")
    only = render_text(Plan(changes=(change(Operation.CREATE),), actions=()))
    assert "    + create\n\n" in only
    assert "destroy\n" not in only


def test_a_long_new_file_is_cut() -> None:
    created = Change(
        address=Address.parse("r/c/thing/x"),
        operation=Operation.CREATE,
        before=None,
        after=Thing(content="".join(f"{number}\n" for number in range(40))),
    )

    text = render_text(Plan(changes=(created,), actions=()))

    assert "      + 29\n      + (10 more lines)\n" in text
    assert "+ 30\n" not in text


def test_names_from_outside_are_escaped() -> None:
    change = update("r/c/thing/x", Thing(cpus=1), Thing(cpus=2))
    evil = Change(
        address=Address(("r", "c", "thing", "\x1b[2J")), operation=Operation.UPDATE, before=None, after=Thing(),
        fields=(FieldChange("cpus", 1, 2, change.fields[0].cost),),
    )  # fmt: skip

    assert "\x1b" not in render_text(Plan(changes=(evil, change), actions=()))


def test_nothing_to_do_is_one_line() -> None:
    assert render_text(Plan(changes=(), actions=())) == "No changes. Your clusters match the declaration.\n"


def test_a_field_that_cannot_change_in_place_says_so_and_those_that_do_not_differ_are_counted() -> None:
    before, after = Part(size="1", id="abc"), Part(size="2", id="abc")
    change = Change(
        address=Address.parse("r/c/part/x"), operation=Operation.REPLACE, before=before, after=after,
        fields=difference(before, after),
    )  # fmt: skip

    lines = render_text(Plan(changes=(change,), actions=())).splitlines()

    assert lines[lines.index("-/+ part") + 1 :][:3] == [
        "      ~ id = (known after apply)",
        '      ~ size = "1" -> "2"  # forces replacement',
        "      # (1 unchanged field hidden)",
    ]


def test_many_lines_that_differ_by_a_worker_and_its_address_are_told_by_the_first_and_the_last() -> None:
    def text(memory: int) -> str:
        nodes = [f"NodeName=worker-{i} NodeAddr=10.0.0.{i} RealMemory={memory}\n" for i in range(9)]
        workers = ",".join(f"worker-{i}" for i in range(9))
        return f"{''.join(nodes)}Max={memory}\nPartitionName=all Nodes={workers} State=UP\n"

    assert [*diff(text(512), text(1024))] == [
        "@@ -1,11 +1,11 @@",
        "-NodeName=worker-0 NodeAddr=10.0.0.0 RealMemory=512",
        "-(7 more lines like this one, up to)",
        "-NodeName=worker-8 NodeAddr=10.0.0.8 RealMemory=512",
        "-Max=512",
        "+NodeName=worker-0 NodeAddr=10.0.0.0 RealMemory=1024",
        "+(7 more lines like this one, up to)",
        "+NodeName=worker-8 NodeAddr=10.0.0.8 RealMemory=1024",
        "+Max=1024",
        " PartitionName=all Nodes=worker-[0-8] State=UP",
    ]


def test_lines_that_would_look_the_same_are_not_folded() -> None:
    workers = ",".join(f"worker-{i}" for i in range(9))

    assert [*diff(f"Nodes={workers}\n", "Nodes=worker-[0-8]\n")][1:] == [f"-Nodes={workers}", "+Nodes=worker-[0-8]"]


@given(st.text(st.characters(codec="utf-8", categories=["L", "Zs", "Nd"])).map(one_line), st.integers(1, 100))
def test_folding_a_line_loses_nothing_but_spaces(line: str, width: int) -> None:
    pieces = [*wrapped(line, width)]

    assert "".join(pieces).replace(" ", "") == line.replace(" ", "")
    assert width < 20 or all(columns(piece) <= width for piece in pieces)
    assert len(pieces) == 1 or all(piece.strip(" ") for piece in pieces)
