"""The planner: one pure function for every command.

plan, apply       make_plan(desired(declaration), observed)
destroy           make_plan({}, observed)
taking back       make_plan(observed before, observed now)
"""

from collections.abc import Mapping

from sindplan.model.address import Address
from sindplan.model.kind import Kind, Operation
from sindplan.model.resource import State
from sindplan.plan.diff import Observed, Reason, changes
from sindplan.plan.graph import actions
from sindplan.plan.part import ALL, Part, part_of
from sindplan.plan.plan import Plan

_REASONS = {
    Operation.CREATE: "declared, and not there",
    Operation.DELETE: "there, and no longer declared",
}


def plain_reason(_: Address, operation: Operation) -> str:
    """Say why a change is needed when nothing is known of what was applied before."""
    return _REASONS.get(operation, "differs from the declaration")


def make_plan(
    desired: State,
    observed: Observed,
    kinds: Mapping[str, Kind],
    reason: Reason = plain_reason,
    part: Part = ALL,
) -> Plan:
    """Return the plan that leads from what is observed to what is desired.

    Args:
        kinds: What the planner must know of each kind, by name.
        reason: Says why an address changes; for people, decides nothing.
        part: What of it is wanted.
    """
    carried = {kind.name for kind in kinds.values() if kind.comes_with_host}
    found = changes(desired, observed, reason, carried)
    kept = part_of(found, kinds, part)
    return Plan(changes=kept, actions=actions(kept, kinds), left_out=len(found) - len(kept))
