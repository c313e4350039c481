"""What differs between two states, and why."""

from collections.abc import Callable, Collection, Mapping

from attrs import field, frozen

from sindplan.model.address import Address, below_any
from sindplan.model.kind import Operation
from sindplan.model.resource import Cost, FieldChange, Resource, State, difference
from sindplan.plan.plan import Change


@frozen(kw_only=True)
class Observed:
    """What exists.

    Attributes:
        state: Resources by address.
        unknown: Prefixes below which nothing could be read, such as the services of a node that does not run. What is
            wanted there is not missed: starting the node brings it.
    """

    state: State = field(factory=dict)
    unknown: frozenset[Address] = frozenset()


Reason = Callable[[Address, Operation], str]
"""Says why an address changes."""


def changes(desired: State, observed: Observed, reason: Reason, carried: Collection[str] = ()) -> tuple[Change, ...]:
    """Return the changes that lead from what is observed to what is desired, by address.

    Args:
        carried: Kinds that come along with their host when it is made anew.
    """
    found: dict[Address, Change] = {}
    for address in sorted({*desired, *observed.state}):
        before, after = observed.state.get(address), desired.get(address)
        operation, fields = _compare(before, after)
        if operation is not None:
            found[address] = Change(
                address=address,
                operation=operation,
                before=before,
                after=after,
                fields=fields,
                reason=reason(address, operation),
            )
    return tuple(change for change in found.values() if not _implied(change, found, observed.unknown, carried))


def _compare(before: Resource | None, after: Resource | None) -> tuple[Operation | None, tuple[FieldChange, ...]]:
    if before is None:
        return Operation.CREATE, ()
    if after is None:
        return Operation.DELETE, ()
    fields = difference(before, after)
    if any(change.cost is Cost.REPLACE for change in fields):
        return Operation.REPLACE, fields
    return (Operation.UPDATE if fields else None), fields


def _implied(
    change: Change, found: Mapping[Address, Change], unknown: Collection[Address], carried: Collection[str]
) -> bool:
    """Say whether what happens to the host brings this change about without a word of its own.

    A node that is started, or replaced, brings up its services; one that is stopped takes them down. They stay in the plan when
    the node itself comes or goes, so that every resource that comes or goes is counted.
    """
    host = change.resource.host
    carrier = found.get(host) if host is not None else None
    if carrier is not None and carrier.operation is Operation.REPLACE and change.resource.KIND in carried:
        return True
    if carrier is not None and (
        carrier.operation is not Operation.UPDATE or any(field.name == "made" for field in carrier.fields)
    ):
        # What is replaced was there, and what it carries, too, though nobody could be asked.
        was_there = carrier.operation is Operation.REPLACE and below_any(change.address, unknown)
        return change.resource.SILENT or was_there
    if below_any(change.address, unknown):
        return True
    if (
        carrier is None
        or not change.resource.FOLLOWS_POWER
        or not any(field.name in ("power", "successor") for field in carrier.fields)
    ):
        return False
    # What goes while its host comes up does not go by itself, nor does anything come while it goes down.
    return (change.operation is Operation.DELETE) != (getattr(carrier.after, "power", "") == "running")
