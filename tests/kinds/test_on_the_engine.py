"""What single kinds do on an engine that is not as they would like it."""

import json
from typing import Any

import pytest
from attrs import evolve

from sindplan.engine.records import ContainerSpec, Endpoint, Entry, Mount, NetworkSpec
from sindplan.errors import SindplanError
from sindplan.execute.apply import Settings
from sindplan.kinds import labels
from sindplan.kinds.config import PENDING
from sindplan.kinds.key import FILES
from sindplan.kinds.relay import HOME, KNOWN_HOSTS, PRIVATE_KEY, PUBLIC_KEY
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from sindplan.model.kind import Operation
from sindplan.workflow import prepare_destroy
from tests.faults import FaultyEngine
from tests.strategies import declared
from tests.world import IMAGE, World, new_world

DEV = Address.parse("sind/dev")


def declaration(name: str = "lab", **cluster: Any) -> Declaration:
    clusters = {"dev": {"image": IMAGE, **cluster}}
    return declared({"version": 1, "name": name, "realms": {"sind": {"clusters": clusters}}})


def applied(**cluster: Any) -> World:
    world = new_world()
    assert world.apply(declaration(**cluster)).outcome.complete
    return world


def errors(world: World, wanted: Declaration) -> list[str]:
    return [error.summary for _, error in world.apply(wanted).outcome.failed]


# Keys


def test_a_key_that_outlived_its_containers_is_kept() -> None:
    world = applied()
    key = world.engine.get_files("sind-dev-controller", FILES["munge"].path)[FILES["munge"].path].content
    for name in ("sind-dev-controller", "sind-dev-worker-0"):
        world.engine.remove_container(name)

    # No container can show it, so the plan takes it for missing.
    assert DEV / "key/munge" in {change.address for change in world.plan(declaration()).changes}
    assert world.apply(declaration()).outcome.complete

    assert world.engine.get_files("sind-dev-controller", FILES["munge"].path)[FILES["munge"].path].content == key
    assert world.plan(declaration()).changes == ()


def test_a_key_that_was_deleted_is_made_anew_and_read_by_all() -> None:
    world = applied(workers={"a": {"count": 2}})
    world.engine.delete("sind-dev-controller", FILES["munge"].path)

    assert world.apply(declaration(workers={"a": {"count": 2}})).outcome.complete

    entry = world.engine.get_files("sind-dev-controller", FILES["munge"].path)[FILES["munge"].path]
    assert (len(entry.content), entry.mode, entry.uid, entry.gid) == (128, 0o400, 900, 900)
    view = world.slurm.view("sind-dev-controller")
    assert view is not None
    assert not any(node.down for node in view.nodes.values())


def test_a_key_is_random_and_its_folder_closed() -> None:
    worlds = [applied(), applied()]

    keys = {
        world.engine.get_files("sind-dev-controller", FILES["munge"].path)[FILES["munge"].path].content
        for world in worlds
    }

    assert len(keys) == 2
    folder = worlds[0].engine.get_files("sind-dev-controller", "/etc/munge")["/etc/munge"]
    assert (folder.kind, folder.mode, folder.uid) == ("dir", 0o700, 900)


# The relay


def test_a_relay_key_that_was_half_written_is_said_so() -> None:
    world = new_world()
    world.engine.create_volume("sind-ssh-config", {**labels.mesh_volume("sind"), labels.RUN: "x"})
    put(world, "sind-ssh-config", HOME, Entry(path=PRIVATE_KEY, content=b"half"))

    assert errors(world, declaration()) == [
        f"The realm's SSH volume has no {PUBLIC_KEY}, and its private key cannot be read: it was half written or edited."
    ]


def put(world: World, volume: str, target: str, *entries: Entry) -> None:
    """Put files into a volume through a container that goes again."""
    helper = world.engine.create_container(
        ContainerSpec(
            name="helper", image=IMAGE, labels={}, mounts=(Mount(target=target, kind="volume", source=volume),)
        )
    )
    world.engine.put_files(helper, entries)
    world.engine.remove_container(helper)


