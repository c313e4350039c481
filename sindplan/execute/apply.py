"""Applying a plan, and taking it back when it fails.

Taking back is planning back: what was observed before the apply is the goal, what is observed now the start. Only objects that
carry this apply's token are removed by it, and only in the clusters that failed; a new mesh stays if a cluster needs it.
"""

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from attrs import field, frozen

from sindplan.engine.port import Engine
from sindplan.errors import SindplanError
from sindplan.execute.executor import Outcome, execute
from sindplan.execute.leftovers import made, not_taken_back
from sindplan.execute.replaced import with_replacements_kept, with_successors
from sindplan.execute.reporter import Reporter
from sindplan.kinds.node_resource import going_off
from sindplan.kinds.registry import KINDS, PERFORM
from sindplan.kinds.run import Known, Run
from sindplan.model.address import MESH, Address
from sindplan.model.declaration import OnTimeout
from sindplan.model.hidden import Hidden
from sindplan.model.kind import Operation, scope_of
from sindplan.model.resource import State
from sindplan.observe.observation import Observation
from sindplan.observe.passwords import with_hidden_differences
from sindplan.plan.diff import Observed
from sindplan.plan.graph import actions
from sindplan.plan.plan import Change, Plan
from sindplan.plan.planner import make_plan
from sindplan.slurm.port import Slurm

OnFailure = Literal["rollback", "stop"]


@frozen(kw_only=True)
class Settings:
    """How to apply.

    Attributes:
        wait: Seconds that waiting for one node may take.
        rollback: Seconds that taking back may take, all in all; what runs then is waited for, and nothing more is begun.
        drain_timeouts: Seconds to wait for the jobs of a worker that leaves, by node address.
        on_timeouts: What happens to its jobs then, likewise.
        secrets: Passwords that slurmdbd has at its database, by cluster.
    """

    parallelism: int = 16
    wait: float = 300
    rollback: float = 600
    on_failure: OnFailure = "rollback"
    drain_timeouts: Mapping[Address, int] = field(factory=dict)
    on_timeouts: Mapping[Address, OnTimeout] = field(factory=dict)
    secrets: Mapping[Address, Hidden] = field(factory=dict)


@frozen(kw_only=True)
class Applied:
    """How an apply ended.

    Attributes:
        outcome: Of the plan itself.
        restored: Clusters that are as they were before.
        kept: Clusters that are left half way: because removals had begun, because taking back failed, or on demand.
        leftovers: What could not be taken back, as sentences.
    """

    outcome: Outcome
    restored: frozenset[Address] = frozenset()
    kept: frozenset[Address] = frozenset()
    leftovers: tuple[str, ...] = ()


def apply(
    plan: Plan,
    before: Observation,
    *,
    engine: Engine,
    slurm: Slurm,
    owner: str,
    observe_again: Callable[[], Observation],
    reporter: Reporter,
    settings: Settings,
    stop: threading.Event | None = None,
) -> Applied:
    """Execute a plan that was made from `before`, and take it back in the clusters where it fails."""
    stop = stop or threading.Event()
    run = Run(
        engine=engine,
        slurm=slurm,
        owner=owner,
        token=secrets.token_hex(8),
        wait=settings.wait,
        known=known_from(before),
        drain_timeouts=settings.drain_timeouts,
        on_timeouts=settings.on_timeouts,
        say=reporter.noted,
        secrets=settings.secrets,
        going_off=going_off(plan),
        stop=stop,
    )
    reporter.planned(plan)
    outcome = execute(plan, run, PERFORM, reporter, parallelism=settings.parallelism, stop=stop)
    if outcome.complete:
        return Applied(outcome=outcome)
    unfinished = outcome.unfinished
    if settings.on_failure == "stop":
        return Applied(outcome=outcome, kept=unfinished)
    back = _Back(
        scopes=_scopes_to_restore(plan, outcome),
        more=_half_replaced(plan, outcome),
        planned=frozenset(change.address for change in plan.changes),
    )
    try:
        restored, leftovers = _take_back(before, observe_again(), run, back, reporter, settings)
    except SindplanError as error:
        # The engine went away: nothing more can be done, but it must be said.
        why = f"what was done could not be taken back: {error.summary.rstrip('.')}"
        restored, leftovers = frozenset(), (why, *made(outcome, back.scopes, run.known.ids))
    return Applied(
        outcome=outcome,
        restored=restored,
        kept=unfinished - restored,
        leftovers=leftovers,
    )


