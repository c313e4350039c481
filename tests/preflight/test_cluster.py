"""Checks of what a plan would do: a minimal case for each, on the simulated engine."""

import json
from typing import Any

import pytest
from attrs import evolve

from sindplan.engine.records import ContainerSpec, NetworkSpec
from sindplan.engine.simulated import DEFAULT_INFO
from sindplan.kinds import labels
from sindplan.model.declaration import Declaration
from sindplan.model.facts import IMAGE_LABEL
from sindplan.model.kind import Operation
from sindplan.model.layout import lay_out
from sindplan.observe.machine import Machine
from sindplan.observe.observation import observe
from sindplan.plan.plan import Plan
from sindplan.preflight.case import Case
from sindplan.preflight.cluster import check_plan
from sindplan.preflight.finding import Severity
from sindplan.workflow import clusters_of
from tests.strategies import declared
from tests.world import IMAGE, IMAGE_FACTS, World, new_world

STAYS = "it is left as it is. A cluster under another name is another cluster."


def declaration(name: str = "lab", realm: str = "sind", **clusters: dict[str, Any]) -> Declaration:
    tables = {key: {"image": IMAGE, **content} for key, content in (clusters or {"dev": {}}).items()}
    return declared({"version": 1, "name": name, "realms": {realm: {"clusters": tables}}})


def found(world: World, wanted: Declaration) -> list[tuple[str, str, str]]:
    """Return check, what and fix of what speaks against a plan; a warning's check begins with `~`."""
    return [
        (f"{'~' if one.severity is Severity.WARNS else ''}{one.check}", one.what, one.fix)
        for one in world.prepare(wanted).findings
    ]


def test_a_plain_plan_has_no_finding() -> None:
    world = new_world()
    assert found(world, declaration()) == []
    world.apply(declaration())
    assert found(world, declaration()) == []


# Ownership


def test_another_declarations_cluster_is_left_alone() -> None:
    world = new_world()
    world.apply(declaration("other"))

    assert found(world, declaration()) == [
        (
            "ownership",
            "sind/dev exists and belongs to the declaration named 'other'; it is left alone.",
            "Give the cluster another name, or use the declaration it belongs to.",
        )
    ]


def test_a_cluster_that_sindplan_did_not_make_is_left_alone() -> None:
    world = new_world()
    world.engine.create_volume("sind-dev-config", labels.volume("sind", "dev", "config"))

    assert found(world, declaration())[0] == (
        "leftover",
        "sind/dev was not made by sindplan, and only the volume sind-dev-config is left of it; it is left alone.",
        "Give the cluster another name, or remove what is left: docker volume rm sind-dev-config",
    )


def test_a_worker_of_sind_does_not_make_a_cluster_sinds() -> None:
    world = new_world()
    world.apply(declaration())
    world.engine.create_container(
        ContainerSpec(
            name="sind-dev-worker-7",
            image=IMAGE,
            labels={**labels.node("sind", "dev", "worker-7"), "sind.managed": "true", "sind.data.mountpath": "/data"},
        )
    )

    assert found(world, declaration()) == [
        (
            "~guest",
            "sind/dev/node/worker-7 was added by another tool; it stays, with its line in the configuration.",
            "",
        )
    ]


def test_a_lost_record_loses_no_owner() -> None:
    world = new_world()
    world.apply(declaration("other"))
    world.engine.remove_network("sind-dev-record")

    assert [one[0] for one in found(world, declaration())] == ["ownership"]


def test_what_is_no_longer_declared_is_pointed_out_in_every_realm() -> None:
    world = new_world()
    for realm in ("sind", "ci"):
        world.apply(declaration(realm=realm, dev={}, old={}))
    world.apply(declaration("other", other={}))

    assert found(world, declaration()) == [
        (
            "~no longer declared",
            f"{address} was made from this declaration and is not in it any more; {STAYS}",
            f"Remove it with --prune, or with: sindplan destroy {address}",
        )
        for address in ("ci/dev", "ci/old", "sind/old")
    ]


# In the way


@pytest.mark.parametrize(
    ("kind", "name", "whose"),
    [
        ("volume", "sind-dev-config", "sind/dev"),
        ("volume", "sind-dev-state", "sind/dev"),
        ("volume", "sind-ssh-config", "sind/@mesh"),
        ("network", "sind-dev-net", "sind/dev"),
        ("network", "sind-mesh", "sind/@mesh"),
        ("container", "sind-dev-controller", "sind/dev"),
        ("container", "sind-dev-worker-0", "sind/dev"),
        ("container", "sind-dns", "sind/@mesh"),
        ("container", "sind-ssh", "sind/@mesh"),
    ],
)
def test_names_that_are_taken(kind: str, name: str, whose: str) -> None:
    world = new_world()
    make(world, kind, name)

    assert found(world, declaration()) == [
        (
            "in the way",
            f"A {kind} named {name!r} exists that does not belong to {whose}.",
            f"Look at it (docker {kind} inspect {name}), then remove or rename it.",
        )
    ]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        # Longer and shorter names, and those of the neighbour ci + 42-dev, are nobody's business here.
        ("volume", "sind-dev-config-2"),
        ("volume", "sind-dev-home"),
        ("network", "sind-dev"),
        ("container", "sind-dev-worker-1"),
        ("container", "sind-dev-worker-00"),
        ("container", "xsind-dev-controller"),
    ],
)
def test_names_that_only_look_like_ours(kind: str, name: str) -> None:
    world = new_world()
    make(world, kind, name)

    assert found(world, declaration()) == []


