"""A plan as a comment on a pull request: GitHub's and GitLab's markdown, short enough for either.

What a reviewer must not miss is never cut: the counts, what blocks, and what is destroyed or replaced. Diffs give way when
there is no room, from the end. Names, values and files come from whoever wrote the pull request: outside of fences every
sign that means something is spelt out, and a fence is longer than any run of backticks within it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from attrs import frozen

from sindplan.model.kind import Operation
from sindplan.render.markdown_escape import code, fence, longest_run, prose
from sindplan.render.node_sets import fold
from sindplan.render.review import DESTRUCTIVE, ORDER, Block, Remark, Review, told
from sindplan.render.text import NO_CHANGES, SYMBOLS, heading_lines, partly, tally

LIMIT = 60_000
"""Bytes of UTF-8. GitHub takes 65,536 characters in a comment, and whoever posts it adds a line or two."""
_LONGEST_LINE = 400
"""Characters of a line; a diff of something longer is read elsewhere."""
_LONGEST_NAME = 100
_LONGEST_REMARK = 1_500
_ROOM_FOR_REMARKS = 8_000
_ROOM_FOR_PRIVILEGES = 4_000
_ROOM_FOR_NAMES = 40_000
_PRECIOUS = ("node", "volume")
"""Kinds whose names are told though those of other kinds have no room."""
_TITLES = {
    Operation.DELETE: "Destroyed",
    Operation.REPLACE: "Replaced",
    Operation.UPDATE: "Changed",
    Operation.CREATE: "Created",
}
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_SIGNS = frozenset("+-#@! ")
_HEADS = {Operation.DELETE: "-", Operation.REPLACE: "-", Operation.UPDATE: "!", Operation.CREATE: "+"}
"""Signs by which a diff fence colours a line, where the text has its symbols."""


def markdown(found: Review) -> str:
    """Return a plan as markdown, at most LIMIT bytes."""
    head = "\n".join([*_head(found), ""])
    foot = "\n".join(["", *_foot(found), ""])
    return head + _details(found, LIMIT - _size(head) - _size(foot)) + foot


def _head(found: Review) -> Iterator[str]:
    yield marker(found)
    yield f"## sindplan{f' {code(_cut(found.name, _LONGEST_NAME))}' if found.name else ''}: {_title(found)}"
    if any(found.counts[operation] for operation in DESTRUCTIVE):
        yield from _destructive(found)
    if found.blocked or any(remark.blocks for remark in found.remarks):
        yield from ("", "> [!WARNING]", "> This plan is blocked: it cannot be applied as it is.")
    yield from _fitted(_remarks(found.remarks), _ROOM_FOR_REMARKS, "findings")
    yield from _fitted(
        (f"- Privilege: {prose(_cut(one))}" for one in found.privileges), _ROOM_FOR_PRIVILEGES, "privileges"
    )
    if found.entries:
        counts = found.counts
        yield from ("", f"| {' | '.join(f'{SYMBOLS[op]} {op.value}' for op in ORDER)} |", "|---:|---:|---:|---:|")
        yield f"| {' | '.join(str(counts[op]) for op in ORDER)} |"
    yield from (line for told in partly(found.left_out) for line in ("", told))


def marker(found: Review) -> str:
    """Return the hidden line by which a bot finds its own comment."""
    facts = json.dumps({"name": _cut(found.name, _LONGEST_NAME), "digest": _digest(found)})
    # Two hyphens or an angle bracket could end a comment of HTML, and some bots look for mentions in raw text.
    return f"<!-- sindplan plan {facts.translate(_IN_COMMENTS)} -->"


_IN_COMMENTS = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "-<>@"})


def _title(found: Review) -> str:
    if not found.entries:
        return "blocked" if found.blocked else NO_CHANGES
    replaced = found.counts[Operation.REPLACE]
    of_these = f" ({replaced} replacement{'s' if replaced > 1 else ''})" if replaced else ""
    return tally(found.counts) + of_these


def _destructive(found: Review) -> Iterator[str]:
    counts = found.counts
    gone = sum(counts[operation] for operation in DESTRUCTIVE)
    yield from ("", "> [!CAUTION]")
    yield f"> **{gone} resource{'s' if gone > 1 else ''} will be destroyed or replaced.**"
    lines = []
    for operation in DESTRUCTIVE:
        names = [_cut(str(entry.address)) for entry in found.entries if entry.operation is operation]
        lines += [_gone(operation, name) for name in fold(names)]
    if sum(map(_size, lines)) + len(lines) > _ROOM_FOR_NAMES:
        lines = [*_by_kind(found)]
    yield from _fitted(lines, _ROOM_FOR_NAMES, "lines of them", "> ")


def _by_kind(found: Review) -> Iterator[str]:
    """Yield what is destroyed and replaced by cluster and kind, where its names are too many."""
    groups: dict[tuple[Operation, str, str], list[str]] = {}
    for entry in found.entries:
        if entry.operation in DESTRUCTIVE:
            key = (entry.operation, str(entry.address.scope), entry.kind)
            groups.setdefault(key, []).append(_cut(str(entry.address)))
    # What holds somebody's work comes first.
    for (operation, scope, kind), names in sorted(groups.items(), key=lambda group: group[0][2] not in _PRECIOUS):
        if kind in _PRECIOUS:
            yield from (_gone(operation, name) for name in fold(names))
        else:
            yield f"> - {_TITLES[operation].lower()}: {len(names)} of the kind {code(_cut(kind))} in {code(_cut(scope))}"


def _gone(operation: Operation, name: str) -> str:
    return f"> - {_TITLES[operation].lower()}: {code(name)}"


def _remarks(remarks: Sequence[Remark]) -> Iterator[str]:
    for remark in sorted(remarks, key=lambda remark: not remark.blocks):
        word = "**Blocked**" if remark.blocks else "Warning"
        said = " ".join(" ".join(filter(None, (remark.what, remark.fix))).split())
        yield f"- {word}: {prose(_cut(said, _LONGEST_REMARK))}"


def _fitted(lines: Iterable[str], room: int, what: str, prefix: str = "") -> Iterator[str]:
    """Yield lines after an empty one, as many as there is room for, and how many there are more."""
    every = [*lines]
    if every:
        yield prefix.rstrip()
    for number, line in enumerate(every):
        room -= _size(line) + 1
        if room < 0:
            yield f"{prefix}- … and {len(every) - number} more {what}"
            return
        yield line


@frozen
class _Piece:
    """A block as lines of a fence: its heading, which stays as long as anything does, and its body, which gives way."""

    block: Block
    heading: tuple[str, ...]
    body: tuple[str, ...]

    @property
    def size(self) -> int:
        """Bytes of the heading."""
        return _size_of(self.heading)


def _details(found: Review, room: int) -> str:
    """Return the changes in sections that are folded, within so many bytes."""
    pieces = [_piece(block) for block in told(found)]
    longest = max((longest_run(line) for piece in pieces for line in (*piece.heading, *piece.body)), default=0)
    # A fence more than is there, for those of each section and the words around them.
    room -= (2 * max(longest + 1, 3) + 400) * len(ORDER)
    kept, left = _kept(pieces, room)
    sections = [_section(operation, found.counts[operation], kept, left) for operation in ORDER]
    return "".join(section for section in sections if section)


def _kept(pieces: Sequence[_Piece], room: int) -> tuple[list[tuple[_Piece, bool]], set[Operation]]:
    """Return the pieces that there is room for, each with whether its body is, and operations of which some are left out."""
    kept: list[tuple[_Piece, bool]] = []
    left: set[Operation] = set()
    for piece in pieces:
        if room >= piece.size:
            kept.append((piece, False))
            room -= piece.size
        else:
            left.add(piece.block.first.operation)
    for place, (piece, _) in enumerate(kept):
        # The words that stand for a body that is left out are counted with the heading.
        if (size := _size_of(piece.body)) <= room:
            kept[place] = (piece, True)
            room -= size
    return kept, left


def _section(operation: Operation, count: int, kept: Sequence[tuple[_Piece, bool]], left: set[Operation]) -> str:
    if not count:
        return ""
    lines: list[str] = []
    shown = 0
    for piece, whole in kept:
        if piece.block.first.operation is operation:
            shown += len(piece.block.entries)
            lines += ["", *piece.heading, *(piece.body if whole else [_CUT] if piece.body else [])]
    more = f"\n… and {count - shown} more, for which there is no room here.\n" if operation in left else ""
    opened = " open" if operation in DESTRUCTIVE else ""
    summary = f"{_TITLES[operation]}: {count}"
    body = f"{fence(lines[1:], 'diff')}\n" if lines else ""
    return f"\n<details{opened}><summary>{summary}</summary>\n\n{body}{more}\n</details>\n"


_CUT = "# (what changes of it is left out here: there is no room)"


def _piece(block: Block) -> _Piece:
    first = block.first
    sign = _HEADS[first.operation]
    heading = [f"{sign} {line}" for line in heading_lines(block, _cut)]
    return _Piece(
        block,
        (*heading, _cut(f"# ({first.reason})")),
        tuple(_cut(_signed(line)) for line in first.body),
    )


def _signed(line: str) -> str:
    """Return a line of a body whose sign colours it.

    A line without a sign is set in: GitLab has taken fences of three backticks within longer ones for their ends, and what followed
    at the beginning of a line for a command (`/merge`).
    """
    if line.startswith("~"):
        return f"!{line[1:]}"
    return line if line[:1] in _SIGNS else f" {line}"


def _cut(line: str, longest: int = _LONGEST_LINE) -> str:
    return line if len(line) <= longest else f"{line[:longest]}… ({len(line) - longest} more characters)"


def _foot(found: Review) -> Iterator[str]:
    if found.entries and not found.blocked and (digest := _digest(found)):
        yield f"To apply exactly this, with the options that it was planned with: `sindplan apply --approve {digest}`"
        yield ""
    said = [code(_cut(one, _LONGEST_NAME)) for one in (f"sindplan {found.version}".strip(), found.made) if one]
    yield f"<sub>{' · '.join(said)}</sub>"


def _digest(found: Review) -> str:
    """Return the digest, which stands in a command that people copy, if it is one."""
    return found.digest if _DIGEST.fullmatch(found.digest) else ""


def _size(text: str) -> int:
    return len(text.encode())


def _size_of(lines: Iterable[str]) -> int:
    return sum(_size(line) + 1 for line in lines) + len(_CUT) + 2
