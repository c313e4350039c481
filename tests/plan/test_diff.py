"""What differs: operations, and changes that others bring about by themselves."""

from typing import ClassVar

import pytest
from attrs import evolve, field, frozen

from sindplan.model.address import Address
from sindplan.model.kind import Operation
from sindplan.model.resource import IGNORED, IN_PLACE, REPLACE, Resource
from sindplan.plan.diff import Observed, changes
from sindplan.plan.planner import plain_reason


@frozen(kw_only=True)
class Thing(Resource):
    KIND: ClassVar[str] = "thing"
    FOLLOWS_POWER: ClassVar[bool] = True

    power: str = field(default="running", metadata=IN_PLACE)
    image: str = field(default="a", metadata=REPLACE)
    id: str = field(default="", metadata=IGNORED)
    on: Address | None = field(default=None, metadata=IGNORED)

    @property
    def host(self) -> Address | None:
        return self.on


NODE = Address.parse("r/c/node/n")
SERVICE = Address.parse("r/c/service/n/s")


def operations(desired: dict[Address, Resource], observed: Observed) -> dict[str, Operation]:
    return {str(change.address): change.operation for change in changes(desired, observed, plain_reason)}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, Thing(), Operation.CREATE),
        (Thing(), None, Operation.DELETE),
        (Thing(), Thing(power="stopped"), Operation.UPDATE),
        (Thing(), Thing(image="b"), Operation.REPLACE),
        (Thing(), Thing(image="b", power="stopped"), Operation.REPLACE),
        (Thing(id="1"), Thing(id="2"), None),
        (Thing(), Thing(), None),
    ],
)
def test_what_a_difference_comes_to(before: Thing | None, after: Thing | None, expected: Operation | None) -> None:
    desired = {NODE: after} if after else {}
    state = {NODE: before} if before else {}

    assert operations(desired, Observed(state=state)) == ({str(NODE): expected} if expected else {})


def test_a_change_says_its_fields_and_why() -> None:
    (change,) = changes(
        {NODE: Thing(power="stopped", image="b")}, Observed(state={NODE: Thing()}), lambda a, o: f"{a} {o.value}"
    )

    assert [(one.name, one.before, one.after) for one in change.fields] == [
        ("power", "running", "stopped"),
        ("image", "a", "b"),
    ]
    assert change.reason == "r/c/node/n replace"


SERVED = Thing(on=NODE)


@pytest.mark.parametrize(
    ("node", "service", "unknown", "shown"),
    [
        pytest.param((Thing(), Thing()), (None, SERVED), False, True, id="missing, and nobody brings it"),
        pytest.param((Thing(), Thing()), (None, SERVED), True, False, id="missing where nothing could be read"),
        pytest.param((Thing(power="stopped"), Thing()), (None, SERVED), True, False, id="its node is started"),
        pytest.param(
            (Thing(power="stopped"), Thing()),
            (evolve(SERVED, power="off"), SERVED),
            False,
            False,
            id="the start starts it",
        ),
        pytest.param(
            (Thing(), Thing(power="stopped")), (SERVED, None), False, False, id="the stop takes it down with it"
        ),
        pytest.param(
            (Thing(), Thing(power="stopped")),
            (SERVED, evolve(SERVED, power="off")),
            False,
            True,
            id="a stop changes nothing else",
        ),
        pytest.param((None, Thing()), (None, SERVED), True, True, id="it comes with its node and is counted"),
        pytest.param((Thing(), None), (SERVED, None), False, True, id="it goes with its node and is counted"),
        pytest.param((Thing(), None), (SERVED, None), True, True, id="it goes, whatever else could not be read"),
        pytest.param((Thing(), Thing(image="b")), (SERVED, None), False, True, id="a replacement carries nothing"),
    ],
)
def test_what_a_node_brings_about(
    node: tuple[Thing | None, Thing | None], service: tuple[Thing | None, Thing | None], unknown: bool, shown: bool
) -> None:
    state = {address: one[0] for address, one in ((NODE, node), (SERVICE, service)) if one[0]}
    desired = {address: one[1] for address, one in ((NODE, node), (SERVICE, service)) if one[1]}
    prefixes = frozenset({Address.parse("r/c/service/n")}) if unknown else frozenset()

    found = operations(desired, Observed(state=state, unknown=prefixes))

    assert (str(SERVICE) in found) is shown


def test_what_does_not_follow_the_power_of_its_node_changes_by_itself() -> None:
    @frozen(kw_only=True)
    class Written(Thing):
        FOLLOWS_POWER: ClassVar[bool] = False

    desired = {NODE: Thing(), SERVICE: Written(on=NODE)}
    seen = {NODE: Thing(power="stopped"), SERVICE: Written(on=NODE, power="off")}

    assert str(SERVICE) in operations(desired, Observed(state=seen))


def test_other_fields_of_the_node_imply_nothing() -> None:
    @frozen(kw_only=True)
    class Limited(Thing):
        cpus: int = field(default=1, metadata=IN_PLACE)

    desired: dict[Address, Resource] = {NODE: Limited(cpus=2), SERVICE: SERVED}

    found = operations(desired, Observed(state={NODE: Limited(), SERVICE: evolve(SERVED, power="off")}))

    assert found == {str(NODE): Operation.UPDATE, str(SERVICE): Operation.UPDATE}


def test_changes_are_ordered_by_address() -> None:
    state: dict[Address, Resource] = {Address.parse(f"r/c/node/worker-{index}"): Thing() for index in (10, 9, 1)}

    assert [change.address.name for change in changes({}, Observed(state=state), plain_reason)] == [
        "worker-1",
        "worker-9",
        "worker-10",
    ]
