"""The graph of a plan as boxes and arrows: what DOT, mermaid and the page for browsers draw.

Of a large plan, actions that are alike but for the number of a worker are one box. What happens to a resource without an action of
its own, because its node brings it along or takes it with it, is a box without arrows. Arrows that follow from others are left out.
"""

from collections.abc import Mapping, Sequence

from attrs import frozen

from sindplan.model.kind import Operation
from sindplan.plan.graph import BARRIER
from sindplan.render.components import components, levels, reduced
from sindplan.render.node_sets import NUMBERED, fold
from sindplan.render.review import ORDER, Entry, Review, Task, blocks

FOLDED_ABOVE = 60
"""Actions that are drawn one by one; of more, equal ones are one box."""
_EVERY_ARROW_ABOVE = 20_000
"""Boxes; of more, no arrow is left out, which would take too long to find out."""


@frozen(kw_only=True)
class Box:
    """One or several actions, or what comes along without one.

    Attributes:
        id: Unique in its picture, a letter and a number.
        tasks: Positions of the actions in the plan; none for what comes along.
        says: What is being done.
        entries: The resources, with what happens to them.
        names: The resources, folded, each with what happens to it.
        operations: What happens to them.
        level: How many boxes come before it, at the most, one after the other.
    """

    id: str
    tasks: tuple[int, ...]
    says: str
    entries: tuple[Entry, ...]
    names: tuple[tuple[Operation, str], ...]
    scope: str
    operations: tuple[Operation, ...]
    final: bool = False
    level: int = 0


@frozen
class Picture:
    """Boxes, those of the actions in an order that respects the arrows, and arrows to what waits."""

    boxes: tuple[Box, ...]
    arrows: tuple[tuple[str, str], ...]

    @property
    def scopes(self) -> Mapping[str, Sequence[Box]]:
        """The boxes of each cluster and mesh."""
        found: dict[str, list[Box]] = {}
        for box in self.boxes:
            found.setdefault(box.scope, []).append(box)
        return found


def picture(found: Review, *, whole: bool = False) -> Picture:
    """Return the graph of a plan; `whole` keeps every action apart."""
    groups = _groups(found.tasks, whole=whole or len(found.tasks) <= FOLDED_ABOVE)
    place = {position: number for number, group in enumerate(groups) for position in group}
    position_of = {task.id: position for position, task in enumerate(found.tasks)}
    needs: list[set[int]] = [set() for _ in groups]
    for position, task in enumerate(found.tasks):
        for need in task.needs:
            if need in position_of:
                needs[place[position]].add(place[position_of[need]])
    # Nodes that are replaced in turns wait for one another: together they are one box.
    merged = components(needs)
    number_of = {member: number for number, members in enumerate(merged) for member in members}
    before = [{number_of[need] for member in members for need in needs[member]} for members in merged]
    before = [{need for need in own if need != number} for number, own in enumerate(before)]
    depth = levels(before)
    if len(before) <= _EVERY_ARROW_ABOVE:
        before = reduced(before)
    entries = {str(entry.address): entry for entry in found.entries}
    boxes = [
        _box(
            number, sorted(position for member in members for position in groups[member]), found, entries, depth[number]
        )
        for number, members in enumerate(merged)
    ]
    arrows = [(f"a{need}", f"a{number}") for number, own in enumerate(before) for need in sorted(own)]
    return Picture((*boxes, *_along(found)), tuple(arrows))


def _groups(tasks: Sequence[Task], *, whole: bool) -> list[list[int]]:
    """Return the positions of actions that are one box."""
    groups: dict[object, list[int]] = {}
    for position, task in enumerate(tasks):
        one = len(task.addresses) == 1 and not whole
        alike = (
            (task.step, task.scope, task.final, NUMBERED.sub("worker-N", str(task.addresses[0]))) if one else position
        )
        groups.setdefault(alike, []).append(position)
    return [*groups.values()]


def _box(number: int, positions: Sequence[int], found: Review, entries: Mapping[str, Entry], level: int) -> Box:
    tasks = [found.tasks[position] for position in positions]
    addresses = dict.fromkeys(str(address) for task in tasks for address in task.addresses)
    touched = [entries[address] for address in addresses if address in entries]
    says = [*dict.fromkeys("all before is done" if task.step == BARRIER else task.says for task in tasks)]
    turns = ", in turns" if len(says) > 1 else ""
    return Box(
        id=f"a{number}",
        tasks=tuple(positions),
        says=", ".join(says) + turns,
        entries=tuple(touched),
        names=_names(touched),
        scope=tasks[0].scope,
        operations=_operations(touched),
        final=any(task.final for task in tasks),
        level=level,
    )


def _along(found: Review) -> list[Box]:
    worked_on = {str(address) for task in found.tasks for address in task.addresses}
    left = [entry for entry in found.entries if str(entry.address) not in worked_on]
    return [
        Box(
            id=f"c{number}",
            tasks=(),
            says="comes and goes with its node",
            entries=block.entries,
            names=_names(block.entries),
            scope=str(block.first.address.scope),
            operations=(block.first.operation,),
        )
        for number, block in enumerate(blocks(left))
    ]


def _names(entries: Sequence[Entry]) -> tuple[tuple[Operation, str], ...]:
    return tuple(
        (operation, name)
        for operation in ORDER
        for name in fold(str(entry.address) for entry in entries if entry.operation is operation)
    )


def _operations(entries: Sequence[Entry]) -> tuple[Operation, ...]:
    there = {entry.operation for entry in entries}
    return tuple(operation for operation in ORDER if operation in there)
