"""What commands do, from a declaration to a plan, without a word to the terminal."""

from collections.abc import Collection, Mapping

from attrs import evolve, field, frozen

from sindplan.engine.port import Engine
from sindplan.engine.records import EngineInfo
from sindplan.errors import SindplanError
from sindplan.execute.lock import TOKEN, who
from sindplan.kinds import labels
from sindplan.kinds.cluster_record import ClusterRecord
from sindplan.kinds.config import File
from sindplan.kinds.mesh_container import MeshContainer
from sindplan.kinds.node_resource import Node
from sindplan.kinds.reasons import reasons
from sindplan.kinds.registry import KINDS, desired
from sindplan.model import names
from sindplan.model.address import MESH, Address
from sindplan.model.declaration import Declaration, OnTimeout, WorkerGroup
from sindplan.model.hidden import Hidden
from sindplan.model.kind import MAKING, Operation, scope_of
from sindplan.model.layout import Layout, images_of, lay_out
from sindplan.model.resource import State
from sindplan.observe.adopted import as_sind_made_it
from sindplan.observe.gather import take_inventory
from sindplan.observe.images_kept import with_running_images
from sindplan.observe.inventory import Inventory
from sindplan.observe.observation import Observation, observe
from sindplan.observe.ours import own, with_present_owners, with_workers_that_stay_off, without_guests
from sindplan.observe.passwords import with_passwords
from sindplan.observe.surroundings import HERE, Surroundings
from sindplan.plan.diff import Observed
from sindplan.plan.part import ALL, Part
from sindplan.plan.plan import Plan
from sindplan.plan.planner import make_plan
from sindplan.preflight import placeholders
from sindplan.preflight.allowed import NOTHING, Allowed
from sindplan.preflight.case import Case
from sindplan.preflight.cluster import check_plan
from sindplan.preflight.destroy import check_destroy, check_prune
from sindplan.preflight.finding import Finding, Severity, warning
from sindplan.preflight.host import check_host
from sindplan.preflight.ownership import check_ownership, foreign_owners, taken_over
from sindplan.preflight.privileges import privileges
from sindplan.slurm.files import STORAGE_PASSWORD
from sindplan.slurm.port import Slurm
from sindplan.slurm.trial import sweep_trial
from sindplan.statefile.recorded import recorded_declaration
from sindplan.statefile.secrets import plain_secrets


@frozen(kw_only=True)
class Prepared:
    """A plan, what it was made from, and what speaks against it.

    Attributes:
        owner: Name of the declaration that what is created belongs to.
        clusters: Clusters that the plan is about.
        privileges: What the plan's new nodes are given beyond their own, one sentence each.
        drain_timeouts: Seconds to wait for the jobs of a worker that leaves, by node address.
        on_timeouts: What happens to its jobs then, likewise.
    """

    owner: str
    plan: Plan
    before: Observation
    clusters: tuple[Address, ...]
    findings: tuple[Finding, ...] = ()
    privileges: tuple[str, ...] = ()
    drain_timeouts: Mapping[Address, int] = field(factory=dict)
    on_timeouts: Mapping[Address, OnTimeout] = field(factory=dict)

    @property
    def engine(self) -> EngineInfo:
        """The engine that the plan is about."""
        return self.before.inventory.engine

    @property
    def blocked(self) -> bool:
        """Whether the plan may not be applied."""
        return any(finding.severity is Severity.BLOCKS for finding in self.findings)


def clusters_of(declaration: Declaration) -> tuple[Address, ...]:
    """Return the addresses of the declared clusters."""
    return tuple(Address((realm, cluster)) for realm, spec in declaration.realms.items() for cluster in spec.clusters)


