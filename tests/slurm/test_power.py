"""Nodes, groups and clusters that are off and on again, and what becomes of the jobs of workers that leave."""

import signal

import pytest

pytestmark = pytest.mark.proof

SILENT = 'main = "SlurmdTimeout=5"'
"""slurmd answers no more after a few seconds, and slurmctld says so."""


def running(lab, realm):
    """Return the cluster's nodes that run, by short name."""
    prefix = f"{realm}-dev-"
    return {
        n.removeprefix(prefix) for n, c in lab.containers().items() if n.startswith(prefix) and c["State"] == "running"
    }


def queued(lab, realm, *options):
    """Submit a job that says where it ran; return its number."""
    command = ("sbatch", "--parsable", "-D", "/data", "-o", "/data/%j.out", *options, "--wrap", "hostname")
    return lab.read(f"{realm}-dev-controller", *command)


def quiet(lab):
    """Check that neither the file nor the record finds anything to do."""
    lab.settled()
    assert lab.sindplan("drift", *(f"--realm={realm}" for realm in lab.realms)).out == ""


def test_a_cluster_off_and_on_again(lab):
    """Pending jobs, accounts and edits made meanwhile are there when it is on again."""
    realm = lab.realm()
    controller = f"{realm}-dev-controller"
    more = "[CLUSTER.db]\n[CLUSTER.submitter]\n[CLUSTER.accounts.physics]"
    lab.declare(lab.cluster(realm, workers="count = 2", more=more))
    lab.apply()
    lab.submit(realm, "worker-0", 8)
    job = queued(lab, realm, "-w", "worker-0", "--exclusive")
    before = {name: identity for name, (identity, _) in lab.identity().items() if "-dev-" in name}

    lab.declare(lab.cluster(realm, workers="count = 2", more=f'power = "off"\n{more}'))
    ran = lab.apply()

    assert running(lab, realm) == set()
    order = [
        line.split(": ")[0].rpartition("/")[2] for line in ran.progress.splitlines() if ": powering off took" in line
    ]
    assert set(order[:3]) == {"worker-0", "worker-1", "submitter"}
    assert order[3:] == ["controller", "db"]
    quiet(lab)

    # What is edited meanwhile is written through the stopped controller.
    edited = f"{more}\n[CLUSTER.slurm]\nmain = 'SchedulerParameters=bf_continue'"
    lab.declare(lab.cluster(realm, workers="count = 3", more=f'power = "off"\n{edited}'))
    lab.apply()
    assert running(lab, realm) == set()
    quiet(lab)

    lab.declare(lab.cluster(realm, workers="count = 3", more=edited))
    ran = lab.apply()

    order = [
        line.split(": ")[0]
        for line in ran.progress.splitlines()
        if ": starting took" in line or ": powering on took" in line
    ]
    assert [name.rpartition("/")[2] for name in order[:2]] == ["db", "controller"]
    quiet(lab)
    assert {name: identity for name, (identity, _) in lab.identity(*before).items()} == before
    lab.wait(controller, f"scontrol show job {job} | grep -q JobState=COMPLETED", 120)
    assert lab.states(realm) == {f"worker-{index}": "idle" for index in range(3)}
    assert "SchedulerParameters     = bf_continue" in lab.read(controller, "scontrol", "show", "config")
    assert lab.read(controller, "sacctmgr", "-nP", "show", "account", "physics", "format=account") == "physics"
    assert sorted(lab.read(controller, "srun", "-N3", "hostname").split()) == ["worker-0", "worker-1", "worker-2"]


