"""A cluster that sind made is written down as it is; what the file says, and what it leaves out."""

import pytest
from attrs import evolve

from sindplan.errors import SindplanError
from sindplan.kinds import labels
from sindplan.model.address import Address
from sindplan.model.declaration import SecretReference
from sindplan.workflow import prepare
from tests.importing.conftest import PLAIN, declared, sinds, spec_of, taken
from tests.sind_cluster import sind_world
from tests.world import NO_LIMITS, failures


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("limits", [True, False])
def test_the_plan_adds_the_record_and_nothing_else(tmp_path, old, limits):
    world = sind_world(seed=1) if limits else sind_world(seed=1, info=NO_LIMITS)
    sinds(world, tmp_path, old=old)

    declaration, _ = taken(world, tmp_path)

    plan = world.plan(declaration)
    assert [str(change.address) for change in plan.changes] == ["sind/dev/record"]


def test_a_cluster_of_sinds_is_left_alone_until_the_file_says_so(tmp_path):
    world = sind_world(seed=1)
    sinds(world, tmp_path)

    prepared = world.prepare(declared(tmp_path, PLAIN))

    assert prepared.blocked
    assert prepared.plan.changes == ()
    (finding,) = prepared.findings
    assert "sindplan import sind/dev" in finding.fix


def test_a_cluster_of_another_declaration_is_not_taken_over(tmp_path):
    world = sind_world(seed=1)
    sinds(world, tmp_path)
    declaration, _ = taken(world, tmp_path)
    world.apply(declaration)

    prepared = world.prepare(evolve(declaration, name="other"))

    assert prepared.blocked
    assert "belongs to the declaration named 'lab'" in prepared.findings[0].what


@pytest.mark.parametrize("adopt", ["", "adopt = true"])
def test_what_sind_left_is_neither_used_nor_removed(tmp_path, adopt):
    world = sind_world(seed=1)
    world.engine.create_volume("sind-dev-state", labels.volume("sind", "dev", "state"))
    text = PLAIN.replace('image = "sindplan-node:26.05"', f'image = "sindplan-node:26.05"\n{adopt}')

    prepared = world.prepare(declared(tmp_path, text))

    assert prepared.blocked
    assert "docker volume rm sind-dev-state" in prepared.findings[0].fix


def test_the_state_of_a_cluster_that_sind_deleted_is_not_used(tmp_path):
    world = sind_world(seed=1)
    declaration = declared(tmp_path, PLAIN)
    world.apply(declaration)
    for container in world.engine.containers():
        if "-dev-" in container.name:
            world.engine.remove_container(container.id)
    world.engine.disconnect("sind-dev-net", "sind-ssh")
    world.engine.remove_network("sind-dev-net")
    for kind in ("config", "munge", "data"):
        world.engine.remove_volume(f"sind-dev-{kind}")

    prepared = world.prepare(declaration)

    assert prepared.blocked
    assert [finding.fix for finding in prepared.findings if finding.check == "leftover"] == [
        "Remove what is left: sindplan destroy sind/dev"
    ]
    world.destroy(declaration)
    world.apply(declaration)
    assert world.plan(declaration).changes == ()


def test_lines_of_a_cluster_that_is_gone_are_pointed_out(tmp_path):
    world = sind_world(seed=1)
    declaration = declared(tmp_path, PLAIN)
    world.apply(declaration)
    text = world.engine.read("sind-dns", "/Corefile") or b""
    line = b"        172.20.0.9 worker-0.old.sind.sind\n        fallthrough"
    world.engine.write("sind-dns", "/Corefile", text.replace(b"        fallthrough", line))

    (finding,) = world.prepare(declaration).findings

    assert finding.check == "leftover"
    assert "worker-0.old.sind.sind" in finding.what


SECRET = """
version = 1
name = "lab"
[realms.sind.clusters.dev]
image = "sindplan-node:26.05"
[realms.sind.clusters.dev.db]
[realms.sind.clusters.dev.slurm]
slurmdbd = "StoragePass=correct-horse\\nPurgeEventAfter=1month\\n"
main = "JobCompPass=wrong-horse\\nMaxJobCount=7\\n"
"""


def test_no_password_is_written(tmp_path):
    world = sind_world(seed=1)
    sinds(world, tmp_path, SECRET)

    declaration, written = taken(world, tmp_path)

    assert "horse" not in written.text
    cluster = declaration.realms["sind"].clusters["dev"]
    assert cluster.db.storage_password == SecretReference(env="SINDPLAN_SECRET_STORAGE")
    assert cluster.slurm.slurmdbd == "PurgeEventAfter=1month\n"
    assert cluster.slurm.main == "MaxJobCount=7\n"
    assert any("jobcomppass" in note for note in written.notes)