def prepare(
    engine: Engine,
    slurm: Slurm,
    declaration: Declaration,
    *,
    probe: bool = True,
    passwords: Mapping[Address, Hidden] | None = None,
    replace: Collection[Address] = (),
    allowed: Allowed = NOTHING,
    part: Part = ALL,
    surroundings: Surroundings = HERE,
) -> Prepared:
    """Plan what makes the engine match a declaration. Only reads.

    Args:
        replace: Nodes to replace though nothing of them differs, by address or prefix.
        allowed: What may be lost, and whether clusters that are no longer declared go.
        passwords: Passwords that slurmdbd should have at its database, by cluster, to be compared with those it has. Only an
            apply knows any; what is not among them is taken to be right.
        probe: Whether commands may be run in nodes to read daemon and Slurm states.
        part: What of the plan is wanted.

    Raises:
        SindplanError: There is nothing at an address that was named.
        surroundings: What is looked at beside engine and Slurm.
    """
    declared = clusters_of(declaration)
    pruned = _orphans(engine, declaration) if allowed.prune else frozenset()
    clusters = (*declared, *sorted(pruned))
    before = observe(engine, slurm, clusters, images=images_of(declaration), probe=probe, surroundings=surroundings)
    layout = lay_out(declaration, before.facts(), replace)
    _check_demanded(layout, replace)
    foreign = foreign_owners(before.inventory, clusters, declaration.name, adopting=_adopting(declaration))
    seen = without_guests(before.observed(), layout)
    wanted = with_present_owners(_without(desired(layout), foreign), seen.state, layout)
    wanted = with_running_images(wanted, seen.state, before.images)
    seen = with_workers_that_stay_off(seen, wanted, before)
    # The mesh of a realm that is not declared goes with its last cluster.
    kept = {Address((realm, MESH)) for realm in _shared(before.inventory, declaration, pruned)}
    state = own(_without(seen.state, {*foreign, *kept}), wanted, before)
    wanted, state = as_sind_made_it(wanted, state, before.evidence)
    observed = Observed(state=with_passwords(state, wanted, passwords or {}), unknown=seen.unknown)
    taken = taken_over(before.inventory, _adopting(declaration))
    last = _applied_last(declaration, before, wanted, seen.state)
    _check_named(part, {*wanted, *state})
    plan = make_plan(wanted, observed, KINDS, reasons(wanted, last, taken), part)
    machine = surroundings.machine(before.inventory.engine)
    departures = _departures(declaration, before)
    case = Case(
        layout=layout,
        observation=before,
        plan=plan,
        machine=machine,
        allowed=allowed,
        pruned=pruned,
        drain_timeouts={node: timeout for node, (timeout, _) in departures.items()},
        on_timeouts={node: then for node, (_, then) in departures.items()},
        plain_secrets=tuple(
            f"{secret.realm}/{secret.cluster}: {'.'.join(map(str, secret.key))}"
            for secret in plain_secrets(declaration)
        ),
    )
    creating = {change.address for change in plan.changes if change.operation in MAKING}
    return Prepared(
        owner=declaration.name,
        plan=plan,
        before=before,
        clusters=clusters,
        findings=(
            *check_host(before.inventory.engine, machine),
            *check_ownership(foreign, before.inventory),
            *check_plan(case),
            *check_prune(before, pruned, allow_job_loss=allowed.jobs),
        ),
        privileges=privileges(layout.clusters, creating),
        drain_timeouts=case.drain_timeouts,
        on_timeouts=case.on_timeouts,
    )


def _check_demanded(layout: Layout, replace: Collection[Address]) -> None:
    demanded = [
        cluster.address / "node" / node.short for cluster in layout.clusters for node in cluster.nodes if node.demanded
    ]
    demanded += [mesh.address / name for mesh in layout.meshes for name in mesh.demanded]
    idle = [str(address) for address in replace if not any(node.below(address) for node in demanded)]
    if idle:
        raise SindplanError(
            f"There is no node to replace at {', '.join(idle)}.",
            "Name a node that is declared and there, such as sind/dev/node/worker-0, or a cluster, or sind/@mesh/dns or relay.",
        )


def _check_named(part: Part, there: Collection[Address]) -> None:
    idle = [
        str(named) for named in (*part.targets, *part.excluded) if not any(address.below(named) for address in there)
    ]
    if idle:
        raise SindplanError(
            f"There is nothing at {', '.join(idle)}.",
            "Name what is declared or there as plans do, such as sind/dev/node/worker-0, or a cluster (sind/dev) or realm (sind).",
        )


def _adopting(declaration: Declaration) -> frozenset[Address]:
    """Return the clusters that may be taken over from another tool."""
    return frozenset(
        address
        for address in clusters_of(declaration)
        if declaration.realms[address.realm].clusters[address.cluster].adopt
    )


def _orphans(engine: Engine, declaration: Declaration) -> frozenset[Address]:
    """Return the clusters that were made from this declaration and are not in it any more."""
    declared = clusters_of(declaration)
    found = take_inventory(engine).clusters()
    return frozenset(a for a, one in found.items() if one.owners == {declaration.name} and a not in declared)


