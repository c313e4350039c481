"""More workers, fewer workers: nothing else is touched, and jobs are waited for."""

import pytest

pytestmark = pytest.mark.proof

IDLE_THREE = {"worker-0": "idle", "worker-1": "idle", "worker-2": "idle"}


def test_up_and_down(lab):
    """1, 3, 1 workers: controller and worker-0 keep ids and start times, and Slurm follows (FC-68)."""
    realm = lab.realm()
    controller, worker = f"{realm}-dev-controller", f"{realm}-dev-worker-0"
    lab.declare(lab.cluster(realm))
    lab.apply()
    stay = lab.identity(controller, worker)
    key = lab.read(worker, "sha256sum", "/etc/munge/munge.key")
    lab.read(worker, "sh", "-c", "echo kept > /data/file")
    job = lab.submit(realm, "worker-0", 600)

    lab.declare(lab.cluster(realm, workers="count = 3"))
    lab.apply()
    assert lab.identity(controller, worker) == stay
    assert lab.job(realm, job) == "RUNNING"
    lab.read(controller, "scancel", job)
    lab.wait(controller, "[ $(sinfo -hN -t idle -o %N | wc -l) = 3 ]")
    assert lab.states(realm) == IDLE_THREE
    assert sorted(lab.read(controller, "srun", "-N3", "hostname").split()) == sorted(IDLE_THREE)
    lab.settled()

    lab.declare(lab.cluster(realm))
    lab.apply()
    assert lab.identity(controller, worker) == stay
    assert lab.states(realm) == {"worker-0": "idle"}
    lab.settled()
    assert not any("worker-1" in name or "worker-2" in name for name in lab.names())
    hosts = lab.read(f"{realm}-ssh", "cat", "/root/.ssh/known_hosts")
    records = lab.read(f"{realm}-dns", "cat", "/Corefile")
    assert "worker-1" not in hosts + records
    assert lab.read(worker, "sha256sum", "/etc/munge/munge.key") == key
    assert lab.read(worker, "cat", "/data/file") == "kept"


def test_a_worker_in_the_middle_leaves(lab):
    """Its number stays free, and nobody is renumbered (FC-22); the next one that comes has it."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, workers='nodes = "worker-[0-2]"'))
    lab.apply()
    others = [f"{realm}-dev-{short}" for short in ("controller", "worker-0", "worker-2")]
    stay = lab.identity(*others)
    job = lab.submit(realm, "worker-2", 600)

    lab.declare(lab.cluster(realm, workers='nodes = "worker-[0,2]"'))
    lab.apply()

    assert lab.identity(*others) == stay
    assert set(lab.states(realm)) == {"worker-0", "worker-2"}
    assert lab.job(realm, job) == "RUNNING"
    lab.settled()


def test_idle_workers_leave_first(lab):
    realm = lab.realm()
    lab.declare(lab.cluster(realm, workers="count = 2"))
    lab.apply()
    job = lab.submit(realm, "worker-1", 600)

    lab.declare(lab.cluster(realm, workers="count = 1"))
    lab.apply()

    assert set(lab.states(realm)) == {"worker-1"}
    assert lab.job(realm, job) == "RUNNING"
    lab.settled()


def test_a_busy_worker_leaves_when_the_first_one_is_busy_too(lab):
    """Jobs on worker-0 and worker-1 of 3, and one is to stay: worker-1 is waited for."""
    realm = lab.realm()
    controller, first = f"{realm}-dev-controller", f"{realm}-dev-worker-0"
    lab.declare(lab.cluster(realm, workers="count = 3"))
    lab.apply()
    stays, ends = lab.submit(realm, "worker-0", 600), lab.submit(realm, "worker-1")
    before = lab.identity(controller, first)

    lab.declare(lab.cluster(realm, workers="count = 1"))
    running = lab.start("apply")
    lab.wait(controller, "sinfo -hN -n worker-1 -o '%T %E' | grep -q 'drain.*sindplan'")
    assert lab.job(realm, ends) == "RUNNING"
    assert f"{realm}-dev-worker-1" in lab.containers()
    lab.enough(realm, ends)
    assert running.wait() == 0, running.err

    assert lab.job(realm, ends) == "COMPLETED"
    assert lab.read(controller, "cat", f"/data/{ends}.out") == "done on worker-1"
    assert set(lab.states(realm)) == {"worker-0"}
    assert not any("worker-1" in name or "worker-2" in name for name in lab.names())
    assert lab.identity(controller, first) == before
    assert lab.job(realm, stays) == "RUNNING"
    lab.settled()


def test_the_one_busy_worker_stays_without_a_wait(lab):
    """A job on worker-1 alone of 3, and one worker is to stay: it is that one; its neighbours are idle and leave."""
    realm = lab.realm()
    kept = (f"{realm}-dev-controller", f"{realm}-dev-worker-1")
    lab.declare(lab.cluster(realm, workers="count = 3"))
    lab.apply()
    job = lab.submit(realm, "worker-1", 600)
    before = lab.identity(*kept)

    lab.declare(lab.cluster(realm, workers="count = 1"))
    lab.apply()

    assert set(lab.states(realm)) == {"worker-1"}
    assert lab.identity(*kept) == before
    assert lab.job(realm, job) == "RUNNING"
    lab.settled()


def test_no_workers_and_two_again(lab):
    """A count of 0 is 0 (FC-23)."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, workers="count = 1"))
    lab.apply()

    lab.declare(lab.cluster(realm, workers="count = 0"))
    lab.apply()
    lab.settled()
    assert "UP" in lab.read(f"{realm}-dev-controller", "scontrol", "ping")
    assert lab.states(realm) == {}

    lab.declare(lab.cluster(realm, workers="count = 2"))
    lab.apply()
    lab.settled()
    assert lab.states(realm) == {"worker-0": "idle", "worker-1": "idle"}


