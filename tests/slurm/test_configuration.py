"""Slurm's configuration changes while a job runs: the least that must happen, and nothing at all when Slurm would not have it."""

import re

import pytest

from tests.real import OLD_IMAGE, new_lab

pytestmark = pytest.mark.proof

NODES = ("controller", "worker-0", "worker-1")
IMAGES = ("new", "old")


@pytest.fixture(scope="module", params=IMAGES)
def lab(request, tmp_path_factory):
    """A lab with a cluster of two workers, of each release of Slurm."""
    with new_lab(tmp_path_factory.mktemp("configuration")) as lab:
        lab.image = OLD_IMAGE if request.param == "old" else lab.image
        realm = lab.realm(f"rst{request.param}")
        declare(lab)
        lab.apply()
        yield lab
        assert not [name for name in lab.names() if name.endswith("-try")]
        del realm


def declare(lab, main="", *, cpus=1, more=""):
    (realm,) = lab.realms
    text = f'[CLUSTER.slurm]\nmain = """\n{main}\n"""' if main else ""
    lab.declare(lab.cluster(realm, workers=f"count = 2\ncpus = {cpus}", more=f"{more}\n{text}"))


def on(lab, short, *command):
    (realm,) = lab.realms
    return lab.read(f"{realm}-dev-{short}", *command)


@pytest.fixture
def job(lab):
    """A job on worker-0, and the configuration as it was at first; both are put away afterwards."""
    declare(lab)
    lab.apply()
    lab.settled()
    (realm,) = lab.realms
    job = lab.submit(realm, "worker-0", 900)
    yield job
    on(lab, "controller", "scancel", job)
    lab.wait(f"{realm}-dev-controller", f'[ -z "$(squeue -h -j {job} 2> /dev/null)" ]')


def starts(lab):
    """Return when systemd started slurmctld and the slurmds."""
    daemons = {"controller": "slurmctld", "worker-0": "slurmd", "worker-1": "slurmd"}
    return {
        short: on(lab, short, "systemctl", "show", "-p", "ActiveEnterTimestampMonotonic,NRestarts", daemon)
        for short, daemon in daemons.items()
    }


def files(lab):
    """Return the files of /etc/slurm with their sums, and whatever lies beside them."""
    script = "cd /etc/slurm && find . -type f -exec sha256sum {} + | sort -k 2"
    return on(lab, "controller", "sh", "-c", script)


def runs(lab, job):
    """Say whether a job still runs, and was never begun anew."""
    text = on(lab, "controller", "scontrol", "show", "job", job)
    return "JobState=RUNNING" in text and "Restarts=0" in text


def slurms_process(lab):
    """Return the process of the job."""
    return on(lab, "worker-0", "pgrep", "-x", "slurmstepd")


def test_a_parameter_that_is_read_again_is_reconfigured_and_no_more(lab, job):
    before, step = starts(lab), slurms_process(lab)
    declare(lab, "SchedulerParameters=bf_continue")

    plan = lab.plan(code=2).out
    ran = lab.apply()

    assert "+SchedulerParameters=bf_continue" in plan
    assert plan.count("scontrol reconfigure") == 1
    assert "restart" not in plan
    assert ran.progress.count("reconfiguring took") == 1
    assert "restarting" not in ran.err
    assert "bf_continue" in on(lab, "controller", "scontrol", "show", "config")
    assert starts(lab) == before
    assert slurms_process(lab) == step
    assert runs(lab, job)
    lab.settled()


def test_a_port_restarts_what_listens_and_what_talks_in_order(lab, job):
    before, step = starts(lab), slurms_process(lab)
    declare(lab, "SlurmctldPort=7000\nSlurmdPort=7018")

    plan = lab.plan(code=2).out
    ran = lab.apply()

    assert '~ SlurmctldPort = null -> "7000": restart' in plan
    assert "reconfigure" not in plan + ran.err
    order = re.findall(r"service/([^ ]+): restarting took", ran.progress)
    assert order[0] == "controller/slurmctld"
    assert sorted(order[1:]) == ["worker-0/slurmd", "worker-1/slurmd"]
    after = starts(lab)
    assert all(after[short] != before[short] for short in NODES)
    assert on(lab, "controller", "srun", "-w", "worker-1", "hostname") == "worker-1"
    assert slurms_process(lab) == step
    assert runs(lab, job)
    assert ".sindplan" not in files(lab)
    lab.settled()