def _shared(inventory: Inventory, declaration: Declaration, pruned: Collection[Address]) -> frozenset[str]:
    """Return the realms of pruned clusters that are not declared and have other clusters."""
    declared = {address.realm for address in clusters_of(declaration)}
    realms = {address.realm for address in pruned} - declared
    return frozenset(realm for realm in realms if _others(inventory, realm, pruned))


def prepare_drift(
    engine: Engine, slurm: Slurm, realms: Collection[str] = (), *, surroundings: Surroundings = HERE
) -> tuple[Prepared, ...]:
    """Plan back to what was applied last, as the records say it: one plan an owner. Only reads.

    Args:
        realms: Realms to look at; all unless some are named.

    Raises:
        SindplanError: A record makes no sense, or a realm that was named is not there.
    """
    texts: dict[str, dict[Address, str]] = {}
    clusters = take_inventory(engine).clusters()
    there = sorted({address.realm for address in clusters})
    if missing := sorted(set(realms) - set(there)):
        raise SindplanError(
            f"There is no realm {', '.join(missing)}.", f"Realms on this engine: {', '.join(there) or 'none'}."
        )
    for address, found in clusters.items():
        if found.records and (not realms or address.realm in realms):
            newest = found.records[0].labels
            texts.setdefault(newest.get(labels.OWNER, ""), {})[address] = newest.get(labels.DECLARATION, "")
    plans = (
        prepare(engine, slurm, recorded_declaration(owner, recorded), surroundings=surroundings)
        for owner, recorded in sorted(texts.items())
    )
    # What a record does not know, the state file does: it is what mends the drift.
    return tuple(
        evolve(one, findings=tuple(finding for finding in one.findings if finding.check != placeholders.CHECK))
        for one in plans
    )


def at_work(engine: Engine) -> Mapping[str, Finding]:
    """Return a finding for every realm whose lock somebody holds: what differs there may be half done. Only reads."""
    return {
        network.labels.get(labels.REALM, ""): warning(
            "lock",
            f"{who(network)} is at work on the realm {network.labels.get(labels.REALM, '')!r}: what it has not done yet looks "
            "like drift.",
            "Look again when it is done.",
        )
        for network in engine.networks()
        if TOKEN in network.labels
    }


def without_records(engine: Engine, realms: Collection[str] = ()) -> Mapping[Address, Finding]:
    """Return a finding for every cluster that a sindplan made and of which nothing says what was applied. Only reads."""
    return {
        address: warning(
            "record",
            f"Nothing says what was applied last to {address}: its record was removed, or its first apply did not finish.",
            "Apply its state file, which writes the record; drift can be told from then on.",
        )
        for address, found in sorted(take_inventory(engine).clusters().items())
        if not found.records and any(found.owners) and (not realms or address.realm in realms)
    }


def clusters_with_secrets(plan: Plan) -> frozenset[Address]:
    """Return the clusters in which a plan writes a secret that the declaration refers to."""
    return frozenset(
        change.address.scope
        for change in plan.changes
        if change.operation is not Operation.DELETE
        and (
            (isinstance(change.after, Node) and change.after.boot is not None and change.after.boot.db_password)
            or (isinstance(change.after, File) and STORAGE_PASSWORD in str(getattr(change.after.original, "value", "")))
        )
    )


def prepare_destroy(
    engine: Engine,
    slurm: Slurm,
    clusters: Collection[Address],
    *,
    declaration: Declaration | None = None,
    allow_job_loss: bool = False,
    surroundings: Surroundings = HERE,
) -> Prepared:
    """Plan the destruction of clusters, and of the meshes that no other cluster needs. Only reads.

    Args:
        declaration: The one they must belong to; None when the clusters were named one by one.
        allow_job_loss: Whether running jobs may be lost.
        surroundings: What is looked at beside engine and Slurm.

    Raises:
        SindplanError: A cluster that was named is not there.
    """
    owner = declaration.name if declaration else ""
    before = observe(engine, slurm, clusters, surroundings=surroundings)
    there = before.inventory.clusters()
    missing = [] if declaration else sorted(str(address) for address in clusters if address not in there)
    if missing:
        found = ", ".join(map(str, sorted(there))) or "none"
        raise SindplanError(f"There is no cluster {', '.join(missing)}.", f"Clusters on this engine: {found}.")
    foreign = foreign_owners(before.inventory, clusters, owner)
    own = set(clusters) - set(foreign)
    last = {address.realm for address in own if not _others(before.inventory, address.realm, own)}
    state = {
        address: resource
        for address, resource in before.observed().state.items()
        if (scope := scope_of(address, resource)) in own or (scope.cluster == MESH and address.realm in last)
    }
    plan = make_plan({}, Observed(state=state), KINDS, lambda *_: "destroyed on demand")
    return Prepared(
        owner=owner,
        plan=plan,
        before=before,
        clusters=tuple(sorted(clusters)),
        findings=(
            *check_ownership(foreign, before.inventory),
            *check_destroy(before.evidence, _protected(state, declaration, own), allow_job_loss=allow_job_loss),
        ),
    )


