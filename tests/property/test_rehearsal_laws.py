"""Laws of rehearsals: a simulated engine that begins with a snapshot plans as the engine did, arrives, and outlives its file."""

from pathlib import Path

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.model.address import below_any
from sindplan.snapshots.reading import read_snapshot, write_snapshot
from sindplan.snapshots.simulation import Simulation, photograph, simulate
from tests.edits import edited
from tests.property.test_plan_laws import situations
from tests.property.test_snapshot_laws import taken, told
from tests.strategies import SETTINGS, declarations
from tests.world import PASSWORD, World, failures

LAW = settings(SETTINGS, max_examples=15)


def world_of(simulation: Simulation) -> World:
    """Return a simulation as a world of the tests."""
    return World(simulation.engine, simulation.machine, simulation.slurm)


def through_a_file(simulation: Simulation) -> Simulation:
    """Write a simulation down, read it, and go on."""
    snapshot = photograph(simulation)
    data = write_snapshot(snapshot)
    assert PASSWORD.encode() not in data
    assert b"PRIVATE KEY" not in data
    again = simulate(read_snapshot(Path("sim.json"), data), "sim:sim.json")
    assert evolve(photograph(again), taken="") == evolve(snapshot, taken="")
    return again


@LAW
@given(st.data())
def test_it_plans_as_the_engine_did_and_arrives(data: st.DataObject) -> None:
    situation = data.draw(situations())
    world, first = situation.world, situation.declaration
    rehearsed = world_of(simulate(taken(world), "sim:"))
    declaration = data.draw(st.sampled_from((first, data.draw(edited(first)))))

    assert told(rehearsed.prepare(declaration), declaration) == told(world.prepare(declaration), declaration)
    if world.prepare(declaration).blocked:
        return
    unseen = rehearsed.prepare(declaration).before.observed().unknown
    applied = rehearsed.apply(declaration)
    assert applied.outcome.complete == world.apply(declaration).outcome.complete, failures(applied)
    if not applied.outcome.complete:
        return
    # What could not be read when the snapshot was taken, since what says it was down, is seen by the next plan.
    left = rehearsed.plan(declaration)
    assert all(below_any(change.address, unseen) for change in left.changes), rehearsed.pending(declaration)
    if left.changes:
        assert rehearsed.apply(declaration).outcome.complete
    assert rehearsed.pending(declaration) == []


@LAW
@given(st.data())
def test_what_is_kept_in_a_file_goes_on_as_if_it_had_never_ended(data: st.DataObject) -> None:
    situation = data.draw(situations())
    first = situation.declaration
    rehearsal = simulate(taken(situation.world), "sim:")
    if not world_of(rehearsal).prepare(first).blocked:
        world_of(rehearsal).apply(first)
    again = world_of(through_a_file(rehearsal))
    for declaration in (first, data.draw(edited(first)), data.draw(declarations())):
        here = world_of(rehearsal).prepare(declaration)
        assert told(again.prepare(declaration), declaration) == told(here, declaration)
    second = data.draw(edited(first))
    if not again.prepare(second).blocked:
        unseen = again.prepare(second).before.observed().unknown
        applied = again.apply(second)
        assert applied.outcome.complete, failures(applied)
        left = again.plan(second).changes
        assert all(below_any(change.address, unseen) for change in left), again.pending(second)
