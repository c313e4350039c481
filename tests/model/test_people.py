"""Ids: said, remembered, assigned. Files are owned by them, so the laws are about what never changes."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.model.declaration import Group, User
from sindplan.model.people import FIRST_ID, NEVER_ASSIGNED, Ids, People, Person, Team, ids_of, people, people_of
from tests.strategies import SETTINGS

# user-10 comes after user-9: natural order is not the order of letters.
_USERS = ("alice", "bob", "user-9", "user-10", "_x")
_GROUPS = ("hpc", "lab-2", "lab-10")
_SAID_UIDS = st.integers(1000, 1012)
_IMAGE = st.builds(
    Ids,
    users=st.dictionaries(st.sampled_from(("root", "slurm")), st.sampled_from((0, 1000, 1003, 64030))),
    groups=st.dictionaries(st.sampled_from(("users", "slurm")), st.sampled_from((100, 1001, 1003, 64030))),
)


@st.composite
def _declared(draw: st.DrawFn) -> tuple[dict[str, User], dict[str, Group]]:
    """Draw users and groups as the reader lets them through: no two say the same number."""
    numbers = draw(st.lists(_SAID_UIDS, min_size=8, max_size=8, unique=True))
    groups = {
        name: Group(gid=numbers.pop() if draw(st.booleans()) else None)
        for name in draw(st.lists(st.sampled_from(_GROUPS), unique=True))
    }
    users = {}
    for name in draw(st.lists(st.sampled_from(_USERS), unique=True)):
        primary = draw(st.sampled_from((None, *groups)))
        others = [name for name in groups if name != primary and draw(st.booleans())]
        uid = numbers.pop() if draw(st.booleans()) else None
        users[name] = User(uid=uid, group=primary, groups=tuple(others))
    return users, groups


def _remembered(found: People) -> Ids:
    return ids_of(found.users_label(), found.groups_label())


def _shuffled(draw: st.DrawFn, table: Mapping[str, object]) -> dict[str, object]:
    return {key: table[key] for key in draw(st.permutations(sorted(table)))}


@SETTINGS
@given(st.data(), _declared(), _IMAGE)
def test_the_order_of_keys_means_nothing(data: st.DataObject, declared: tuple, image: Ids) -> None:
    users, groups = declared

    again = people(_shuffled(data.draw, users), _shuffled(data.draw, groups), Ids(), image)

    assert again == people(users, groups, Ids(), image)


@SETTINGS
@given(_declared(), _IMAGE)
def test_ids_are_unique_and_nobody_elses(declared: tuple, image: Ids) -> None:
    users, groups = declared

    found = people(users, groups, Ids(), image)

    uids, gids = [user.uid for user in found.users], [group.gid for group in found.groups]
    assert len(set(uids)) == len(uids)
    assert len(set(gids)) == len(gids)
    assigned = {user.uid for user in found.users if users[user.name].uid is None}
    assigned |= {group.gid for group in found.groups if group.name in groups and groups[group.name].gid is None}
    said = {user.uid for user in users.values()} | {group.gid for group in groups.values()}
    assert not assigned & ({*image.users.values(), *image.groups.values(), *NEVER_ASSIGNED} | said)
    assert all(number >= FIRST_ID for number in assigned)


@SETTINGS
@given(_declared(), _IMAGE)
def test_what_is_said_is_so_and_every_name_is_there(declared: tuple, image: Ids) -> None:
    users, groups = declared

    found = people(users, groups, Ids(), image)

    assert {user.name for user in found.users} == set(users)
    assert all(users[user.name].uid in {None, user.uid} for user in found.users)
    gids = {group.name: group.gid for group in found.groups}
    assert set(gids) == {*groups, *(name for name, user in users.items() if user.group is None)}
    assert all(groups[name].gid in {None, gids[name]} for name in groups)
    for user in found.users:
        # A private group has the user's own number (user-private groups, sind.md 6.4).
        assert user.gid == gids[users[user.name].group or user.name]
        assert users[user.name].group is not None or user.gid == user.uid
        assert {group.name for group in found.groups if user.name in group.members} == set(users[user.name].groups)


@SETTINGS
@given(st.data(), _declared(), _IMAGE, _IMAGE)
def test_an_assigned_id_never_changes(data: st.DataObject, declared: tuple, image: Ids, other_image: Ids) -> None:
    users, groups = declared
    first = people(users, groups, Ids(), image)
    # Others come and go; who stays says what they said.
    left = {name: user for name, user in users.items() if data.draw(st.booleans())}
    left = {name: User(uid=user.uid, group=user.group) for name, user in left.items()}
    come = {name: User() for name in ("0-first", "aaa", "zoe") if data.draw(st.booleans())}

    second = people(
        _shuffled(data.draw, {**left, **come}),
        _shuffled(data.draw, {**groups, "zz": Group(), "aa": Group()}),
        _remembered(first),
        # Another image, too: what was given stays given.
        other_image,
    )

    uids, gids = ({one.name: number(one) for one in first_} for first_, number in _numbered(first))
    for user in second.users:
        assert user.name not in left or user.uid == uids[user.name]
    for group in second.groups:
        assert group.name not in groups or group.gid == gids[group.name]


def _numbered(found: People) -> tuple:
    return (found.users, lambda user: user.uid), (found.groups, lambda group: group.gid)


@SETTINGS
@given(_declared(), _IMAGE)
def test_nobody_gets_the_id_of_somebody_who_left(declared: tuple, image: Ids) -> None:
    users, groups = declared
    first = people(users, groups, Ids(), image)

    second = people({"new": User()}, {"fresh": Group()}, _remembered(first), image)

    before = {user.uid for user in first.users} | {group.gid for group in first.groups}
    assert not before & ({user.uid for user in second.users} | {group.gid for group in second.groups})


@SETTINGS
@given(_declared(), _IMAGE)
def test_labels_round_trip(declared: tuple, image: Ids) -> None:
    found = people(*declared, Ids(), image)

    remembered = _remembered(found)

    assert remembered.users == {user.name: user.uid for user in found.users}
    assert remembered.groups == {group.name: group.gid for group in found.groups}
    assert people(*declared, remembered, image) == found


@SETTINGS
@given(st.text(), st.text())
def test_labels_that_make_no_sense_say_nothing(users: str, groups: str) -> None:
    found = ids_of(users, groups)

    assert all(isinstance(number, int) for number in (*found.users.values(), *found.groups.values()))


@pytest.mark.parametrize(
    "entry",
    ["alice", "alice:", ":1000", "alice:-1", "alice:1e3", "alice:٣", "alice:0x10", f"alice:{'9' * 5000}", ":::"],
)
def test_an_entry_without_a_number_is_left_out(entry: str) -> None:
    assert ids_of(f"{entry} bob:1001:1001", f"{entry} lab:1002:bob").users == {"bob": 1001}
    assert ids_of(f"{entry} bob:1001:1001", f"{entry} lab:1002:bob").groups == {"lab": 1002}


@pytest.mark.parametrize("gid", ["9" * 5000, "٣", "x", "-1"])
def test_a_user_whose_primary_group_is_no_number_is_left_out(gid: str) -> None:
    assert [user.name for user in people_of(f"alice:1000:{gid} bob:1001:1001 carol:1002", "").users] == ["bob", "carol"]


def test_labels_are_sinds() -> None:
    found = people(
        {"bob": User(uid=2000, groups=("lab",)), "alice": User(group="lab", groups=("hpc",))},
        {"lab": Group(), "hpc": Group(gid=3000)},
        Ids(),
        Ids(users={"root": 0}),
    )

    # 1000 is alice's, who comes first; groups come after users.
    assert found.users_label() == "alice:1000:1001 bob:2000:2000"
    assert found.groups_label() == "bob:2000 hpc:3000:alice lab:1001:bob"


def test_users_are_numbered_in_natural_order() -> None:
    names = ("user-10", "user-9", "user-1")

    found = people({name: User() for name in names}, {}, Ids(), Ids())

    assert found.users == tuple(
        Person(name=name, uid=1000 + index, gid=1000 + index)
        for index, name in enumerate(("user-1", "user-9", "user-10"))
    )


def test_ids_that_the_kernel_has_other_uses_for_are_skipped() -> None:
    everything = Ids(users={f"u{number}": number for number in range(FIRST_ID, 65534)})

    found = people({"alice": User()}, {"lab": Group()}, Ids(), everything)

    assert found.users[0].uid == 65536
    assert found.groups == (Team(name="alice", gid=65536), Team(name="lab", gid=65537))


def test_a_said_id_wins_over_a_remembered_one() -> None:
    seen = Ids(users={"alice": 1000}, groups={"lab": 1001})

    found = people({"alice": User(uid=5000)}, {"lab": Group(gid=5001)}, seen, Ids())

    assert (found.users[0].uid, found.groups[-1].gid) == (5000, 5001)