def test_a_group_and_single_nodes_off(lab):
    """Their jobs are waited for, Slurm knows them all the while, and nobody has to resume them."""
    realm = lab.realm()
    controller = f"{realm}-dev-controller"
    more = f"[CLUSTER.submitter]\n[CLUSTER.workers.big]\nPOWER\n[CLUSTER.slurm]\n{SILENT}"

    def declare(power="", off=""):
        lab.declare(lab.cluster(realm, workers="count = 2", more=off + more.replace("POWER", power)))

    declare()
    lab.apply()
    job = lab.submit(realm, "worker-0", 6)
    kept = lab.submit(realm, "worker-2", 300)

    declare('power = "off"', 'powered_off = "worker-1,submitter"\n')
    lab.apply()
    assert lab.job(realm, job) == "COMPLETED"
    assert lab.job(realm, kept) == "RUNNING"
    assert running(lab, realm) == {"controller", "worker-2"}
    quiet(lab)
    reasons = lab.read(controller, "sinfo", "-hN", "-o", "%N %T %E").splitlines()
    assert {line.split()[0]: line for line in reasons}["worker-0"].split(" ", 2)[2].startswith("sindplan: powered off")

    # slurmctld gives them up, and adds words of its own to the reason.
    lab.wait(controller, "sinfo -hN -n worker-0 -o '%E' | grep -q 'Not responding'")
    quiet(lab)
    lab.read(controller, "scontrol", "reconfigure")
    quiet(lab)

    declare()
    lab.apply()
    assert running(lab, realm) == {"controller", "submitter", "worker-0", "worker-1", "worker-2"}
    assert lab.states(realm) == {"worker-0": "idle", "worker-1": "idle", "worker-2": lab.states(realm)["worker-2"]}
    assert sorted(lab.read(controller, "srun", "-w", "worker-[0-1]", "-N2", "hostname").split()) == [
        "worker-0",
        "worker-1",
    ]
    assert lab.job(realm, kept) == "RUNNING"
    quiet(lab)


def test_an_admin_s_drain_outlives_the_power(lab):
    realm = lab.realm()
    controller = f"{realm}-dev-controller"
    lab.declare(lab.cluster(realm))
    lab.apply()
    lab.read(controller, "scontrol", "update", "nodename=worker-0", "state=drain", "reason=disk is broken")

    lab.declare(lab.cluster(realm, workers='power = "off"'))
    lab.apply()
    quiet(lab)
    lab.declare(lab.cluster(realm))
    lab.apply()
    quiet(lab)

    assert lab.read(controller, "sinfo", "-hN", "-o", "%T %E") == "drained disk is broken"


def test_a_cluster_that_is_off_from_the_start(lab):
    """It is made whole, and comes up when it is wanted."""
    realm = lab.realm()
    more = "[CLUSTER.db]\n[CLUSTER.accounts.physics]"
    lab.declare(lab.cluster(realm, more=f'power = "off"\n{more}'))
    lab.apply()
    assert running(lab, realm) == set()
    quiet(lab)

    lab.declare(lab.cluster(realm, more=more))
    lab.apply()
    quiet(lab)
    assert lab.read(f"{realm}-dev-controller", "srun", "hostname") == "worker-0"