@frozen(kw_only=True)
class _Back:
    """What is taken back.

    Attributes:
        scopes: Clusters and meshes.
        more: Resources of others.
        planned: All that the plan was about.
    """

    scopes: frozenset[Address]
    more: frozenset[Address]
    planned: frozenset[Address]

    def of(self, state: State) -> State:
        """Return what of a state it is about."""
        return {
            address: resource
            for address, resource in state.items()
            if scope_of(address, resource) in self.scopes or address in self.more
        }


def _half_replaced(plan: Plan, outcome: Outcome) -> frozenset[Address]:
    """Return the containers of meshes whose replacement did not end: they are put back whatever uses the mesh."""
    return frozenset(
        change.address
        for change in plan.changes
        if change.operation is Operation.REPLACE
        and change.address.cluster == MESH
        and change.address.scope in outcome.unfinished
    )


def _scopes_to_restore(plan: Plan, outcome: Outcome) -> frozenset[Address]:
    """Return the clusters to take back: those that failed before their removals began, and meshes nobody needs."""
    failed = outcome.unfinished - outcome.removing
    meshes = {
        Address((scope.realm, MESH))
        for scope in failed
        if all(
            other in failed
            for action in plan.actions
            if (other := action.scope).realm == scope.realm and other.cluster != MESH
        )
    }
    return frozenset({scope for scope in failed if scope.cluster != MESH} | meshes)


def _take_back(
    before: Observation,
    now: Observation,
    run: Run,
    taken: _Back,
    reporter: Reporter,
    settings: Settings,
) -> tuple[frozenset[Address], tuple[str, ...]]:
    goal, start = before.observed(), now.observed()
    # Half made nodes that were found are not worth going back to.
    worth = {address: resource for address, resource in goal.state.items() if resource.finished}
    back_to, kept = with_replacements_kept(taken.of(worth), taken.of(start.state), run.token)
    plan = make_plan(
        back_to,
        Observed(
            state=with_hidden_differences(with_successors(taken.of(start.state), back_to), goal.state),
            unknown=start.unknown | goal.unknown,
        ),
        KINDS,
    )
    changes, foreign = _only_own(plan.changes, run.token, taken.planned)
    foreign = (*foreign, *kept)
    scopes = taken.scopes | {address.scope for address in taken.more}
    if not changes:
        return scopes, foreign
    plan = Plan(changes=changes, actions=actions(changes, KINDS))
    reporter.taking_back(plan)
    back = Run(
        engine=run.engine,
        slurm=run.slurm,
        owner=run.owner,
        token=run.token,
        wait=min(run.wait, settings.rollback),
        known=known_from(now),
        drain_timeouts=run.drain_timeouts,
        lifted=run.lifted,
        secrets=run.secrets,
        taking_back=True,
    )
    with _deadline(settings.rollback, back.stop):
        outcome = execute(plan, back, PERFORM, reporter, parallelism=settings.parallelism, stop=back.stop)
    if outcome.complete:
        return scopes, foreign
    late = (f"taking back was given up after {settings.rollback:g} seconds",) if outcome.interrupted else ()
    return scopes - outcome.unfinished, (*foreign, *late, *not_taken_back(outcome))


@contextmanager
def _deadline(seconds: float, over: threading.Event) -> Iterator[None]:
    """Set an event when the time is over."""
    timer = threading.Timer(seconds, over.set)
    if seconds <= 0:
        over.set()
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _only_own(
    changes: tuple[Change, ...], token: str, planned: frozenset[Address]
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """Leave out removals of what this apply did not make: somebody else made it in the meantime.

    Objects of the engine carry its token; of other things it can have made only what its plan was about.
    """
    own, foreign = [], []
    for change in changes:
        made_by = change.before.made_by if change.before else None
        others = change.address not in planned if made_by is None else made_by != token
        if change.operation is Operation.DELETE and others:
            foreign.append(f"{change.address} appeared meanwhile, was not made by this apply, and was left alone")
        else:
            own.append(change)
    return tuple(own), tuple(foreign)


def known_from(observation: Observation) -> Known:
    """Return what a run knows from the start: ids, subnets, addresses and keys that the evidence shows."""
    known = Known()
    for address, resource in observation.observed().state.items():
        if resource.identity:
            known.ids[address] = resource.identity
    for mesh in observation.evidence.meshes:
        if mesh.relay_key:
            known.relay_keys[mesh.realm] = mesh.relay_key.strip()
    facts = observation.facts()
    for realm, mesh_facts in facts.meshes.items():
        known.dns[realm] = mesh_facts.dns_address
    for address, cluster in facts.clusters.items():
        known.subnets[address] = cluster.subnet
        known.host_keys.update({address / "node" / short: key for short, key in cluster.host_keys.items() if key})
    return known
