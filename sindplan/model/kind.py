"""What a kind of resource tells the planner: which steps each operation takes, and what each step waits for."""

from collections.abc import Callable, Mapping
from enum import Enum, IntEnum

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
    """When a step is due within its cluster. Only the first phase can be taken back."""

    BUILD = 1
    REMOVE = 2
    SEAL = 3


class Where(Enum):
    """Whose steps another step waits for."""

    SAME = "the same resource"
    NEEDED = "what the resource needs"
    NEEDING = "what needs the resource"
    EARLIER = "what is replaced before the resource"
    CLUSTER = "every resource of the same cluster"


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
    create: tuple[Step, ...] = ()
    update: Mapping[str, tuple[Step, ...]] = field(factory=dict)
    replace: Mapping[str, tuple[Step, ...]] = field(factory=dict)
    delete: tuple[Step, ...] = ()
    comes_with_host: bool = False


def scope_of(address: Address, resource: Resource) -> Address:
    """Return the cluster (or mesh) that a resource is rolled back with."""
    return resource.scope or address.scope