def test_a_relay_key_that_is_there_is_used() -> None:
    world = new_world()
    world.engine.create_volume("sind-ssh-config", labels.mesh_volume("sind"))
    put(
        world,
        "sind-ssh-config",
        HOME,
        Entry(path=PRIVATE_KEY, content=b"theirs", mode=0o600),
        Entry(path=PUBLIC_KEY, content=b"ssh-ed25519 THEIRS sind\n"),
        Entry(path=KNOWN_HOSTS, content=b"github.com ssh-rsa AAAA\n"),
    )

    assert world.apply(declaration()).outcome.complete

    assert world.engine.read("sind-ssh", PRIVATE_KEY) == b"theirs"
    for node in ("sind-dev-controller", "sind-dev-worker-0"):
        assert world.engine.read(node, "/root/.ssh/authorized_keys") == b"ssh-ed25519 THEIRS sind\n"
    assert (world.engine.read("sind-ssh", KNOWN_HOSTS) or b"").startswith(b"github.com ssh-rsa AAAA\n")


def test_known_hosts_of_others_outlive_a_cluster() -> None:
    world = applied()
    lines = b"\xff odd bytes\nworker-0.other.sind.sind ssh-ed25519 X\n"
    before = world.engine.read("sind-ssh", KNOWN_HOSTS) or b""
    world.engine.write("sind-ssh", KNOWN_HOSTS, lines + before)

    world.apply(declaration(workers={"a": {"count": 2}}))
    assert (world.engine.read("sind-ssh", KNOWN_HOSTS) or b"").startswith(lines)
    assert world.plan(declaration(workers={"a": {"count": 2}})).changes == ()


# Records


def records(world: World) -> list[tuple[str, dict[str, str]]]:
    return sorted(
        (found.name, dict(found.labels)) for found in world.engine.networks() if labels.RECORD in found.labels
    )


def test_a_record_is_written_beside_the_old_one_and_the_names_take_turns() -> None:
    world = applied()
    names = [records(world)[0][0]]
    for count in (2, 1, 3):
        world.apply(declaration(workers={"a": {"count": count}}))
        found = records(world)
        assert len(found) == 1
        names.append(found[0][0])

    assert names == ["sind-dev-record", "sind-dev-record-next", "sind-dev-record", "sind-dev-record-next"]


def test_of_two_records_the_newer_counts_and_one_is_left() -> None:
    world = applied()
    # The apply was killed between writing the new record and removing the old one.
    two = declaration(workers={"default": {}, "more": {"count": 1}})
    # The first network to go is the one in which the configuration was tried.
    faulty = FaultyEngine(world.engine, fail_at=2, mode="before", verbs=frozenset({"remove_network"}))
    world.run(world.prepare(two), two, engine=faulty, settings=Settings(on_failure="stop", parallelism=1))
    assert [name for name, _ in records(world)] == ["sind-dev-record", "sind-dev-record-next"]

    assert "more" in world.prepare(two).before.evidence.clusters[0].records[0].labels[labels.DECLARATION]
    assert world.apply(declaration()).outcome.complete

    ((_, marks),) = records(world)
    assert json.loads(marks[labels.DECLARATION]) == {"image": IMAGE}


def test_a_leftover_record_is_no_reason_to_do_anything_and_goes_with_the_cluster() -> None:
    world = applied()
    _, marks = records(world)[0]
    world.engine.create_network(NetworkSpec(name="sind-dev-record-next", labels=marks, config_only=True))

    world.destroy(declaration())

    assert records(world) == []


@pytest.mark.parametrize("text", ["", "{", "null", "[" * 9999, '{"workers": 3}', "x" * 1_000_000, "\x00\x1b[2J", "{}"])
def test_a_record_may_say_anything(text: str) -> None:
    world = applied()
    _, marks = records(world)[0]
    world.engine.remove_network("sind-dev-record")
    world.engine.create_network(
        NetworkSpec(name="sind-dev-record", labels={**marks, labels.DECLARATION: text}, config_only=True)
    )

    assert [str(change.address) for change in world.plan(declaration()).changes] == ["sind/dev/record"]
    assert world.apply(declaration()).outcome.complete
    assert world.plan(declaration()).changes == ()


@pytest.mark.parametrize(
    "marks",
    [
        {labels.RECORD: "1"},
        {labels.RECORD: "1", labels.RECORD_REALM: "sind"},
        {labels.RECORD: "1", labels.RECORD_REALM: "", labels.RECORD_CLUSTER: "dev"},
        {labels.RECORD_REALM: "sind", labels.RECORD_CLUSTER: "dev", labels.OWNER: "other"},
    ],
)
def test_what_is_no_record_is_none(marks: dict[str, str]) -> None:
    world = applied()
    world.engine.create_network(NetworkSpec(name="odd", labels=marks, config_only=True))
    world.engine.create_network(NetworkSpec(name="odd-2", labels={**marks, labels.RECORD_CLUSTER: "dev"}))

    assert world.plan(declaration()).changes == ()
    assert world.prepare(declaration()).findings == ()


