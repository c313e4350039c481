"""A plan that was saved and reviewed, on real Slurm: it is done as it stands, once, or nothing is."""

import json

import jsonschema
import pytest

from sindplan.render.events_schema import events_schema
from tests.render.read_back import FORMATS, of_text

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
    new = lab.sindplan("plan", "-f", str(lab.file)).out
    assert lab.sindplan("show", plan, DOCKER_HOST="unix:///nowhere").out == new
    told = of_text(new)
    for form, (_, read_back) in FORMATS.items():
        assert read_back(lab.sindplan("show", plan, "--format", form, DOCKER_HOST="unix:///nowhere").out) == told
    events = [json.loads(line) for line in lab.sindplan("apply", "--json", plan).out.splitlines()]

    for event in events:
        jsonschema.validate(event, events_schema())
    assert {(one["change"]["action"], one["change"]["resource"]["addr"]) for one in events if "change" in one} == told
    assert events[-1]["outcome"]["done"] == [f"{realm}/dev"]
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
