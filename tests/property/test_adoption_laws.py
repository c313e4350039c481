"""Laws of taking over what sind made, over generated clusters."""

from attrs import evolve
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from sindplan.importing.imports import import_clusters
from sindplan.model.declaration import Declaration
from sindplan.model.layout import NodeLayout, lay_out
from sindplan.model.privileges import device
from sindplan.statefile.structure import structure
from sindplan.workflow import clusters_of
from tests.sind_cluster import Sind, as_sind_can, make_all, sind_world
from tests.strategies import SETTINGS, declarations
from tests.world import NO_LIMITS, World

LAW = settings(SETTINGS, max_examples=40, phases=(Phase.explicit, Phase.generate))


def taken(world: World, declaration: Declaration) -> Declaration:
    """Import all clusters of a declaration, through the text that is written."""
    import tomllib

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
    assert world.plan(imported).changes == ()


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
