"""Replacing a realm's DNS server and relay: names, keys and networks stay, and the old one stands by until the new one works."""

import json
from typing import Any

import pytest
from attrs import evolve

from sindplan.engine.records import Container, ContainerSummary, NetworkSpec
from sindplan.execute.apply import Applied, Settings
from sindplan.model.address import Address
from sindplan.model.corefile import records_of
from sindplan.model.declaration import Declaration, Mesh
from sindplan.model.facts import IMAGE_LABEL
from sindplan.model.kind import Operation
from sindplan.workflow import Prepared, prepare
from tests.faults import FaultyEngine, Mode
from tests.kinds.test_config import applied, declaration
from tests.sind_cluster import Sind, make_all, sind_world
from tests.world import IMAGE, IMAGE_FACTS, World

MESH = Address.parse("sind/@mesh")
OTHER = "other:1"
COREDNS = "dns:1"
BOTH = {"dns": COREDNS, "relay": OTHER}
NAMES = {"dns": "sind-dns", "relay": "sind-ssh"}
KEY = "/root/.ssh/id_ed25519"


def said(dns: str | None = None, relay: str | None = None, **more: Any) -> Declaration:
    """Return a declaration of one cluster whose mesh has these images."""
    cluster = {key: value for key, value in {"submitter": {}, **more}.items() if value is not None}
    plain = declaration(**cluster)
    (realm,) = plain.realms.values()
    return evolve(plain, realms={"sind": evolve(realm, mesh=Mesh(dns_image=dns, relay_image=relay))})


def with_images(world: World) -> World:
    world.engine.add_image(OTHER, labels={IMAGE_LABEL: json.dumps(IMAGE_FACTS), "variant": "other"})
    return world


def running(wanted: Declaration | None = None) -> World:
    return with_images(applied(wanted or said()))


def mesh(world: World) -> dict[str, ContainerSummary]:
    """Return the containers of the mesh by name, whatever they are called."""
    marks = ("com.docker.compose.project", "sind-mesh")
    return {one.name: one for one in world.engine.containers() if marks in one.labels.items()}


def node_ids(world: World) -> dict[str, str]:
    return {one.name: one.id for one in world.engine.containers() if one.labels.get("sind.cluster")}


def inspected(world: World, name: str) -> Container:
    found = world.engine.inspect_container(name)
    assert found is not None
    return found


def replaced(prepared: Prepared) -> set[str]:
    return {str(change.address) for change in prepared.plan.changes if change.operation is Operation.REPLACE}


def records(world: World) -> dict[str, str]:
    return dict(records_of((world.engine.read("sind-dns", "/Corefile") or b"").decode()))


def whole(world: World) -> bool:
    """Say whether each of the two is there once, and runs."""
    found = mesh(world)
    return found.keys() == {"sind-dns", "sind-ssh"} and {one.state for one in found.values()} == {"running"}


@pytest.mark.parametrize("names", [("dns",), ("relay",), ("dns", "relay")])
def test_another_image_replaces_the_container_and_nothing_else(names: tuple[str, ...]) -> None:
    world = running()
    world.apply(said(api={}))
    before = {name: inspected(world, NAMES[name]) for name in NAMES}
    nodes, known, lines = node_ids(world), records(world), world.engine.read("sind-ssh", "/root/.ssh/known_hosts")
    key = world.engine.read("sind-ssh", KEY)
    wanted = said(**{name: BOTH[name] for name in names}, api={})
    prepared = world.prepare(wanted)

    assert replaced(prepared) == {str(MESH / name) for name in names}
    assert [(change.reason, [field.name for field in change.fields]) for change in prepared.plan.changes] == [
        ("differs from the declaration", ["image"])
    ] * len(names)
    assert world.run(prepared, wanted).outcome.complete

    assert whole(world)
    after = {name: inspected(world, NAMES[name]) for name in NAMES}
    assert {name for name in NAMES if before[name].id != after[name].id} == set(names)
    assert {name: after[name].spec.image for name in names} == {name: BOTH[name] for name in names}
    for name in NAMES:
        assert [(end.network, end.fixed) for end in after[name].spec.endpoints] == [
            (end.network, end.fixed) for end in before[name].spec.endpoints
        ]
        assert after[name].spec.mounts == before[name].spec.mounts
        assert after[name].spec.dns == before[name].spec.dns
    assert (node_ids(world), records(world)) == (nodes, known)
    assert (world.engine.read("sind-ssh", KEY), world.engine.read("sind-ssh", "/root/.ssh/known_hosts")) == (key, lines)
    assert world.plan(wanted).changes == ()


