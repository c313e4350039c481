"""Limits of accounts: each said once, by a name of sacctmgr's, with a value that sacctmgr reads as it is meant.

What is refused here sacctmgr would refuse at apply, or take for something else without a word (24.11.5, 26.05.5).
"""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from string import whitespace

from sindplan.slurm.limits import (
    COORDINATORS,
    LIMITS,
    NAMES,
    NONE,
    UNLIMITED,
    Form,
    known_resource,
    limit_called,
    normalised,
    tres_amount,
    wall_minutes,
)
from sindplan.statefile.context import Context
from sindplan.statefile.fault import Fault, Said
from sindplan.statefile.wording import CONTROL, listed, quoted

_CLEAR = "-1"
"""What takes a limit away (sacctmgr(1))."""
_LARGEST = 2**32 - 3
"""Slurm's numbers of 32 bits, without its INFINITE and NO_VAL."""
_LARGEST_COUNT = 2**64 - 3
_MOST_SHARES = 2**31 - 1
_LONGEST_WALL = 71582788
"""Minutes: the seconds are a number of 32 bits."""
_LOWER_NAMES: Mapping[str, str] = {name.lower(): name for name in NAMES}


def limits_are_those_of_sacctmgr(context: Context) -> Iterator[Fault]:
    """Yield what is wrong with the limits of a cluster's accounts."""
    for name, account in context.cluster.accounts.items():
        said: dict[str, str] = {}
        for key, value in account.limits.items():
            path = ("accounts", name, "limits", key)
            limit = limit_called(key)
            if limit is None:
                yield context.fault(path, "sacctmgr has no such limit of an account.", _advice(key))
            elif (other := said.setdefault(limit, key)) != key:
                yield context.fault(path, f"This is said already, as `{other}`.", _which(key, other))
            wrong = _wrong(limit, str(value))
            if wrong is not None:
                yield context.fault(path, *wrong)


def _advice(key: str) -> str:
    near = difflib.get_close_matches(key[:40].lower(), _LOWER_NAMES, n=1)
    return f"Did you mean `{_LOWER_NAMES[near[0]]}`?" if near else f"The limits are {listed(NAMES)}."


def _which(key: str, other: str) -> str:
    why = "sacctmgr takes any case" if key.lower() == other.lower() else "sacctmgr has two names for this limit"
    return f"Keep one: {why}."


def _wrong(limit: str | None, value: str) -> Said | None:
    text = value.strip(whitespace)
    if not text:
        return "A limit without a value says nothing.", "Write -1 for no limit, or remove it."
    if CONTROL.search(value) or set("\"'") & set(value):
        what = f"{quoted(value)} holds what sacctmgr does not carry."
        return what, "Write it without quotes and control characters."
    says = _SAYS.get(LIMITS[limit]) if limit is not None else None
    return says(text) if says is not None and text != _CLEAR else None


def _number(text: str, largest: int = _LARGEST, other: str = f"or {_CLEAR} for no limit") -> Said | None:
    rule = f"Write a whole number from 0 to {largest}, {other}."
    if not re.fullmatch("[+-]?[0-9]{1,20}", text):
        return f"{quoted(text)} is not a whole number.", rule
    return None if 0 <= int(text) <= largest else (f"{int(text)} is out of bounds.", rule)


def _shares(text: str) -> Said | None:
    return None if text.lower() == "parent" else _number(text, _MOST_SHARES, f'"parent", or {_CLEAR} for one share')


def _wall(text: str) -> Said | None:
    if text.lower() in UNLIMITED:
        return None
    minutes = wall_minutes(text)
    if minutes is None:
        rule = f'Write minutes, "M:S", "H:M:S", "D-H", "D-H:M" or "D-H:M:S", or {_CLEAR} for no limit.'
        return f"{quoted(text)} is not a time of Slurm's.", rule
    if minutes > _LONGEST_WALL:
        return (
            f"That is longer than {_LONGEST_WALL} minutes, the most that Slurm keeps.",
            f"Write {_CLEAR} for no limit.",
        )
    return None


_RESOURCE = re.compile("[A-Za-z][^ =]*")
_SIZED = re.compile("mem|vmem|(?:bb|fs)/.*")
_SIZE = re.compile(r"\+?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[kmgtp](?:i?b)?)?", re.IGNORECASE)
_WHOLE = re.compile(r"\+?[0-9]{1,20}")


def _resources(text: str) -> Said | None:
    said = set[str]()
    for item in text.split(","):
        written, _, count = (part.strip(whitespace) for part in item.partition("="))
        name = known_resource(written)
        if not _RESOURCE.fullmatch(name) or not count:
            rule = f'Write name=count, with commas between several, such as "cpu=8,mem=64G", or {_CLEAR} for no limit.'
            return f"{quoted(item.strip(whitespace))} is not a resource with a count.", rule
        if name in said:
            return f"{quoted(name)} is said twice.", "Keep one."
        said.add(name)
        wrong = _count(name, count) if count != _CLEAR else None
        if wrong is not None:
            return wrong
    return None


def _count(name: str, count: str) -> Said | None:
    is_size = _SIZED.fullmatch(name) is not None
    amount = tres_amount(name, count) if (_SIZE if is_size else _WHOLE).fullmatch(count) else None
    if amount is None:
        rule = "a number, with K, M, G, T or P behind it" if is_size else "a whole number"
        return f"{quoted(count)} is not a count of {quoted(name)}.", f"Write {rule}, or {_CLEAR} for no limit."
    if amount.denominator != 1:
        unit = "megabytes" if tres_amount(name, "1M") == 1 else "bytes"
        return (
            f"{quoted(count)} is not a whole number of {unit}, as Slurm counts {quoted(name)}.",
            f"Write it in {unit}.",
        )
    if amount > _LARGEST_COUNT:
        return f"{quoted(count)} is more than Slurm counts.", f"Write {_CLEAR} for no limit."
    return None


def _qos(text: str) -> Said | None:
    names = [name for part in text.split(",") if (name := part.strip(whitespace))]
    signed = [name for name in names if name.startswith(("+", "-"))]
    if signed:
        what = f"{quoted(signed[0])}: sacctmgr would add to the list, or take from it, and here the whole list is said."
        return what, f"Write each name without a sign, or {_CLEAR} alone for no list."
    return None if names else (f"{quoted(text)} names no QOS.", f"Write a name, or {_CLEAR} for no list.")


def _one_qos(text: str) -> Said | None:
    is_one = not text.startswith(("+", "-")) and "," not in text
    return None if is_one else (f"{quoted(text)} is not the name of one QOS.", f"Write a name, or {_CLEAR} for none.")


def _flags(text: str) -> Said | None:
    if normalised("Flags", text) in {NONE, COORDINATORS}:
        return None
    # 24.11 takes whatever it does not know for UsersAreCoords.
    return f"{quoted(text)} is not a flag of accounts.", "Write UsersAreCoords or NoUsersAreCoords."


_SAYS: Mapping[Form, Callable[[str], Said | None]] = {
    Form.NUMBER: _number,
    Form.SHARES: _shares,
    Form.WALL: _wall,
    Form.TRES: _resources,
    Form.QOS: _qos,
    Form.NAME: _one_qos,
    Form.FLAGS: _flags,
}
"""What can be wrong with a value of each kind; texts may say anything."""
