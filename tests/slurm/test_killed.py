"""Killed or interrupted at many points: nothing is lost, and the same command again arrives."""

import signal

import pytest

from tests.real import new_lab

pytestmark = pytest.mark.proof

CREATING = [
    "/dev/volume/config: ",
    "/@mesh/network: ",
    "/dev/network: ",
    "/@mesh/dns: ",
    "/@mesh/relay: ",
    "/dev/node/controller: creating",
    "/dev/key/munge: ",
    "/dev/node/worker-0: starting",
    "joining Slurm",
]
"""Lines of an apply that makes a cluster; the process is killed when it has printed them."""
GROWING = [
    "/dev/node/worker-1: creating",
    "/dev/file/sind-nodes.conf: ",
    "/dev/service/controller/slurmctld: ",
    "/dev/node/worker-2: starting",
    "joining Slurm",
]
SHRINKING = [
    "/dev/slurm/node/worker-2: ",
    "/dev/file/sind-nodes.conf: ",
    "/dev/service/controller/slurmctld: ",
    "/dev/node/worker-1: removing",
]
DESTROYING = [
    "/dev/node/worker-0: removing",
    "/dev/volume/config: removing",
    "/dev/network: removing",
    "/@mesh/relay: removing",
    "/@mesh/network: removing",
]


@pytest.mark.parametrize("line", CREATING)
def test_killed_while_creating(lab, line):
    realm = lab.realm()
    lab.declare(lab.cluster(realm, workers="count = 2"))
    running = lab.start("apply")
    running.until(line)
    assert running.send(signal.SIGKILL) == -signal.SIGKILL

    lab.apply()

    lab.settled()
    assert lab.states(realm) == {"worker-0": "idle", "worker-1": "idle"}
    assert sorted(lab.read(f"{realm}-dev-controller", "srun", "-N2", "hostname").split()) == ["worker-0", "worker-1"]
    lab.destroy()
    assert lab.names() == set()


@pytest.mark.parametrize("line", CREATING[1::3])
def test_killed_while_creating_and_given_up(lab, line):
    """destroy takes what is there, however little it is (FC-52)."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm))
    running = lab.start("apply")
    running.until(line)
    running.send(signal.SIGKILL)

    lab.destroy()

    assert lab.names() == set()


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A lab with a cluster of one worker, which every test brings back to that."""
    with new_lab(tmp_path_factory.mktemp("killed")) as lab:
        realm = lab.realm("k")
        lab.declare(lab.cluster(realm))
        lab.apply()
        yield lab


@pytest.mark.parametrize("line", GROWING)
def test_killed_while_growing(small, line):
    (realm,) = small.realms
    controller = f"{realm}-dev-controller"
    small.declare(small.cluster(realm))
    small.apply()
    stay = small.identity(controller, f"{realm}-dev-worker-0")
    small.declare(small.cluster(realm, workers="count = 3"))
    running = small.start("apply")
    running.until(line)
    running.send(signal.SIGKILL)

    small.apply()

    small.settled()
    assert small.identity(*stay) == stay
    assert small.states(realm) == dict.fromkeys(("worker-0", "worker-1", "worker-2"), "idle")
    assert len(small.read(controller, "srun", "-N3", "hostname").split()) == 3


@pytest.mark.parametrize("line", SHRINKING)
def test_killed_while_shrinking(small, line):
    (realm,) = small.realms
    controller = f"{realm}-dev-controller"
    small.declare(small.cluster(realm, workers="count = 3"))
    small.apply()
    stay = small.identity(controller, f"{realm}-dev-worker-0")
    small.declare(small.cluster(realm))
    running = small.start("apply")
    running.until(line)
    running.send(signal.SIGKILL)

    small.apply()

    small.settled()
    assert small.identity(*stay) == stay
    assert small.states(realm) == {"worker-0": "idle"}
    assert not any("worker-1" in name or "worker-2" in name for name in small.names())


@pytest.mark.parametrize("line", SHRINKING[:2])
def test_killed_while_shrinking_and_the_declaration_put_back(small, line):
    """Workers that were about to go are in service again."""
    (realm,) = small.realms
    small.declare(small.cluster(realm, workers="count = 3"))
    small.apply()
    three = small.file.read_text(encoding="utf-8")
    small.declare(small.cluster(realm))
    running = small.start("apply")
    running.until(line)
    running.send(signal.SIGKILL)

    small.file.write_text(three, encoding="utf-8")
    small.apply()

    small.settled()
    assert small.states(realm) == dict.fromkeys(("worker-0", "worker-1", "worker-2"), "idle")
    assert len(small.read(f"{realm}-dev-controller", "srun", "-N3", "hostname").split()) == 3


@pytest.mark.parametrize("line", DESTROYING)
def test_killed_while_destroying(lab, line):
    realm = lab.realm()
    lab.declare(lab.cluster(realm))
    lab.apply()
    running = lab.start("destroy")
    running.until(line)
    running.send(signal.SIGKILL)

    lab.destroy()

    assert lab.names() == set()


@pytest.mark.parametrize("line", CREATING[1::3])
def test_interrupted_while_creating(lab, line):
    """What was made goes again, and the exit status says that it was interrupted."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm))
    running = lab.start("apply")
    running.until(line)

    assert running.send(signal.SIGINT) == 130

    assert lab.names() == set(), running.err
    assert f"{realm}/dev is as it was before." in running.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_growing(lab, number):
    """The cluster and its job are as before."""
    realm = lab.realm()
    controller = f"{realm}-dev-controller"
    lab.declare(lab.cluster(realm))
    lab.apply()
    job = lab.submit(realm, "worker-0", 600)
    before = lab.snapshot()
    lab.declare(lab.cluster(realm, workers="count = 3"))
    running = lab.start("apply")
    running.until("/dev/service/controller/slurmctld: ")

    assert running.send(number) == 130

    lab.wait(controller, "! sinfo -hN -o %t | grep -q '[*]'")
    assert lab.job(realm, job) == "RUNNING"
    assert lab.snapshot() == before, running.err


def test_interrupted_while_waiting_for_a_job(lab):
    """Nobody is drained any more, and it does not take as long as the job."""
    realm = lab.realm()
    controller = f"{realm}-dev-controller"
    lab.declare(lab.cluster(realm, workers='nodes = "worker-[0-1]"'))
    lab.apply()
    job = lab.submit(realm, "worker-1", 600)
    before = lab.snapshot()
    lab.declare(lab.cluster(realm, workers='nodes = "worker-0"\ndrain_timeout = "10s"'))
    running = lab.start("apply")
    lab.wait(controller, "sinfo -hN -n worker-1 -o %T | grep -q drain")

    assert running.send(signal.SIGINT) == 130, running.err

    lab.wait(controller, "! sinfo -hN -o %t | grep -q '[*]'")
    assert lab.job(realm, job) == "RUNNING"
    assert lab.snapshot() == before


def test_interrupted_twice(lab):
    """The second time ends it at once; the next apply goes on from there."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm))
    running = lab.start("apply")
    running.until("/dev/node/controller: creating")
    running.process.send_signal(signal.SIGINT)
    running.until("Interrupted")
    assert running.send(signal.SIGINT) == 130

    lab.apply()

    lab.settled()
    assert lab.states(realm) == {"worker-0": "idle"}