TEXTS = """
version = 1
name = "lab"
[realms.sind.clusters.dev]
image = "sindplan-node:26.05"
[realms.sind.clusters.dev.slurm]
main = '''
# how jobs are chosen
SchedulerParameters=bf_continue,\\
bf_max_job_test=50
TaskPlugin=task/affinity,task/cgroup
PartitionName=long Nodes=worker-0 MaxTime=1-0
'''
cgroup = { constrain = "ConstrainCores=yes\\n" }
plugstack = "optional /usr/lib/x.so a=b\\n"
topology = "SwitchName=s0 Nodes=worker-0\\n"
"""


def test_texts_are_written_as_they_stand(tmp_path):
    world = sind_world(seed=1)
    sinds(world, tmp_path, TEXTS)
    would = declared(tmp_path, TEXTS).realms["sind"].clusters["dev"].slurm

    declaration, _ = taken(world, tmp_path)

    assert declaration.realms["sind"].clusters["dev"].slurm == would
    assert [str(change.address) for change in world.plan(declaration).changes] == ["sind/dev/record"]


def test_what_is_not_there_cannot_be_imported(tmp_path):
    world = sind_world(seed=1)
    sinds(world, tmp_path)

    with pytest.raises(SindplanError, match="There is no cluster sind/other"):
        taken(world, tmp_path, Address(("sind", "other")))


def test_a_realm_stands_for_its_clusters(tmp_path):
    world = sind_world(seed=1)
    sinds(world, tmp_path, f'{PLAIN}[realms.sind.clusters.two]\nimage = "sindplan-node:26.05"\n')

    declaration, _ = taken(world, tmp_path, Address(("sind",)))

    assert set(declaration.realms["sind"].clusters) == {"dev", "two"}


def test_clusters_of_two_owners_do_not_go_into_one_file(tmp_path):
    world = sind_world(seed=1)
    one = declared(tmp_path, PLAIN)
    world.apply(one)
    world.apply(declared(tmp_path, PLAIN.replace('"lab"', '"other"').replace(".dev", ".two")))

    with pytest.raises(SindplanError, match="belong to several declarations"):
        taken(world, tmp_path, Address(("sind",)))


def test_a_worker_that_was_taken_over_and_is_replaced_is_ours_at_once(tmp_path):
    """The record says of taken workers alone which group they are in; labels say it of this one."""
    world = sind_world(seed=1)
    sinds(world, tmp_path)
    declaration, _ = taken(world, tmp_path)

    prepared = prepare(world.engine, world.slurm, declaration, replace=[Address.parse("sind/dev/node/worker-0")])
    world.run(prepared, declaration)

    assert world.pending(declaration) == []


def test_a_successor_s_new_address_is_recorded(tmp_path):
    """On sind's network no address is fixed: Docker gives the new container another one while the old one is there."""
    world = sind_world(seed=1)
    sinds(world, tmp_path)
    declaration, _ = taken(world, tmp_path)
    world.apply(declaration)

    world.run(prepare(world.engine, world.slurm, declaration, replace=[Address.parse("sind/dev")]), declaration)

    assert world.pending(declaration) == []
    addresses = {
        name: container.endpoint("sind-dev-net").address
        for name in ("controller", "worker-0")
        if (container := world.engine.inspect_container(f"sind-dev-{name}"))
    }
    text = world.engine.read("sind-dns", "/Corefile").decode()
    assert all(f"{address} {name}.dev.sind.sind" in text for name, address in addresses.items())


SERVED = """
version = 1
name = "lab"
[realms.sind.clusters.dev]
image = "sindplan-node:26.05"
[realms.sind.clusters.dev.controller]
backup = true
[realms.sind.clusters.dev.db]
[realms.sind.clusters.dev.api]
[realms.sind.clusters.dev.submitter]
[realms.sind.clusters.dev.workers.cpu]
count = 3
[realms.sind.clusters.dev.workers.gpu]
cpus = 2
"""
EVERY = ("controller", "controller-backup", "db", "api", "submitter", "worker-0", "worker-1", "worker-2", "worker-3")


