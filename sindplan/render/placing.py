"""Where the boxes of a graph stand: a band for each cluster, columns from left to right, and lanes for arrows past other boxes.

Layers as Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures" (1981), have them. All
arrows of a box that pass a column share one lane there, so that none runs behind a box and many run together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from sindplan.render.picture import Box, Picture

WIDTH, GAP_X = 250, 60
_GAP_Y, _MARGIN, _HEADING = 14, 12, 24
_LANE = 2
_SWEEPS = 2


@frozen
class Place:
    """Where a box or a lane stands; all are equally wide."""

    x: int
    y: int
    height: int

    @property
    def right(self) -> int:
        """Where its arrows begin."""
        return self.x + WIDTH

    @property
    def middle(self) -> int:
        """How high its arrows begin and end."""
        return self.y + self.height // 2


@frozen
class Band:
    """What belongs to one cluster or mesh."""

    scope: str
    y: int
    height: int


@frozen(kw_only=True)
class Placed:
    """A picture with places.

    Attributes:
        trunks: By the id of a box the lanes that its arrows share, from left to right.
    """

    boxes: Mapping[str, Place]
    trunks: Mapping[str, Sequence[Place]]
    bands: Sequence[Band]
    width: int
    height: int

    def last(self, one: str, other: Place) -> Place:
        """Return where the last piece of an arrow to another box begins: at a lane, or at the box itself."""
        before = [lane for lane in self.trunks.get(one, ()) if lane.x < other.x]
        return before[-1] if before else self.boxes[one]


@frozen
class _Slot:
    """A place to be: of a box, or of a lane of its arrows."""

    box: Box
    level: int

    @property
    def key(self) -> tuple[str, int]:
        return self.box.id, self.level

    @property
    def is_lane(self) -> bool:
        return self.level != self.box.level


def placed(drawn: Picture, heights: Mapping[str, int]) -> Placed:
    """Return a picture with places.

    Args:
        heights: Of each box, by its id.
    """
    columns = _columns(drawn)
    scopes = [*drawn.scopes]
    _order(columns, [*_hops(drawn)], scopes)
    places: dict[tuple[str, int], Place] = {}
    bands: list[Band] = []
    y = _MARGIN
    rows: dict[str, dict[int, list[_Slot]]] = {scope: {} for scope in scopes}
    for level, column in enumerate(columns):
        for slot in column:
            rows[slot.box.scope].setdefault(level, []).append(slot)
    for scope, row in rows.items():
        end = max(_stack(slots, _x(level), y + _HEADING, heights, places) for level, slots in row.items())
        bands.append(Band(scope, y, end - y))
        y = end + _GAP_Y
    trunks: dict[str, list[Place]] = {}
    for slot in (slot for column in columns for slot in column if slot.is_lane):
        trunks.setdefault(slot.box.id, []).append(places[slot.key])
    return Placed(
        boxes={box.id: places[box.id, box.level] for box in drawn.boxes},
        trunks=trunks,
        bands=bands,
        width=_x(len(columns)) - GAP_X + _MARGIN,
        height=y - _GAP_Y + _MARGIN,
    )


def _x(level: int) -> int:
    return 2 * _MARGIN + level * (WIDTH + GAP_X)


def _stack(
    slots: Iterable[_Slot], x: int, y: int, heights: Mapping[str, int], places: dict[tuple[str, int], Place]
) -> int:
    """Place what is in one column of one band, and return where it ends."""
    for slot in slots:
        height = _LANE if slot.is_lane else heights[slot.box.id]
        places[slot.key] = Place(x, y, height)
        y += height + _GAP_Y
    return y


def _columns(drawn: Picture) -> list[list[_Slot]]:
    level_of = {box.id: box.level for box in drawn.boxes}
    reach: dict[str, int] = {}
    for one, other in drawn.arrows:
        reach[one] = max(reach.get(one, 0), level_of[other])
    columns: list[list[_Slot]] = [[] for _ in range(max(level_of.values(), default=-1) + 1)]
    for box in drawn.boxes:
        columns[box.level].append(_Slot(box, box.level))
        for level in range(box.level + 1, reach.get(box.id, 0)):
            columns[level].append(_Slot(box, level))
    return columns


def _hops(drawn: Picture) -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
    """Yield the pieces of all arrows, each from a column to the next one."""
    level_of = {box.id: box.level for box in drawn.boxes}
    seen: set[tuple[str, int]] = set()
    for one, other in drawn.arrows:
        for level in range(level_of[one] + 1, level_of[other]):
            if (one, level) not in seen:
                seen.add((one, level))
                yield (one, level - 1), (one, level)
        yield (one, level_of[other] - 1), (other, level_of[other])


def _order(
    columns: list[list[_Slot]], hops: Sequence[tuple[tuple[str, int], tuple[str, int]]], scopes: Sequence[str]
) -> None:
    """Sort each column so that few arrows cross: by where what is before it stands, then by what is after it, and again."""
    rank = {scope: number for number, scope in enumerate(scopes)}
    left: dict[tuple[str, int], list[tuple[str, int]]] = {}
    right: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for one, other in hops:
        left.setdefault(other, []).append(one)
        right.setdefault(one, []).append(other)
    height: dict[tuple[str, int], float] = {}

    def sort(column: list[_Slot], beside: Mapping[tuple[str, int], Sequence[tuple[str, int]]]) -> None:
        def wish(slot: _Slot) -> tuple[int, bool, float]:
            near = [height[key] for key in beside.get(slot.key, ()) if key in height]
            here = sum(near) / len(near) if near else height.get(slot.key, 0.0)
            return rank[slot.box.scope], not slot.box.tasks, here

        column.sort(key=wish)
        # From 0 to 1, so that long columns compare with short ones.
        height.update({slot.key: number / len(column) for number, slot in enumerate(column)})

    for _ in range(_SWEEPS):
        for column in columns:
            sort(column, left)
        for column in reversed(columns):
            sort(column, right)
