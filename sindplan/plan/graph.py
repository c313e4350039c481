"""The action graph: steps of all changes, and what each of them waits for."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import pairwise

from attrs import define, field

from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Operation, Phase, Step, Where, scope_of
from sindplan.plan.plan import Action, Change

BARRIER = "barrier"
"""Step of an action that does nothing: everything of a later phase in its cluster waits for it."""
_WHOLE = (Where.CLUSTER, Where.BESIDE)


@define
class _Draft:
    """An action in the making."""

    step: Step
    scope: Address
    changes: list[Change] = field(factory=list)
    needs: set[str] = field(factory=set)


@define
class _Drafts:
    """All actions in the making, by name, and where to find them."""

    nodes: dict[str, _Draft] = field(factory=dict)
    taken: dict[tuple[str, Address], str] = field(factory=dict)
    in_scope: dict[tuple[str, Address], set[str]] = field(factory=lambda: defaultdict(set))
    own: dict[Address, list[str]] = field(factory=lambda: defaultdict(list))


def actions(changes: Sequence[Change], kinds: Mapping[str, Kind]) -> tuple[Action, ...]:
    """Return the actions that bring the changes about, in an order that respects what they wait for."""
    drafts = _draft(changes, kinds)
    nodes, own = drafts.nodes, drafts.own
    needing = _needing(changes)
    _lanes(changes, own, nodes)
    for name, node in nodes.items():
        for after in node.step.after:
            # What a whole cluster says is the same for every change of it.
            for change in node.changes[:1] if after.where in _WHOLE else node.changes:
                node.needs |= set(_waits(after, change, node.scope, drafts, needing)) - {name}
    for names in own.values():
        # The steps of one resource come one after the other.
        for earlier, later in pairwise(names):
            nodes[later].needs.add(earlier)
    _phases(nodes)
    return _sorted(nodes)


def dependencies(changes: Sequence[Change], kinds: Mapping[str, Kind]) -> Mapping[Address, frozenset[Address]]:
    """Return the changes that each change cannot be without, by address.

    What only has to come first where both are made (`Where.BESIDE`, one replacement after another) is not among them.
    """
    drafts = _draft(changes, kinds)
    there = {change.address for change in changes}
    staying = {change.address for change in changes if change.operation is not Operation.DELETE}
    needing = _needing(changes)
    found: dict[Address, set[Address]] = {change.address: set() for change in changes}
    earlier = _earlier_phases(drafts)
    for change in changes:
        mine = found[change.address]
        names = drafts.own[change.address]
        mine |= set(needing.get(change.address, ()))
        if change.address in staying:
            mine -= staying
            mine |= change.resource.needs & staying
        else:
            mine |= change.resource.gone_with & there
        host = change.resource.host
        if host in there:
            mine.add(host)
            if not names:
                # The host brings it along, or takes it away.
                found[host].add(change.address)
        for name in names:
            node = drafts.nodes[name]
            mine |= earlier[node.scope, node.step.phase]
            for after in node.step.after:
                if after.where not in (Where.BESIDE, Where.EARLIER):
                    waits = _waits(after, change, node.scope, drafts, needing)
                    mine |= _those(after, change, [drafts.nodes[one] for one in waits], needing)
    return {address: frozenset(needed - {address}) for address, needed in found.items()}


def _those(
    after: After, change: Change, nodes: Sequence[_Draft], needing: Mapping[Address, list[Address]]
) -> set[Address]:
    """Return which changes of some actions are waited for: of one that is taken in a batch not all."""
    among = {one.address for node in nodes for one in node.changes}
    match after.where:
        case Where.NEEDED:
            return among & change.resource.needs
        case Where.NEEDING:
            return among & set(needing.get(change.address, ()))
    return among if after.where is Where.CLUSTER else set()


def _earlier_phases(drafts: _Drafts) -> Mapping[tuple[Address, Phase], set[Address]]:
    """Return the changes of a cluster that come before a phase: what stops, goes or seals needs all of them."""
    by_phase: dict[tuple[Address, Phase], set[Address]] = defaultdict(set)
    for node in drafts.nodes.values():
        for phase in Phase:
            if node.step.phase < phase:
                by_phase[node.scope, phase] |= {change.address for change in node.changes}
    return by_phase


def _draft(changes: Sequence[Change], kinds: Mapping[str, Kind]) -> _Drafts:
    by_address = {change.address: change for change in changes}
    drafts = _Drafts()
    for change in changes:
        kind = kinds[change.resource.KIND]
        scope = scope_of(change.address, change.resource)
        for step in _steps(change, kind, by_address):
            if not step.applies(change.resource):
                continue
            name = f"{step.name} {scope if step.batch else change.address}"
            node = drafts.nodes.setdefault(name, _Draft(step=step, scope=scope))
            node.changes.append(change)
            drafts.taken[step.name, change.address] = name
            drafts.in_scope[step.name, scope].add(name)
            drafts.own[change.address].append(name)
    return drafts


def _steps(change: Change, kind: Kind, by_address: Mapping[Address, Change]) -> Iterable[Step]:
    match change.operation:
        case Operation.CREATE:
            host = by_address.get(change.resource.host) if change.resource.host else None
            is_new = host is not None and host.operation is Operation.CREATE
            making = kind.creating(change.resource)
            if is_new:
                return () if kind.comes_with_host else [step for step in making if not step.later_only]
            return making
        case Operation.DELETE:
            host = by_address.get(change.resource.host) if change.resource.host else None
            carried = host is not None and host.operation is Operation.DELETE
            return () if carried else kind.delete
        case Operation.UPDATE:
            assert change.before is not None
            assert change.after is not None
            fields = [field.name for field in change.fields]
            steps = [step for name in fields for step in kind.updating(name, change.before, change.after)]
            # Fields that share a step take it once, when the last of them asks for it.
            once = [*dict.fromkeys(reversed(steps))][::-1]
            covered = {name for step in once for name in step.covers}
            once = [step for step in once if step.name not in covered]
            # What a cluster does together comes after what each does for itself.
            return sorted(once, key=lambda step: (not step.first, step.last, step.batch))
        case Operation.REPLACE:
            before, after = change.before, change.after
            assert before is not None, "what is replaced was there"
            assert after is not None, "what is replaced comes again"
            # What cannot be replaced is shown, and blocked by the preflight: nothing is done for it.
            return kind.replacing(before, after)


def _lanes(changes: Sequence[Change], own: Mapping[Address, list[str]], nodes: Mapping[str, _Draft]) -> None:
    """Let what shares a lane be replaced in turns, so many at once as the lane has room for."""
    lanes: dict[str, list[list[str]]] = defaultdict(list)
    for change in changes:
        if change.operation is not Operation.REPLACE or not own[change.address]:
            continue
        assert change.before is not None, "what is replaced was there"
        lane = change.resource.lane(change.before)
        if lane is not None:
            name, width = lane
            before = lanes[name]
            if len(before) >= width:
                nodes[own[change.address][0]].needs.add(before[-width][-1])
            before.append(own[change.address])


def _needing(changes: Sequence[Change]) -> Mapping[Address, list[Address]]:
    needing: dict[Address, list[Address]] = defaultdict(list)
    for change in changes:
        for side in (change.before, change.after):
            for address in side.needs if side else ():
                needing[address].append(change.address)
    return needing


def _waits(
    after: After,
    change: Change,
    scope: Address,
    drafts: _Drafts,
    needing: Mapping[Address, list[Address]],
) -> Iterable[str]:
    match after.where:
        case Where.SAME:
            addresses: Iterable[Address] = (change.address,)
        case Where.NEEDED:
            addresses = change.resource.needs
        case Where.EARLIER:
            addresses = change.resource.earlier
        case Where.NEEDING:
            addresses = needing.get(change.address, ())
        case Where.CLUSTER | Where.BESIDE:
            return drafts.in_scope.get((after.step, scope), ())
    return [drafts.taken[after.step, address] for address in addresses if (after.step, address) in drafts.taken]


def _phases(nodes: dict[str, _Draft]) -> None:
    """Let every action wait for the earlier phases of its cluster, through one barrier a phase."""
    phases: dict[Address, set[Phase]] = defaultdict(set)
    for node in nodes.values():
        phases[node.scope].add(node.step.phase)
    barriers: dict[tuple[Address, Phase], str] = {}
    for scope, present in phases.items():
        previous: str | None = None
        for phase in sorted(present)[1:]:
            name = f"{BARRIER} {scope} {phase.name.lower()}"
            needs = {
                other
                for other, node in nodes.items()
                if node.scope == scope and node.step.phase < phase and node.step.name != BARRIER
            }
            barriers[scope, phase] = name
            nodes[name] = _Draft(
                step=Step(BARRIER, "going on", phase), scope=scope, needs=needs | ({previous} if previous else set())
            )
            previous = name
    for node in nodes.values():
        barrier = barriers.get((node.scope, node.step.phase))
        if barrier and node.step.name != BARRIER:
            node.needs.add(barrier)


def _sorted(nodes: Mapping[str, _Draft]) -> tuple[Action, ...]:
    sorter = TopologicalSorter({name: sorted(node.needs) for name, node in sorted(nodes.items())})
    sorter.prepare()
    order: list[str] = []
    while sorter.is_active():
        # Layer by layer and by name: equal inputs give equal plans.
        ready = sorted(sorter.get_ready())
        order += ready
        sorter.done(*ready)
    return tuple(
        Action(
            id=name,
            step=node.step.name,
            says=node.step.says,
            phase=node.step.phase,
            scope=node.scope,
            needs=tuple(sorted(node.needs)),
            changes=tuple(sorted(node.changes, key=lambda change: change.address)),
            final=node.step.final,
        )
        for name in order
        for node in (nodes[name],)
    )
