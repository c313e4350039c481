"""A plan as one page for a browser: the graph, every action with its reasons and diffs, and filters.

It is read from a file, loads nothing, and runs no script but its own: its policy names style and script by their hashes.
Everything in it that others wrote is text.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape

from sindplan.model.kind import Operation
from sindplan.render.node_sets import fold
from sindplan.render.picture import Box, Picture, picture
from sindplan.render.report_script import SCRIPT
from sindplan.render.report_style import STYLE
from sindplan.render.review import DESTRUCTIVE, ORDER, Block, Entry, Review, blocks
from sindplan.render.svg import svg
from sindplan.render.text import NO_CHANGES, SYMBOLS, heading_lines, summary

_CLASSES = {
    Operation.DELETE: "gone",
    Operation.REPLACE: "gone",
    Operation.UPDATE: "changed",
    Operation.CREATE: "new",
}
_WAITS_SHOWN = 12
"""Actions that are named as waited for; the graph shows the rest."""


def html(found: Review) -> str:
    """Return a plan as a page."""
    drawn = picture(found)
    name = f"sindplan {found.name}".strip()
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">',
            '<meta name="viewport" content="width=device-width">\n<meta name="referrer" content="no-referrer">',
            f"<title>{escape(name)}: {_title(found)}</title>",
            f"<style>{STYLE}</style>\n</head>\n<body>",
            *_header(found),
            *(_plan(found, drawn) if found.entries else ()),
            "</body>\n</html>\n",
        ]
    )


def _policy() -> str:
    return f"default-src 'none'; style-src '{_hash(STYLE)}'; script-src '{_hash(SCRIPT)}'; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def _title(found: Review) -> str:
    return " ".join(summary(found.counts)) if found.entries else "Blocked." if found.blocked else NO_CHANGES


def _header(found: Review) -> Iterator[str]:
    name = f" <code>{escape(found.name)}</code>" if found.name else ""
    yield f'<header>\n<h1>sindplan{name}</h1>\n<p id="summary"><strong>{_title(found)}</strong></p>'
    said = (found.made, f"sindplan {found.version}" if found.version else "", found.digest if found.entries else "")
    yield f'<p class="dim">{" · ".join(f"<code>{escape(one)}</code>" for one in said if one)}</p>\n</header>'
    for remark in sorted(found.remarks, key=lambda remark: not remark.blocks):
        word, mark = ("Blocked", "gone") if remark.blocks else ("Warning", "changed")
        text = "\n".join(filter(None, (remark.what, remark.fix)))
        yield f'<div class="note {mark}"><strong>{word}:</strong> {escape(text)}</div>'
    yield from _listed("New nodes get privileges", "changed", map(escape, found.privileges))
    gone = [str(entry.address) for entry in found.entries if entry.operation in DESTRUCTIVE]
    title = f"{len(gone)} resource{'s' if len(gone) != 1 else ''} will be destroyed or replaced"
    yield from _listed(title, "gone", (f"<code>{escape(one)}</code>" for one in fold(gone)))


def _listed(title: str, mark: str, items: Iterable[str]) -> Iterator[str]:
    if inner := "".join(f"<li>{item}</li>" for item in items):
        yield f'<div class="note {mark}"><strong>{title}:</strong><ul>{inner}</ul></div>'


def _plan(found: Review, drawn: Picture) -> Iterator[str]:
    worst = {box.id: _worst(box) for box in drawn.boxes}
    anchors = {box.id: f"t{box.tasks[0]}" if box.tasks else box.id for box in drawn.boxes}
    yield f'<h2>Graph</h2>\n<div id="graph" tabindex="0">\n{svg(drawn, worst, anchors)}\n</div>'
    yield f"<h2>Actions</h2>\n{_filters(found, drawn)}"
    yield '<ol id="actions">'
    yield from _items(found, drawn)
    yield f"</ol>\n<script>{SCRIPT}</script>"


def _worst(box: Box) -> str:
    mark = next((_CLASSES[operation] for operation in ORDER if operation in box.operations), "")
    return f"{mark} along".strip() if not box.tasks else mark


def _filters(found: Review, drawn: Picture) -> str:
    marks = "".join(
        f'<label><input type="checkbox" name="operation" value="{operation.value}" checked> '
        f'<span class="{_CLASSES[operation]}">{escape(SYMBOLS[operation])} {operation.value} {count}</span></label>'
        for operation in ORDER
        if (count := found.counts[operation])
    )
    scopes = "".join(f'<option value="{escape(scope)}">{escape(scope)}</option>' for scope in drawn.scopes)
    return (
        '<form id="filters" hidden>\n'
        '<input type="search" name="find" placeholder="Find by name, action or reason" aria-label="Find">'
        f"{marks}\n"
        f'<select name="scope" aria-label="Cluster"><option value="">all clusters</option>{scopes}</select>\n'
        '<button type="button" id="open">Open or close</button> <button type="reset">Show all</button> '
        '<output id="shown"></output>\n</form>'
    )


def _items(found: Review, drawn: Picture) -> Iterator[str]:
    entries = {str(entry.address): entry for entry in found.entries}
    box_of = {position: box for box in drawn.boxes for position in box.tasks}
    number_of = {task.id: position for position, task in enumerate(found.tasks)}
    told: dict[str, int] = {}
    for position, task in enumerate(found.tasks):
        own = [entries[str(address)] for address in task.addresses if str(address) in entries]
        waits = [number_of[need] for need in task.needs if need in number_of]
        inner = [_waits(waits), *_changes(own, position, told)]
        says = f'<span class="dim">#{position + 1}</span> {escape(task.says)}'
        yield _item(f"t{position}", box_of[position].id, task.scope, says, task.says, own, inner)
    for block, box in zip(_along(found, told), (box for box in drawn.boxes if not box.tasks), strict=True):
        own = [*block.entries]
        yield _item(box.id, box.id, box.scope, escape(box.says), box.says, own, [_block(block)])


def _along(found: Review, told: Mapping[str, int]) -> list[Block]:
    return blocks([entry for entry in found.entries if str(entry.address) not in told])


def _item(anchor: str, box: str, scope: str, title: str, says: str, own: Sequence[Entry], inner: Iterable[str]) -> str:
    operations = " ".join(operation.value for operation in ORDER if any(one.operation is operation for one in own))
    reasons = dict.fromkeys(entry.reason for entry in own)
    text = " ".join([says, scope, *(str(entry.address) for entry in own), *reasons]).lower()
    names = "".join(
        f'<code class="{_CLASSES[operation]}">{escape(SYMBOLS[operation])} {escape(name)}</code>'
        for operation in ORDER
        for name in fold(str(entry.address) for entry in own if entry.operation is operation)
    )
    return (
        f'<li id="{anchor}" data-box="{box}" data-operations="{operations}" data-scope="{escape(scope)}" '
        f'data-text="{escape(text)}"><details><summary>{title} {names}</summary>\n'
        f'<div class="inner">{"".join(inner)}</div></details></li>'
    )


def _waits(waits: Sequence[int]) -> str:
    if not waits:
        return '<p class="dim">Waits for nothing.</p>'
    links = ", ".join(f'<a href="#t{one}">#{one + 1}</a>' for one in waits[:_WAITS_SHOWN])
    more = f" and {len(waits) - _WAITS_SHOWN} more" if len(waits) > _WAITS_SHOWN else ""
    return f'<p class="dim">Waits for {links}{more}.</p>'


def _changes(own: Sequence[Entry], position: int, told: dict[str, int]) -> Iterator[str]:
    """Yield what an action does to its resources; what an earlier one has told is only linked to."""
    fresh = [entry for entry in own if told.setdefault(str(entry.address), position) == position]
    yield from map(_block, blocks(fresh))
    earlier = sorted({told[str(entry.address)] for entry in own} - {position})
    if earlier:
        links = ", ".join(f'<a href="#t{one}">#{one + 1}</a>' for one in earlier[:_WAITS_SHOWN])
        yield f'<p class="dim">What changes is told at {links}.</p>'


def _block(block: Block) -> str:
    first = block.first
    names = "<br>".join(f"<code>{escape(line)}</code>" for line in heading_lines(block))
    body = f"<pre>{''.join(map(_line, first.body))}</pre>" if first.body else ""
    return f'<div class="block"><p>{names}</p><p>{escape(first.reason)}</p>{body}</div>'


def _line(line: str) -> str:
    match line[:1]:
        case "+":
            return f"<ins>{escape(line)}</ins>\n"
        case "-":
            return f"<del>{escape(line)}</del>\n"
        case "~":
            return f'<span class="changed">{escape(line)}</span>\n'
        case "#" | "@":
            return f'<span class="dim">{escape(line)}</span>\n'
        case _:
            return f"{escape(line)}\n"
