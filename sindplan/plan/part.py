"""A part of a plan: what is targeted with all that it needs, without what is excluded and all that needs that.

What is left is closed: nothing in it needs what was left out. So it can be applied, and the rest later.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from sindplan.model.address import Address, below_any
from sindplan.model.kind import Kind, scope_of
from sindplan.plan.graph import dependencies
from sindplan.plan.plan import Change


@frozen(kw_only=True)
class Part:
    """Which part of a plan is wanted.

    Attributes:
        targets: Addresses or prefixes of what is wanted; everything unless some are named.
        excluded: Addresses or prefixes of what is not.
    """

    targets: tuple[Address, ...] = ()
    excluded: tuple[Address, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.targets or self.excluded)


ALL = Part()


def part_of(changes: Sequence[Change], kinds: Mapping[str, Kind], part: Part) -> tuple[Change, ...]:
    """Return the changes of a part, in their order."""
    if not part:
        return tuple(changes)
    needs = dependencies(changes, kinds)
    needed_by: dict[Address, set[Address]] = defaultdict(set)
    for address, needed in needs.items():
        for one in needed:
            needed_by[one].add(address)
    wanted = _reached([one.address for one in changes if not part.targets or _is_of(one, part.targets)], needs)
    unwanted = _reached([one.address for one in changes if _is_of(one, part.excluded)], needed_by)
    return tuple(change for change in changes if change.address in wanted - unwanted)


def _is_of(change: Change, named: Iterable[Address]) -> bool:
    """Say whether a change is below an address; a cluster's lines in its realm's mesh are the cluster's, too."""
    return below_any(change.address, named) or below_any(scope_of(change.address, change.resource), named)


def _reached(start: Iterable[Address], to: Mapping[Address, Iterable[Address]]) -> set[Address]:
    found: set[Address] = set()
    left = [*start]
    while left:
        address = left.pop()
        if address not in found:
            found.add(address)
            left += to.get(address, ())
    return found