@pytest.mark.parametrize(
    ("stopped", "power", "groups", "single", "back"),
    [
        ((), "on", {}, None, ()),
        (("worker-3",), "on", {"group-2": "off"}, None, ()),
        (("worker-0", "worker-2", "worker-3"), "on", {"group-2": "off"}, "worker-[0,2]", ()),
        (("submitter", "api", "controller-backup"), "on", {}, "api,controller-backup,submitter", ()),
        (("controller", "worker-1"), "on", {}, "worker-1", ("controller",)),
        (("db", "controller", "submitter"), "on", {}, "submitter", ("controller", "db")),
        (EVERY[1:], "on", {"group-1": "off", "group-2": "off"}, "api,controller-backup,submitter", ("db",)),
        (EVERY, "off", {}, None, ()),
    ],
)
def test_what_is_stopped_is_written_down_as_off(tmp_path, stopped, power, groups, single, back):
    world = sind_world(seed=1)
    sinds(world, tmp_path, SERVED)
    for short in stopped:
        world.engine.stop(f"sind-dev-{short}")

    declaration, written = taken(world, tmp_path)

    cluster = declaration.realms["sind"].clusters["dev"]
    assert (cluster.power, cluster.powered_off) == (power, single)
    assert {name: group.power for name, group in cluster.workers.items() if group.power} == groups
    told = [note.split()[1] for note in written.notes if "an apply starts it" in note]
    assert told == list(back)


def test_a_node_that_never_ran_says_nothing_of_power(tmp_path):
    world = sind_world(seed=1)
    sinds(world, tmp_path)
    spec = spec_of(world, "sind-dev-worker-2")
    for short in ("controller", "worker-0", "worker-1"):
        world.engine.stop(f"sind-dev-{short}")
    world.engine.remove_container("sind-dev-worker-2")
    world.engine.create_container(spec)

    declaration, _ = taken(world, tmp_path)

    assert declaration.realms["sind"].clusters["dev"].power == "off"
    assert failures(world.apply(declaration)) == []
    assert world.pending(declaration) == []
    assert {one.state for one in world.engine.containers() if "-dev-" in one.name} == {"exited"}


def test_a_worker_that_was_off_when_it_was_taken_over_comes_back(tmp_path):
    world = sind_world(seed=1)
    sinds(world, tmp_path)
    world.engine.stop("sind-dev-worker-0")
    declaration, written = taken(world, tmp_path)
    world.apply(declaration)
    on = declared(tmp_path, written.text.replace('powered_off = "worker-0"', ""))

    assert failures(world.apply(on)) == []

    assert world.pending(on) == []
    assert world.engine.inspect_container("sind-dev-worker-0").state == "running"


def test_of_a_cluster_of_ours_the_record_says_what_shall_run_and_the_file_what_does_not(tmp_path):
    world = sind_world(seed=1)
    before = declared(tmp_path, PLAIN.replace("count = 2", 'count = 2\npower = "off"'))
    world.apply(before)
    world.engine.stop("sind-dev-controller")
    world.engine.stop("sind-dev-worker-2")
    world.engine.start("sind-dev-worker-0")

    declaration, written = taken(world, tmp_path)

    assert declaration.realms == before.realms
    assert [note.partition(", which")[0] for note in written.notes] == [
        "sind/dev: controller, worker-2: stopped though last applied as on",
        "sind/dev: worker-0: running though last applied as off",
    ]


@pytest.mark.parametrize("number", ["9" * 5000, "٣", "x"])
def test_numbers_in_a_workers_line_that_are_none_are_left_out(tmp_path, number):
    world = sind_world(seed=1, info=NO_LIMITS)
    sinds(world, tmp_path)
    path = "/etc/slurm/sind-nodes.conf"
    line = f"NodeName=worker-0 CPUs={number} RealMemory={number} Weight={number} Features=a\n"
    world.engine.write("sind-dev-controller", path, line.encode())

    declaration, _ = taken(world, tmp_path)

    (group,) = (one for one in declaration.realms["sind"].clusters["dev"].workers.values() if one.features)
    assert (group.cpus, group.memory, group.weight) == (None, None, None)


def test_a_node_that_is_off_keeps_its_line(tmp_path):
    world = sind_world(seed=1)
    sinds(world, tmp_path)
    declaration, _ = taken(world, tmp_path)
    world.apply(declaration)
    text = world.engine.read("sind-dns", "/Corefile")
    cluster = declaration.realms["sind"].clusters["dev"]
    off = evolve(
        declaration, realms={"sind": evolve(declaration.realms["sind"], clusters={"dev": evolve(cluster, power="off")})}
    )

    assert world.apply(off).outcome.complete

    assert world.pending(off) == []
    assert world.engine.read("sind-dns", "/Corefile") == text
