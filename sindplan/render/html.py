"""A plan as one page for a browser: the graph, every action with its reasons and diffs, and filters.

It is read from a file, loads nothing, and runs no script but its own: its policy names style and script by their hashes.
Everything in it that others wrote is text. Of a large plan, equal actions are one entry, as they are one box of the graph.
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
from sindplan.render.review import DESTRUCTIVE, ORDER, Block, Review, blocks
from sindplan.render.svg import svg
from sindplan.render.text import SYMBOLS, VERDICTS, headline

DRAWN = 1_000
"""Boxes of a graph that is still drawn."""
_CLASSES = {
    Operation.DELETE: "gone",
    Operation.REPLACE: "gone",
    Operation.UPDATE: "changed",
    Operation.CREATE: "new",
}
_LINKS = 12
"""Others that are linked to; the graph shows the rest."""
_OPEN = 8
"""Actions of a plan whose details are open from the start."""
_SIGNS = {"+": "ins", "-": "del"}


def html(found: Review) -> str:
    """Return a plan as a page."""
    drawn = picture(found)
    name = f"sindplan {found.name}".strip()
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">',
            '<meta name="viewport" content="width=device-width">\n<meta name="referrer" content="no-referrer">',
            f"<title>{escape(name)}: {headline(found)}</title>",
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


def _header(found: Review) -> Iterator[str]:
    name = f" <code>{escape(found.name)}</code>" if found.name else ""
    yield f'<header>\n<h1>sindplan{name}</h1>\n<p id="summary"><strong>{headline(found)}</strong></p>'
    said = (found.made, f"sindplan {found.version}" if found.version else "", found.digest if found.entries else "")
    if any(said):
        yield f'<p class="dim">{" · ".join(f"<code>{escape(one)}</code>" for one in said if one)}</p>'
    for remark in sorted(found.remarks, key=lambda remark: not remark.blocks):
        word, mark = ("Blocked", "gone") if remark.blocks else ("Warning", "changed")
        text = "\n".join(filter(None, (remark.what, remark.fix)))
        yield f'<div class="note {mark}"><strong>{word}:</strong> {escape(text)}</div>'
    yield from _listed("New nodes get privileges", "changed", map(escape, found.privileges))
    gone = [str(entry.address) for entry in found.entries if entry.operation in DESTRUCTIVE]
    title = f"{len(gone)} resource{'s' if len(gone) != 1 else ''} will be destroyed or replaced"
    yield from _listed(title, "gone", (f"<code>{escape(one)}</code>" for one in fold(gone)))
    yield "</header>"


def _listed(title: str, mark: str, items: Iterable[str]) -> Iterator[str]:
    if inner := "".join(f"<li>{item}</li>" for item in items):
        yield f'<div class="note {mark}"><strong>{title}:</strong><ul>{inner}</ul></div>'


def _plan(found: Review, drawn: Picture) -> Iterator[str]:
    yield '<a class="skip" href="#actions-title">Skip to the actions</a>\n<main>'
    yield '<section aria-labelledby="graph-title">\n<h2 id="graph-title">Graph</h2>'
    yield from _graph(drawn)
    yield '</section>\n<section aria-labelledby="actions-title">\n<h2 id="actions-title">Actions</h2>'
    yield from _filters(found, drawn)
    yield '<ol id="actions">'
    yield from _items(drawn)
    yield f"</ol>\n</section>\n</main>\n<script>{SCRIPT}</script>"


def _graph(drawn: Picture) -> Iterator[str]:
    if len(drawn.boxes) > DRAWN:
        yield f"<p>The {len(drawn.boxes)} actions are too many to draw here: <code>sindplan graph</code> has them.</p>"
        return
    worst = {box.id: _worst(box) for box in drawn.boxes}
    anchors = {box.id: f"t{number}" for number, box in enumerate(drawn.boxes)}
    yield f'<div id="graph" role="region" aria-label="Graph" tabindex="0">\n{svg(drawn, worst, anchors)}\n</div>'
    notes = ["What comes from the left is waited for."]
    if any(not box.tasks for box in drawn.boxes):
        notes.append("Dashed: needs no action of its own.")
    if any(box.final for box in drawn.boxes):
        notes.append("Bold: from here on nothing of its cluster is taken back when something fails.")
    yield f'<p class="dim">{" ".join(notes)} <button type="button" id="fit" aria-pressed="false" hidden>Fit to width</button></p>'


def _worst(box: Box) -> str:
    mark = next((_CLASSES[operation] for operation in ORDER if operation in box.operations), "")
    return f"{mark} along".strip() if not box.tasks else mark


def _filters(found: Review, drawn: Picture) -> Iterator[str]:
    yield '<form id="filters" hidden>'
    yield '<input type="search" name="find" placeholder="Find in names, reasons and diffs" aria-label="Find">'
    yield '<fieldset><legend class="unseen">Show actions that</legend>'
    for operation in ORDER:
        if count := found.counts[operation]:
            label = f'<span class="{_CLASSES[operation]}">{escape(SYMBOLS[operation])} {operation.value} {count}</span>'
            yield f'<label><input type="checkbox" name="operation" value="{operation.value}" checked> {label}</label>'
    yield "</fieldset>"
    if len(drawn.scopes) > 1:
        scopes = "".join(f'<option value="{escape(scope)}">{escape(scope)}</option>' for scope in drawn.scopes)
        yield f'<select name="scope" aria-label="Cluster"><option value="">all clusters</option>{scopes}</select>'
    yield '<button type="button" id="open">Open all</button> <button type="reset">Show all</button>'
    yield f'<output id="shown">{len(drawn.boxes)} of {len(drawn.boxes)} shown</output>\n</form>'


def _items(drawn: Picture) -> Iterator[str]:
    number_of = {box.id: number for number, box in enumerate(drawn.boxes)}
    needs: dict[str, list[int]] = {}
    for one, other in drawn.arrows:
        needs.setdefault(other, []).append(number_of[one])
    told: dict[str, int] = {}
    opened = " open" if len(drawn.boxes) <= _OPEN else ""
    for number, box in enumerate(drawn.boxes):
        waits = _links("Waits for", sorted(needs.get(box.id, ()))) or "Waits for nothing." if box.tasks else ""
        inner = [f'<p class="dim">{waits}</p>' if waits else "", *_changes(box, number, told)]
        yield (
            f'<li id="t{number}" data-box="{box.id}" data-scope="{escape(box.scope)}" '
            f'data-operations="{" ".join(operation.value for operation in box.operations)}">'
            f'<details{opened}><summary><span class="dim">#{number + 1}</span> {escape(box.says)}{_times(box)}{_names(box)}</summary>\n'
            f'<div class="inner">{"".join(inner)}</div></details></li>'
        )


def _times(box: Box) -> str:
    return f' <span class="dim">&times;{len(box.tasks)}</span>' if len(box.tasks) > 1 else ""


def _names(box: Box) -> str:
    return "".join(
        f' <code class="{_CLASSES[operation]}">{escape(SYMBOLS[operation])} {escape(name)}</code>'
        for operation, name in box.names
    )


def _links(words: str, numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    links = ", ".join(f'<a href="#t{one}">#{one + 1}</a>' for one in numbers[:_LINKS])
    more = f" and {len(numbers) - _LINKS} more" if len(numbers) > _LINKS else ""
    return f"{words} {links}{more}."


def _changes(box: Box, number: int, told: dict[str, int]) -> Iterator[str]:
    """Yield what an action does to its resources; what an earlier one has told is only linked to."""
    fresh = [entry for entry in box.entries if told.setdefault(str(entry.address), number) == number]
    yield from map(_block, blocks(fresh))
    if earlier := _links("What changes is told at", sorted(_earlier(box, told) - {number})):
        yield f'<p class="dim">{earlier}</p>'


def _earlier(box: Box, told: Mapping[str, int]) -> set[int]:
    return {told[str(entry.address)] for entry in box.entries}


def _block(block: Block) -> str:
    first = block.first
    names = "<br>".join(f"<code>{escape(name)}</code>" for name in fold(block.names))
    count = f" ({len(block.entries)} resources)" if len(block.entries) > 1 else ""
    body = f"<pre>{''.join(map(_line, first.body))}</pre>" if first.body else ""
    return (
        f'<div class="block" data-operation="{first.operation.value}">'
        f'<p>{names} <span class="{_CLASSES[first.operation]}">{VERDICTS[first.operation]}{count}</span></p>'
        f'<p class="reason">{escape(first.reason)}</p>{body}</div>'
    )


def _line(line: str) -> str:
    match line[:1]:
        case "+" | "-" as sign:
            # The line's end is within, as both are blocks.
            return f"<{_SIGNS[sign]}>{escape(line)}\n</{_SIGNS[sign]}>"
        case "~":
            return f'<span class="changed">{escape(line)}</span>\n'
        case "#" | "@":
            return f'<span class="dim">{escape(line)}</span>\n'
        case _:
            return f"{escape(line)}\n"
