"""An apply that fails takes back what it did, and nothing else: ids, labels, files, DNS, Slurm's nodes and running jobs are as before."""

import io
import re
import tarfile

import pytest

pytestmark = pytest.mark.proof

DROP_IN = "etc/systemd/system/slurmd.service.d/broken.conf"
BROKEN = {
    # what is wrong: the file that makes it so, what sindplan says
    "slurmd fails": (
        DROP_IN,
        b"[Service]\nType=notify\nRestart=no\nExecStart=\nExecStart=/bin/sh -c 'echo broken on purpose; exit 3'\n",
        ["slurmd.service did not start", "broken on purpose"],
    ),
    "slurmd never is ready": (
        DROP_IN,
        b"[Service]\nType=notify\nExecStart=\nExecStart=/bin/sh -c 'echo slow on purpose; sleep 600'\n",
        ["slurmd.service did not start within 6 seconds", "slow on purpose"],
    ),
    "systemd ends": (
        "usr/sbin/init",
        b"#!/bin/sh\necho gone on purpose\nexit 42\n",
        ["exit code 42", "gone on purpose"],
    ),
}
UNMARKED = "! sinfo -hN -o %t | grep -q '[*]'"
"""slurmctld marks a node that is resumed, and after a reconfigure, until it has answered a ping."""


@pytest.fixture(params=BROKEN)
def broken(lab, request):
    """An image whose nodes do not come up, and what is said of them."""
    path, content, said = BROKEN[request.param]
    return _image(lab, path, content), said


@pytest.fixture
def failing(lab):
    """An image whose slurmd fails."""
    path, content, _ = BROKEN["slurmd fails"]
    return _image(lab, path, content)


def _image(lab, path, content):
    """Make an image like the node image but for one file."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        entry = tarfile.TarInfo(path)
        entry.size, entry.mode = len(content), 0o755
        tar.addfile(entry, io.BytesIO(content))
    maker = lab.docker.create_container(lab.image)["Id"]
    try:
        lab.docker.put_archive(maker, "/", archive.getvalue())
        lab.docker.commit(maker, repository=f"{lab.name}-broken", tag="1")
    finally:
        lab.docker.remove_container(maker)
    lab.images.append(f"{lab.name}-broken:1")
    return lab.images[-1]


def test_a_create_that_the_engine_refuses(lab):
    """Whatever was there before it goes again, the mesh included."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, more='[CLUSTER.storage]\nhost_path = "/no/such/folder"'))

    ran = lab.apply("--allow-privileged", code=1)

    assert "/no/such/folder" in ran.err
    assert f"{realm}/dev is as it was before." in ran.err
    assert lab.names() == set()


def test_a_boot_that_fails(lab, broken):
    """The node's own words are shown; nothing stays."""
    image, said = broken
    realm = lab.realm()
    lab.declare(lab.cluster(realm, more=f'[CLUSTER.workers.bad]\nimage = "{image}"'))

    ran = lab.apply("--wait", "6s", code=1)

    assert f"{realm}-dev-worker-" in ran.err
    assert all(words in ran.err for words in said), ran.err
    assert lab.names() == set()


def test_workers_that_slurm_refuses_are_not_waited_for_to_the_end(lab):
    """They register with less than their lines say: that stays so until somebody acts."""
    realm = lab.realm()
    lab.declare(
        lab.cluster(
            realm, more='[CLUSTER.slurm]\nmain = "NodeName=DEFAULT TmpDisk=99999999"\n[CLUSTER.workers.more]\ncount = 2'
        )
    )

    ran = lab.apply("--wait", "5m", code=1)

    assert re.search(r"slurmctld cannot use worker-\[0-\d\]: worker-\[0-\d\] has Low TmpDisk\.", ran.err), ran.err
    assert ran.seconds < 60
    assert lab.names() == set()


def test_a_worker_too_many(lab, failing):
    """Growing that fails leaves the cluster, its job and its neighbours alone (FC-53)."""
    realm = lab.realm()
    controller = f"{realm}-dev-controller"
    lab.declare(lab.cluster(realm), lab.cluster(realm, "qa"))
    lab.apply()
    job = lab.submit(realm, "worker-0", 600)
    before = lab.snapshot()

    bad = f'[CLUSTER.workers.bad]\ncount = 2\nimage = "{failing}"'
    lab.declare(lab.cluster(realm, more=bad), lab.cluster(realm, "qa"))
    ran = lab.apply(code=1)

    assert "broken on purpose" in ran.err
    assert f"{realm}/dev is as it was before." in ran.err
    lab.wait(controller, UNMARKED)
    assert lab.job(realm, job) == "RUNNING"
    assert lab.snapshot() == before

    lab.declare(lab.cluster(realm), lab.cluster(realm, "qa"))
    lab.settled()


def test_one_cluster_fails_and_the_other_is_finished(lab, failing):
    realm, other = lab.realm("a"), lab.realm("b")
    lab.declare(
        lab.cluster(realm, "bad", more=f'[CLUSTER.workers.bad]\nimage = "{failing}"'),
        lab.cluster(realm, "good"),
        lab.cluster(other, "good"),
    )

    ran = lab.apply(code=1)

    assert f"{realm}/bad is as it was before." in ran.err
    assert not any(name.startswith(f"{realm}-bad") for name in lab.names())
    for one in (realm, other):
        assert lab.read(f"{one}-good-controller", "srun", "hostname") == "worker-0"
    lab.declare(lab.cluster(realm, "good"), lab.cluster(other, "good"))
    lab.settled()


def test_stopping_instead_of_taking_back(lab, failing):
    """What was made stays, to be looked at; the next apply goes on from there."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, more=f'[CLUSTER.workers.bad]\nimage = "{failing}"'))

    ran = lab.apply("--on-failure", "stop", code=1)

    assert f"{realm}/dev is left half way" in ran.err
    assert f"{realm}-dev-controller" in lab.names()
    lab.declare(lab.cluster(realm))
    lab.apply()
    lab.settled()
    assert [lab.read(f"{realm}-dev-controller", "srun", "hostname")] == list(lab.states(realm))
    lab.destroy()
    assert lab.names() == set()