def test_which_server_runs_follows_from_the_image() -> None:
    """dnsmasq out of a node image takes a command and a capability that CoreDNS must not have."""
    world = running()
    assert inspected(world, "sind-dns").spec.cap_add == ("NET_ADMIN",)

    world.apply(said(dns=COREDNS))
    plain = inspected(world, "sind-dns").spec
    world.apply(said(dns=OTHER))
    dnsmasq = inspected(world, "sind-dns").spec

    assert (plain.cap_add, "sindplan-dns" in (plain.command or ())) == ((), False)
    assert (dnsmasq.cap_add, "sindplan-dns" in (dnsmasq.command or ())) == (("NET_ADMIN",), True)


def test_it_comes_before_nodes_that_are_made_in_the_same_plan() -> None:
    world = running()
    wanted = said(**BOTH, workers={"cpu": {"count": 3}}, image=OTHER)

    assert world.apply(wanted).outcome.complete
    assert whole(world)
    assert len(records(world)) == 5
    assert world.plan(wanted).changes == ()


def test_the_relay_stays_on_networks_that_nobody_declares_here() -> None:
    """Clusters of the realm that are sind's, and one that a hand put it on; one that was removed is let go of."""
    world = running(said())
    wanted = said(**BOTH)
    for name in ("sind-other-net", "sind-gone-net"):
        world.engine.create_network(NetworkSpec(name=name, labels={}))
        world.engine.connect(name, "sind-ssh")
    world.engine.stop("sind-ssh")
    world.engine.remove_network("sind-gone-net")

    assert world.apply(wanted).outcome.complete

    on = {end.network for end in inspected(world, "sind-ssh").spec.endpoints}
    assert on == {"sind-mesh", "sind-dev-net", "sind-other-net"}
    assert world.plan(wanted).changes == ()


def test_another_name_of_the_same_image_replaces_nothing() -> None:
    world = running()
    world.engine._images["alias:1"] = world.engine._images[IMAGE]

    assert world.plan(said(dns="alias:1", relay="alias:1")).changes == ()


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("sind/@mesh/dns", {"sind/@mesh/dns"}),
        ("sind/@mesh/relay", {"sind/@mesh/relay"}),
        ("sind/@mesh", {"sind/@mesh/dns", "sind/@mesh/relay"}),
    ],
)
def test_it_is_replaced_on_demand(asked: str, expected: set[str]) -> None:
    world = running()
    before = mesh(world)
    prepared = prepare(world.engine, world.slurm, said(), replace=[Address.parse(asked)])

    assert replaced(prepared) == expected
    assert world.run(prepared, said()).outcome.complete

    changed = {name for name, one in mesh(world).items() if before[name].id != one.id}
    assert changed == {NAMES[address.rpartition("/")[2]] for address in expected}
    assert world.plan(said()).changes == ()


def test_a_cluster_that_is_replaced_keeps_its_mesh() -> None:
    world = running()
    found = replaced(prepare(world.engine, world.slurm, said(), replace=[Address.parse("sind/dev")]))

    assert not any("@mesh" in address for address in found)


def test_a_server_that_has_no_fixed_address_is_not_replaced() -> None:
    """Of a mesh that an older sind made: nodes were told an address that its successor would not get."""
    world = with_images(sind_world())
    make_all(Sind(world.engine, old=True), world.slurm, said())
    wanted = evolve(said(dns=IMAGE), realms={"sind": adopting(said(dns=IMAGE))})

    (blocked,) = [one for one in world.prepare(wanted).findings if one.check == "replacement"]

    assert "sind/@mesh/dns" in blocked.what
    assert "address" in blocked.what