def make(world: World, kind: str, name: str) -> None:
    match kind:
        case "volume":
            world.engine.create_volume(name, {})
        case "network":
            world.engine.create_network(NetworkSpec(name=name, labels={}))
        case _:
            world.engine.create_container(ContainerSpec(name=name, image=IMAGE, labels={}))


def test_a_record_that_is_taken_by_name_only_is_no_matter() -> None:
    world = new_world()
    world.engine.create_network(NetworkSpec(name="sind-dev-record", labels={}))

    assert found(world, declaration()) == []
    assert world.apply(declaration()).outcome.complete
    assert world.plan(declaration()).changes == ()


def test_a_copy_of_a_node_is_a_stray() -> None:
    world = new_world()
    world.apply(declaration())
    model = world.engine.inspect_container("sind-dev-worker-0")
    assert model is not None
    world.engine.create_container(evolve(model.spec, name="by-hand", endpoints=(), mounts=()))

    assert found(world, declaration()) == [
        (
            "~stray container",
            "The container 'by-hand' carries the labels of sind/dev and is none of its nodes.",
            "Remove it if nobody needs it: docker rm -f by-hand",
        )
    ]
    assert world.plan(declaration()).changes == ()


# Images


def test_images_that_have_to_be_pulled() -> None:
    world = new_world()
    world.engine.add_image("coredns/coredns:1.14.7")

    assert found(world, declaration(dev={"image": "nowhere:1"}))[0][:2] == (
        "~image",
        "The image 'nowhere:1' is not on the engine; apply pulls it from its registry.",
    )


