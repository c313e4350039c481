"""The nouns of planning: changes (what differs, and why) and actions (what is done, and in which order)."""

from collections.abc import Mapping

from attrs import frozen

from sindplan.model.address import Address
from sindplan.model.kind import Operation, Phase
from sindplan.model.resource import FieldChange, Resource


@frozen(kw_only=True)
class Change:
    """What happens to one resource.

    Attributes:
        fields: Fields that differ, for an update or a replacement.
        reason: Why, for people.
    """

    address: Address
    operation: Operation
    before: Resource | None
    after: Resource | None
    fields: tuple[FieldChange, ...] = ()
    reason: str = ""

    @property
    def resource(self) -> Resource:
        """The resource as it will be, or as it was when it goes."""
        resource = self.after or self.before
        assert resource is not None, "a change has a side"
        return resource


@frozen(kw_only=True)
class Action:
    """One thing to do, which waits for others.

    Attributes:
        id: Unique in its plan and readable: the step and where.
        step: Name of the step; the executor looks up what to do by it.
        says: What is being done, for people.
        scope: The cluster (or mesh) that it is rolled back with.
        needs: Ids of the actions it waits for, sorted.
        changes: The changes it works on, sorted by address; several when the step is taken in a batch.
        final: Whether nothing of its scope can be taken back once it has begun.
    """

    id: str
    step: str
    says: str
    phase: Phase
    scope: Address
    needs: tuple[str, ...]
    changes: tuple[Change, ...]
    final: bool = False


@frozen(kw_only=True)
class Plan:
    """Changes by address and actions in an order that respects what they wait for.

    Attributes:
        left_out: How many changes the whole plan has beside these, of which this is a part (`--target`, `--exclude`).
    """

    changes: tuple[Change, ...]
    actions: tuple[Action, ...]
    left_out: int = 0

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.changes

    @property
    def counts(self) -> Mapping[Operation, int]:
        """How many resources each operation is done to."""
        return {op: sum(change.operation is op for change in self.changes) for op in Operation}
