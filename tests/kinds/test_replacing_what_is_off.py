"""Replacing nodes that are off or go off: what a newer Slurm needs is started for it, and whoever is asked stays until the end."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from sindplan.execute.apply import Settings
from sindplan.model import names
from tests.kinds.test_config import applied, declaration
from tests.kinds.test_replacement import (
    NEWER,
    OTHER,
    PAIR,
    WHOLE,
    Order,
    cluster,
    fail,
    ids,
    nodes,
    whole,
    with_images,
)
from tests.world import World, failures

DB = "sind-dev-db"
DUMP = "/var/lib/mysql/sindplan-before-26.11.1.sql"
IN_TURN = Settings(parallelism=1)


def states(world: World) -> set[str]:
    return {found.state for found in nodes(world).values()}


# The database is dumped before a newer Slurm, whatever its node does


def network_gone(world: World) -> None:
    network = names.network("sind", "dev")
    for name in (*nodes(world), names.relay_container("sind")):
        world.engine.stop(name)
        world.engine.disconnect(network, name)
    world.engine.remove_network(network)


def network_gone_under_them(world: World) -> None:
    """As Docker leaves it: who stopped holds on to a network that is gone."""
    network = names.network("sind", "dev")
    for name in nodes(world):
        world.engine.stop(name)
    world.engine.disconnect(network, names.relay_container("sind"))
    world.engine.remove_network(network)


HANDS: dict[str, Callable[[World], object]] = {
    "stopped": lambda world: world.engine.stop(DB),
    "killed": lambda world: world.engine.kill(DB),
    "paused": lambda world: world.engine.pause(DB),
    "renamed and stopped": lambda world: (world.engine.rename(DB, "mine"), world.engine.stop("mine")),
    "network gone": network_gone,
    "network gone under them": network_gone_under_them,
}


@pytest.mark.parametrize("hand", HANDS)
def test_a_database_whose_node_is_off_is_started_for_its_dump(hand: str) -> None:
    world, said = cluster()
    HANDS[hand](world)
    wanted = declaration(**{**said, "image": NEWER})

    assert failures(world.apply(wanted, settings=IN_TURN)) == []

    assert world.engine.has_file(DB, DUMP)
    assert world.pending(wanted) == []
    assert whole(world)


@pytest.mark.parametrize("hand", HANDS)
def test_a_failure_anywhere_leaves_it_off_as_it_was(hand: str) -> None:
    wanted = declaration(**{**WHOLE, "image": NEWER})
    calls, at = 10**6, 0
    while at < calls:
        at += 1
        world, _ = cluster()
        HANDS[hand](world)
        before = {found.id: found.state for found in nodes(world).values()}
        done, calls = fail(world, wanted, at, "before", "rollback")
        if done.restored and not done.leftovers:
            assert {found.id: found.state for found in nodes(world).values()} == before, at


@pytest.mark.parametrize("hand", ["none", "stopped", "network gone under them"])
def test_an_upgrade_that_was_killed_anywhere_is_finished(hand: str) -> None:
    """Also between the end of the old database and the start of the new one, where none of the two runs."""
    wanted = declaration(**{**WHOLE, "image": NEWER})
    for at in count(1):
        world, _ = cluster()
        HANDS.get(hand, ids)(world)
        done, _ = fail(world, wanted, at, "dead", "stop")
        if done.outcome.complete:
            break

        assert failures(world.apply(wanted, settings=IN_TURN)) == [], at

        assert world.engine.has_file(DB, DUMP), at
        assert world.pending(wanted) == [], at
        assert whole(world), at


# A cluster that goes off while it is replaced


EDITS: dict[str, dict[str, Any]] = {
    "image": {"image": OTHER},
    "newer Slurm": {"image": NEWER},
    "mount path": {"storage": {"mount_path": "/scratch"}},
}
ROLES: dict[str, dict[str, Any]] = {"alone": {"workers": {"cpu": {"count": 2}}}, "with a db": WHOLE, "pair": PAIR}


@pytest.mark.parametrize("roles", ROLES)
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("hand", [(), ("sind-dev-db",), ("sind-dev-controller-backup", "sind-dev-db")])
def test_a_cluster_goes_off_while_it_is_replaced(roles: str, edit: str, hand: tuple[str, ...]) -> None:
    world = with_images(applied(declaration(**ROLES[roles])))
    for name in {*hand} & {*nodes(world)}:
        world.engine.stop(name)
    before = ids(world)
    wanted = declaration(**{**ROLES[roles], **EDITS[edit], "power": "off"})

    assert failures(world.apply(wanted, settings=IN_TURN)) == []

    assert states(world) == {"exited"}
    assert ids(world).keys() == before.keys()
    assert not {*ids(world).values()} & {*before.values()}
    assert world.pending(wanted) == []
    on = declaration(**{**ROLES[roles], **EDITS[edit]})
    assert failures(world.apply(on, settings=IN_TURN)) == []
    assert world.pending(on) == []


def test_jobs_are_waited_for_and_who_is_asked_for_them_goes_last() -> None:
    world, said = cluster()
    world.machine.submit("sind-dev-controller", "worker-0", "7")
    order = Order()
    wanted = declaration(**{**said, "image": OTHER, "power": "off"})

    assert failures(world.apply(wanted, reporter=order)) == []

    ended = [action.removeprefix("node.") for what, action in order.log if what == "ended"]
    at = {action: number for number, action in enumerate(ended)}
    for worker in ("worker-0", "worker-1"):
        assert at["prove sind/dev/node/controller"] < at[f"drain sind/dev/node/{worker}"]
        assert at[f"discard sind/dev/node/{worker}"] < at["stop-server sind/dev/node/controller"]
    assert at["stop-server sind/dev/node/controller"] < at["stop-server sind/dev/node/db"]


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("short", ["worker-0", "controller", "db", "submitter"])
def test_what_a_hand_started_of_a_cluster_that_is_off_is_replaced(short: str, edit: str) -> None:
    """Of a worker that runs alone no slurmctld could say whether it is busy, and none has given it a job."""
    world, said = cluster()
    assert world.apply(declaration(**said, power="off")).outcome.complete
    world.engine.start(f"sind-dev-{short}")
    wanted = declaration(**{**said, **EDITS[edit], "power": "off"})

    assert failures(world.apply(wanted, settings=IN_TURN)) == []

    assert states(world) == {"exited"}
    assert world.pending(wanted) == []
