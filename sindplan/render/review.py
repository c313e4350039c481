"""A plan as people review it: what every format for people is made from, be the plan new or read from a file."""

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from sindplan.model.address import Address
from sindplan.model.kind import Operation, Phase
from sindplan.plan.plan import Action, Change, Plan
from sindplan.render.body import body
from sindplan.render.escape import one_line
from sindplan.render.node_sets import NUMBERED

DESTRUCTIVE = (Operation.DELETE, Operation.REPLACE)
ORDER = (*DESTRUCTIVE, Operation.UPDATE, Operation.CREATE)
"""What a reviewer must not miss comes first."""
_ACROSS_ABOVE = 100
"""Changes; of fewer, those of one cluster stay together."""


@frozen(kw_only=True)
class Entry:
    """What happens to one resource, in words.

    Attributes:
        body: What changes of it, a line each (see render.body).
    """

    address: Address
    operation: Operation
    kind: str
    reason: str
    body: tuple[str, ...]


@frozen(kw_only=True)
class Task:
    """One thing to do.

    Attributes:
        id: Unique in its plan.
        says: What is being done.
        needs: Ids of the tasks that it waits for.
        addresses: The resources that it works on.
        final: Whether nothing of its scope can be taken back once it has begun.
    """

    id: str
    step: str
    says: str
    phase: Phase
    scope: str
    needs: tuple[str, ...]
    addresses: tuple[Address, ...]
    final: bool = False


@frozen
class Remark:
    """What a check has found."""

    check: str
    blocks: bool
    what: str
    fix: str = ""


@frozen(kw_only=True)
class Review:
    """Everything that a reader of a plan is told. No text in it holds a control character, and only remarks a line end.

    Attributes:
        name: Of the declaration; empty when it is not known.
        entries: By address.
        tasks: In an order that respects what they wait for.
        privileges: What new nodes get beyond their own, one sentence each.
        digest: What `apply --approve` takes.
        made: When, as RFC 3339 has it.
        left_out: Changes that the whole plan has beside these, of which this is a part.
    """

    entries: tuple[Entry, ...]
    tasks: tuple[Task, ...] = ()
    name: str = ""
    remarks: tuple[Remark, ...] = ()
    privileges: tuple[str, ...] = ()
    blocked: bool = False
    digest: str = ""
    made: str = ""
    version: str = ""
    left_out: int = 0

    @property
    def counts(self) -> Mapping[Operation, int]:
        """How many resources each operation is done to."""
        return {op: sum(entry.operation is op for entry in self.entries) for op in Operation}


@frozen
class Block:
    """Entries that read alike, by address; the body is the first one's."""

    entries: tuple[Entry, ...]

    @property
    def first(self) -> Entry:
        """The entry that stands for all."""
        return self.entries[0]

    @property
    def names(self) -> Iterable[str]:
        """The addresses, as text."""
        return (str(entry.address) for entry in self.entries)


def entry(change: Change) -> Entry:
    """Return a change in words."""
    return Entry(
        address=flat(str(change.address)),
        operation=change.operation,
        kind=change.resource.KIND,
        reason=one_line(change.reason),
        body=body(change),
    )


def task(action: Action) -> Task:
    """Return an action without what it works with."""
    return Task(
        id=one_line(action.id),
        step=action.step,
        says=action.says,
        phase=action.phase,
        scope=one_line(str(action.scope)),
        needs=tuple(map(one_line, action.needs)),
        addresses=tuple(flat(str(change.address)) for change in action.changes),
        final=action.final,
    )


def review(plan: Plan) -> Review:
    """Return a plan in words, and nothing beside it."""
    return Review(entries=tuple(map(entry, plan.changes)), tasks=tuple(map(task, plan.actions)), left_out=plan.left_out)


def flat(text: str) -> Address:
    """Return an address as whoever reads its text sees it: names of records and known hosts may be anything."""
    return Address(tuple(one_line(text).split("/")))


def told(found: Review) -> list[Block]:
    """Return the blocks that a plan is told in: of a large one what reads alike in several clusters is one, too."""
    return blocks(found.entries, across=len(found.entries) > _ACROSS_ABOVE)


def blocks(entries: Sequence[Entry], *, across: bool = False) -> list[Block]:
    """Put together what reads alike but for the number of a worker: removals and replacements first, then by address.

    Args:
        across: Whether what reads alike in several clusters is one block too.
    """
    groups: dict[tuple[object, ...], list[Entry]] = {}
    for one in sorted(entries, key=lambda entry: (ORDER.index(entry.operation), entry.address)):
        alike = tuple(NUMBERED.sub("worker-N", line) for line in one.body)
        scope = None if across else one.address.scope
        groups.setdefault((one.operation, one.kind, scope, one.reason, alike), []).append(one)
    return [Block(tuple(group)) for group in groups.values()]
