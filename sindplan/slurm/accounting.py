"""Slurm's accounting as sacctmgr shows it: accounts and users, and what shall become of them."""

from collections.abc import Iterable, Mapping

from attrs import field, frozen

from sindplan.model.address import natural
from sindplan.slurm.limits import LIMITS, NONE, Form, normalised

ROOT = "root"
"""Slurm's first account and first user; nobody's but its own."""
SEPARATOR = "--"

COLUMNS = tuple(name for name, form in LIMITS.items() if form is not Form.TEXT)
"""Limits that one table shows: texts may hold what separates its columns, so each stands at the end of one of its own."""
TEXTS = tuple(name for name, form in LIMITS.items() if form is Form.TEXT)


@frozen(kw_only=True)
class AccountState:
    """An account of a cluster.

    Attributes:
        limits: By name, in the spelling of `limits`; of an account that was seen all of them, `NONE` where nothing is set.
            What it has from the accounts above is not among them.
    """

    parent: str
    limits: Mapping[str, str] = field(factory=dict)


@frozen(kw_only=True)
class UserState:
    """A user of Slurm's database.

    Attributes:
        accounts: Accounts in the cluster, sorted.
        default_account: The one that jobs go to which name none.
        coordinator: Accounts that the user coordinates, sorted; those below them are shown too.
        admin_level: `operator`, `admin` or empty.
    """

    accounts: tuple[str, ...] = ()
    default_account: str = ""
    coordinator: tuple[str, ...] = ()
    admin_level: str = ""


@frozen(kw_only=True)
class AccountingView:
    """What slurmdbd says of a cluster.

    Attributes:
        cluster: Slurm's name of it.
    """

    cluster: str = ""
    accounts: Mapping[str, AccountState] = field(factory=dict)
    users: Mapping[str, UserState] = field(factory=dict)


@frozen(kw_only=True)
class AccountChange:
    """What an account shall have.

    Attributes:
        limits: To be set.
        cleared: Names of limits to be taken away.
    """

    parent: str
    limits: Mapping[str, str] = field(factory=dict)
    cleared: tuple[str, ...] = ()


@frozen(kw_only=True)
class UserChange:
    """What a user shall have. What is named nowhere stays.

    Attributes:
        accounts, coordinator: To be in, to coordinate.
        left, resigned: Accounts to be in, to coordinate no more.
        admin_level: None to leave it.
    """

    accounts: tuple[str, ...] = ()
    default_account: str = ""
    coordinator: tuple[str, ...] = ()
    admin_level: str | None = None
    left: tuple[str, ...] = ()
    resigned: tuple[str, ...] = ()


@frozen(kw_only=True)
class AccountingChange:
    """What shall become of a cluster's accounts and users; `gone` are accounts to be removed."""

    accounts: Mapping[str, AccountChange] = field(factory=dict)
    users: Mapping[str, UserChange] = field(factory=dict)
    gone: tuple[str, ...] = ()


def by_name(names: Iterable[str]) -> tuple[str, ...]:
    """Return names once each, in the order people expect."""
    return tuple(sorted(set(names), key=lambda name: (natural(name), name)))


_ADMIN_LEVELS = {"operator": "operator", "administrator": "admin"}
_SECTIONS = 3 + len(TEXTS)


def parse_accounting(text: str) -> AccountingView | None:
    """Read what the view script prints; None when it is not all there.

    Sections: the cluster's name; associations with `COLUMNS`; users; one of each of `TEXTS`.
    """
    sections = _sections(text.split("\n"))
    if len(sections) < _SECTIONS or not sections[0]:
        return None
    cluster, associations, users = sections[0][0], sections[1], sections[2]
    rows = [_cells(line, 3 + len(COLUMNS)) for line in associations]
    texts = {limit: dict(_cells(line, 2) for line in lines) for limit, lines in zip(TEXTS, sections[3:], strict=True)}
    memberships: dict[str, list[str]] = {}
    for account, user, *_ in rows:
        memberships.setdefault(user, []).append(account)
    return AccountingView(
        cluster=cluster,
        accounts={
            account: AccountState(
                parent=parent,
                limits={limit: normalised(limit, value) for limit, value in zip(COLUMNS, shown, strict=True)}
                | {limit: normalised(limit, found.get(account, NONE)) for limit, found in texts.items()},
            )
            for account, user, parent, *shown in rows
            if account and not user
        },
        users={
            user: UserState(
                accounts=by_name(memberships.get(user, ())),
                default_account=default,
                coordinator=by_name(part for part in coordinator.split(",") if part),
                admin_level=_ADMIN_LEVELS.get(level.lower(), ""),
            )
            for user, default, level, coordinator in (_cells(line, 4) for line in users)
            if user
        },
    )


def _sections(lines: Iterable[str]) -> list[list[str]]:
    sections: list[list[str]] = [[]]
    for line in lines:
        if line == SEPARATOR and len(sections) < _SECTIONS:
            sections.append([])
        elif line:
            sections[-1].append(line)
    return sections


def _cells(line: str, count: int) -> list[str]:
    """Return exactly so many cells of a line, the rest of it in the last one."""
    cells = line.split("|", count - 1)
    return [*cells, *[""] * (count - len(cells))]
