"""How keys and values of a state file are shown to people: in ASCII, escaped and short.

A state file may hold anything, letters that only look like others and terminal control sequences included, and what is
quoted from it goes to terminals and logs.
"""

import datetime as dt
import re
from collections.abc import Iterable

KeyPath = tuple[str | int, ...]
"""Where something stands in a document: keys of tables and indexes of arrays, from the top."""

LONGEST_SHOWN = 80
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
"""Control characters, which no path, name or setting may hold."""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BEYOND_FOUR_DIGITS = 0x10000
_LONGEST_INTEGER = 2**64

_KINDS: dict[type, str] = {
    dict: "a table",
    list: "an array",
    dt.datetime: "a date and time",
    dt.date: "a date",
    dt.time: "a time",
}


def toml_string(text: str) -> str:
    """Return `text` as a TOML string, with escapes for all but printable ASCII."""
    return f'"{"".join(map(_escaped, text))}"'


def quoted(text: str) -> str:
    """Return `text` in double quotes as a TOML string, cut when it is long."""
    return toml_string(text[:LONGEST_SHOWN]) + ("…" if len(text) > LONGEST_SHOWN else "")


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    code = ord(character)
    if " " <= character <= "~":
        return character
    return f"\\u{code:04x}" if code < _BEYOND_FOUR_DIGITS else f"\\U{code:08x}"


def plain(text: str) -> str:
    """Return somebody else's sentence with everything but printable ASCII escaped, cut when it is long."""
    cut = text[: 4 * LONGEST_SHOWN]
    return "".join(character if character in '"\\' else _escaped(character) for character in cut)


def sentence(text: str) -> str:
    """Return somebody else's clause as a sentence, such as the text of a ValueError."""
    return f"{text[:1].upper()}{plain(text[1:])}."


def key_path(path: Iterable[str | int]) -> str:
    r"""Return a key path as TOML spells it: `realms.sind.clusters."d\u00e9v"`, array items as `[2]`."""
    spelled = ""
    for part in path:
        if isinstance(part, int):
            spelled += f"[{part}]"
        else:
            bare = _BARE_KEY.fullmatch(part) is not None and len(part) <= LONGEST_SHOWN
            spelled += ("." if spelled else "") + (part if bare else quoted(part))
    return spelled


def shown(value: object) -> str:
    """Return a TOML value as a message shows it: with its kind, since `"4"` and `4` are different things."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the string {quoted(value)}"
    if isinstance(value, int):
        # Python refuses to print integers of thousands of digits.
        return f"the integer {value}" if abs(value) < _LONGEST_INTEGER else "an integer of more than 64 bits"
    if isinstance(value, float):
        return f"the number {value}"
    return _KINDS.get(type(value), "something else")


def listed(names: Iterable[str], last: str = "and") -> str:
    """Return names as a sentence lists them: `a, b and c`."""
    *most, end = list(names) or [""]
    return f"{', '.join(most)} {last} {end}" if most else end
