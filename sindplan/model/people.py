"""Users and groups with their ids: those that are said, those that were assigned before, and those assigned now.

An id that was assigned stays for good, since files are owned by it: what exists is asked first (sind.md 6.4 has the rules of
automatic ids). Names are gone through in natural order, so that the order of keys in a file means nothing.
"""

from collections.abc import Iterable, Mapping

from attrs import field, frozen

from sindplan.model.address import natural
from sindplan.model.declaration import Group, User

FIRST_ID = 1000
"""Lowest id that is assigned; ids below belong to the image's own users."""
NEVER_ASSIGNED = frozenset({65534, 65535})
"""`nobody`, and what the kernel's 16-bit calls take for "no id"."""


@frozen(kw_only=True)
class Person:
    """A user. `groups` are the supplementary ones."""

    name: str
    uid: int
    gid: int
    groups: tuple[str, ...] = ()

    @property
    def home(self) -> str:
        """The home folder."""
        return f"/home/{self.name}"


@frozen(kw_only=True)
class Team:
    """A group. `members` have it as a supplementary group, as in /etc/group."""

    name: str
    gid: int
    members: tuple[str, ...] = ()


@frozen(kw_only=True)
class Ids:
    """Ids by name that exist: of the nodes' labels, or of an image."""

    users: Mapping[str, int] = field(factory=dict)
    groups: Mapping[str, int] = field(factory=dict)


@frozen(kw_only=True)
class People:
    """Everybody of a cluster: users, and groups with the users' private ones first."""

    users: tuple[Person, ...] = ()
    groups: tuple[Team, ...] = ()

    def users_label(self) -> str:
        """Return the value of `sind.users`."""
        return " ".join(f"{user.name}:{user.uid}:{user.gid}" for user in self.users)

    def groups_label(self) -> str:
        """Return the value of `sind.groups`."""
        return " ".join(
            f"{group.name}:{group.gid}" + (f":{'+'.join(group.members)}" if group.members else "")
            for group in self.groups
        )


def ids_of(users_label: str, groups_label: str) -> Ids:
    """Read the ids in the labels of a node; what makes no sense says nothing."""
    return Ids(users=_numbers(users_label), groups=_numbers(groups_label))


def people_of(users_label: str, groups_label: str) -> People:
    """Read users and groups out of the labels of a node; what makes no sense says nothing.

    Users come in natural order, and so do groups, private ones first, as `people` has them.
    """
    uids, gids = _numbers(users_label), _numbers(groups_label)
    primary = {
        entry.split(":")[0]: entry.split(":")[2] for entry in users_label.split() if entry.count(":") == _OF_USER
    }
    members = {
        entry.split(":")[0]: tuple(entry.split(":")[2].split("+"))
        for entry in groups_label.split()
        if entry.count(":") == _OF_GROUP
    }
    private = {name for name in uids if name in gids and primary.get(name) == str(gids[name])}
    ordered = sorted(gids, key=lambda name: (name not in private, natural(name)))
    return People(
        users=tuple(
            Person(
                name=name,
                uid=uids[name],
                gid=int(primary.get(name) or uids[name]),
                groups=tuple(sorted((group for group in members if name in members[group]), key=natural)),
            )
            for name in sorted(uids, key=natural)
            if primary.get(name, "") == "" or _is_id(primary[name])
        ),
        groups=tuple(Team(name=name, gid=gids[name], members=members.get(name, ())) for name in ordered),
    )


_OF_USER, _OF_GROUP = 2, 2
"""Colons of an entry that says all."""


def ids_in(text: str) -> Ids:
    """Read the ids in lines of sysusers.d(5), as sindplan writes them; what makes no sense says nothing."""
    entries: dict[str, list[str]] = {"u": [], "g": []}
    for line in text.splitlines():
        kind, name, number, *_ = [*line.split(), "", "", ""]
        if kind in entries:
            entries[kind].append(f"{name}:{number.partition(':')[0]}")
    return Ids(users=_numbers(" ".join(entries["u"])), groups=_numbers(" ".join(entries["g"])))


def _numbers(label: str) -> dict[str, int]:
    found = {}
    for entry in label.split():
        name, _, rest = entry.partition(":")
        number = rest.partition(":")[0]
        if name and _is_id(number):
            found[name] = int(number)
    return found


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len(str(2**31))


def people(users: Mapping[str, User], groups: Mapping[str, Group], seen: Ids, image: Ids) -> People:
    """Give every user and group its id.

    Args:
        users, groups: As declared.
        seen: Ids that the cluster's nodes have.
        image: Ids of users and groups that the nodes' image brings.
    """
    names = sorted(users, key=natural)
    # Nobody else gets what somebody has or had, be it a user or a group: files outlive their owners.
    said = [*(user.uid for user in users.values()), *(group.gid for group in groups.values())]
    taken = {number for number in said if number is not None}
    taken |= {*seen.users.values(), *seen.groups.values(), *image.users.values(), *image.groups.values()}
    uids: dict[str, int] = {}
    for name in names:
        uids[name] = _id(users[name].uid, seen.users.get(name), taken)
        taken.add(uids[name])
    gids: dict[str, int] = {name: uids[name] for name in names if users[name].group is None}
    own = sorted(groups, key=natural)
    for name in own:
        gids[name] = _id(groups[name].gid, seen.groups.get(name), taken)
        taken.add(gids[name])
    return People(
        users=tuple(
            Person(
                name=name,
                uid=uids[name],
                gid=gids[users[name].group or name],
                groups=tuple(sorted(users[name].groups, key=natural)),
            )
            for name in names
        ),
        groups=(
            *(Team(name=name, gid=uids[name]) for name in names if users[name].group is None),
            *(
                Team(name=name, gid=gids[name], members=tuple(user for user in names if name in users[user].groups))
                for name in own
            ),
        ),
    )


def _id(said: int | None, seen: int | None, taken: Iterable[int]) -> int:
    if said is not None:
        return said
    if seen is not None:
        return seen
    unusable = {*taken, *NEVER_ASSIGNED}
    return next(number for number in range(FIRST_ID, FIRST_ID + len(unusable) + 1) if number not in unusable)
