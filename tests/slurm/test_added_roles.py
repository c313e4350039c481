"""Roles that come to a cluster which works: what was there stays, and so do its jobs."""

import pytest

pytestmark = pytest.mark.proof


def declared(lab, realm, *, more="", after=""):
    """Return a cluster of one controller, one worker and a user; `more` goes into the controller's table."""
    where = f"realms.{realm}.clusters.dev"
    return f"""
        [{where}]
        image = "{lab.image}"
        [{where}.controller]
        {more}
        [{where}.workers.cpu]
        {after.replace("CLUSTER", where)}
        """


ALICE = "[CLUSTER.users.alice]\n"
ALL = """
        [CLUSTER.api]
        [CLUSTER.submitter]
        [CLUSTER.db]
        [CLUSTER.accounts.physics]
        [CLUSTER.users.alice]
        accounts = ["physics"]
        """


def test_every_role_comes_at_once_under_a_running_job(lab):
    realm = lab.realm()
    controller = f"{realm}-dev-controller"
    lab.declare(declared(lab, realm, after=ALICE))
    lab.apply()
    earlier = lab.read(controller, "sbatch", "--parsable", "--wait", "-D", "/data", "--wrap", "hostname")
    held = lab.read(controller, "sbatch", "--parsable", "--hold", "-D", "/data", "--wrap", "hostname")
    # Only a file ends it, so it runs until everything has been looked at; one begun anew would say so twice.
    script = "echo begun >> /data/said; until [ -e /data/enough ]; do sleep 0.2; done; echo through >> /data/said"
    job = lab.read(controller, "sbatch", "--parsable", "-D", "/data", "--wrap", script)
    lab.wait(controller, f'[ "$(squeue -h -j {job} -o %t)" = R ]')
    before = lab.identity()
    lab.declare(declared(lab, realm, more="backup = true", after=ALL))

    applied = lab.apply(seconds=240)

    assert applied.counts[2] == 0, applied.out
    lab.settled()
    # Neither replaced nor started anew: ids and start times are those of before.
    assert lab.identity(*before) == before
    new = {f"{realm}-dev-{short}" for short in ("controller-backup", "db", "api", "submitter")}
    assert lab.containers().keys() - before.keys() == new
    assert lab.job(realm, job) == "RUNNING"
    lab.wait(f"{realm}-dev-submitter", '[ "$(scontrol ping | grep -c "is UP")" = 2 ]')
    assert lab.read(controller, "sacctmgr", "-n", "-P", "show", "cluster", "format=cluster") == "dev"

    # The job from before ends as if nothing had been, and so does the one that waited.
    lab.read(controller, "touch", "/data/enough")
    lab.read(f"{realm}-dev-submitter", "scontrol", "release", held)
    for number in (job, held):
        lab.wait(controller, f"scontrol show job {number} | grep -q JobState=COMPLETED")
    assert lab.read(controller, "cat", "/data/said").split() == ["begun", "through"]

    # Each new node does what it is for. Accounting has what slurmctld knew, the job that was over too.
    own = ("runuser", "-u", "alice", "--", "sbatch", "--parsable", "--wait", "-D", "/home/alice", "--wrap", "hostname")
    later = lab.read(f"{realm}-dev-submitter", *own)
    found = "sacct -a -X -n -P -o user,account,state -j"
    for number, said in ((later, "alice|physics"), (job, "root|root"), (held, "root|root"), (earlier, "root|root")):
        lab.wait(controller, f'[ "$({found} {number})" = "{said}|COMPLETED" ]')
    token = lab.read(controller, "scontrol", "token", "username=alice", "lifespan=600").removeprefix("SLURM_JWT=")
    asked = ("curl", "-sf", "-H", f"X-SLURM-USER-TOKEN: {token}", "http://api:6820/slurm/v0.0.42/ping")
    assert '"hostname": "controller-backup"' in lab.read(controller, *asked)


def test_a_backup_comes_and_goes_under_a_running_job(lab):
    realm = lab.realm()
    controller = f"{realm}-dev-controller"
    lab.declare(declared(lab, realm))
    lab.apply()
    before = lab.identity()
    job = lab.submit(realm, "worker-0", 600)
    lab.declare(declared(lab, realm, more="backup = true"))
    lab.apply()
    lab.settled()
    lab.wait(controller, '[ "$(scontrol ping | grep -c "is UP")" = 2 ]')
    lab.declare(declared(lab, realm))

    lab.apply()

    lab.settled()
    assert lab.identity() == before
    assert lab.read(controller, "scontrol", "ping").count("is UP") == 1
    assert lab.job(realm, job) == "RUNNING"
    lab.read(controller, "scancel", job)
    assert lab.read(controller, "srun", "hostname") == "worker-0"
