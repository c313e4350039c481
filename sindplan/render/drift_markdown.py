"""Drift as markdown for an issue or a comment: what others have written stands in code alone, where it mentions and links nothing.

Text of others is whatever labels, files and people's names on an engine hold.
"""

import re
from collections.abc import Sequence

from sindplan.render.drift import Drifted, Report, Told, drift_plan
from sindplan.render.escape import escaped

MARKER = "<!-- sindplan drift -->"
"""By which a script finds the comment or issue that it wrote before."""
MOST = 60_000
"""Bytes; forges take some 65,000 characters."""
_LEAST_LINES = 12
_LONGEST_LINE = 400
_RUN = re.compile(r"`+")


def drift_markdown(report: Report) -> str:
    """Return a report as markdown; empty when there is nothing to report. Long plans lose their middle, never their counts."""
    if report.quiet:
        return ""
    plans = [(one, drift_plan(one).splitlines()) for one in report.drifted]
    lines = max((len(plan) for _, plan in plans), default=0)
    while len((found := _rendered(report, plans, lines)).encode()) > MOST and lines > _LEAST_LINES:
        lines = max(lines * 3 // 4, _LEAST_LINES)
    return found if len(found.encode()) <= MOST else _counted(report)


def _rendered(report: Report, plans: Sequence[tuple[Drifted, Sequence[str]]], lines: int) -> str:
    parts = [*_top(report)]
    for one, plan in plans:
        parts += [f"#### Declaration {code(one.owner)}: {_counts(one)}", fence(shortened(plan, lines))]
        parts += [_item("Blocked", told) for told in one.blocks]
    parts += [_item("No record", told) for told in report.forgotten.values()]
    return "\n\n".join(parts) + "\n"


def _top(report: Report) -> list[str]:
    changes = sum(len(one.plan.changes) for one in report.drifted)
    return [
        MARKER,
        f"### Drift: {_many(changes, 'resource')} changed outside sindplan, {_many(len(report.forgotten), 'cluster')} without a record",
        f"Seen at {report.timestamp} by sindplan {code(report.version)}.",
    ]


def _counted(report: Report) -> str:
    """Return a report of counts alone, for an engine on which thousands of declarations drifted."""
    return "\n\n".join([*_top(report), "Too much to be shown here: `sindplan drift` shows it."]) + "\n"


def _counts(one: Drifted) -> str:
    return ", ".join(f"{count} to {operation.value}" for operation, count in one.plan.counts.items() if count)


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _item(word: str, told: Told) -> str:
    return f"- **{word}:** {code(told.what)}" + (f"\n  {code(told.fix)}" if told.fix else "")


def shortened(lines: Sequence[str], most: int) -> list[str]:
    """Return lines without their middle, so that about `most` are left; the end of a plan has its counts."""
    cut = [line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in lines]
    if len(cut) <= most:
        return cut
    end = most // 3
    return [*cut[: most - end], f"... {len(cut) - most} lines are left out ...", *cut[-end:]]


def code(text: str) -> str:
    """Return text as a span of code on one line, which nothing in it ends."""
    line = " ".join(escaped(text).split())[: _LONGEST_LINE * 2] or " "
    ticks = "`" * (1 + _longest_run(line))
    pad = " " if line[0] in "` " or line[-1] in "` " else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def fence(lines: Sequence[str]) -> str:
    """Return lines as a block of code, which nothing in them ends."""
    ticks = "`" * max(3, 1 + max(map(_longest_run, lines), default=0))
    return "\n".join([f"{ticks}text", *lines, ticks])


def _longest_run(text: str) -> int:
    return max((len(run) for run in _RUN.findall(text)), default=0)
