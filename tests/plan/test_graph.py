"""The graph: steps, what they wait for, phases, barriers and batches."""

from typing import ClassVar

import pytest
from attrs import field, frozen

from sindplan.kinds.registry import KINDS, PERFORM
from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Operation, Phase, Step, Where
from sindplan.model.resource import IGNORED, IN_PLACE, Resource, difference
from sindplan.plan.graph import actions
from sindplan.plan.plan import Action, Change


@frozen(kw_only=True)
class Thing(Resource):
    KIND: ClassVar[str] = "thing"

    size: int = field(default=1, metadata=IN_PLACE)
    colour: str = field(default="red", metadata=IN_PLACE)
    uses: tuple[Address, ...] = field(default=(), metadata=IGNORED)
    on: Address | None = field(default=None, metadata=IGNORED)

    @property
    def needs(self) -> frozenset[Address]:
        return frozenset(self.uses)

    @property
    def host(self) -> Address | None:
        return self.on


def step(name: str, phase: Phase = Phase.BUILD, after: tuple[After, ...] = (), *, batch: bool = False) -> Step:
    return Step(name, "doing", phase, after, batch)


def at(text: str) -> Address:
    return Address.parse(text)


def create(address: str, *uses: str, on: str = "") -> Change:
    thing = Thing(uses=tuple(map(at, uses)), on=at(on) if on else None)
    return Change(address=at(address), operation=Operation.CREATE, before=None, after=thing)


def delete(address: str, *uses: str, on: str = "") -> Change:
    thing = Thing(uses=tuple(map(at, uses)), on=at(on) if on else None)
    return Change(address=at(address), operation=Operation.DELETE, before=thing, after=None)


def graph(kind: Kind, *changes: Change) -> dict[str, tuple[str, ...]]:
    return {action.id: action.needs for action in actions(changes, {"thing": kind})}


def kind(**steps: object) -> Kind:
    return Kind(name="thing", resource=Thing, **steps)


MAKE = step("thing.make")
DROP = step("thing.drop", Phase.REMOVE)


def test_steps_of_one_resource_come_one_after_the_other() -> None:
    found = graph(kind(create=(step("a"), step("b"), step("c"))), create("r/c/x"))

    assert found == {"a r/c/x": (), "b r/c/x": ("a r/c/x",), "c r/c/x": ("b r/c/x",)}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Where.SAME, {"thing.use r/c/a"}),
        (Where.NEEDED, {"thing.use r/c/b"}),
        (Where.NEEDING, {"thing.use r/c/c"}),
        (Where.CLUSTER, {"thing.use r/c/a", "thing.use r/c/b", "thing.use r/c/c"}),
    ],
)
def test_whom_a_step_waits_for(where: Where, expected: set[str]) -> None:
    steps = (step("thing.use"), step("thing.wait", after=(After("thing.use", where), After("thing.other", where))))

    found = graph(
        kind(create=steps), create("r/c/a", "r/c/b"), create("r/c/b"), create("r/c/c", "r/c/a"), create("r/d/x")
    )

    assert set(found["thing.wait r/c/a"]) - {"thing.use r/c/a"} == expected - {"thing.use r/c/a"}
    assert "thing.use r/c/a" in found["thing.wait r/c/a"]


def test_a_batch_is_one_action_a_cluster_and_waits_for_what_any_of_it_waits_for() -> None:
    steps = (MAKE, step("thing.write", after=(After("thing.make", Where.NEEDED),), batch=True))

    found = graph(kind(create=steps), create("r/c/a", "r/c/b"), create("r/c/b"), create("r/d/x"))

    assert found["thing.write r/c"] == ("thing.make r/c/a", "thing.make r/c/b")
    assert found["thing.write r/d"] == ("thing.make r/d/x",)


def test_a_batch_does_not_wait_for_itself() -> None:
    steps = (step("thing.write", after=(After("thing.write", Where.CLUSTER),), batch=True),)

    assert graph(kind(create=steps), create("r/c/a"), create("r/c/b")) == {"thing.write r/c": ()}