def test_images_that_have_to_be_looked_into(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    world = new_world()
    world.engine.add_image("plain:1")
    world.engine.add_image("coredns/coredns:1.14.7")

    assert found(world, declaration(dev={"image": "plain:1"})) == [
        ("~image", "What 'plain:1' has is not known yet; apply looks once, and what it generates may differ.", "")
    ]


def test_images_of_what_is_there_already_are_no_matter() -> None:
    world = new_world()
    world.apply(declaration())
    world.engine._images.clear()

    assert found(world, declaration()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"v": 2}', '{"v": 1, "plugins": 3}', "null", "1" * 5000])
def test_a_label_that_makes_no_sense_is_no_label(text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    world = new_world()
    world.engine.add_image("odd:1", labels={IMAGE_LABEL: text})
    world.engine.add_image("coredns/coredns:1.14.7")

    assert [one[0] for one in found(world, declaration(dev={"image": "odd:1"}))] == ["~image"]


def test_nodes_of_a_cluster_have_one_slurm_and_the_same_ids() -> None:
    world = new_world()
    facts = {**IMAGE_FACTS, "slurm_version": "24.11.5", "uids": {"slurm": [1, 1], "munge": [2, 2]}}
    world.engine.add_image("other:1", labels={IMAGE_LABEL: json.dumps(facts)})

    assert found(world, declaration(dev={"controller": {"image": "other:1"}})) == [
        (
            "Slurm versions",
            "The images of sind/dev have different Slurm versions: 24.11.5, 26.05.5.",
            "Give all of its nodes one image.",
        ),
        (
            "user ids",
            "The images of sind/dev give slurm or munge different user ids; they share volumes.",
            "Give all of its nodes images with the same ids.",
        ),
    ]


# Room


def test_more_than_the_host_has() -> None:
    world = new_world(info=evolve(DEFAULT_INFO, cpus=2, memory=1024**3 + 1))

    assert found(world, declaration(dev={"controller": {"cpus": 3}, "workers": {"a": {"memory": "2g"}}})) == [
        (
            "CPUs",
            "sind/dev/node/controller wants 3 CPUs and the host has 2.",
            "Lower cpus: Slurm drains a node that has fewer than its line says.",
        ),
        (
            "memory",
            "sind/dev/node/worker-0 wants 2g and the host has 1024m.",
            "Lower memory: Slurm drains a node that has less than its line says.",
        ),
    ]
    # The sum may be more: nodes share the host.
    assert found(world, declaration(dev={"workers": {"a": {"count": 9, "cpus": 2, "memory": "1g"}}})) == []


def test_address_pools_that_are_nearly_full() -> None:
    world = new_world(info=evolve(DEFAULT_INFO, address_pools=6))

    assert found(world, declaration(dev={}, two={})) == []
    world.engine.create_network(NetworkSpec(name="somebody", labels={}))
    assert found(world, declaration(dev={}, two={})) == [
        (
            "~address pools",
            "3 networks will be added to 2; the engine's address pools hold 6.",
            "Remove unused networks, enlarge default-address-pools in daemon.json, or give clusters a subnet.",
        )
    ]
    # Records take no pool, and neither does a network with a subnet of its own.
    assert found(world, declaration(dev={"subnet": "10.9.0.0/24"}, two={"subnet": "10.9.1.0/24"})) == []


@pytest.mark.parametrize(("workers", "full"), [(1020, False), (1021, True)])
def test_a_bridge_has_no_room_for_more(workers: int, full: bool) -> None:
    world = new_world()

    findings = found(world, declaration(dev={"workers": {"a": {"count": workers}}}))

    expected = (
        "network full",
        "sind/@mesh/network would have 1024 containers; a bridge takes 1023.",
        "Spread the clusters over several realms.",
    )
    assert findings == ([expected] if full else [])


def test_other_declarations_count_on_the_mesh() -> None:
    world = new_world()
    world.apply(declaration("other", other={"workers": {"a": {"count": 1}}}))

    findings = found(world, declaration(dev={"workers": {"a": {"count": 1019}}}))

    assert [one[0] for one in findings] == ["network full"]


def test_a_network_that_exists_may_be_too_small() -> None:
    world = new_world()
    world.apply(declaration(dev={"subnet": "10.9.0.0/26"}))

    assert found(world, declaration(dev={"workers": {"default": {"count": 12}}})) == []
    assert found(world, declaration(dev={"workers": {"default": {"nodes": "worker-12"}}}))[0] == (
        "network full",
        "sind/dev/network has the subnet 10.9.0.0/26, with addresses up to worker-11; worker-12 needs one.",
        "Give the cluster a larger subnet.",
    )


@pytest.mark.parametrize(
    ("limit", "expected"), [(None, []), (1024, ["1025 inotify"]), (1025, []), (1023, []), (128, [])]
)
def test_inotify_instances(limit: int | None, expected: list[str]) -> None:
    world = new_world()
    wanted = declaration(dev={"workers": {"a": {"count": 204}}})
    observation = observe(world.engine, world.slurm, clusters_of(wanted))
    layout = lay_out(wanted, observation.facts())
    case = Case(
        layout=layout,
        observation=observation,
        plan=Plan(changes=(), actions=()),
        machine=Machine(inotify_instances=limit),
    )

    findings = check_plan(case)

    assert [one.what.partition("about ")[2][: len("1025 inotify")] for one in findings] == expected
    # Fewer than 1024 is what the check of the host says already.
    assert all(one.severity is Severity.WARNS and "2050" in one.fix for one in findings)


# Replacements


def test_what_is_forbidden_is_shown_and_blocks() -> None:
    world = new_world()
    world.apply(declaration())

    prepared = world.prepare(declaration(dev={"identity": "client_ids"}))

    assert {c.address.kind for c in prepared.plan.changes if c.operation is Operation.REPLACE} == {"node"}
    assert prepared.blocked
    assert "The identity of sind/dev cannot change" in [one.what.partition(" while")[0] for one in prepared.findings]


def test_everything_is_found_at_once() -> None:
    world = new_world(info=evolve(DEFAULT_INFO, version="27.0", cpus=1, memory_limit=False))
    world.engine.create_volume("sind-dev-data", {})
    world.engine.create_network(NetworkSpec(name="sind-mesh", labels={}))

    findings = found(world, declaration(dev={"controller": {"cpus": 2}}))

    assert [one[0] for one in findings] == ["engine version", "~limits", "in the way", "in the way", "CPUs"]


def test_privileges_are_of_new_nodes_only() -> None:
    world = new_world()
    plain = declaration(dev={"storage": {"host_path": "/srv/data"}}, two={})

    assert world.prepare(plain).privileges == ("sind/dev: every node reads and writes the host's /srv/data",)
    world.apply(plain)
    assert world.prepare(plain).privileges == ()
    more = declaration(
        dev={"storage": {"host_path": "/srv/data"}, "workers": {"default": {}, "more": {}}}, two={"submitter": {}}
    )
    assert world.prepare(more).privileges == ("sind/dev: every node reads and writes the host's /srv/data",)


def test_no_edit_takes_data_away() -> None:
    world = new_world()
    world.apply(declaration(dev={"db": {}}))

    assert found(world, declaration(dev={})) == [
        (
            "data",
            "sind/dev/volume/db would be removed with everything in it (sind-dev-db), while its cluster stays.",
            "Put what needs it back into the declaration, or give the data up by name: --allow-data-loss sind/dev/volume/db",
        )
    ]