# Networks


def test_a_network_with_somebody_elses_container_stays_and_is_said_so() -> None:
    world = applied()
    world.engine.create_container(
        ContainerSpec(name="stranger", image=IMAGE, labels={}, endpoints=(Endpoint(network="bridge"),))
    )
    world.engine.start("stranger")
    world.engine.connect("sind-dev-net", "stranger")

    done = world.destroy(declaration())

    assert [error.summary for _, error in done.outcome.failed] == [
        "The network sind/dev/network is still used by containers that sindplan did not make: stranger."
    ]
    assert world.engine.inspect_container("stranger") is not None
    world.engine.disconnect("sind-dev-net", "stranger")
    assert world.destroy(declaration()).outcome.complete


def test_a_network_that_docker_chose_too_small_is_taken_back() -> None:
    world = new_world()
    world.engine.pools = ("172.31.0.0/16", "192.168.0.0/27")
    before = world.snapshot()

    done = world.apply(declaration())

    assert [error.summary for _, error in done.outcome.failed] == [
        "The network 192.168.0.0/27 that Docker chose has addresses for 0 workers, and worker-0 needs one."
    ]
    assert world.snapshot() == before


def test_the_relay_off_the_network_is_put_back() -> None:
    world = applied()
    world.engine.disconnect("sind-dev-net", "sind-ssh")

    (change,) = world.plan(declaration()).changes
    assert [(one.name, one.before, one.after) for one in change.fields] == [("relay", False, True)]
    assert world.apply(declaration()).outcome.complete
    assert world.plan(declaration()).changes == ()


# Nodes


def test_a_foreign_container_that_takes_a_nodes_name_meanwhile_is_left_alone() -> None:
    world = new_world()
    prepared = world.prepare(declaration())
    theirs = world.engine.create_container(ContainerSpec(name="sind-dev-worker-0", image=IMAGE, labels={}))

    done = world.run(prepared, declaration())

    ((_, error),) = done.outcome.failed
    assert error.summary.startswith("A container named 'sind-dev-worker-0' is in the way; it was left as it is: ")
    assert [(found.name, found.id) for found in world.engine.containers()] == [("sind-dev-worker-0", theirs)]


def test_a_volume_that_appears_meanwhile_is_not_taken_for_ours() -> None:
    world = new_world()
    prepared = world.prepare(declaration())
    world.engine.create_volume("sind-dev-state", {"theirs": "1"})

    done = world.run(prepared, declaration())

    assert [error.summary for _, error in done.outcome.failed] == [
        "A volume named 'sind-dev-state' exists that is not part of sind/dev; it was left as it is."
    ]
    assert [found.labels for found in world.engine.volumes()] == [{"theirs": "1"}]


def test_limits_are_changed_in_place() -> None:
    world = applied()
    before = world.engine.inspect_container("sind-dev-worker-0")

    world.apply(declaration(workers={"default": {"cpus": 2, "memory": "1g"}}))

    after = world.engine.inspect_container("sind-dev-worker-0")
    assert before is not None
    assert after is not None
    assert (after.id, after.started_at) == (before.id, before.started_at)
    assert (after.spec.cpus, after.spec.memory) == (2, 2**30)


@pytest.mark.parametrize(
    ("marks", "drift"),
    [
        ({"sind.identity": "nss_slurm"}, True),
        ({"sind.managed": ""}, True),
        # What Docker, an image or anybody else may add means nothing.
        ({"org.opencontainers.image.title": "x", "sind.unknown": "y", "sindplan.unknown": "z"}, False),
        ({labels.SLURM_VERSION: "1.2"}, False),
        ({labels.SPEC: "{garbage"}, False),
        ({"sind.users": ""}, False),
    ],
)
def test_only_labels_that_sindplan_sets_are_compared(marks: dict[str, str], drift: bool) -> None:
    world = applied()
    relabel(world, "sind-dev-worker-0", marks)

    changes = world.plan(declaration()).changes

    assert ({change.operation for change in changes} == {Operation.REPLACE}) is drift
    assert bool(changes) is drift


def relabel(world: World, name: str, marks: dict[str, str]) -> None:
    """Give a container other labels, which Docker cannot: as if it had been made so."""
    found = world.engine.inspect_container(name)
    assert found is not None
    inside = world.engine._containers[found.id]
    inside.spec = evolve(inside.spec, labels={**inside.spec.labels, **marks})


def test_a_label_that_says_nothing_is_none() -> None:
    world = applied()
    relabel(
        world, "sind-dev-controller", dict.fromkeys(["sind.cvmfs", "sind.users", "com.docker.compose.config-hash"], "")
    )

    assert world.plan(declaration()).changes == ()


