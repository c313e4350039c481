"""Accounts that go while they hold what nobody declared block the plan; those that hold what goes with them do not."""

from typing import Any

import pytest

from tests.preflight.found import declaration, found
from tests.world import World, new_world

PHYSICS = {"physics": {}, "chemistry": {}}
ALICE = {"alice": {"accounts": ["physics"]}}


def world(**cluster: Any) -> World:
    world = new_world(seed=1)
    assert world.apply(declaration(db={}, **cluster)).outcome.complete
    return world


def sacctmgr(world: World, *words: str) -> None:
    (volume,) = (volume for volume in world.engine.volumes() if volume.name == "sind-dev-db")
    world.machine.accounting.on(volume).run(words)


@pytest.mark.parametrize(
    ("words", "held"),
    [
        (("add", "user", "name=zoe", "account=physics", "cluster=dev"), "the user zoe"),
        # Declared, but not in this account.
        (("add", "user", "name=bob", "account=physics", "cluster=dev"), "the user bob"),
        (("add", "account", "name=own", "cluster=dev", "parent=physics"), "the account own"),
        (("modify", "account", "where", "name=chemistry", "set", "parent=physics"), ""),
    ],
)
def test_what_somebody_put_into_an_account_keeps_it(words: tuple[str, ...], held: str) -> None:
    there = world(accounts=PHYSICS, users={**ALICE, "bob": {"accounts": ["chemistry"]}})
    sacctmgr(there, *words)
    left = declaration(db={}, accounts={"chemistry": {}}, users={"alice": {}, "bob": {"accounts": ["chemistry"]}})

    what = (
        f"The account physics of sind/dev is declared no more, and still holds {held}, not of the declaration: they would go "
        "with it."
    )
    assert found(there, left) == ([("accounts", what)] if held else [])


@pytest.mark.parametrize(
    "edit",
    [
        {"accounts": {"chemistry": {}}, "users": {"alice": {"accounts": ["chemistry"]}}},
        {"accounts": {"chemistry": {}}, "users": {"alice": {}}},
        {"accounts": {"chemistry": {}}, "users": {}},
        {"accounts": {"lab": {"parent": "root"}}, "users": {"alice": {"accounts": ["lab"]}}},
    ],
)
def test_a_user_who_leaves_lets_the_account_go(edit: dict[str, Any]) -> None:
    # Users that come first and go last would mean nodes with homes: another matter.
    there = world(accounts=PHYSICS, users={**ALICE, "zoe": {}})
    wanted = declaration(db={}, accounts=edit["accounts"], users={**edit["users"], "zoe": {}})

    assert found(there, wanted) == []
    assert there.apply(wanted).outcome.complete
    assert there.pending(wanted) == []
    view = there.slurm.accounting("sind-dev-controller")
    assert view is not None
    assert view.accounts.keys() == {"root", *edit["accounts"]}


def test_with_its_database_everything_goes() -> None:
    there = world(accounts=PHYSICS, users=ALICE)
    sacctmgr(there, "add", "user", "name=zoe", "account=physics", "cluster=dev")

    checks = [check for check, _ in found(there, declaration(users={"alice": {}}))]

    # What would be lost is said of the volume.
    assert checks == ["data"]
