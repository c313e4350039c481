"""The graph of a plan as a drawing within a page: each column waits for those before it."""

from collections.abc import Iterator, Mapping
from html import escape

from sindplan.render.picture import Box, Picture
from sindplan.render.placing import GAP_X, WIDTH, Band, Place, Placed, placed
from sindplan.render.text import SYMBOLS

_LINE, _PADDING = 15, 8
_CHARACTERS = 35
"""What fits in a box, in a monospaced face of 11 pixels."""
_NAMES = 3
"""Names that a box shows, and ten times as many in its tooltip; the list has all of them."""

_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8">'
    '<path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>'
)


def svg(drawn: Picture, worst: Mapping[str, str], anchors: Mapping[str, str]) -> str:
    """Return a picture as an element of HTML.

    Args:
        worst: Class of each box, by its id.
        anchors: Id of the element that tells more of it, likewise.
    """
    where = placed(drawn, {box.id: 2 * _PADDING + _LINE * len(_lines(box)) for box in drawn.boxes})
    size = f'width="{where.width}" height="{where.height}" viewBox="0 0 {where.width} {where.height}"'
    return "\n".join(
        [
            f'<svg {size} role="group" aria-label="Graph of the actions">',
            _TIP,
            *(_band(band, where.width) for band in where.bands),
            *(_trunk(one, where) for one in where.trunks),
            *(_arrow(one, other, where) for one, other in drawn.arrows),
            *(_box(box, where.boxes[box.id], worst[box.id], anchors[box.id]) for box in drawn.boxes),
            "</svg>",
        ]
    )


def _lines(box: Box) -> list[str]:
    names = [f"{SYMBOLS[operation]} {name}" for operation, name in box.names]
    more = [f"… and {len(names) - _NAMES} more"] if len(names) > _NAMES else []
    return [_cut(line) for line in (box.says, *names[:_NAMES], *more)]


def _cut(line: str) -> str:
    # What tells names apart is at their ends.
    return line if len(line) <= _CHARACTERS else f"{line[:8]}…{line[-(_CHARACTERS - 9) :]}"


def _band(band: Band, width: int) -> str:
    return (
        f'<rect class="band" x="4" y="{band.y}" width="{width - 8}" height="{band.height}" rx="6"/>'
        f'<text class="scope" x="14" y="{band.y + 16}">{escape(band.scope)}</text>'
    )


def _box(box: Box, place: Place, worst: str, anchor: str) -> str:
    names = [f"{SYMBOLS[operation]} {name}" for operation, name in box.names]
    more = [f"… and {len(names) - 10 * _NAMES} more"] if len(names) > 10 * _NAMES else []
    tooltip = "\n".join([box.scope, box.says, *names[: 10 * _NAMES], *more])
    return "".join(
        [
            f'<a href="#{anchor}" data-box="{box.id}" class="box {worst}{" final" if box.final else ""}">',
            f"<title>{escape(tooltip)}</title>",
            f'<rect x="{place.x}" y="{place.y}" width="{WIDTH}" height="{place.height}" rx="5"/>',
            *_texts(box, place),
            "</a>",
        ]
    )


def _texts(box: Box, place: Place) -> Iterator[str]:
    for number, line in enumerate(_lines(box)):
        x, y = place.x + _PADDING, place.y + _PADDING + 11 + number * _LINE
        yield f'<text x="{x}" y="{y}"{" class=says" if number == 0 else ""}>{escape(line)}</text>'


def _trunk(one: str, where: Placed) -> str:
    """Return what the arrows of a box share."""
    here = where.boxes[one]
    pieces = [f"M{here.right} {here.middle}"]
    for lane in where.trunks[one]:
        pieces.append(f"{_curve(here, lane)}H{lane.right}")
        here = lane
    return f'<path class="arrow" data-from="{one}" d="{"".join(pieces)}"/>'


def _arrow(one: str, other: str, where: Placed) -> str:
    end = where.boxes[other]
    begin = where.last(one, end)
    way = f"M{begin.right} {begin.middle}{_curve(begin, end)}"
    return f'<path class="arrow" data-from="{one}" data-to="{other}" marker-end="url(#tip)" d="{way}"/>'


def _curve(one: Place, other: Place) -> str:
    bend = one.right + GAP_X // 2
    return f"C{bend} {one.middle} {bend} {other.middle} {other.x} {other.middle}"
