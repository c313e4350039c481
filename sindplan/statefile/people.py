"""Users and groups: names that nodes have already, ids that nobody shares, and groups that are declared."""

from collections import Counter
from collections.abc import Callable, Iterator

from sindplan.model.declaration import User
from sindplan.statefile.context import Context
from sindplan.statefile.fault import Fault
from sindplan.statefile.wording import KeyPath, listed, quoted

# Debian's base-passwd, then what the packages of a node bring. What else an image has, only a look into it tells.
_SYSTEM_USERS = frozenset(
    (
        *("root", "daemon", "bin", "sys", "sync", "games", "man", "lp", "mail", "news", "uucp", "proxy", "www-data"),
        *("backup", "list", "irc", "nobody", "_apt", "slurm", "munge", "mysql", "slurmrestd", "sshd"),
        *("messagebus", "dnsmasq"),
    )
)
_SYSTEM_GROUPS = frozenset(
    (
        *("adm", "tty", "disk", "kmem", "dialout", "fax", "voice", "cdrom", "floppy", "tape", "sudo", "audio", "dip"),
        *("operator", "src", "shadow", "utmp", "video", "sasl", "plugdev", "staff", "users", "nogroup", "_ssh"),
    )
)
_SYSTEMD = "systemd-"


def _is_system_user(name: str) -> bool:
    return name in _SYSTEM_USERS or name.startswith(_SYSTEMD)


def _is_system_group(name: str) -> bool:
    return name in _SYSTEM_GROUPS or _is_system_user(name)


def _names_are_free(context: Context) -> Iterator[Fault]:
    for name, user in context.cluster.users.items():
        if _is_system_user(name):
            what = f"{quoted(name)} is a user of every node already."
            yield context.fault(("users", name), what, "Choose another name.")
        elif _has_private_group(context, name, user) and _is_system_group(name):
            what = f"{quoted(name)} is a group of every node already: the user can have no private group."
            yield context.fault(("users", name), what, "Choose another name, or say `group`.")
    for name in context.cluster.groups:
        if _is_system_group(name):
            what = f"{quoted(name)} is a group of every node already."
            yield context.fault(("groups", name), what, "Choose another name.")


def _has_private_group(context: Context, name: str, user: User) -> bool:
    return user.group is None and not context.lacks("users", name, "group")


def _private_groups_are_free(context: Context) -> Iterator[Fault]:
    for name, user in context.cluster.users.items():
        if name in context.cluster.groups and _has_private_group(context, name, user):
            what = f"The user {quoted(name)} has a private group of this name."
            yield context.fault(("groups", name), what, "Rename the group, or say the user's `group`.")


def _ids_are_unique(context: Context) -> Iterator[Fault]:
    users: dict[int, str] = {}
    groups: dict[int, str] = {}
    for name, user in sorted(context.cluster.users.items()):
        if user.uid is None:
            continue
        other = users.setdefault(user.uid, name)
        if other != name:
            what = f"{user.uid} is the id of user {quoted(other)} already."
            yield context.fault(("users", name, "uid"), what, "No two users share an id.")
        elif _has_private_group(context, name, user):
            # A private group has its user's id.
            groups[user.uid] = f"the private group of user {quoted(name)}"
    for name, group in sorted(context.cluster.groups.items()):
        if group.gid is None:
            continue
        other = groups.setdefault(group.gid, f"group {quoted(name)}")
        if other != f"group {quoted(name)}":
            what = f"{group.gid} is the id of {other} already."
            yield context.fault(("groups", name, "gid"), what, "No two groups share an id.")


def _groups_are_declared(context: Context) -> Iterator[Fault]:
    for name, user in context.cluster.users.items():
        here = ("users", name)
        yield from undeclared(context, "groups", "group", (*here, "group"), () if user.group is None else (user.group,))
        yield from undeclared(context, "groups", "group", (*here, "groups"), user.groups)
        yield from repeated(context, "group", (*here, "groups"), user.groups)
        if user.group is not None and user.group in user.groups:
            what = f"{quoted(user.group)} is the primary group already."
            yield context.fault((*here, "groups"), what, "Name it in `group` alone.")


def undeclared(context: Context, table: str, noun: str, path: KeyPath, names: tuple[str, ...]) -> Iterator[Fault]:
    """Yield a fault for each name that a table of the cluster does not have."""
    known = getattr(context.cluster, table)
    for name in dict.fromkeys(names):
        if name not in known and not context.lacks(table, name):
            advice = f"The {noun}s are {listed(map(quoted, sorted(known)))}." if known else f"No {noun} is declared."
            yield context.fault(path, f"There is no {noun} {quoted(name)}.", advice)


def repeated(context: Context, noun: str, path: KeyPath, names: tuple[str, ...]) -> Iterator[Fault]:
    """Yield a fault for each name that stands more than once in a list."""
    for name, times in Counter(names).items():
        if times > 1:
            yield context.fault(path, f"The {noun} {quoted(name)} is named {times} times.", "Name it once.")


RULES: tuple[Callable[[Context], Iterator[Fault]], ...] = (
    _names_are_free,
    _private_groups_are_free,
    _ids_are_unique,
    _groups_are_declared,
)