def sweep_trials(engine: Engine, prepared: Prepared) -> None:
    """Remove what an apply that was killed has left of a trial. The locks of the realms must be held."""
    inventory = prepared.before.inventory
    there = {one.name for one in inventory.containers} | {one.name for one in inventory.networks}
    for cluster in prepared.clusters:
        if (name := names.trial(cluster.realm, cluster.cluster)) in there:
            sweep_trial(engine, name)


def _protected(state: State, declaration: Declaration | None, clusters: Collection[Address]) -> frozenset[Address]:
    """Return the clusters that say prevent_destroy: as applied last, or as declared now."""
    recorded = {a.scope for a, record in state.items() if isinstance(record, ClusterRecord) and record.protected}
    declared = {
        address
        for address in clusters
        if declaration is not None and declaration.realms[address.realm].clusters[address.cluster].prevent_destroy
    }
    return frozenset(recorded | declared)


def _without(state: State, clusters: Collection[Address]) -> State:
    """Leave out what belongs to some clusters: nothing is done to it, so nothing is shown of it."""
    return {address: resource for address, resource in state.items() if scope_of(address, resource) not in clusters}


def _others(inventory: Inventory, realm: str, clusters: Collection[Address]) -> bool:
    """Say whether the realm has clusters, of anybody, beside these."""
    return any(address.realm == realm and address not in clusters for address in inventory.clusters())


def _applied_last(declaration: Declaration, before: Observation, wanted: State, state: State) -> State:
    """Return what the records of the declared clusters say was wanted last; nothing of what they do not tell.

    Args:
        wanted: What is wanted now.
        state: What was seen.
    """
    texts = {
        cluster.address: cluster.records[0].labels.get(labels.DECLARATION, "")
        for cluster in before.evidence.clusters
        if cluster.records
    }
    try:
        last = recorded_declaration(declaration.name, texts)
    except SindplanError:
        return {}
    # What is said of a mesh, no record holds: what it has by now was applied.
    realms = {
        realm: evolve(spec, mesh=declaration.realms[realm].mesh if realm in declaration.realms else spec.mesh)
        for realm, spec in last.realms.items()
    }
    last = evolve(last, realms=realms)
    if last == declaration:
        return _with_meshes_of(state, wanted)
    layout = lay_out(last, before.facts())
    found = with_running_images(with_present_owners(desired(layout), state, layout), state, before.images)
    return _with_meshes_of(state, found)


def _with_meshes_of(state: State, last: State) -> State:
    """Return what was wanted last with the images that the containers of meshes have."""
    return {
        address: (
            evolve(resource, image=there.image, demanded="")
            if isinstance(resource, MeshContainer) and isinstance(there := state.get(address), MeshContainer)
            else resource
        )
        for address, resource in last.items()
    }


def _departures(declaration: Declaration, before: Observation) -> Mapping[Address, tuple[int, OnTimeout]]:
    """Return how long the jobs of each worker are waited for, and what happens to them then."""
    found: dict[Address, tuple[int, OnTimeout]] = {}
    facts = before.facts().clusters
    for address in clusters_of(declaration):
        cluster = declaration.realms[address.realm].clusters[address.cluster]
        for short, member in facts[address].members.items() if address in facts else ():
            group = cluster.workers.get(member.group, WorkerGroup())
            timeout = cluster.drain_timeout if group.drain_timeout is None else group.drain_timeout
            found[address / "node" / short] = (timeout, group.on_timeout or cluster.on_timeout)
    return found
