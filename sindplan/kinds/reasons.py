"""Why something changes: because the declaration was edited, or because a hand changed what runs."""

from collections.abc import Collection

from sindplan.kinds.cluster_record import ClusterRecord
from sindplan.model.address import Address
from sindplan.model.kind import Operation
from sindplan.model.resource import State, difference
from sindplan.plan.diff import Reason

_DRIFTED = {
    Operation.CREATE: "declared and applied before, and gone",
    Operation.DELETE: "there, and not declared",
}
_CHANGED = "changed outside sindplan"
DEMANDED = "asked for with --replace"
_EDITED = {
    Operation.CREATE: "declared, and not there",
    Operation.DELETE: "no longer declared",
}


def reasons(wanted: State, last: State, taken: Collection[Address] = ()) -> Reason:
    """Return what tells an edit from drift, one resource at a time: what is wanted now was wanted last, too, or was not.

    Args:
        last: What was wanted when it was applied last, as far as records tell.
        taken: Clusters of another tool's that become ours.
    """

    def reason(address: Address, operation: Operation) -> str:
        now, before = wanted.get(address), last.get(address)
        if address.scope in taken and isinstance(now, ClusterRecord):
            return "takes over the cluster, which another tool made"
        if now is None:
            return _EDITED[operation] if before is not None else _DRIFTED[operation]
        if getattr(now, "demanded", ""):
            return DEMANDED
        if before is not None and not difference(before, now):
            return _DRIFTED.get(operation, _CHANGED)
        return _EDITED.get(operation, "differs from the declaration")

    return reason


def is_drift(reason: str) -> bool:
    """Say whether a reason blames a hand."""
    return reason == _CHANGED or reason in _DRIFTED.values()
