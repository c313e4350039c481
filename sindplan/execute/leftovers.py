"""What could not be taken back, in words: each with what removes it by hand."""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from attrs import evolve

from sindplan.execute.executor import Outcome
from sindplan.model.address import Address
from sindplan.model.kind import Operation
from sindplan.model.resource import EngineObject

if TYPE_CHECKING:
    from sindplan.plan.plan import Action


def not_taken_back(outcome: Outcome) -> Iterator[str]:
    """Yield what an outcome of taking back has left undone, then the objects that are still there for it."""
    left: list[Action] = []
    for action, error in outcome.failed:
        yield f"{action.id} was not done: {error.summary.rstrip('.')}"
        left.append(action)
    for action in outcome.not_started:
        yield f"{action.id} was not done"
        left.append(action)
    gone = {
        change.before.removal: change.address
        for action in left
        for change in action.changes
        if change.operation is Operation.DELETE and change.before
    }
    yield from (_still_there(address, removal) for removal, address in gone.items() if removal)


def made(outcome: Outcome, scopes: Collection[Address], ids: Mapping[Address, str]) -> Iterator[str]:
    """Yield the objects that an outcome has made, where nobody can look any more. Of a cluster that is done nothing is left over.

    Args:
        outcome: Of the apply itself.
        scopes: Clusters and meshes that were to be taken back.
        ids: What is known of ids, by address.
    """
    objects = {
        change.address: change.after
        for action in outcome.done
        for change in action.changes
        if action.scope in scopes and change.operation is Operation.CREATE and isinstance(change.after, EngineObject)
    }
    for address, found in objects.items():
        yield _still_there(address, evolve(found, id=ids.get(address, "")).removal)


def _still_there(address: Address, removal: str) -> str:
    return f"{address} was made by this apply; `{removal}` removes it"
