"""Laws of taking over what sind made, over generated clusters."""

import tomllib

from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sindplan.execute.apply import Settings
from sindplan.importing.imports import import_clusters
from sindplan.model import names
from sindplan.model.address import MESH, Address
from sindplan.model.declaration import Declaration
from sindplan.model.layout import Layout, NodeLayout, lay_out
from sindplan.model.privileges import device
from sindplan.statefile.structure import structure
from sindplan.workflow import clusters_of
from tests.edits import DAMAGE, MESH_DAMAGE, edited, nodes_of
from tests.faults import FaultyEngine
from tests.sind_cluster import Sind, as_sind_can, make_all, sind_world
from tests.strategies import SETTINGS, declarations
from tests.world import NO_LIMITS, World, failures

LAW = settings(SETTINGS, max_examples=40)
MODES = st.sampled_from(("before", "after", "timeout"))


def taken(world: World, declaration: Declaration) -> Declaration:
    """Import all clusters of a declaration, through the text that is written."""
    written = import_clusters(world.engine, world.slurm, clusters_of(declaration), name=declaration.name)
    structured = structure(tomllib.loads(written.text))
    assert not structured.faults, structured.faults
    return structured.declaration


@LAW
@given(declarations().map(as_sind_can), st.booleans(), st.booleans())
def test_taking_over_replaces_nothing_and_then_nothing_differs(
    declaration: Declaration, old: bool, limits: bool
) -> None:
    world = sind_world(seed=1) if limits else sind_world(seed=1, info=NO_LIMITS)
    before = make_all(Sind(world.engine, old=old), world.slurm, declaration)
    imported = taken(world, declaration)

    plan = world.plan(imported)
    assert {change.address.name for change in plan.changes} == {"record"}, [
        (str(c.address), c.fields) for c in plan.changes
    ]
    world.apply(imported)

    assert {container.name: container.id for container in world.engine.containers()} == before
    assert world.pending(imported) == []


@LAW
@given(declarations().map(as_sind_can), st.data())
def test_taking_over_starts_and_stops_nothing_but_what_slurm_cannot_be_without(
    declaration: Declaration, data: st.DataObject
) -> None:
    world = sind_world(seed=1)
    layout = lay_out(declaration, world.observe(declaration).facts())
    make_all(Sind(world.engine, old=data.draw(st.booleans())), world.slurm, declaration)
    off, back = _some_stopped(world, layout, data)

    imported = taken(world, declaration)

    plan = world.plan(imported)
    powered = {str(change.address) for change in plan.changes if change.address.kind == "node"}
    assert powered == back
    assert back or {change.address.name for change in plan.changes} == {"record"}, [
        (str(change.address), change.fields) for change in plan.changes
    ]
    assert failures(world.apply(imported)) == []
    assert world.pending(imported) == []
    assert {
        str(address) for address in off if world.engine.inspect_container(_container(address)).state == "running"
    } == back


def _some_stopped(world: World, layout: Layout, data: st.DataObject) -> tuple[list[Address], set[str]]:
    """Stop some nodes; return them, and those of them that are off with their whole cluster only."""
    stopped: list[Address] = []
    back: set[str] = set()
    for cluster in layout.clusters:
        nodes = [node.short for node in cluster.nodes]
        off = data.draw(st.one_of(st.just(nodes), st.lists(st.sampled_from(nodes), unique=True)))
        for short in off:
            world.engine.stop(_container(cluster.address / "node" / short))
        stopped += [cluster.address / "node" / short for short in off]
        if len(off) < len(nodes):
            needed = {node.short for node in cluster.nodes if node.managed and node.short in ("controller", "db")}
            back |= {str(cluster.address / "node" / short) for short in needed.intersection(off)}
    return stopped, back


def _container(node: Address) -> str:
    return names.container(node.realm, node.cluster, node.name)


@LAW
@given(declarations().map(as_sind_can))
def test_what_is_imported_is_what_was_made(declaration: Declaration) -> None:
    world = sind_world(seed=2)
    facts = world.observe(declaration).facts()
    make_all(Sind(world.engine), world.slurm, declaration)

    imported = taken(world, declaration)

    assert shape(imported, facts) == shape(declaration, facts)


def shape(declaration: Declaration, facts: object) -> object:
    """Return what a declaration makes of an empty engine, but for names of groups."""
    return [
        (
            cluster.address,
            cluster.managed,
            cluster.people,
            cluster.cvmfs,
            cluster.declared.identity,
            cluster.declared.storage,
            [_node(node) for node in cluster.nodes],
        )
        for cluster in lay_out(declaration, facts).clusters  # type: ignore[arg-type]
    ]


def _node(node: NodeLayout) -> NodeLayout:
    return evolve(
        node,
        group="",
        worker=None,
        cap_add=tuple(sorted(node.cap_add)),
        cap_drop=tuple(sorted(node.cap_drop)),
        devices=tuple(sorted(map(device, node.devices))),
        security_opt=tuple(sorted(node.security_opt)),
    )