def adopting(wanted: Declaration) -> Any:
    realm = wanted.realms["sind"]
    return evolve(realm, clusters={name: evolve(one, adopt=True) for name, one in realm.clusters.items()})


# Failing, and being killed


def fail(world: World, wanted: Declaration, at: int, mode: Mode, on_failure: str) -> tuple[Applied, int]:
    engine = FaultyEngine(world.engine, at, mode)
    settings = Settings(parallelism=1, on_failure=on_failure)  # type: ignore[arg-type]
    return world.run(world.prepare(wanted), wanted, engine=engine, settings=settings), len(engine.calls)


CASES: dict[str, dict[str, Any]] = {
    "dns": {"dns": COREDNS},
    "relay": {"relay": OTHER},
    "both": BOTH,
    "both, and a worker comes": {**BOTH, "workers": {"cpu": {"count": 2}}},
    "both, and nodes are replaced": {**BOTH, "controller": {"image": OTHER}},
    "both, and a node goes": {**BOTH, "submitter": None},
}


@pytest.mark.parametrize("mode", ["before", "after", "timeout"])
@pytest.mark.parametrize("case", CASES)
def test_a_failure_anywhere_leaves_a_mesh_that_works(case: str, mode: Mode) -> None:
    new = said(**CASES[case])
    calls, at = 10**6, 0
    while at < calls:
        at += 1
        world = running()
        snapshot, known = world.snapshot(), records(world)
        done, calls = fail(world, new, at, mode, "rollback")
        if done.outcome.complete:
            continue
        assert whole(world), (at, done)
        if done.restored and not done.leftovers:
            assert world.snapshot() == snapshot, (at, done.outcome.failed)
        assert done.outcome.removing or records(world).items() >= known.items(), at
        assert world.apply(new).outcome.complete, at
        assert world.plan(new).changes == (), at
        assert whole(world), at


@pytest.mark.parametrize("mode", ["before", "after"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("then", ["goes on", "goes back"])
def test_whoever_is_killed_anywhere_the_next_apply_finishes_or_goes_back(case: str, mode: Mode, then: str) -> None:
    new = said(**CASES[case])
    calls, at = 10**6, 0
    while at < calls:
        at += 1
        world = running()
        known, key = records(world), world.engine.read("sind-ssh", KEY)
        _, calls = fail(world, new, at, mode, "stop")
        # What nobody names stays what it is: going back is said.
        wanted = new if then == "goes on" else said(dns=IMAGE, relay=IMAGE)

        assert world.apply(wanted).outcome.complete, at

        assert world.plan(wanted).changes == (), at
        assert whole(world), at
        assert world.engine.read("sind-ssh", KEY) == key, at
        assert then == "goes on" or records(world) == known, at


def test_a_mesh_that_fails_is_put_back_though_a_cluster_of_the_realm_is_done() -> None:
    """Work that does not wait for the mesh was done in a cluster: that stays, and the mesh serves as before."""
    new = said(**BOTH, slurm={"main": "MaxJobCount=7\n"})
    calls, at, seen = 10**6, 0, 0
    while at < calls:
        at += 1
        world = running()
        before = {name: one.id for name, one in mesh(world).items()}
        done, calls = fail(world, new, at, "before", "rollback")
        if MESH in done.outcome.unfinished:
            clusters = {action.scope for action in done.outcome.done} - {MESH} - done.outcome.unfinished
            seen += bool(clusters)
            assert whole(world), at
            still = {name: one.id for name, one in mesh(world).items()}
            assert still == before or done.leftovers, at
    assert seen


def test_what_is_set_aside_goes_with_the_realm() -> None:
    for at in range(1, 7):
        world = running()
        fail(world, said(**BOTH), at, "before", "stop")

        world.destroy(said())

        assert mesh(world) == {}, at
        assert not [one for one in world.engine.networks() if one.name.startswith("sind-")], at
        assert not world.engine.containers(), at
