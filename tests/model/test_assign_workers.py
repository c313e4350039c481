"""Which worker indexes exist: an index is for life."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.model.declaration import WorkerGroup
from sindplan.model.facts import Member
from sindplan.model.workers import assign_workers
from tests.strategies import SETTINGS

GROUPS = ("a", "b", "c")


def counted(**counts: int) -> dict[str, WorkerGroup]:
    return {name: WorkerGroup(count=count) for name, count in counts.items()}


def members(**groups: str) -> dict[str, Member]:
    """Return members by index: `_3="a"`; with `!` the node is busy, `?` is a worker of another tool."""
    return {
        f"worker{name.replace('_', '-')}": Member(group=group.strip("!?"), ours="?" not in group, busy="!" in group)
        for name, group in groups.items()
    }


@pytest.mark.parametrize(
    ("groups", "present", "expected"),
    [
        pytest.param(counted(a=2, b=1), {}, {0: "a", 1: "a", 2: "b"}, id="groups in order of their names"),
        pytest.param(counted(g10=1, g9=1), {}, {0: "g9", 1: "g10"}, id="names in natural order"),
        pytest.param({"a": WorkerGroup()}, {}, {0: "a"}, id="one unless said"),
        pytest.param(counted(a=0), {}, {}, id="none when said"),
        pytest.param(counted(a=3), members(_0="a", _4="a"), {0: "a", 1: "a", 4: "a"}, id="lowest free index"),
        pytest.param(counted(a=1), members(_0="a", _4="a"), {0: "a"}, id="highest index goes first"),
        pytest.param(counted(a=1), members(_0="a", _4="a!"), {4: "a"}, id="idle nodes go first"),
        pytest.param(counted(a=1), members(_0="a!", _4="a!"), {0: "a"}, id="all busy: highest index goes"),
        pytest.param(counted(a=2), members(_3="b"), {0: "a", 1: "a"}, id="another group's goes with it"),
        pytest.param(
            counted(a=1, b=1), members(_0="b", _1="x"), {0: "b", 2: "a"}, id="what goes leaves no index in this plan"
        ),
        pytest.param(counted(a=2), members(_0="?"), {1: "a", 2: "a"}, id="another tool's worker keeps its index"),
        pytest.param(counted(a=1), members(_0="a?"), {1: "a"}, id="a label alone makes no member"),
        pytest.param(
            {"a": WorkerGroup(count=2), "n": WorkerGroup(nodes="worker-[0,2]")},
            {},
            {0: "n", 1: "a", 2: "n", 3: "a"},
            id="named indexes are taken",
        ),
        pytest.param(
            {"n": WorkerGroup(nodes="worker-7")}, members(_7="n", _8="n"), {7: "n"}, id="named ones are just these"
        ),
    ],
)
def test_cases(groups: dict[str, WorkerGroup], present: dict[str, Member], expected: dict[int, str]) -> None:
    assert assign_workers(groups, present) == expected


COUNTS = st.dictionaries(st.sampled_from(GROUPS), st.integers(0, 4), max_size=3)
MEMBERS = st.dictionaries(
    st.integers(0, 12).map("worker-{}".format),
    st.builds(Member, group=st.sampled_from((*GROUPS, "gone", "")), ours=st.booleans(), busy=st.booleans()),
    max_size=8,
)


@settings(SETTINGS, max_examples=300)
@given(COUNTS, MEMBERS)
def test_laws_of_assigning(counts: dict[str, int], present: dict[str, Member]) -> None:
    groups = counted(**counts)
    assigned = assign_workers(groups, present)

    for name, count in counts.items():
        own = {int(short[7:]): one for short, one in present.items() if one.ours and one.group == name}
        got = {index for index, group in assigned.items() if group == name}
        kept, new = got & set(own), got - set(own)
        assert len(got) == count
        # It grows or shrinks, never both, and never moves to what was there before.
        assert not new or kept == set(own)
        assert not new & {int(short[7:]) for short in present}
        left = {index: one for index, one in own.items() if index not in kept}
        assert not any(one.busy for one in left.values()) or all(own[index].busy for index in kept)
        for busy in (True, False):
            same_kept = [index for index in kept if own[index].busy is busy]
            same_left = [index for index in left if own[index].busy is busy]
            assert not same_kept or not same_left or max(same_kept) < min(same_left)
    # The lowest free indexes, all groups together.
    new = {index for index in assigned if f"worker-{index}" not in present}
    free = [index for index in range(40) if f"worker-{index}" not in present]
    assert new == set(free[: len(new)])


@settings(SETTINGS, max_examples=200)
@given(COUNTS, COUNTS, MEMBERS, st.sampled_from(GROUPS))
def test_other_groups_do_not_move_a_groups_members(
    one: dict[str, int], two: dict[str, int], present: dict[str, Member], group: str
) -> None:
    kept = {int(short[7:]) for short, member in present.items() if member.group == group and member.ours}

    found = [
        {
            index
            for index, name in assign_workers(counted(**{**counts, group: len(kept)}), present).items()
            if name == group
        }
        for counts in (one, two)
    ]

    assert found == [kept, kept]


@settings(SETTINGS, max_examples=200)
@given(COUNTS, MEMBERS)
def test_assigning_again_changes_nothing(counts: dict[str, int], present: dict[str, Member]) -> None:
    groups = counted(**counts)
    first = assign_workers(groups, present)
    after = {f"worker-{index}": Member(group=group, ours=True) for index, group in first.items()}
    guests = {short: one for short, one in present.items() if not one.ours and int(short[7:]) not in first}

    assert assign_workers(groups, {**after, **guests}) == first