BROKEN = {
    # what is written, what Slurm says to it
    "a line with an unknown key": (
        "MaxJobCount=7\nNonsense=1",
        ["unrecognized key: Nonsense", "line 16 of slurm.conf"],
    ),
    "a value of the wrong kind": ("MaxJobCount=many", ["MaxJobCount"]),
    "a plugin that is not there": ("PrEpPlugins=prep/nope", ["prep/nope", "fatal: "]),
    "a file that is not there": ("include mine.conf", ["cannot stat file /etc/slurm/mine.conf"]),
    "a topology without its file": ("TopologyPlugin=topology/tree", ["cannot stat file /etc/slurm/topology.conf"]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_slurm_refuses_is_never_written(lab, job, case):
    main, said = BROKEN[case]
    before, bytes_before, step = starts(lab), files(lab), slurms_process(lab)
    (realm,) = lab.realms
    controller = f"{realm}-dev-controller"
    inode = on(lab, "controller", "stat", "-c", "%i %Y", "/etc/slurm/slurm.conf")
    declare(lab, main)

    ran = lab.apply(code=1, seconds=30)

    assert all(words in ran.err for words in said), ran.err
    assert f"{realm}/dev is as it was before." in ran.err
    assert "writing" not in ran.err
    assert files(lab) == bytes_before
    assert on(lab, "controller", "stat", "-c", "%i %Y", "/etc/slurm/slurm.conf") == inode
    assert starts(lab) == before
    assert slurms_process(lab) == step
    assert runs(lab, job)
    assert lab.execute(controller, "srun", "-w", "worker-1", "hostname").code == 0
    assert not [name for name in lab.names() if name.endswith("-try")]
    declare(lab)
    lab.settled()


def test_what_slurm_refuses_after_the_write_is_put_back(lab, job):
    """The throwaway slurmctld has another state than the real one; here the real one has a state that it cannot read."""
    bytes_before, step = files(lab), slurms_process(lab)
    (realm,) = lab.realms
    controller = f"{realm}-dev-controller"
    # A file that only slurmctld's own user may not read, and that the trial is not shown.
    on(lab, "controller", "sh", "-c", "mkdir -p /root/closed && touch /root/closed/jwt.key")
    declare(lab, "AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key=/root/closed/jwt.key")

    ran = lab.apply(code=1)

    assert "writing" in ran.err
    assert f"{realm}/dev is as it was before." in ran.err
    assert files(lab) == bytes_before
    assert slurms_process(lab) == step
    assert runs(lab, job)
    assert lab.execute(controller, "srun", "-w", "worker-1", "hostname").code == 0
    log = on(lab, "controller", "sh", "-c", "journalctl -q -n 40 -u slurmctld -o cat")
    assert "different slurm.conf" not in log
    declare(lab)
    lab.settled()


def test_other_cpus_of_a_busy_node_are_asked_for(lab, job):
    declare(lab, cpus=2)

    plan = lab.plan(code=1)
    refused = lab.apply(code=1)

    for told in (plan, refused):
        assert (
            f"worker-0 gets other CPUs (CPUs 1 -> 2), and Slurm begins the jobs {job} that run there anew" in told.err
        )
        assert "--allow-job-loss" in told.err
    assert runs(lab, job)
    lab.apply("--allow-job-loss")
    assert "Restarts=1" in on(lab, "controller", "scontrol", "show", "job", job)
    lab.settled()


def test_a_partition_with_jobs_is_not_taken_away_unasked(lab, job):
    (realm,) = lab.realms
    declare(lab, "PartitionName=extra Nodes=ALL MaxTime=INFINITE State=UP")
    lab.apply()
    other = on(
        lab, "controller", "sbatch", "--parsable", "-p", "extra", "-w", "worker-1", "-D", "/data", "--wrap", "sleep 900"
    )
    lab.wait(f"{realm}-dev-controller", f'[ "$(squeue -h -j {other} -o %t)" = R ]')
    declare(lab)

    refused = lab.apply(code=1)

    assert f"the partition extra would go, and Slurm fails the jobs {other}" in refused.err
    on(lab, "controller", "scancel", other)
    lab.wait(f"{realm}-dev-controller", f'[ -z "$(squeue -h -j {other})" ]')
    lab.apply()
    assert runs(lab, job)
    lab.settled()


def test_an_apply_that_was_killed_between_write_and_restart_is_finished(lab, job):
    """The daemons listen at the old port, the files say the new one: nobody but the marks can know."""
    step = slurms_process(lab)
    declare(lab, "SlurmctldPort=7100")
    running = lab.start("apply")
    running.until("writing took")
    running.send(9)

    plan = lab.plan(code=2).out
    assert "not restarted yet" in plan
    lab.apply()

    assert on(lab, "controller", "srun", "-w", "worker-1", "hostname") == "worker-1"
    assert slurms_process(lab) == step
    assert runs(lab, job)
    assert ".sindplan" not in files(lab)
    lab.settled()


WHOLE = """
    identity = "client_ids"
    [CLUSTER.db]
    [CLUSTER.api]
    [CLUSTER.submitter]
    [CLUSTER.slurm]
    main = "AccountingStorageEnforce=associations\\n{main}"
    slurmdbd = "{slurmdbd}"
"""


def test_ports_of_a_cluster_with_everything(tmp_path):
    """slurmdbd, the controllers one after the other, the workers, sackd, the REST API; the backup still takes over."""
    with new_lab(tmp_path) as lab:
        realm = lab.realm("rstall")
        nodes = {
            short: f"{realm}-dev-{short}" for short in ("controller", "controller-backup", "db", "api", "submitter")
        }

        def declare_ports(main, slurmdbd):
            more = WHOLE.format(main=main, slurmdbd=slurmdbd)
            text = lab.cluster(realm, workers="count = 2\ncpus = 1", more=more)
            lab.declare(text.replace(".controller]", ".controller]\nbackup = true"))

        declare_ports("", "PurgeJobAfter=12month\\n")
        lab.apply()
        lab.settled()
        job = lab.submit(realm, "worker-0", 900)
        declare_ports("SlurmctldPort=7000\\nSlurmdPort=7018\\n", "PurgeJobAfter=6month\\n")

        ran = lab.apply()

        order = re.findall(r"service/([^ ]+): (?:restarting|reconfiguring) took", ran.progress)
        assert order[:2] == ["db/slurmdbd", "controller/slurmctld"]
        assert sorted(order[2:]) == ["api/slurmrestd", "submitter/sackd", "worker-0/slurmd", "worker-1/slurmd"]
        assert lab.job(realm, job) == "RUNNING"
        assert lab.read(nodes["submitter"], "srun", "-w", "worker-1", "hostname") == "worker-1"
        lab.settled()

        # The API talks to slurmctld where that is now.
        token = lab.read(nodes["controller"], "sh", "-c", "scontrol token username=slurm lifespan=600 | cut -d= -f2-")
        ask = (
            "exec 3<>/dev/tcp/127.0.0.1/6820; printf 'GET /slurm/v0.0.42/ping/ HTTP/1.1\\r\\nHost: x\\r\\n"
            f"X-SLURM-USER-TOKEN: {token}\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3"
        )
        said = lab.read(nodes["api"], "timeout", "20", "bash", "-c", ask)
        assert '"pinged": "UP"' in said, said

        # Both controllers have the new port.
        lab.read(nodes["controller"], "systemctl", "stop", "slurmctld")
        lab.wait(nodes["controller-backup"], "sinfo -h > /dev/null 2>&1")
        assert "JobState=RUNNING" in lab.read(nodes["controller-backup"], "scontrol", "show", "job", job)
        lab.apply()
        lab.settled()
        assert lab.job(realm, job) == "RUNNING"
