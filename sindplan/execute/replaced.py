"""What an apply replaced, when it is taken back: what is not done is put back, what is stays."""

from attrs import evolve

from sindplan.kinds.mesh_container import MeshContainer
from sindplan.kinds.node_resource import Node
from sindplan.model.resource import State

_REPLACED = (Node, MeshContainer)
"""Whose predecessors stand by while they prove themselves."""


def with_successors(start: State, goal: State) -> State:
    """Return what there is, with those whose predecessor still stands by shown as that one with a successor.

    Nothing else of them has to be compared then: the container that the goal means is there.
    """
    return {
        address: (
            evolve(before, successor=resource.id)
            if isinstance(resource, _REPLACED)
            and resource.aside
            and isinstance(before := goal.get(address), _REPLACED)
            and before.id == resource.aside
            else resource
        )
        for address, resource in start.items()
    }


def with_replacements_kept(goal: State, start: State, token: str) -> tuple[State, tuple[str, ...]]:
    """Return the goal with what was replaced for good, with what it needs, and a sentence on each.

    Args:
        token: Of the run that is taken back.
    """
    kept = {
        address: resource
        for address, resource in start.items()
        if isinstance(resource, _REPLACED)
        and resource.run == token
        and isinstance(before := goal.get(address), _REPLACED)
        and before.id not in (resource.id, resource.aside)
    }
    found = dict(goal)
    for address, node in kept.items():
        found[address] = node
        for needed in node.needs & start.keys():
            found.setdefault(needed, start[needed])
    return found, tuple(f"{address} was replaced, and stays so" for address in sorted(kept))
