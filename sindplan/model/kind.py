"""What a kind of resource tells the planner: which steps each operation takes, and what each step waits for."""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum, IntEnum
from typing import Any

from attrs import field, frozen

from sindplan.model.address import Address
from sindplan.model.resource import Resource


class Operation(Enum):
    """What happens to a resource."""

    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"


MAKING = frozenset({Operation.CREATE, Operation.REPLACE})
"""Operations that make something new."""


class Phase(IntEnum):
    """When a step is due within its cluster. What comes before removals can be taken back."""

    BUILD = 1
    STOP = 2
    """Nodes are powered off: what is done through them has been done by then."""
    REMOVE = 3
    SEAL = 4


class Where(Enum):
    """Whose steps another step waits for."""

    SAME = "the same resource"
    NEEDED = "what the resource needs"
    NEEDING = "what needs the resource"
    EARLIER = "what is replaced before the resource"
    CLUSTER = "every resource of the same cluster"
    BESIDE = "every resource of the same cluster, which can do without them"
    """A plan of a part (`--target`) leaves them out."""


@frozen
class After:
    """Wait for the steps called `step`, if the plan has any, of the resources that `where` says."""

    step: str
    where: Where


def _always(_: Resource) -> bool:
    return True


@frozen
class Step:
    """One thing to do for a resource.

    Attributes:
        name: Unique over all kinds, `kind.verb`; the executor looks up what to do by it.
        says: What is being done, for people: "creating", "writing DNS records".
        phase: When it is due.
        after: What it waits for.
        batch: Whether all resources of a cluster take this step in one action.
        final: Whether nothing that the cluster's actions did can be taken back once this one has begun.
        first: Whether a resource takes it before its other steps, whatever fields they are for.
        covers: Names of steps that are not taken where a resource takes this one: it does what they would do.
        applies: Says of which resources it is taken at all.
        later_only: Whether it is left out where what carries the resource is made in the same plan.
        last: Whether it comes after every other step of its resource, those in a batch too.
    """

    name: str
    says: str
    phase: Phase = Phase.BUILD
    after: tuple[After, ...] = ()
    batch: bool = False
    final: bool = False
    first: bool = False
    covers: frozenset[str] = frozenset()
    applies: Callable[[Resource], bool] = _always
    later_only: bool = False
    last: bool = False


Steps = tuple[Step, ...]


@frozen
class Depending:
    """Steps that depend on what becomes of a resource.

    Attributes:
        choose: Returns those to take, by the resource as it was (None for one that comes) and as it will be.
        among: All that there are.
    """

    choose: Callable[[Any, Any], Steps]
    among: Steps

    def __iter__(self) -> Iterator[Step]:
        return iter(self.among)


@frozen(kw_only=True)
class Kind:
    """A kind of resource, as the planner sees it.

    Attributes:
        name: The word in the address.
        resource: Its class.
        create, delete: Steps in order.
        comes_with_host: Whether a host that is made, or made anew, brings it along, so that nothing is done for it then.
        update: Steps per changed field; fields with the same step take it once.
        replace: Steps per manner of replacing (see `Resource.manner`); without any it cannot be replaced.
    """

    name: str
    resource: type[Resource]
    create: Steps | Depending = ()
    update: Mapping[str, Steps | Depending] = field(factory=dict)
    replace: Mapping[str, Steps | Depending] = field(factory=dict)
    delete: Steps = ()
    comes_with_host: bool = False

    def creating(self, after: Resource) -> Steps:
        """Return the steps that make a resource."""
        return self.create.choose(None, after) if isinstance(self.create, Depending) else self.create

    def updating(self, name: str, before: Resource, after: Resource) -> Steps:
        """Return the steps that a change of a field takes."""
        steps = self.update[name]
        return steps.choose(before, after) if isinstance(steps, Depending) else steps

    def replacing(self, before: Resource, after: Resource) -> Steps:
        """Return the steps in which one resource takes another's place; none where that cannot be, which the preflight says."""
        steps = self.replace.get(after.manner(before), ())
        return steps.choose(before, after) if isinstance(steps, Depending) else steps


def scope_of(address: Address, resource: Resource) -> Address:
    """Return the cluster (or mesh) that a resource is rolled back with."""
    return resource.scope or address.scope
