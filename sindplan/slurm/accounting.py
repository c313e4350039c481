"""Slurm's accounting as sacctmgr shows it, with one spelling for every value of a limit.

sacctmgr takes a limit in many spellings and shows it in another: `mem=1536` as `mem=1.50G`, `90` minutes as `01:30:00`, texts in
lower case. What is declared and what is shown are both brought into one form, so that comparing is comparing text, and that
form is what sacctmgr is told. The rules are Slurm's own, tried with 24.11.5 and 26.05.5.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from fractions import Fraction
from string import whitespace

from attrs import field, frozen

from sindplan.model.address import natural

ROOT = "root"
"""Slurm's first account and first user; nobody's but its own."""
SEPARATOR = "--"


class Form(Enum):
    """What a limit's value is, and with it how it is spelt and how it is taken away."""

    NUMBER = "a whole number"
    SHARES = "a number of shares, or parent"
    WALL = "a wall time: minutes, or days-hours:minutes:seconds"
    TRES = "trackable resources with a count each"
    QOS = "names of QOS"
    NAME = "a name"
    TEXT = "text"
    FLAGS = "UsersAreCoords, or not"


LIMITS: Mapping[str, Form] = {
    "Comment": Form.TEXT,
    "DefaultQOS": Form.NAME,
    "Description": Form.TEXT,
    "Fairshare": Form.SHARES,
    "Flags": Form.FLAGS,
    "GrpJobs": Form.NUMBER,
    "GrpJobsAccrue": Form.NUMBER,
    "GrpSubmitJobs": Form.NUMBER,
    "GrpTRES": Form.TRES,
    "GrpTRESMins": Form.TRES,
    "GrpTRESRunMins": Form.TRES,
    "GrpWall": Form.WALL,
    "MaxJobs": Form.NUMBER,
    "MaxJobsAccrue": Form.NUMBER,
    "MaxSubmitJobs": Form.NUMBER,
    "MaxTRES": Form.TRES,
    "MaxTRESMins": Form.TRES,
    "MaxTRESPerNode": Form.TRES,
    "MaxTRESRunMins": Form.TRES,
    "MaxWall": Form.WALL,
    "MinPrioThresh": Form.NUMBER,
    "Organization": Form.TEXT,
    "Priority": Form.NUMBER,
    "QOS": Form.QOS,
}
"""What sacctmgr sets of an account (sacctmgr(1)), each by one name."""
_OTHER_NAMES = {
    "MaxTRESMinsPerJob": "MaxTRESMins",
    "MaxTRESPerJob": "MaxTRES",
    "MaxWallDurationPerJob": "MaxWall",
    "QosLevel": "QOS",
    "Shares": "Fairshare",
}
_NAMES = {name.lower(): name for name in LIMITS} | {name.lower(): other for name, other in _OTHER_NAMES.items()}

NONE = ""
"""The value of a limit that is not set."""

COLUMNS = tuple(name for name, form in LIMITS.items() if form is not Form.TEXT)
"""Limits that one table shows: texts may hold what separates its columns, so each stands at the end of one of its own."""
TEXTS = tuple(name for name, form in LIMITS.items() if form is Form.TEXT)


@frozen(kw_only=True)
class AccountState:
    """An account of a cluster.

    Attributes:
        limits: By name, in this module's spelling; of an account that was seen all of them, `NONE` where nothing is set.
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


def normalised_limits(said: Mapping[str, str | int]) -> dict[str, str]:
    """Return limits by their one name, in their one spelling."""
    named = ((_NAMES.get(name.lower(), name), value) for name, value in said.items())
    return {name: normalised(name, value) for name, value in named}


def normalised(limit: str, value: str | int) -> str:
    """Return a limit's value in its one spelling; what makes no sense comes back as it is, for sacctmgr to refuse."""
    return _SPELLERS[LIMITS.get(limit, Form.TEXT)](str(value).strip(whitespace))


_NUMBER = re.compile(r"([+-]?)([0-9]{1,20})")
_TAKEN_AWAY = ("-1", "")
_PARENT = 2**31 - 1
"""The number that stands for shares of the parent's (SLURMDB_FS_USE_PARENT)."""


def _number(text: str) -> str:
    found = _NUMBER.fullmatch(text)
    if not found:
        return text.lower()
    return NONE if found[1] == "-" else str(int(found[2]))


def _shares(text: str) -> str:
    # One share is what every account has.
    number = _number(text) or "1"
    return "parent" if number == str(_PARENT) else number


_DAYS = re.compile(r"([0-9]{1,9})-([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}))?")
_CLOCK = re.compile(r"([0-9]{1,9})(?::([0-9]{1,9}))?(?::([0-9]{1,9}))?")
_MINUTES_A_DAY = 24 * 60
_FULL_CLOCK = 3


