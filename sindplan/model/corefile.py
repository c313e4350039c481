"""The Corefile of a realm's DNS server: its `hosts` lines are the records. Pure.

sind writes the same file (v0.11) and either tool edits what the other wrote: lines of others are kept byte for byte and in
their order.
"""

import re
from collections.abc import Mapping

from sindplan.model import names

_LINE = re.compile(r"\s*([0-9]+(?:\.[0-9]+){3})\s+(\S+)\s*")


def corefile(realm: str, records: Mapping[str, str]) -> str:
    """Return a new Corefile with records of DNS name to address."""
    lines = "".join(f"        {address} {name}\n" for name, address in records.items())
    return f"""\
{names.dns_zone(realm)}:53 {{
    hosts {{
{lines}        fallthrough
    }}
    reload
    log
    errors
}}

.:53 {{
    forward . /etc/resolv.conf
    log
    errors
}}
"""


def records_of(text: str) -> dict[str, str]:
    """Return the records of a Corefile: DNS name to address."""
    start, end = _hosts(text.splitlines(keepends=True))
    lines = text.splitlines(keepends=True)[start:end]
    return {match[2]: match[1] for line in lines if (match := _LINE.fullmatch(line))}


def with_records(realm: str, text: str, added: Mapping[str, str], removed: frozenset[str]) -> str:
    """Return a Corefile with records added (or changed) and others removed."""
    lines = text.splitlines(keepends=True)
    start, end = _hosts(lines)
    if start == end:
        # No hosts block: not a file that sind or sindplan wrote. The record of DNS is made anew.
        return corefile(realm, added)
    left = dict(added)
    kept: list[str] = []
    for line in lines[start:end]:
        match = _LINE.fullmatch(line)
        name = match[2] if match else ""
        if name in removed:
            continue
        kept.append(f"        {left.pop(name)} {name}\n" if name in left else line)
    if kept and not kept[-1].endswith("\n"):
        kept[-1] += "\n"
    place = next((i for i, line in enumerate(kept) if line.strip() == "fallthrough"), len(kept))
    kept[place:place] = [f"        {address} {name}\n" for name, address in left.items()]
    return "".join(lines[:start] + kept + lines[end:])


def _hosts(lines: list[str]) -> tuple[int, int]:
    """Return where the lines within `hosts { … }` begin and end; equal numbers when there is no such block."""
    for number, line in enumerate(lines):
        if line.split()[:1] == ["hosts"] and line.rstrip().endswith("{"):
            end = next((i for i in range(number + 1, len(lines)) if lines[i].strip() == "}"), len(lines))
            return number + 1, end
    return 0, 0
