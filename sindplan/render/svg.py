"""The graph of a plan as a drawing within a page: columns from left to right, each waiting for those before it."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from attrs import frozen

from sindplan.render.picture import Box, Picture
from sindplan.render.text import SYMBOLS

WIDTH = 250
_GAP_X, _GAP_Y, _MARGIN = 60, 14, 10
_LINE, _PADDING = 15, 8
_CHARACTERS = 35
"""What fits in a box, in a monospaced face of 11 pixels."""
_NAMES = 3
"""Names that a box shows; all of them are in its tooltip, and in the list."""


@frozen
class _Place:
    """Where a box stands."""

    x: int
    y: int
    height: int


def svg(drawn: Picture, worst: Mapping[str, str], anchors: Mapping[str, str]) -> str:
    """Return a picture as an element of HTML.

    Args:
        worst: Class of each box, by its id.
        anchors: Id of the element that tells more of it, likewise.
    """
    places = _places(drawn)
    right = max((place.x for place in places.values()), default=0) + WIDTH + _MARGIN
    bottom = max((place.y + place.height for place in places.values()), default=0) + _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{right}" height="{bottom}" viewBox="0 0 {right} {bottom}" '
        'role="group" aria-label="Graph of the actions">'
    ]
    lines += [_arrow(places[one], places[other]) for one, other in drawn.arrows]
    lines += [_box(box, places[box.id], worst[box.id], anchors[box.id]) for box in drawn.boxes]
    return "\n".join([*lines, "</svg>"])


def _places(drawn: Picture) -> Mapping[str, _Place]:
    before: dict[str, list[str]] = {}
    for one, other in drawn.arrows:
        before.setdefault(other, []).append(one)
    columns: dict[int, list[Box]] = {}
    for box in drawn.boxes:
        columns.setdefault(box.level, []).append(box)
    places: dict[str, _Place] = {}
    for level in sorted(columns):
        y = _MARGIN
        for box in sorted(columns[level], key=lambda box: _wish(box, before, places)):
            height = 2 * _PADDING + _LINE * len(_lines(box))
            places[box.id] = _Place(_MARGIN + level * (WIDTH + _GAP_X), y, height)
            y += height + _GAP_Y
    return places


def _wish(box: Box, before: Mapping[str, Sequence[str]], places: Mapping[str, _Place]) -> tuple[bool, str, float]:
    """Return where in its column a box would be: what comes along last, clusters apart, and near to what it waits for."""
    heights = [places[need].y for need in before.get(box.id, ())]
    return not box.tasks, box.scope, sum(heights) / len(heights) if heights else 0


def _lines(box: Box) -> list[str]:
    names = [f"{SYMBOLS[operation]} {name}" for operation, name in box.names]
    more = [f"… and {len(names) - _NAMES} more"] if len(names) > _NAMES else []
    return [_cut(line) for line in (box.says, *names[:_NAMES], *more)]


def _cut(line: str) -> str:
    # What tells names apart is at their ends.
    return line if len(line) <= _CHARACTERS else f"{line[:8]}…{line[-(_CHARACTERS - 9) :]}"


def _box(box: Box, place: _Place, worst: str, anchor: str) -> str:
    tooltip = "\n".join([box.scope, box.says, *(f"{SYMBOLS[operation]} {name}" for operation, name in box.names)])
    return "".join(
        [
            f'<a href="#{anchor}" data-box="{box.id}" class="box {worst}{" final" if box.final else ""}">',
            f"<title>{escape(tooltip)}</title>",
            f'<rect x="{place.x}" y="{place.y}" width="{WIDTH}" height="{place.height}" rx="5"/>',
            *_texts(box, place),
            "</a>",
        ]
    )


def _texts(box: Box, place: _Place) -> Iterator[str]:
    for number, line in enumerate(_lines(box)):
        x, y = place.x + _PADDING, place.y + _PADDING + 11 + number * _LINE
        yield f'<text x="{x}" y="{y}"{" class=says" if number == 0 else ""}>{escape(line)}</text>'


def _arrow(one: _Place, other: _Place) -> str:
    x1, y1 = one.x + WIDTH, one.y + one.height // 2
    x2, y2 = other.x, other.y + other.height // 2
    bend = _GAP_X // 2
    return f'<path class="arrow" d="M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"/>'
