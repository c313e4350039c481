"""What becomes of a cluster after it was taken over: it grows, shrinks, changes and goes like any other, by name."""

from attrs import evolve

from sindplan.engine.records import ContainerSpec, Mount
from sindplan.model.declaration import User, WorkerGroup
from sindplan.workflow import prepare_drift
from tests.edits import DAMAGE
from tests.importing.conftest import DEV, cluster_of, ids, sinds, spec_of, taken
from tests.sind_cluster import sind_world
from tests.world import failures


def changed(declaration, **more):
    realm = declaration.realms["sind"]
    return evolve(
        declaration,
        realms={"sind": evolve(realm, clusters={"dev": evolve(realm.clusters["dev"], **more)})},
    )


def ours(tmp_path, **more):
    """Return a world with a cluster that was taken over, its declaration, and the ids of its containers."""
    world = sind_world(seed=1)
    sinds(world, tmp_path, **more)
    declaration, _ = taken(world, tmp_path)
    world.apply(declaration)
    return world, declaration, ids(world)


def kept(world, before):
    now = ids(world)
    return {name: now.get(name) for name in before}


def test_once_applied_it_is_ours(tmp_path):
    world, declaration, before = ours(tmp_path)

    assert ids(world) == before
    assert world.plan(declaration).changes == ()
    assert [one.plan.changes for one in prepare_drift(world.engine, world.slurm)] == [()]


def test_the_word_that_took_it_over_may_go(tmp_path):
    world, declaration, _ = ours(tmp_path)

    assert world.plan(changed(declaration, adopt=False)).changes == ()


def test_it_grows_by_workers_that_go_by_name(tmp_path):
    world, declaration, before = ours(tmp_path)
    more = changed(
        declaration, workers={"group-1": WorkerGroup(count=4), "group-2": cluster_of(declaration).workers["group-2"]}
    )

    world.apply(more)

    assert world.plan(more).changes == ()
    assert kept(world, before) == before
    text = (world.engine.read("sind-dev-controller", "/etc/slurm/sind-nodes.conf") or b"").decode()
    assert "NodeName=worker-3 CPUs=1" in text
    assert "NodeAddr" not in text
    assert world.engine.inspect_container("sind-dev-worker-3").spec.extra_hosts == ()


def test_it_shrinks_by_workers_that_sind_made(tmp_path):
    world, declaration, before = ours(tmp_path)
    fewer = changed(declaration, workers={"group-1": WorkerGroup(count=1)})

    world.apply(fewer)

    assert world.plan(fewer).changes == ()
    gone = {"sind-dev-worker-1", "sind-dev-worker-2"}
    assert ids(world) == {name: found for name, found in before.items() if name not in gone}


def test_a_worker_that_sind_adds_later_is_a_guest(tmp_path):
    world, declaration, _ = ours(tmp_path)
    made = world.engine.create_container(
        evolve(spec_of(world, "sind-dev-worker-0"), name="sind-dev-worker-7", hostname="worker-7")
    )
    world.engine.start(made)

    prepared = world.prepare(declaration)

    assert prepared.plan.changes == ()
    assert "sind-dev-worker-7" not in str(prepared.plan)
    assert [finding.check for finding in prepared.findings] == ["guest"]


def test_its_configuration_changes_in_place(tmp_path):
    world, declaration, before = ours(tmp_path)
    slurm = evolve(cluster_of(declaration).slurm, main="SchedulerParameters=bf_continue\n")

    world.apply(changed(declaration, slurm=slurm))

    assert world.plan(changed(declaration, slurm=slurm)).changes == ()
    assert kept(world, before) == before


def test_a_hand_edit_is_drift_and_mended(tmp_path):
    world, declaration, _ = ours(tmp_path)
    path = "/etc/slurm/slurm.conf"
    text = world.engine.read("sind-dev-controller", path) or b""
    world.engine.write("sind-dev-controller", path, text.replace(b"ReturnToService=2", b"ReturnToService=1"))

    (drift,) = prepare_drift(world.engine, world.slurm)
    assert {str(change.address) for change in drift.plan.changes} == {
        "sind/dev/file/slurm.conf",
        "sind/dev/service/controller/slurmctld",
    }
    world.apply(declaration)

    assert world.plan(declaration).changes == ()
    assert b"ReturnToService=2" in (world.engine.read("sind-dev-controller", path) or b"")


