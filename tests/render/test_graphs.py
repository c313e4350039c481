"""Graphs for Graphviz and mermaid: each line is one that these languages have, whatever stands in a plan, and no arrow is lost."""

import subprocess
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import HealthCheck, given, settings

from sindplan.model.kind import Phase
from sindplan.render.dot import dot
from sindplan.render.mermaid import mermaid
from sindplan.render.review import Review, Task
from tests.programs import installed
from tests.render.read_back import dot_graph, mermaid_graph, of_dot, of_mermaid
from tests.render.reviews import reviews

LAW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
Read = Callable[[str], tuple[dict[str, list[str]], list[tuple[str, str]]]]
GRAPHS: Mapping[str, tuple[Callable[..., str], Read]] = {"dot": (dot, dot_graph), "mermaid": (mermaid, mermaid_graph)}


@LAW
@given(reviews())
def test_both_say_every_change_once_in_lines_that_are_theirs(found: Review) -> None:
    said = {(entry.operation.value, str(entry.address)) for entry in found.entries}

    assert of_dot(dot(found)) == of_mermaid(mermaid(found)) == said


def reachable(arrows: Sequence[tuple[str, str]], start: str) -> set[str]:
    """Return all boxes that come after one, and itself."""
    found, left = {start}, [start]
    while left:
        here = left.pop()
        for one, other in arrows:
            if one == here and other not in found:
                found.add(other)
                left.append(other)
    return found


@pytest.mark.parametrize("form", GRAPHS)
@LAW
@given(reviews())
def test_whatever_waits_is_reached_from_what_it_waits_for(form: str, found: Review) -> None:
    render, read = GRAPHS[form]
    boxes, arrows = read(render(found, whole=True))
    # In a picture of so few, each action is a box of its own, in their order.
    box_of = {task.id: f"a{number}" for number, task in enumerate(found.tasks)}

    assert set(box_of.values()) == {box for box in boxes if box.startswith("a")}
    for task in found.tasks:
        assert boxes[box_of[task.id]][0] == task.says
        for need in task.needs:
            assert box_of[task.id] in reachable(arrows, box_of[need])
    for one, other in arrows:
        assert one not in reachable([arrow for arrow in arrows if arrow != (one, other)], other), "no circles"
        rest = [arrow for arrow in arrows if arrow != (one, other)]
        assert other not in reachable(rest, one), "an arrow that follows from others is left out"


def chain(count: int) -> Review:
    tasks = [
        Task(
            id=f"{number}", step="x", says=f"doing {number}", phase=Phase.BUILD, scope="r/c",
            needs=tuple(str(before) for before in range(number)), addresses=(),
        )
        for number in range(count)
    ]  # fmt: skip
    return Review(entries=(), tasks=tuple(tasks))


@pytest.mark.parametrize("form", GRAPHS)
def test_arrows_that_follow_from_others_are_left_out(form: str) -> None:
    render, read = GRAPHS[form]

    boxes, arrows = read(render(chain(50)))

    assert len(boxes) == 50
    assert arrows == [(f"a{number}", f"a{number + 1}") for number in range(49)]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(reviews())
def test_graphviz_reads_it(found: Review) -> None:
    read = subprocess.run([installed("dot"), "-Tcanon"], input=dot(found).encode(), capture_output=True, check=False)

    assert (read.returncode, read.stderr) == (0, b"")