def test_a_power_off_that_fails_is_taken_back(lab):
    """drain_timeout is over and nothing else is said: everything goes on as before."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, workers="count = 2", more='drain_timeout = "3s"'))
    lab.apply()
    job = lab.submit(realm, "worker-1", 300)
    before = lab.identity()

    lab.declare(lab.cluster(realm, workers="count = 2", more='drain_timeout = "3s"\npower = "off"'))
    ran = lab.apply(code=1)

    assert f"worker-1 still runs the jobs {job} after 3s; it stays." in ran.err
    assert f"{realm}/dev is as it was before." in ran.err
    assert lab.identity() == before
    assert lab.job(realm, job) == "RUNNING"
    # Resumed nodes are marked until they have answered a ping.
    lab.wait(f"{realm}-dev-controller", '[ "$(sinfo -hN -n worker-0 -o %t)" = idle ]')


@pytest.mark.parametrize("then", ["requeue", "cancel"])
def test_what_happens_to_jobs_when_drain_timeout_is_over(lab, then):
    realm = lab.realm()
    controller = f"{realm}-dev-controller"
    more = f'drain_timeout = "3s"\non_timeout = "{then}"'
    lab.declare(lab.cluster(realm, workers="count = 2", more=more))
    lab.apply()
    kept = lab.submit(realm, "worker-0", 300)
    lab.read(controller, "scontrol", "update", "nodename=worker-0", "state=drain", "reason=for the next job")
    job = lab.read(
        controller, "sbatch", "--parsable", "-D", "/data", "-o", "/data/%j.out", "--wrap", "sleep 300; hostname"
    )
    lab.wait(controller, f'[ "$(squeue -h -j {job} -o "%t %N")" = "R worker-1" ]')
    lab.read(controller, "scontrol", "update", "nodename=worker-0", "state=resume")

    lab.declare(lab.cluster(realm, workers="count = 1", more=more))
    plan = lab.plan(code=2)
    assert f"{realm}/dev/node/worker-1 runs the jobs {job}" in plan.err
    ran = lab.apply()

    word = "requeued the jobs" if then == "requeue" else "cancelling the jobs"
    assert f"{realm}/dev/node/worker-1: drain_timeout is over; {word} {job}" in ran.err
    assert lab.job(realm, job) == {"requeue": "PENDING", "cancel": "CANCELLED"}[then]
    assert lab.job(realm, kept) == "RUNNING"
    assert set(lab.states(realm)) == {"worker-0"}
    quiet(lab)


def test_an_interactive_job_is_not_requeued(lab):
    realm = lab.realm()
    controller = f"{realm}-dev-controller"
    more = 'drain_timeout = "3s"\non_timeout = "requeue"'
    lab.declare(lab.cluster(realm, workers="count = 2", more=more))
    lab.apply()
    lab.submit(realm, "worker-0", 300)
    lab.read(controller, "sh", "-c", "srun -w worker-1 sleep 300 > /dev/null 2>&1 & :")
    lab.wait(controller, '[ -n "$(squeue -h -w worker-1 -t R -o %A)" ]')
    job = lab.read(controller, "squeue", "-h", "-w", "worker-1", "-o", "%A")

    lab.declare(lab.cluster(realm, workers="count = 1", more=more))
    ran = lab.apply()

    assert f"cancelling the jobs {job}, which Slurm does not requeue" in ran.err
    assert lab.job(realm, job) == "CANCELLED"
    assert set(lab.states(realm)) == {"worker-0"}


def test_a_worker_that_leaves_is_waited_for_and_the_longer_busy_one_stays(lab):
    """3 -> 1 with jobs on two: idle workers leave first, then the highest number; nobody loses a job."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, workers="count = 3"))
    lab.apply()
    kept = lab.submit(realm, "worker-0", 300)
    lab.submit(realm, "worker-1", 8)
    before = lab.identity(f"{realm}-dev-worker-0")

    lab.declare(lab.cluster(realm, workers="count = 1"))
    lab.apply()

    assert set(lab.states(realm)) == {"worker-0"}
    assert lab.identity(f"{realm}-dev-worker-0") == before
    assert lab.job(realm, kept) == "RUNNING"
    outputs = lab.read(f"{realm}-dev-controller", "sh", "-c", "cat /data/*.out")
    assert outputs == "done on worker-1"
    lab.settled()


def test_a_power_off_that_was_killed_while_it_waited(lab):
    """The job goes on, and the next apply waits for it again."""
    realm = lab.realm()
    controller = f"{realm}-dev-controller"
    lab.declare(lab.cluster(realm))
    lab.apply()
    script = "until [ -e /data/enough ]; do sleep 0.2; done"
    job = lab.read(controller, "sbatch", "--parsable", "-D", "/data", "-o", "/data/%j.out", "--wrap", script)
    lab.wait(controller, f'[ "$(squeue -h -j {job} -o %t)" = R ]')

    lab.declare(lab.cluster(realm, more='power = "off"'))
    killed = lab.start("apply")
    killed.until("still draining")
    killed.send(signal.SIGKILL)
    assert lab.job(realm, job) == "RUNNING"
    again = lab.start("apply")
    again.until("still draining")
    assert lab.job(realm, job) == "RUNNING"
    lab.read(controller, "touch", "/data/enough")

    assert again.wait() == 0
    assert running(lab, realm) == set()
    quiet(lab)
    lab.declare(lab.cluster(realm))
    lab.apply()
    quiet(lab)
    assert lab.job(realm, job) == "COMPLETED"
