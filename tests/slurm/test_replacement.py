"""Nodes that are replaced under a cluster that works: no job and no record of one is lost."""

import pytest

from sindplan.engine.records import Entry
from tests.real import OLD_IMAGE

pytestmark = pytest.mark.proof


def text(realm: str, image: str, *, workers: int = 2, more: str = "", group: str = "") -> str:
    where = f"realms.{realm}.clusters.dev"
    return f"""
        [{where}]
        image = "{image}"
        {more}
        [{where}.workers.cpu]
        count = {workers}
        {group}
        """


def ids(lab, realm):
    """Return container ids by name."""
    return {name: found["Id"] for name, found in lab.containers().items() if name.startswith(f"{realm}-dev-")}


def replaced(before, after):
    assert before.keys() == after.keys()
    return {name.rpartition("-dev-")[2] for name in before if before[name] != after[name]}


def submit(lab, realm, *arguments, node="controller"):
    return lab.read(f"{realm}-dev-{node}", "sbatch", "--parsable", "-D", "/data", *arguments)


def test_a_newer_slurm_takes_over_queue_and_history(lab):
    realm = lab.realm()
    where = f"realms.{realm}.clusters.dev"
    parts = f"[{where}.db]\n[{where}.submitter]\n[{where}.accounts.physics]\n"
    parts += f'[{where}.users.alice]\naccounts = ["physics"]\n'
    lab.declare(text(realm, OLD_IMAGE) + parts)
    lab.apply()
    lab.settled()
    controller = f"{realm}-dev-controller"
    job = ("sbatch", "--parsable", "--wait", "-D", "/home/alice", "-J", "done-before", "--wrap", "hostname")
    done = lab.read(controller, "runuser", "-u", "alice", "--", *job)
    queue = [submit(lab, realm, "--hold", "-J", f"waited-{number}", "--wrap", "hostname") for number in range(5)]
    before = ids(lab, realm)
    lab.declare(text(realm, lab.image) + parts)

    planned = lab.plan(code=2)
    lab.apply(seconds=300)

    assert "there is no way back" in planned.err
    assert "sindplan-before-26.05" in planned.err
    lab.settled()
    after = ids(lab, realm)
    assert replaced(before, after) == {"controller", "db", "submitter", "worker-0", "worker-1"}
    for name in after:
        assert " 26.05" in lab.read(name, "scontrol", "--version")
        assert " 26.05" in lab.read(name, "slurmd" if "worker" in name else "slurmctld", "-V")
    assert {lab.job(realm, job) for job in queue} == {"PENDING"}
    history = lab.read(controller, "sacct", "-a", "-X", "-n", "-P", "-j", done, "-o", "user,account,state")
    assert history == "alice|physics|COMPLETED"
    lab.read(controller, "scontrol", "release", *queue)
    for job in queue:
        lab.wait(controller, f"scontrol show job {job} | grep -q JobState=COMPLETED")
    kept_from_before(lab, realm)


def kept_from_before(lab, realm):
    """Look into what is kept for the way back: a whole dump of the database, and the state that slurmctld wrote last."""
    (dump,) = lab.read(f"{realm}-dev-db", "sh", "-c", "ls /var/lib/mysql/sindplan-before-26.05*").split()
    last = lab.read(f"{realm}-dev-db", "tail", "-n", "1", dump)
    assert last.startswith("-- Dump completed"), last
    rows = f"sed -n '/^INSERT INTO `dev_job_table`/,/;$/p' {dump}"
    assert "'done-before'" in lab.read(f"{realm}-dev-db", "sh", "-c", rows)
    associations = f"sed -n '/^INSERT INTO `dev_assoc_table`/,/;$/p' {dump}"
    assert "'physics'" in lab.read(f"{realm}-dev-db", "sh", "-c", associations)
    controller = f"{realm}-dev-controller"
    (state,) = lab.read(controller, "sh", "-c", "ls -d /var/spool/slurmctld/sindplan-before-26.05*").split()
    for number in range(5):
        lab.read(controller, "grep", "-q", f"waited-{number}", f"{state}/job_state")
    files = "find . -maxdepth 1 -type f -size +0 -user slurm -printf '%f\\n'"
    kept = lab.read(controller, "sh", "-c", f"cd {state} && {files}").splitlines()
    assert {*kept} >= {"job_state", "node_state", "part_state", "assoc_mgr_state", "clustername"}


