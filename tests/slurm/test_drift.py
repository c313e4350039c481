"""Drift on a real engine: seen without a state file, mended by an apply, and then gone."""

import pytest

pytestmark = pytest.mark.proof


def test_three_things_that_hands_do(lab):
    realm = lab.realm()
    lab.declare(lab.cluster(realm, workers="count = 3"))
    lab.apply()
    quiet = lab.sindplan("drift", "--realm", realm)
    assert quiet.out + quiet.err == ""

    lab.docker.remove_container(f"{realm}-dev-worker-0", force=True)
    lab.docker.pause(f"{realm}-dev-worker-1")
    lab.read(f"{realm}-dev-controller", "sh", "-c", "echo SchedulerParameters=bf_continue >> /etc/slurm/slurm.conf")

    found = lab.sindplan("drift", "--realm", realm, code=2)
    for address, verdict in (
        ("node/worker-0", "will be created"),
        ("node/worker-1", "will be updated in-place"),
        ("file/slurm.conf", "will be updated in-place"),
    ):
        assert f"  # {realm}/dev/{address} {verdict}\n" in found.out
    assert "-SchedulerParameters=bf_continue" in found.out

    lab.apply()
    quiet = lab.sindplan("drift", "--realm", realm)
    assert quiet.out + quiet.err == ""
    assert set(lab.states(realm).values()) == {"idle"}