def test_a_busy_worker_is_waited_for(lab):
    """It takes no new jobs meanwhile; the one it has is finished, and then it goes (FC-70)."""
    realm = lab.realm()
    controller = f"{realm}-dev-controller"
    lab.declare(lab.cluster(realm, workers='nodes = "worker-[0-1]"\ndrain_timeout = "5m"'))
    lab.apply()
    job = lab.submit(realm, "worker-1")

    lab.declare(lab.cluster(realm, workers='nodes = "worker-0"\ndrain_timeout = "5m"'))
    running = lab.start("apply")
    lab.wait(controller, "sinfo -hN -n worker-1 -o '%T %E' | grep -q 'drain.*sindplan'")
    assert lab.job(realm, job) == "RUNNING"
    lab.enough(realm, job)
    assert running.wait() == 0, running.err

    assert lab.job(realm, job) == "COMPLETED"
    assert lab.read(controller, "cat", f"/data/{job}.out") == "done on worker-1"
    assert lab.states(realm) == {"worker-0": "idle"}
    lab.settled()


def test_a_worker_that_is_busy_too_long_stays(lab):
    """The apply fails, and nothing is other than before: no node is drained any more."""
    realm = lab.realm()
    controller = f"{realm}-dev-controller"
    lab.declare(lab.cluster(realm, workers='nodes = "worker-[0-2]"'))
    lab.apply()
    job = lab.submit(realm, "worker-1", 600)
    before = lab.snapshot()

    lab.declare(lab.cluster(realm, workers='nodes = "worker-0"\ndrain_timeout = "1s"'))
    ran = lab.apply(code=1)

    assert f"worker-1 still runs the jobs {job} after 1s; it stays." in ran.err
    assert f"{realm}/dev is as it was before." in ran.err
    assert lab.job(realm, job) == "RUNNING"
    # slurmctld marks a node that is resumed until it has answered a ping.
    lab.wait(controller, "! sinfo -hN -o %t | grep -q '[*]'")
    assert lab.snapshot() == before


def test_an_administrators_drain_is_theirs(lab):
    """Neither a plan nor an apply lifts it (FC-70)."""
    realm = lab.realm()
    controller = f"{realm}-dev-controller"
    lab.declare(lab.cluster(realm, workers="count = 2"))
    lab.apply()
    lab.read(controller, "scontrol", "update", "nodename=worker-1", "state=drain", "reason=bad disk")

    lab.settled()
    lab.declare(lab.cluster(realm, workers="count = 3"))
    lab.apply()

    assert lab.states(realm) == {"worker-0": "idle", "worker-1": "drain", "worker-2": "idle"}
    assert lab.read(controller, "sinfo", "-hN", "-n", "worker-1", "-o", "%E") == "bad disk"
    lab.settled()


def test_all_that_is_promised_can_be_had(lab):
    """Slurm's CPUs and memory are no more than a node has: a job may take all of it (FC-72)."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, workers='count = 1\nmemory = "300m"'))
    lab.apply()

    assert lab.read(f"{realm}-dev-controller", "srun", "--exclusive", "--mem=300", "hostname") == "worker-0"
