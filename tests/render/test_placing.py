"""Laws of where the boxes of a graph stand, for any graph."""

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from sindplan.render.components import levels
from sindplan.render.picture import Box, Picture
from sindplan.render.placing import GAP_X, WIDTH, Place, placed
from tests.strategies import SETTINGS


@st.composite
def pictures(draw: st.DrawFn) -> Picture:
    """Draw a graph of a few boxes in some clusters."""
    count = draw(st.integers(1, 14))
    before = [draw(st.sets(st.integers(0, number - 1), max_size=4)) if number else set() for number in range(count)]
    boxes = tuple(
        Box(
            id=f"a{number}",
            tasks=(number,) if before[number] or draw(st.booleans()) else (),
            says="creating",
            entries=(),
            names=(),
            scope=draw(st.sampled_from(("sind/@mesh", "sind/dev", "lab/dev"))),
            operations=(),
            level=level,
        )
        for number, level in enumerate(levels(before))
    )
    return Picture(
        boxes, tuple((f"a{need}", f"a{number}") for number, own in enumerate(before) for need in sorted(own))
    )


@SETTINGS
@given(pictures(), st.data())
def test_nothing_stands_on_anything_else(drawn: Picture, data: st.DataObject) -> None:
    heights = {box.id: data.draw(st.integers(20, 80)) for box in drawn.boxes}
    where = placed(drawn, heights)
    lanes = [lane for trunk in where.trunks.values() for lane in trunk]
    everything = [*where.boxes.values(), *lanes]

    assert not [pair for pair in combinations(everything, 2) if _overlap(*pair)]
    for place in everything:
        assert place.x >= 0
        assert place.right <= where.width
        assert place.y >= 0
        assert place.y + place.height <= where.height
    assert {box.id: where.boxes[box.id].height for box in drawn.boxes} == heights
    assert placed(drawn, heights) == where


@SETTINGS
@given(pictures())
def test_clusters_have_bands_of_their_own(drawn: Picture) -> None:
    where = placed(drawn, dict.fromkeys((box.id for box in drawn.boxes), 40))
    bands = {band.scope: band for band in where.bands}

    assert {*bands} == {box.scope for box in drawn.boxes}
    for one, other in combinations(where.bands, 2):
        assert one.y + one.height < other.y or other.y + other.height < one.y
    for box in drawn.boxes:
        band, place = bands[box.scope], where.boxes[box.id]
        assert band.y < place.y
        assert place.y + place.height < band.y + band.height


@SETTINGS
@given(pictures())
def test_every_arrow_goes_from_column_to_column(drawn: Picture) -> None:
    where = placed(drawn, dict.fromkeys((box.id for box in drawn.boxes), 40))
    column = WIDTH + GAP_X

    for one, other in drawn.arrows:
        end = where.boxes[other]
        way = [where.boxes[one], *(lane for lane in where.trunks.get(one, ()) if lane.x < end.x), end]
        assert [later.x - earlier.x for earlier, later in pairwise(way)] == [column] * (len(way) - 1)
        assert where.last(one, end) == way[-2]


def _overlap(one: Place, other: Place) -> bool:
    beside = one.right <= other.x or other.right <= one.x
    return not beside and one.y < other.y + other.height and other.y < one.y + one.height