def test_later_phases_wait_for_all_of_the_earlier_ones_of_their_cluster() -> None:
    seal = step("thing.seal", Phase.SEAL)

    found = graph(kind(create=(MAKE, seal), delete=(DROP,)), create("r/c/a"), delete("r/c/b"), create("r/d/x"))

    assert found == {
        "thing.make r/c/a": (),
        "thing.make r/d/x": (),
        "barrier r/c remove": ("thing.make r/c/a",),
        "barrier r/d seal": ("thing.make r/d/x",),
        "thing.drop r/c/b": ("barrier r/c remove",),
        "thing.seal r/d/x": ("barrier r/d seal", "thing.make r/d/x"),
        "barrier r/c seal": ("barrier r/c remove", "thing.drop r/c/b", "thing.make r/c/a"),
        "thing.seal r/c/a": ("barrier r/c seal", "thing.make r/c/a"),
    }


def test_one_phase_alone_needs_no_barrier() -> None:
    assert graph(kind(delete=(DROP,)), delete("r/c/a")) == {"thing.drop r/c/a": ()}


def test_what_goes_with_its_host_takes_no_step() -> None:
    found = graph(kind(delete=(DROP,)), delete("r/c/a"), delete("r/c/b", on="r/c/a"), delete("r/c/d", on="r/c/z"))

    assert set(found) == {"thing.drop r/c/a", "thing.drop r/c/d"}


def test_fields_with_the_same_step_take_it_once() -> None:
    before, after = Thing(), Thing(size=2, colour="blue")
    change = Change(
        address=at("r/c/a"),
        operation=Operation.UPDATE,
        before=before,
        after=after,
        fields=difference(before, after),
    )

    assert graph(kind(update={"size": (MAKE,), "colour": (MAKE, DROP)}), change) == {
        "thing.make r/c/a": (),
        "barrier r/c remove": ("thing.make r/c/a",),
        "thing.drop r/c/a": ("barrier r/c remove", "thing.make r/c/a"),
    }


def test_what_a_cluster_does_together_comes_after_what_each_does() -> None:
    before, after = Thing(), Thing(size=2, colour="blue")
    change = Change(
        address=at("r/c/a"), operation=Operation.UPDATE, before=before, after=after, fields=difference(before, after)
    )
    read = step("thing.read")
    join = step("thing.join", after=(After("thing.read", Where.CLUSTER),), batch=True)

    found = graph(kind(update={"size": (MAKE, join), "colour": (read,)}), change)

    assert found == {
        "thing.make r/c/a": (),
        "thing.read r/c/a": ("thing.make r/c/a",),
        "thing.join r/c": ("thing.read r/c/a",),
    }


def test_a_replacement_is_not_acted_on() -> None:
    change = Change(address=at("r/c/a"), operation=Operation.REPLACE, before=Thing(), after=Thing())

    assert graph(kind(create=(MAKE,), delete=(DROP,)), change) == {}


def test_actions_come_in_an_order_that_respects_their_needs_and_is_always_the_same() -> None:
    steps = (step("thing.use"), step("thing.wait", after=(After("thing.wait", Where.NEEDED),)))
    changes = [create("r/c/a", "r/c/b"), create("r/c/b", "r/c/c"), create("r/c/c")]

    orders: set[tuple[Action, ...]] = {
        actions(order, {"thing": kind(create=steps)}) for order in (changes, changes[::-1])
    }

    assert [action.id for action in orders.pop()][-3:] == ["thing.wait r/c/c", "thing.wait r/c/b", "thing.wait r/c/a"]
    assert not orders


# The real kinds


def test_every_step_is_performed_by_somebody_and_nobody_performs_another() -> None:
    steps = {
        step
        for kind_ in KINDS.values()
        for step in (
            *kind_.create,
            *kind_.delete,
            *(step for table in (kind_.update, kind_.replace) for steps in table.values() for step in steps),
        )
    }

    assert {step.name for step in steps} == set(PERFORM)
    # A name means one step, whoever takes it.
    assert len({step.name for step in steps}) == len(steps)
    waited = {after.step for step in steps for after in step.after}
    assert waited <= {step.name for step in steps}


def test_every_field_that_changes_in_place_has_steps() -> None:
    import attrs

    for kind_ in KINDS.values():
        marks = {one.name: one.metadata["cost"].name for one in attrs.fields(kind_.resource)}
        assert {name for name, cost in marks.items() if cost == "IN_PLACE"} == set(kind_.update), kind_.name
        assert kind_.name == kind_.resource.KIND
