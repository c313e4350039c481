"""What is lost only when that is said by name: clusters that are no longer declared, and data of those that stay."""

from typing import Any

import pytest

from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from sindplan.preflight.allowed import Allowed
from sindplan.preflight.finding import Severity
from sindplan.workflow import Prepared, prepare
from tests.strategies import declared
from tests.world import IMAGE, World, new_world

PRUNE = Allowed(prune=True)
ANYTHING = Allowed(prune=True, jobs=True)


def declaration(name: str = "lab", **realms: dict[str, Any]) -> Declaration:
    """Return a declaration of clusters by realm: each is a table to which the image is added."""
    tables = {
        realm: {"clusters": {cluster: {"image": IMAGE, **table} for cluster, table in clusters.items()}}
        for realm, clusters in realms.items()
    }
    return declared({"version": 1, "name": name, "realms": tables})


def prepared(world: World, wanted: Declaration, allowed: Allowed) -> Prepared:
    return prepare(world.engine, world.slurm, wanted, allowed=allowed)


def blocks(found: Prepared) -> list[tuple[str, str]]:
    return [(one.check, one.what) for one in found.findings if one.severity is Severity.BLOCKS]


def names(world: World) -> set[str]:
    engine = world.engine
    return {found.name for some in (engine.containers(), engine.networks(), engine.volumes()) for found in some}


@pytest.fixture
def world() -> World:
    """Return an engine with two clusters in one realm, one in another, and somebody else's."""
    made = new_world(seed=1)
    assert made.apply(declaration(sind={"dev": {}, "old": {}}, ci={"old": {}})).outcome.complete
    assert made.apply(declaration("other", sind={"theirs": {}})).outcome.complete
    return made


def test_clusters_go_that_are_no_longer_declared_and_no_other(world: World) -> None:
    wanted = declaration(sind={"dev": {}})
    kept = {name for name in names(world) if not name.startswith(("sind-old", "ci-"))}

    found = prepared(world, wanted, PRUNE)
    assert not found.blocked
    assert world.run(found, wanted).outcome.complete

    assert names(world) == kept
    assert prepared(world, wanted, PRUNE).plan.empty


def test_without_being_told_to_they_stay(world: World) -> None:
    found = prepared(world, declaration(sind={"dev": {}}), Allowed())

    assert found.plan.empty
    assert [one.check for one in found.findings] == ["no longer declared"] * 2


def test_a_mesh_stays_with_the_clusters_of_others(world: World) -> None:
    wanted = declaration(lab2={"new": {}})
    assert world.run(prepared(world, wanted, PRUNE), wanted).outcome.complete

    left = names(world)
    assert {"sind-mesh", "sind-dns", "sind-ssh", "sind-theirs-controller"} <= left
    assert not [name for name in left if name.startswith(("ci-", "sind-dev", "sind-old"))]


def test_protection_outlives_its_block() -> None:
    """The trap of terraform's: who deletes the block deletes the word in it. Here the record has kept it."""
    world = new_world(seed=1)
    world.apply(declaration(sind={"dev": {}, "old": {"prevent_destroy": True}}))
    without = declaration(sind={"dev": {}})
    assert world.apply(without).outcome.complete

    said = ("prevent_destroy", "sind/old is protected by prevent_destroy, though it is no longer declared.")
    assert blocks(prepared(world, without, ANYTHING)) == [said]

    # One edit cannot lift the protection and use that: what is declared is not pruned.
    lifted = declaration(sind={"dev": {}, "old": {"prevent_destroy": False}})
    assert {str(c.address) for c in prepared(world, lifted, ANYTHING).plan.changes} == {"sind/old/record"}
    assert world.apply(lifted).outcome.complete
    assert not prepared(world, without, ANYTHING).blocked


def test_a_cluster_without_a_record_may_have_been_protected(world: World) -> None:
    world.engine.remove_network("sind-old-record")

    said = blocks(prepared(world, declaration(sind={"dev": {}}, ci={"old": {}}), ANYTHING))

    assert said == [("prevent_destroy", "sind/old has no record, so nobody can say whether it is protected.")]


@pytest.mark.parametrize("answers", [True, False])
def test_jobs_are_lost_only_when_that_is_said(world: World, answers: bool) -> None:
    world.machine.submit("sind-old-controller", "worker-0", "17", endless=True)
    if not answers:
        world.slurm.stop_units("sind-old-controller", ["slurmctld.service"])
    wanted = declaration(sind={"dev": {}}, ci={"old": {}})

    said = blocks(prepared(world, wanted, PRUNE))

    assert [check for check, _ in said] == ["jobs"]
    assert (said[0][1] == "sind/old has the jobs 17; they would be lost.") == answers
    assert not prepared(world, wanted, ANYTHING).blocked


# Data


DB = Address.parse("sind/dev/volume/db")


@pytest.mark.parametrize(
    ("given", "goes"),
    [((), False), (("sind/dev/volume/db",), True), (("sind/dev",), True), (("sind/dev/volume/home",), False)],
)
def test_a_volume_goes_when_it_is_named(given: tuple[str, ...], goes: bool) -> None:
    world = new_world(seed=1)
    world.apply(declaration(sind={"dev": {"db": {}, "accounts": {"physics": {}}}}))
    wanted = declaration(sind={"dev": {}})
    allowed = Allowed(data=tuple(map(Address.parse, given)))

    found = prepared(world, wanted, allowed)

    assert DB in {change.address for change in found.plan.changes}
    assert found.blocked is not goes
    if goes:
        assert world.run(found, wanted).outcome.complete
        assert not [name for name in names(world) if name.endswith("-db")]
        assert world.plan(wanted).changes == ()


# What no flag allows


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            {},
            {"identity": "client_ids"},
            "The identity of sind/dev cannot change while it exists (local -> client_ids)",
        ),
        ({"identity": "nss_slurm"}, {}, "The identity of sind/dev cannot change while it exists (nss_slurm -> local)"),
        (
            {"subnet": "10.90.0.0/24"},
            {"subnet": "10.91.0.0/24"},
            "The subnet of sind/dev cannot change while it exists (10.90.0.0/24 -> 10.91.0.0/24)",
        ),
    ],
)
def test_what_is_forbidden_is_said_once_and_not_as_a_replacement(
    before: dict[str, str], after: dict[str, str], said: str
) -> None:
    world = new_world(seed=1)
    world.apply(declaration(sind={"dev": {**before, "workers": {"cpu": {"count": 3}}}}))
    wanted = declaration(sind={"dev": {**after, "workers": {"cpu": {"count": 3}}}})

    (only,) = blocks(prepared(world, wanted, Allowed(prune=True, jobs=True, data=(Address.parse("sind/dev"),))))

    assert only[1].startswith(said)