def test_slurm_does_not_go_back(lab):
    realm = lab.realm()
    lab.declare(text(realm, lab.image, workers=1))
    lab.apply()
    lab.declare(text(realm, OLD_IMAGE, workers=1))

    refused = lab.plan(code=1)

    assert "cannot read what that wrote" in refused.err


def test_the_only_controller_is_replaced_under_a_running_job_and_a_queue(lab):
    realm = lab.realm()
    lab.declare(text(realm, lab.image))
    lab.apply()
    lab.settled()
    controller = f"{realm}-dev-controller"
    running = submit(lab, realm, "--wrap", "sleep 12; echo through")
    lab.wait(controller, f"scontrol show job {running} | grep -q JobState=RUNNING")
    waiting = submit(lab, realm, "--hold", "--wrap", "hostname")
    before = ids(lab, realm)
    key = lab.read(controller, "cat", "/etc/ssh/ssh_host_ed25519_key.pub")

    lab.apply("--replace", f"{realm}/dev/node/controller")

    lab.settled()
    assert replaced(before, ids(lab, realm)) == {"controller"}
    assert lab.read(controller, "cat", "/etc/ssh/ssh_host_ed25519_key.pub") == key
    assert lab.job(realm, waiting) == "PENDING"
    lab.wait(controller, f"scontrol show job {running} | grep -q JobState=COMPLETED")


def test_the_database_is_replaced_without_losing_accounting(lab):
    realm = lab.realm()
    where = f"realms.{realm}.clusters.dev"
    lab.declare(text(realm, lab.image, workers=1) + f"[{where}.db]\n")
    lab.apply()
    lab.settled()
    job = submit(lab, realm, "--wait", "--wrap", "hostname")
    before = ids(lab, realm)

    lab.apply("--replace", f"{realm}/dev/node/db")

    lab.settled()
    assert replaced(before, ids(lab, realm)) == {"db"}
    controller = f"{realm}-dev-controller"
    assert lab.read(controller, "sacct", "-X", "-n", "-P", "-j", job, "-o", "state") == "COMPLETED"


def broken_image(lab):
    """Return an image whose systemd ends at once."""
    maker = lab.docker.create_container(lab.image, command=["true"])["Id"]
    try:
        lab.engine.put_files(maker, [Entry(path="/sbin/init", content=b"#!/bin/sh\nexit 3\n", mode=0o755)])
        lab.docker.commit(maker, repository=f"{lab.name}-broken", tag="1")
    finally:
        lab.docker.remove_container(maker, force=True)
    lab.images.append(f"{lab.name}-broken:1")
    return lab.images[-1]


def test_an_image_that_does_not_boot_changes_nothing(lab):
    """The old container was stopped for it, and runs again; the job on another worker never noticed."""
    realm = lab.realm()
    lab.declare(text(realm, lab.image))
    lab.apply()
    lab.settled()
    controller = f"{realm}-dev-controller"
    job = lab.submit(realm, "worker-0")
    before = ids(lab, realm)
    where = f"realms.{realm}.clusters.dev"
    broken = broken_image(lab)
    lab.declare(text(realm, lab.image, workers=1) + f'[{where}.workers.odd]\nnodes = "worker-1"\nimage = "{broken}"\n')

    failed = lab.apply(code=1)

    assert "is as it was before" in failed.err
    assert ids(lab, realm) == before
    assert {found["State"] for found in lab.containers().values()} == {"running"}
    assert lab.job(realm, job) == "RUNNING"
    lab.declare(text(realm, lab.image))
    lab.settled()
    assert lab.read(controller, "srun", "-w", "worker-1", "hostname") == "worker-1"


def test_the_first_user_gives_every_node_a_home_volume(lab):
    """A volume that is mounted everywhere cannot be had in place."""
    realm = lab.realm()
    lab.declare(text(realm, lab.image))
    lab.apply()
    lab.settled()
    where = f"realms.{realm}.clusters.dev"
    lab.declare(text(realm, lab.image) + f"[{where}.users.alice]\n")

    lab.apply(seconds=240)

    lab.settled()
    out = lab.read(f"{realm}-dev-controller", "runuser", "-u", "alice", "--", "srun", "-D", "/home/alice", "id", "-un")
    assert out == "alice"