# Configuration


def test_a_frozen_controller_hears_of_what_was_written_meanwhile() -> None:
    world = applied()
    world.engine.pause("sind-dev-controller")
    more = declaration(workers={"default": {}, "more": {}})

    assert world.apply(more).outcome.complete

    view = world.slurm.view("sind-dev-controller")
    assert view is not None
    assert set(view.nodes) == {"worker-0", "worker-1"}
    assert world.plan(more).changes == ()


def test_configuration_that_slurmctld_has_not_read_is_read() -> None:
    world = applied()
    world.engine.write("sind-dev-controller", f"/etc/slurm/{PENDING}", b"")
    count = world.machine.reconfigured

    (change,) = world.plan(declaration()).changes
    assert str(change.address) == "sind/dev/service/controller/slurmctld"
    assert world.apply(declaration()).outcome.complete

    assert world.machine.reconfigured == count + 1
    assert world.engine.read("sind-dev-controller", f"/etc/slurm/{PENDING}") is None
    assert world.plan(declaration()).changes == ()


def test_files_of_the_users_own_are_not_touched() -> None:
    world = applied()
    world.engine.write("sind-dev-controller", "/etc/slurm/job_submit.lua", b"-- mine")
    world.engine.write("sind-dev-controller", "/etc/slurm/plugstack.conf.d/mine.conf", b"required x.so")

    assert world.plan(declaration()).changes == ()
    world.apply(declaration(workers={"default": {}, "more": {}}))
    assert world.engine.read("sind-dev-controller", "/etc/slurm/job_submit.lua") == b"-- mine"


def test_a_file_that_is_not_text_is_shown_and_put_right() -> None:
    world = applied()
    world.engine.write("sind-dev-controller", "/etc/slurm/cgroup.conf", b"\xff\xfe\x00")

    changes = {str(change.address) for change in world.plan(declaration()).changes}

    assert changes == {"sind/dev/file/cgroup.conf", "sind/dev/service/controller/slurmctld"}
    assert world.apply(declaration()).outcome.complete
    assert world.plan(declaration()).changes == ()


def test_modes_and_owners_of_files_are_compared() -> None:
    world = applied()
    text = world.engine.get_files("sind-dev-controller", "/etc/slurm/slurm.conf")["/etc/slurm/slurm.conf"]
    world.engine.put_files("sind-dev-controller", [evolve(text, mode=0o600, uid=5)])

    (change,) = world.plan(declaration()).changes
    assert {one.name for one in change.fields} == {"mode", "uid"}
    assert world.apply(declaration()).outcome.complete
    assert world.plan(declaration()).changes == ()


# Destroying


def test_destroying_what_is_not_there_does_nothing() -> None:
    world = new_world()

    # Named by hand it is a slip of the pen; declared it is gone already.
    with pytest.raises(SindplanError, match="There is no cluster sind/dev"):
        prepare_destroy(world.engine, world.slurm, [DEV])
    prepared = prepare_destroy(world.engine, world.slurm, [DEV], declaration=declaration())

    assert prepared.plan.empty
    assert prepared.findings == ()


def test_destroying_leaves_the_mesh_to_other_clusters_of_anybody() -> None:
    world = applied()
    world.engine.create_volume("sind-theirs-data", labels.volume("sind", "theirs", "data"))

    world.destroy(declaration())

    assert {found.name for found in world.engine.containers()} == {"sind-dns", "sind-ssh"}
    assert world.engine.read("sind-ssh", KNOWN_HOSTS) == b""


def test_destroying_works_on_what_is_left_of_a_cluster() -> None:
    world = applied()
    for name in ("sind-dev-controller", "sind-dns", "sind-ssh"):
        world.engine.remove_container(name)
    world.engine.remove_network("sind-dev-record")

    assert world.destroy(declaration()).outcome.complete

    assert world.engine.containers() == ()
    assert world.engine.volumes() == ()
    assert {found.name for found in world.engine.networks()} <= {"bridge", "host", "none"}


def test_sindplan_errors_say_how_to_mend_things() -> None:
    world = new_world()
    world.engine.create_volume("sind-dev-state", {})
    prepared = prepare_of(world)

    done = world.run(prepared, declaration())

    assert all(isinstance(error, SindplanError) and error.fix for _, error in done.outcome.failed)


def prepare_of(world: World) -> Any:
    prepared = world.prepare(declaration())
    assert prepared.blocked
    return prepared
