"""Changes that no cluster which exists can take, whatever is allowed: a table, each with a message of its own."""

from collections.abc import Callable, Iterator, Mapping

from attrs import frozen

from sindplan.kinds import labels
from sindplan.kinds.network import Network
from sindplan.kinds.node_resource import Node
from sindplan.model.kind import Operation
from sindplan.plan.plan import Change
from sindplan.preflight.case import Case
from sindplan.preflight.finding import Finding

REMEDY = "Put the declaration back, or destroy the cluster and apply."


@frozen(kw_only=True)
class Forbidden:
    """A change that is not made.

    Attributes:
        concerns: Returns what it is and what it would be; None for any other change.
        why: What speaks against it.
    """

    name: str
    concerns: Callable[[Change], tuple[str, str] | None]
    why: str


def _identity(change: Change) -> tuple[str, str] | None:
    before, after = change.before, change.after
    if not isinstance(before, Node) or not isinstance(after, Node):
        return None
    was, will = labels.identity_of(before.labels), labels.identity_of(after.labels)
    return (was, will) if was != will else None


def _subnet(change: Change) -> tuple[str, str] | None:
    before, after = change.before, change.after
    if not isinstance(before, Network) or not isinstance(after, Network):
        return None
    # One that was not pinned yet has no node on it.
    return (before.subnet, after.subnet) if before.pinned and before.subnet != after.subnet else None


FORBIDDEN: Mapping[str, Forbidden] = {
    one.name: one
    for one in (
        Forbidden(
            name="identity",
            concerns=_identity,
            why="who knows the users, and by which keys nodes and jobs are believed, was settled with every node",
        ),
        Forbidden(
            name="subnet",
            concerns=_subnet,
            why="every node has its address in it, and Slurm's state, configuration and DNS say these addresses",
        ),
    )
}
"""By what a state file calls it."""


def forbidden(change: Change) -> str:
    """Return what of a change is forbidden, as a state file calls it; empty when nothing is."""
    if change.operation not in (Operation.REPLACE, Operation.UPDATE):
        return ""
    return next((name for name, one in FORBIDDEN.items() if one.concerns(change) is not None), "")


def check_forbidden(case: Case) -> Iterator[Finding]:
    """Yield what is forbidden of a plan, once for each cluster."""
    told = set()
    for change in case.plan.changes:
        name = forbidden(change)
        if name and (change.address.scope, name) not in told:
            told.add((change.address.scope, name))
            was, will = FORBIDDEN[name].concerns(change) or ("", "")
            yield Finding(
                name,
                f"The {name} of {change.address.scope} cannot change while it exists ({was} -> {will}): "
                f"{FORBIDDEN[name].why}.",
                REMEDY,
            )
