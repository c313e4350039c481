"""The comment on a pull request: our own words and numbers, and others' text in blocks of code that nothing in them ends."""

import re

from sindplan_ci.review import Review

MARKER = "<!-- sindplan plan -->"
"""By which the bot finds its own comment; the same in somebody else's means nothing."""
MOST = 60_000
"""Bytes; GitHub takes some 65,000 characters."""
_MOST_OF_PRIVILEGES = 20_000
_LONGEST_LINE = 500
_RUN = re.compile(r"`+")


def body(review: Review | None, text: str, verdict: str, head: str) -> str:
    """Return a comment.

    Args:
        review: The plan; None when there is none.
        text: What sindplan printed, which anybody may have written.
        verdict: What is to be done, in our own words.
        head: The commit.
    """
    title = "no plan" if review is None else _title(review)
    parts = [MARKER, f"### sindplan: {title}", f"{verdict} (commit `{head}`)"]
    if review is not None:
        parts.append(f"Digest: `{review.digest}`")
    if review is not None and review.privileges:
        listed = _fence(_fitting([_ends(_plain(one)) for one in review.privileges], _MOST_OF_PRIVILEGES))
        parts.append(f"New nodes get privileges:\n\n{listed}")
    room = MOST - sum(len(part.encode()) + 2 for part in parts) - 300
    lines = [_plain(line)[:_LONGEST_LINE] for line in text.split("\n")]
    details = f"<details><summary>What sindplan said</summary>\n\n{_fence(_fitting(lines, room))}\n\n</details>"
    return "\n\n".join([*parts, details]) + "\n"


def _title(review: Review) -> str:
    said = [f"{count} to {what}" for what, count in review.counts.items() if count]
    blocked = " (blocked)" if review.blocked else ""
    return f"{', '.join(said) or 'no changes'}{blocked}"


def _fitting(lines: list[str], room: int) -> list[str]:
    """Return lines that fit; a text that is too long loses its middle, since its end has the counts."""
    while sum(len(line.encode()) + 1 for line in lines) + _longest_run(lines) * 2 > room:
        keep = len(lines) * 3 // 8
        lines = [*lines[:keep], "... lines are left out ...", *lines[len(lines) - keep :]]
    return lines


def _ends(line: str) -> str:
    """Return a line that loses its middle when it is too long: a privilege names the nodes first, and itself last."""
    half = _LONGEST_LINE // 2
    return line if len(line) <= _LONGEST_LINE else f"{line[:half]} ... {line[-half:]}"


def _plain(line: str) -> str:
    """Return a line whose control characters and direction marks are spelt out."""
    return "".join(
        char if char == "\t" or char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in line
    )


def _fence(lines: list[str]) -> str:
    ticks = "`" * max(3, 1 + _longest_run(lines))
    return "\n".join([f"{ticks}text", *lines, ticks])


def _longest_run(lines: list[str]) -> int:
    return max((len(run) for line in lines for run in _RUN.findall(line)), default=0)
