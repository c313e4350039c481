"""Laws of planning and applying, on the simulated engine (design section 9)."""

from attrs import evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sindplan.execute.apply import Settings
from sindplan.kinds import labels
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from sindplan.workflow import clusters_of
from tests.edits import DAMAGE, MESH_DAMAGE, edited, nodes_of
from tests.faults import FaultyEngine
from tests.strategies import SETTINGS, declarations
from tests.world import NO_LIMITS, World, failures, new_world

_NO_ROLLBACK = Settings(on_failure="stop", parallelism=4)

LAW = settings(SETTINGS, max_examples=60)


@LAW
@given(declarations(), st.booleans())
def test_a_plan_right_after_an_apply_is_empty(declaration: Declaration, limits: bool) -> None:
    world = new_world(seed=1) if limits else new_world(seed=1, info=NO_LIMITS)

    applied = world.apply(declaration)

    assert failures(applied) == []
    assert world.pending(declaration) == []


@LAW
@given(st.data())
def test_an_edited_declaration_is_arrived_at(data: st.DataObject) -> None:
    first = data.draw(declarations())
    second = data.draw(edited(first))
    world = new_world(seed=2)
    world.apply(first)

    applied = world.apply(second)

    assert failures(applied) == []
    assert world.pending(second) == []


@LAW
@given(st.data())
def test_an_edit_leaves_alone_what_it_does_not_name(data: st.DataObject) -> None:
    first = data.draw(declarations())
    second = data.draw(edited(first))
    world = new_world(seed=3)
    world.apply(first)
    before = _starts(world)
    named = {str(change.address) for change in world.plan(second).changes}

    world.apply(second)

    after = _starts(world)
    kept = {name for name, (address, _) in before.items() if address not in named}
    assert {name: after.get(name) for name in kept} == {name: before[name] for name in kept}


def _starts(world: World) -> dict[str, tuple[str, tuple[str, str]]]:
    """Return address, id and start time of every node by container name."""
    found = {}
    for summary in world.engine.containers():
        container = world.engine.inspect_container(summary.id)
        assert container is not None
        if realm := container.labels.get(labels.REALM):
            address = f"{realm}/{container.labels[labels.CLUSTER]}/node/{container.spec.hostname}"
            found[container.name] = (address, (container.id, container.started_at))
    return found


@LAW
@given(st.data())
def test_damage_is_seen_and_mended(data: st.DataObject) -> None:
    declaration = data.draw(declarations())
    world = new_world(seed=4)
    world.apply(declaration)
    cluster = data.draw(st.sampled_from(clusters_of(declaration)))
    for _ in range(data.draw(st.integers(1, 3))):
        running = [name for name in nodes_of(world, cluster) if _running(world, name)]
        if running:
            DAMAGE[data.draw(st.sampled_from(sorted(DAMAGE)))](world, data.draw(st.sampled_from(running)))
    if data.draw(st.booleans()):
        MESH_DAMAGE[data.draw(st.sampled_from(sorted(MESH_DAMAGE)))](world, cluster.realm)

    applied = world.apply(declaration)

    assert failures(applied) == []
    assert world.pending(declaration) == []


def _running(world: World, name: str) -> bool:
    container = world.engine.inspect_container(name)
    return container is not None and container.state == "running"


@LAW
@given(st.data())
def test_destroying_takes_what_it_names_and_no_more(data: st.DataObject) -> None:
    declaration = data.draw(declarations())
    assume(not any(c.prevent_destroy for realm in declaration.realms.values() for c in realm.clusters.values()))
    world = new_world(seed=5)
    world.engine.create_volume("sind-dev-precious", {})
    empty = world.engine.snapshot()
    world.apply(declaration)
    victim = data.draw(st.sampled_from(clusters_of(declaration)))
    others = _starts_outside(world, victim)

    world.destroy(declaration, victim)

    assert _starts_outside(world, victim) == others
    world.destroy(declaration)
    assert world.engine.snapshot() == empty


def _starts_outside(world: World, cluster: Address) -> object:
    return {name: found for name, found in _starts(world).items() if not found[0].startswith(f"{cluster}/")}


MODES = st.sampled_from(("before", "after", "timeout"))


@settings(SETTINGS, max_examples=150)
@given(st.data())
def test_a_failing_call_leaves_the_engine_as_it_was(data: st.DataObject) -> None:
    first = data.draw(declarations())
    second = data.draw(edited(first))
    world = new_world(seed=6)
    if data.draw(st.booleans()):
        world.apply(first)
    prepared = world.prepare(second)
    assume(not prepared.blocked)
    before = world.snapshot()
    faulty = FaultyEngine(world.engine, fail_at=data.draw(st.integers(1, 60)), mode=data.draw(MODES))

    applied = world.run(prepared, second, engine=faulty)

    scopes = {action.scope for action in prepared.plan.actions}
    # A node that was replaced for good stays so, and is named.
    if not applied.outcome.complete and applied.restored >= scopes and not applied.leftovers:
        assert world.snapshot() == before
    # Other clusters were done, or removals had begun: in any case the next apply finishes.
    # Workers stay while their Slurm, cut off before it ran, cannot be asked for jobs.
    assume(world.can_ask(second))
    again = world.apply(second)
    assert failures(again) == []
    assert world.pending(second) == []


@settings(SETTINGS, max_examples=150)
@given(st.data())
def test_an_apply_that_was_cut_off_is_finished_by_the_next(data: st.DataObject) -> None:
    declaration = data.draw(declarations())
    world = new_world(seed=7)
    faulty = FaultyEngine(world.engine, fail_at=data.draw(st.integers(1, 80)), mode=data.draw(MODES))
    prepared = world.prepare(declaration)
    world.run(prepared, declaration, engine=faulty, settings=_NO_ROLLBACK)
    # Workers stay while their Slurm, cut off before it ran, cannot be asked for jobs.
    assume(world.can_ask(declaration))

    applied = world.apply(declaration)

    assert failures(applied) == []
    assert world.pending(declaration) == []


@settings(SETTINGS, max_examples=150)
@given(st.data())
def test_an_edit_that_was_cut_off_is_finished_by_the_next(data: st.DataObject) -> None:
    first = data.draw(declarations())
    second = data.draw(edited(first))
    world = new_world(seed=8)
    world.apply(first)
    prepared = world.prepare(second)
    assume(not prepared.blocked)
    faulty = FaultyEngine(world.engine, fail_at=data.draw(st.integers(1, 60)), mode=data.draw(MODES))
    world.run(prepared, second, engine=faulty, settings=evolve(_NO_ROLLBACK, drain_timeouts=prepared.drain_timeouts))
    # Mended as far as it had come, in case a worker leaves while its Slurm cannot be asked.
    assume(not world.prepare(second).blocked)

    applied = world.apply(second)

    assert failures(applied) == []
    assert world.pending(second) == []