def test_a_comment_of_a_hand_in_sinds_file_is_no_difference(tmp_path):
    world, declaration, _ = ours(tmp_path)
    path = "/etc/slurm/slurm.conf"
    text = world.engine.read("sind-dev-controller", path) or b""
    world.engine.write("sind-dev-controller", path, text + b"# mine\n")

    assert world.plan(declaration).changes == ()


def test_stopped_nodes_are_started_and_their_new_addresses_are_known(tmp_path):
    world, declaration, before = ours(tmp_path)
    for short in ("worker-0", "controller"):
        world.engine.stop(f"sind-dev-{short}")

    world.apply(declaration)

    assert world.plan(declaration).changes == ()
    assert ids(world) == before


def test_a_removed_worker_is_made_anew(tmp_path):
    world, declaration, before = ours(tmp_path)
    world.engine.remove_container("sind-dev-worker-1")

    world.apply(declaration)

    assert world.plan(declaration).changes == ()
    assert {name for name, found in before.items() if ids(world).get(name) != found} == {"sind-dev-worker-1"}


def test_a_removed_controller_is_made_anew_with_a_state_volume(tmp_path):
    world, declaration, _ = ours(tmp_path)
    world.engine.remove_container("sind-dev-controller")

    world.apply(declaration)

    assert world.plan(declaration).changes == ()
    assert "sind-dev-state" in {volume.name for volume in world.engine.volumes()}


def test_a_lost_munge_key_is_made_though_nodes_only_read_it(tmp_path):
    world, declaration, before = ours(tmp_path)
    mount = Mount(target="/etc/munge", kind="volume", source="sind-dev-munge")
    made = world.engine.create_container(ContainerSpec(name="hand", image="dns:1", labels={}, mounts=(mount,)))
    world.engine.delete(made, "/etc/munge/munge.key")
    world.engine.remove_container(made)

    world.apply(declaration)

    assert world.plan(declaration).changes == ()
    assert ids(world) == before


USERS = """
version = 1
name = "lab"
[realms.sind.clusters.dev]
image = "sindplan-node:26.05"
[realms.sind.clusters.dev.groups.hpc]
[realms.sind.clusters.dev.users]
alice = { groups = ["hpc"] }
bob = {}
"""


def test_users_of_sinds_are_known_and_others_join_them(tmp_path):
    world, declaration, before = ours(tmp_path, text=USERS)
    assert {name: user.uid for name, user in cluster_of(declaration).users.items()} == {"alice": 1000, "bob": 1001}
    more = changed(declaration, users={**cluster_of(declaration).users, "carol": User()})

    world.apply(more)

    assert world.plan(more).changes == ()
    assert kept(world, before) == before
    nobody = changed(more, users={}, groups={})
    # Without users there is no /home to share, and a mount cannot go in place.
    assert {change.address.kind for change in world.plan(nobody).changes} == {"node", "record", "volume"}


def test_a_worker_that_stopped_is_started_before_its_address_is_written(tmp_path):
    world, declaration, before = ours(tmp_path)
    world.engine.stop("sind-dev-worker-0")
    # It is started when slurmctld has read its file, and the record must wait that long.
    DAMAGE["edit slurm.conf"](world, "sind-dev-controller")

    applied = world.apply(declaration)

    assert failures(applied) == []
    assert world.pending(declaration) == []
    assert ids(world) == before


def test_it_is_destroyed_with_everything(tmp_path):
    world, declaration, _ = ours(tmp_path)

    world.destroy(declaration)

    assert world.engine.containers() == ()
    assert world.engine.volumes() == ()
    assert {network.name for network in world.engine.networks()} == {"bridge", "host", "none"}


def test_half_made_nodes_are_made_and_a_missing_network_too(tmp_path):
    world = sind_world(seed=1)
    sinds(world, tmp_path)
    spec = spec_of(world, "sind-dev-worker-1")
    world.engine.remove_container("sind-dev-worker-1")
    world.engine.create_container(spec)
    declaration, _ = taken(world, tmp_path)

    world.apply(declaration)

    assert world.plan(declaration).changes == ()
    assert DEV in {
        found.scope for found in (change.address for change in world.plan(changed(declaration, workers={})).changes)
    }