def mesh_works(lab, realm, *shorts):
    """Ask whether nodes resolve each other, and are reached from the relay by ssh, whose key and known hosts are right."""
    for short in shorts:
        for other in shorts:
            name = f"{other}.dev.{realm}.sind"
            assert lab.read(f"{realm}-dev-{short}", "getent", "ahostsv4", name), (short, name)
        name = f"{short}.dev.{realm}.sind"
        assert lab.read(f"{realm}-ssh", "ssh", "-o", "BatchMode=yes", name, "hostname") == short


def mesh_ids(lab, realm):
    return {name: lab.containers()[name]["Id"] for name in (f"{realm}-dns", f"{realm}-ssh")}


def test_dns_and_relay_are_replaced_under_nodes_that_stay(lab):
    """Also for a cluster of the realm that is not declared any more: the relay stays on its network."""
    realm = lab.realm()
    other = f"realms.{realm}.clusters.other"
    lab.declare(text(realm, lab.image), f'[{other}]\nimage = "{lab.image}"\n')
    lab.apply()
    mesh_works(lab, realm, "controller", "worker-0")
    lab.declare(text(realm, lab.image))
    before, nodes = mesh_ids(lab, realm), ids(lab, realm)
    mesh = f'[realms.{realm}.mesh]\ndns_image = "{OLD_IMAGE}"\nrelay_image = "{OLD_IMAGE}"\n'
    lab.declare(text(realm, lab.image), mesh)

    assert lab.plan(code=2).counts == (2, 0, 2)
    lab.apply()

    lab.settled()
    after = mesh_ids(lab, realm)
    assert not set(before.values()) & set(after.values())
    assert ids(lab, realm) == nodes
    assert not [name for name in lab.containers() if name.endswith("-replaced")]
    assert {lab.containers()[name]["Image"] for name in after} == {OLD_IMAGE}
    mesh_works(lab, realm, "controller", "worker-0", "worker-1")
    assert (
        lab.read(f"{realm}-ssh", "ssh", "-o", "BatchMode=yes", f"worker-0.other.{realm}.sind", "hostname") == "worker-0"
    )
    assert lab.read(f"{realm}-dev-controller", "srun", "-N", "2", "hostname").split()

    lab.apply("--replace", f"{realm}/@mesh")

    assert not set(after.values()) & set(mesh_ids(lab, realm).values())
    assert ids(lab, realm) == nodes
    mesh_works(lab, realm, "controller", "worker-0", "worker-1")


@pytest.mark.parametrize("key", ["dns_image", "relay_image"])
def test_a_mesh_that_does_not_work_with_an_image_is_put_back(lab, key):
    """Of the one nothing answers, of the other nothing runs; the old container does what it did."""
    realm = lab.realm()
    lab.declare(text(realm, lab.image, workers=1))
    lab.apply()
    before = mesh_ids(lab, realm)
    broken = image_without(lab, "/usr/bin/ssh", "/usr/sbin/dnsmasq")
    lab.declare(text(realm, lab.image, workers=1), f'[realms.{realm}.mesh]\n{key} = "{broken}"\n')

    failed = lab.apply(code=1)

    assert f"{realm}/@mesh is as it was before" in failed.err
    assert mesh_ids(lab, realm) == before
    assert not [name for name in lab.containers() if name.endswith("-replaced")]
    lab.declare(text(realm, lab.image, workers=1))
    lab.settled()
    mesh_works(lab, realm, "controller", "worker-0")


def image_without(lab, *programs):
    """Return a node image in which programs are files that say nothing and fail."""
    maker = lab.docker.create_container(lab.image, command=["true"])["Id"]
    try:
        broken = b"#!/bin/sh\nexit 9\n"
        lab.engine.put_files(maker, [Entry(path=path, content=broken, mode=0o755) for path in programs])
        lab.docker.commit(maker, repository=f"{lab.name}-without", tag="1")
    finally:
        lab.docker.remove_container(maker, force=True)
    lab.images.append(f"{lab.name}-without:1")
    return lab.images[-1]