def _wall(text: str) -> str:
    if text.lower() in (*_TAKEN_AWAY, "infinite", "unlimited"):
        return NONE
    days = hours = minutes = seconds = 0
    if found := _DAYS.fullmatch(text):
        days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    elif found := _CLOCK.fullmatch(text):
        # Without days one number is minutes, two are minutes and seconds (sacctmgr(1)).
        parts = [int(part) for part in found.groups() if part]
        hours, minutes, seconds = parts if len(parts) == _FULL_CLOCK else (0, parts[0], sum(parts[1:]))
    else:
        return text.lower()
    # It is kept in minutes, rounded up.
    total = days * _MINUTES_A_DAY + hours * 60 + minutes + -(-seconds // 60)
    clock = f"{total % _MINUTES_A_DAY // 60:02}:{total % 60:02}:00"
    return f"{total // _MINUTES_A_DAY}-{clock}" if total >= _MINUTES_A_DAY else clock


_UNITS = ("", "K", "M", "G", "T", "P", "?")
"""Each 1024 of the one before. Slurm shows what is beyond them with a question mark."""
_LARGEST = _UNITS.index("P")
_MEGA = _UNITS.index("M")
_COUNT = re.compile(r"\+?([0-9]{1,20}(?:\.[0-9]{1,20})?)([kmgtp?]?)(?:i?b)?", re.IGNORECASE)
_TRES_IDS = dict(enumerate(("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages"), 1))
"""Resources that have the same id everywhere."""


def tres_items(text: str) -> dict[str, str] | None:
    """Return the counts by resource; None when the text is no such list."""
    items: dict[str, str] = {}
    for item in text.split(",") if text else ():
        name, equals, count = (part.strip(whitespace) for part in item.partition("="))
        if not name or not equals:
            return None
        known = _TRES_IDS.get(int(name), name) if re.fullmatch("[0-9]{1,2}", name) else name.lower()
        items[known] = count
    return items


def _tres(text: str) -> str:
    items = tres_items(NONE if text in _TAKEN_AWAY else text)
    if items is None:
        return text.lower()
    counted = {name: _count(name, count) for name, count in items.items() if not count.startswith("-")}
    return ",".join(f"{name}={count}" for name, count in sorted(counted.items()))


def _count(name: str, text: str) -> str:
    found = _COUNT.fullmatch(text)
    if not found:
        return text.lower()
    base = _MEGA if name == "mem" or name.startswith("bb/") else 0
    unit = _UNITS.index(found[2].upper()) if found[2] else base
    # sacctmgr itself reads 1.5g as 1M and 1024k as 1024M; it is told in whole megabytes what people mean.
    amount = -(-Fraction(found[1]) * 1024**unit // 1024**base)
    if not base:
        return str(amount)
    amount, unit = _as_shown(amount), base
    while amount and amount % 1024 == 0 and unit < _LARGEST:
        amount, unit = amount // 1024, unit + 1
    return f"{amount}{_UNITS[unit]}" if amount else "0"


def _as_shown(megabytes: int) -> int:
    """Return the amount that is left when sacctmgr has shown it: of halves of 512G it shows two digits only."""
    number, times = float(megabytes), 0
    # Slurm's convert_num_unit2 with CONVERT_NUM_UNIT_EXACT.
    while number >= 1024 and int(number) % 512 == 0:  # noqa: PLR2004, Slurm's own numbers
        number, times = number / 1024, times + 1
    return int(Fraction(f"{number:.2f}") * 1024**times)


def _qos(text: str) -> str:
    if text in _TAKEN_AWAY:
        return NONE
    return ",".join(sorted({name for part in text.lower().split(",") if (name := part.strip(whitespace))}))


def _name(text: str) -> str:
    return NONE if text in _TAKEN_AWAY else text.lower()


def _text(text: str) -> str:
    # sacctmgr writes texts in lower case, letters beyond ASCII excepted, and has its own way with quotes.
    return "".join(char.lower() if char.isascii() else char for char in text).translate(_QUOTES)


_QUOTES = str.maketrans("\"'", "``")
COORDINATORS = "UsersAreCoords"


def _flags(text: str) -> str:
    if text.lower() in (*_TAKEN_AWAY, "none", f"no{COORDINATORS}".lower()):
        return NONE
    return COORDINATORS if text.lower() == COORDINATORS.lower() else text


_SPELLERS: Mapping[Form, Callable[[str], str]] = {
    Form.NUMBER: _number,
    Form.SHARES: _shares,
    Form.WALL: _wall,
    Form.TRES: _tres,
    Form.QOS: _qos,
    Form.NAME: _name,
    Form.TEXT: _text,
    Form.FLAGS: _flags,
}

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
