"""What is lost only when that is said by name: data of a cluster that stays, and clusters that are no longer declared."""

import pytest

pytestmark = pytest.mark.proof


def test_the_database_of_a_running_cluster(lab):
    """Blocked, until the volume is given up by name; then it goes, and Slurm goes on without accounting."""
    realm = lab.realm()
    controller = f"{realm}-dev-controller"
    lab.declare(lab.cluster(realm, more="[CLUSTER.db]\n[CLUSTER.accounts.physics]"))
    lab.apply()
    job = lab.submit(realm, "worker-0", 300)
    before = lab.identity(controller, f"{realm}-dev-worker-0")

    lab.declare(lab.cluster(realm))
    volume = f"{realm}/dev/volume/db"
    for command in (lab.plan, lab.apply):
        ran = command(code=1)
        assert f"{volume} would be removed with everything in it" in ran.err
        assert f"--allow-data-loss {volume}" in ran.err
        assert f"{realm}/dev/node/db" in ran.out
    assert f"{realm}-dev-db" in lab.volumes()
    ran = lab.apply(f"--allow-data-loss={realm}/dev/volume/home", code=1)
    assert f"{realm}-dev-db" in lab.volumes()

    lab.plan(f"--allow-data-loss={volume}", code=2)
    lab.apply(f"--allow-data-loss={volume}")

    assert f"{realm}-dev-db" not in lab.names()
    lab.settled()
    assert lab.job(realm, job) == "RUNNING"
    assert lab.identity(*before) == before
    assert "accounting_storage/slurmdbd" not in lab.read(controller, "scontrol", "show", "config")
    lab.read(controller, "scancel", job)
    lab.wait(controller, '[ -z "$(squeue -h)" ]')
    assert lab.read(controller, "srun", "hostname") == "worker-0"


def test_pruning(lab):
    """A cluster that is no longer declared goes on demand alone: not while it has jobs, and not while it is protected."""
    realm, other = lab.realm("a"), lab.realm("b")
    lab.declare(
        lab.cluster(realm, "kept"),
        lab.cluster(realm, "old"),
        lab.cluster(other, "safe", more="prevent_destroy = true"),
    )
    lab.apply()
    job = lab.submit(realm, "worker-0", 300, "old")
    before = lab.identity(f"{realm}-kept-controller", f"{other}-safe-controller", f"{realm}-ssh")

    lab.declare(lab.cluster(realm, "kept"))
    ran = lab.plan()
    assert f"{realm}/old was made from this declaration and is not in it any more" in ran.err
    ran = lab.apply("--prune", code=1)
    assert f"{other}/safe is protected by prevent_destroy, though it is no longer declared." in ran.err
    assert f"{realm}/old has the jobs {job}; they would be lost." in ran.err
    assert f"{realm}-old-worker-0" in lab.containers()

    lab.declare(lab.cluster(realm, "kept"), lab.cluster(other, "safe", more="prevent_destroy = false"))
    lab.apply()
    lab.apply("--prune", code=1)
    lab.apply("--prune", "--allow-job-loss")
    assert not [name for name in lab.names() if name.startswith(f"{realm}-old")]
    assert lab.identity(*before) == before

    # The mesh of a realm goes with its last cluster.
    lab.declare(lab.cluster(realm, "kept"))
    lab.plan("--prune", code=2)
    lab.apply("--prune")
    assert not [name for name in lab.names() if name.startswith(f"{other}-")]
    assert lab.plan("--prune").counts == (0, 0, 0)
    assert lab.read(f"{realm}-kept-controller", "srun", "hostname") == "worker-0"
