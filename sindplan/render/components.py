"""Graphs as lists: for each node, by its number, the nodes that come before it."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

Before = Sequence[AbstractSet[int]]


def components(before: Before) -> list[list[int]]:
    """Return the nodes that come before one another together, in an order in which all that comes before comes first.

    Tarjan, "Depth-first search and linear graph algorithms" (1972), without recursion: graphs are deeper than Python's stack.
    """
    found: list[list[int]] = []
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    open_: list[int] = []
    is_open: set[int] = set()
    for root in range(len(before)):
        if root in index:
            continue
        walk: list[tuple[int, Iterator[int]]] = []
        _enter(root, before, index, low, open_, is_open, walk)
        while walk:
            node, rest = walk[-1]
            for need in rest:
                if need not in index:
                    _enter(need, before, index, low, open_, is_open, walk)
                    break
                if need in is_open:
                    low[node] = min(low[node], index[need])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
                if low[node] == index[node]:
                    found.append(_closed(node, open_, is_open))
    return found


def _enter(
    node: int,
    before: Before,
    index: dict[int, int],
    low: dict[int, int],
    open_: list[int],
    is_open: set[int],
    walk: list[tuple[int, Iterator[int]]],
) -> None:
    index[node] = low[node] = len(index)
    open_.append(node)
    is_open.add(node)
    walk.append((node, iter(sorted(before[node]))))


def _closed(node: int, open_: list[int], is_open: set[int]) -> list[int]:
    # What was opened last is closed first: from the end it is near.
    place = len(open_) - 1 - open_[::-1].index(node)
    members = sorted(open_[place:])
    del open_[place:]
    is_open.difference_update(members)
    return members


def levels(before: Before) -> list[int]:
    """Return the length of the longest way to each node. All that comes before a node must have a lower number."""
    found: list[int] = []
    for needs in before:
        found.append(max((found[need] + 1 for need in needs), default=0))
    return found


def reduced(before: Before) -> list[set[int]]:
    """Return the graph without what follows from the rest. All that comes before a node must have a lower number."""
    # One bit a node: what comes before it, at any distance.
    earlier: list[int] = []
    found: list[set[int]] = []
    for needs in before:
        kept: set[int] = set()
        all_ = 0
        # What another need comes after is met later, as its number is lower.
        for need in sorted(needs, reverse=True):
            if not all_ >> need & 1:
                kept.add(need)
                all_ |= earlier[need] | 1 << need
        earlier.append(all_)
        found.append(kept)
    return found
