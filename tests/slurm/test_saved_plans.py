"""A plan that was saved and reviewed, on real Slurm: it is done as it stands, once, or nothing is."""

import json

import pytest

pytestmark = pytest.mark.proof


def test_a_saved_plan_is_refused_when_a_worker_is_gone_and_made_anew_it_works_once(lab):
    """The known failure of others: it is applied to what is not there any more (terraform#8790)."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm))
    plan = str(lab.file.with_name("cluster.plan"))
    lab.sindplan("plan", "-f", str(lab.file), "--out", plan)
    lab.sindplan("apply", plan)
    lab.settled()
    stay = lab.identity(f"{realm}-dev-controller")
    lab.declare(lab.cluster(realm, workers="count = 2"))
    lab.sindplan("plan", "-f", str(lab.file), "--out", plan)
    lab.engine.remove_container(f"{realm}-dev-worker-0")
    before = lab.snapshot()

    refused = lab.sindplan("apply", plan, code=1)

    assert (
        f"{realm}/dev/node/worker-0: would be changed (create) by a plan made now, and is not in this one."
        in refused.err
    )
    assert lab.snapshot() == before

    lab.sindplan("plan", "-f", str(lab.file), "--out", plan)
    digest = json.loads(lab.file.with_name("cluster.plan").read_bytes())["sindplan"]["digest"]
    assert f"Digest: {digest}" in lab.sindplan("plan", "-f", str(lab.file)).err
    lab.sindplan("apply", "-f", str(lab.file), "--approve", "sha256:" + 64 * "0", code=1)
    lab.sindplan("apply", plan)

    lab.settled()
    assert lab.states(realm) == {"worker-0": "idle", "worker-1": "idle"}
    assert lab.identity(*stay) == stay
    after = lab.snapshot()
    assert "No changes." in lab.sindplan("apply", plan).out
    assert lab.snapshot() == after
    lab.engine.remove_container(f"{realm}-dev-worker-1")
    assert "another apply has been made since" in lab.sindplan("apply", plan, code=1).err
    lab.apply(
        "--approve", json.loads(lab.sindplan("plan", "-f", str(lab.file), "--format", "json").out)["sindplan"]["digest"]
    )
    assert lab.states(realm) == {"worker-0": "idle", "worker-1": "idle"}
