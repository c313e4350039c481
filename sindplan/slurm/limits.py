"""Limits of accounts: their names, what kind of value each has, and one spelling for every value.

sacctmgr takes a limit in many spellings and shows it in another: `mem=1536` as `mem=1.50G`, `90` minutes as `01:30:00`, texts in
lower case. What is declared and what is shown are both brought into one form, so that comparing is comparing text, and that
form is what sacctmgr is told. The rules are Slurm's own, tried with 24.11.5 and 26.05.5.
"""

import re
from collections.abc import Callable, Mapping
from enum import Enum
from fractions import Fraction
from string import whitespace


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
NAMES = tuple(sorted((*LIMITS, *_OTHER_NAMES)))
"""All names that sacctmgr has for them."""
_MEANT = {name.lower(): _OTHER_NAMES.get(name, name) for name in NAMES}

NONE = ""
"""The value of a limit that is not set."""


def limit_called(name: str) -> str | None:
    """Return the one name of what sacctmgr knows by a name, in any case."""
    return _MEANT.get(name.lower())


def normalised_limits(said: Mapping[str, str | int]) -> dict[str, str]:
    """Return limits by their one name, in their one spelling."""
    named = ((limit_called(name) or name, value) for name, value in said.items())
    return {name: normalised(name, value) for name, value in sorted(named, key=lambda pair: pair[0])}


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
UNLIMITED = (*_TAKEN_AWAY, "infinite", "unlimited")
"""Wall times that are none."""


def wall_minutes(text: str) -> int | None:
    """Return the minutes that a wall time is kept in, rounded up; None when the text is none."""
    days = hours = minutes = seconds = 0
    if found := _DAYS.fullmatch(text):
        days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    elif found := _CLOCK.fullmatch(text):
        # Without days one number is minutes, two are minutes and seconds (sacctmgr(1)).
        parts = [int(part) for part in found.groups() if part]
        hours, minutes, seconds = parts if len(parts) == _FULL_CLOCK else (0, parts[0], sum(parts[1:]))
    else:
        return None
    return days * _MINUTES_A_DAY + hours * 60 + minutes + -(-seconds // 60)


def _wall(text: str) -> str:
    if text.lower() in UNLIMITED:
        return NONE
    total = wall_minutes(text)
    if total is None:
        return text.lower()
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
        items[known_resource(name)] = count
    return items


def known_resource(name: str) -> str:
    """Return a resource's name as sacctmgr shows it, which takes a number for some of them."""
    return _TRES_IDS.get(int(name), name) if re.fullmatch("[0-9]{1,2}", name) else name.lower()


def _tres(text: str) -> str:
    items = tres_items(NONE if text in _TAKEN_AWAY else text)
    if items is None:
        return text.lower()
    counted = {name: _count(name, count) for name, count in items.items() if not count.startswith("-")}
    return ",".join(f"{name}={count}" for name, count in sorted(counted.items()))


def tres_amount(name: str, text: str) -> Fraction | None:
    """Return how much of a resource a count is, in what the resource is counted in; None when the text is none."""
    found = _COUNT.fullmatch(text)
    if not found:
        return None
    base = _base(name)
    unit = _UNITS.index(found[2].upper()) if found[2] else base
    return Fraction(found[1]) * Fraction(1024) ** (unit - base)


def _base(name: str) -> int:
    """Return the unit in which a resource is counted."""
    return _MEGA if name == "mem" or name.startswith("bb/") else 0


def _count(name: str, text: str) -> str:
    said = tres_amount(name, text)
    if said is None:
        return text.lower()
    # sacctmgr itself reads 1.5g as 1M and 1024k as 1024M; it is told in whole megabytes what people mean.
    base, amount = _base(name), -(-said // 1)
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
    if text in _TAKEN_AWAY:
        return NONE
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