@LAW
@given(st.data())
def test_a_cluster_that_was_taken_over_can_be_edited(data: st.DataObject) -> None:
    world, imported, before = _taken_over(data.draw(declarations().map(as_sind_can)))
    other = as_sind_can(data.draw(edited(imported)))
    prepared = world.prepare(other)
    assume(not prepared.blocked)
    named = {str(change.address) for change in prepared.plan.changes}

    applied = world.apply(other)

    assert failures(applied) == []
    assert world.pending(other) == []
    kept = {name: found for name, found in before.items() if _address(name, other) not in named}
    assert {name: _ids(world).get(name) for name in kept} == kept


@LAW
@given(st.data())
def test_damage_to_it_is_seen_and_mended(data: st.DataObject) -> None:
    world, imported, _ = _taken_over(data.draw(declarations().map(as_sind_can)))
    cluster = data.draw(st.sampled_from(clusters_of(imported)))
    for _ in range(data.draw(st.integers(1, 3))):
        running = [name for name in nodes_of(world, cluster) if world.engine.inspect_container(name).state == "running"]
        if running:
            DAMAGES[data.draw(st.sampled_from(sorted(DAMAGES)))](world, data.draw(st.sampled_from(running)))
    if data.draw(st.booleans()):
        MESH_DAMAGE[data.draw(st.sampled_from(sorted(MESH_DAMAGE)))](world, cluster.realm)

    applied = world.apply(imported)

    assert failures(applied) == []
    assert world.pending(imported) == []


@LAW
@given(declarations().map(as_sind_can))
def test_destroying_it_leaves_nothing(declaration: Declaration) -> None:
    world = sind_world(seed=1)
    empty = [network.name for network in world.engine.networks()]
    make_all(Sind(world.engine), world.slurm, declaration)
    imported = taken(world, declaration)
    world.apply(imported)

    world.destroy(imported)

    assert world.engine.containers() == ()
    # Nobody removes the volume that all realms share.
    assert {volume.name for volume in world.engine.volumes()} <= {"cvmfs"}
    assert sorted(network.name for network in world.engine.networks()) == sorted(empty)


@settings(SETTINGS, max_examples=100)
@given(st.data())
def test_a_failing_call_leaves_it_as_it_was_or_the_next_apply_finishes(data: st.DataObject) -> None:
    world, imported, _ = _taken_over(data.draw(declarations().map(as_sind_can)))
    other = as_sind_can(data.draw(edited(imported)))
    prepared = world.prepare(other)
    assume(not prepared.blocked)
    before = world.snapshot()
    faulty = FaultyEngine(world.engine, fail_at=data.draw(st.integers(1, 40)), mode=data.draw(MODES))
    how = data.draw(st.sampled_from(("rollback", "stop")))

    applied = world.run(prepared, other, engine=faulty, settings=Settings(on_failure=how, parallelism=4))

    scopes = {action.scope for action in prepared.plan.actions}
    # A node that was replaced for good stays so, and is named.
    if not applied.outcome.complete and applied.restored >= scopes and not applied.leftovers:
        assert world.snapshot() == before
    # Workers stay while their Slurm, cut off before it ran, cannot be asked for jobs.
    assume(world.can_ask(other))
    assert failures(world.apply(other)) == []
    assert world.pending(other) == []


# sind's nodes can only read the munge key.
DAMAGES = {name: damage for name, damage in DAMAGE.items() if name != "open a key"}


def _taken_over(declaration: Declaration) -> tuple[World, Declaration, dict[str, str]]:
    world = sind_world(seed=1)
    make_all(Sind(world.engine), world.slurm, declaration)
    imported = taken(world, declaration)
    world.apply(imported)
    return world, imported, _ids(world)


def _ids(world: World) -> dict[str, str]:
    return {container.name: container.id for container in world.engine.containers()}


def _address(container: str, declaration: Declaration) -> str:
    """Return the address of a node, a DNS server or a relay by its container's name; of other containers the name."""
    for cluster in clusters_of(declaration):
        prefix = f"{cluster.realm}-{cluster.cluster}-"
        if container.startswith(prefix):
            return f"{cluster}/node/{container.removeprefix(prefix)}"
        for service, kind in (("dns", "dns"), ("ssh", "relay")):
            if container == names.mesh_container(cluster.realm, service):
                return f"{cluster.realm}/{MESH}/{kind}"
    return container


@LAW
@given(declarations())
def test_what_sindplan_applied_is_imported_as_it_was_declared(declaration: Declaration) -> None:
    world = sind_world(seed=3)
    world.apply(declaration)

    imported = taken(world, declaration)

    assert without_passwords(imported) == without_passwords(declaration)


def without_passwords(declaration: Declaration) -> Declaration:
    """Leave out passwords, which are never written down, and images of meshes, which say what runs."""
    return evolve(
        declaration,
        realms={
            realm: evolve(
                spec,
                clusters={
                    name: evolve(cluster, db=None if cluster.db is None else evolve(cluster.db, storage_password=None))
                    for name, cluster in spec.clusters.items()
                },
                mesh=evolve(spec.mesh, dns_image=None, relay_image=None),
            )
            for realm, spec in declaration.realms.items()
        },
    )
