"""A pair of controllers in trouble: what the backup did meanwhile is never lost."""

import pytest

pytestmark = pytest.mark.proof


@pytest.fixture
def pair(lab):
    """A cluster with two controllers, of which the second takes over soon."""
    return made(lab, takes_over=10)


def made(lab, *, takes_over):
    """Make a cluster with two controllers; the second takes over after some seconds in which the first says nothing."""
    realm = lab.realm()
    where = f"realms.{realm}.clusters.dev"
    lab.declare(
        f"""
        [{where}]
        image = "{lab.image}"
        [{where}.controller]
        backup = true
        [{where}.submitter]
        [{where}.workers.cpu]
        [{where}.slurm]
        main = "SlurmctldTimeout={takes_over}"
        """
    )
    lab.apply()
    lab.settled()
    return lab, realm


def both_up(lab, realm):
    lab.wait(f"{realm}-dev-controller", '[ "$(scontrol ping | grep -c "is UP")" = 2 ]')


def held(lab, realm):
    """Submit a held job and wait until slurmctld has saved it: it does so every five seconds at most (SAVE_MAX_WAIT)."""
    command = ["sbatch", "--parsable", "--hold", "-D", "/data", "-J", "held-and-saved", "--wrap", "hostname"]
    job = lab.read(f"{realm}-dev-submitter", *command)
    lab.wait(f"{realm}-dev-controller", "grep -q held-and-saved /var/spool/slurmctld/job_state")
    return job


def test_one_that_was_frozen_long_forgets_what_it_knew(pair):
    """Its slurmctld would save an old state when it wakes: it is ended before it can."""
    lab, realm = pair
    job = held(lab, realm)
    lab.docker.pause(f"{realm}-dev-controller")
    # Clients hang on the frozen one, so only its backup's own word tells: its place in the heartbeat.
    heartbeat = "od -An -tx1 -j15 -N1 /var/spool/slurmctld/heartbeat"
    lab.wait(f"{realm}-dev-controller-backup", f'[ "$({heartbeat})" = " 01" ]', seconds=90)

    planned = lab.plan(code=2)
    assert "is in control" in planned.err
    lab.apply(seconds=240)
    lab.settled()
    both_up(lab, realm)
    assert lab.job(realm, job) == "PENDING"
    lab.read(f"{realm}-dev-controller", "scontrol", "release", job)
    lab.wait(f"{realm}-dev-controller", f"scontrol show job {job} | grep -q JobState=COMPLETED")


def test_a_short_freeze_is_nothing(lab):
    # Short is what ends before the second takes over, however busy the machine is.
    lab, realm = made(lab, takes_over=300)
    before = lab.identity(f"{realm}-dev-controller")
    lab.docker.pause(f"{realm}-dev-controller")

    lab.apply()

    lab.settled()
    assert lab.identity(f"{realm}-dev-controller") == before
    both_up(lab, realm)


def test_control_that_an_administrator_moved_comes_back(pair):
    lab, realm = pair
    lab.read(f"{realm}-dev-controller-backup", "scontrol", "takeover")
    lab.wait(f"{realm}-dev-controller", "! systemctl is-active -q slurmctld")

    applied = lab.apply()

    assert applied.counts[1] >= 1
    lab.settled()
    both_up(lab, realm)
    assert lab.read(f"{realm}-dev-submitter", "srun", "hostname") == "worker-0"


def test_both_gone(pair):
    """Their state is on a volume: the queue outlives the containers."""
    lab, realm = pair
    job = held(lab, realm)
    for short in ("controller", "controller-backup"):
        lab.docker.remove_container(f"{realm}-dev-{short}", force=True)

    lab.apply()

    lab.settled()
    both_up(lab, realm)
    assert lab.job(realm, job) == "PENDING"
