"""Snapshots of a real engine: the plan against one is the plan that the engine itself gets, and no secret is in it."""

import base64
import json

import pytest

pytestmark = pytest.mark.proof

SECRET = "SINDPLAN_SECRET_SNAPSHOT"
PASSWORD = "not-to-be-seen-in-any-snapshot"
NOWHERE = {"DOCKER_HOST": "unix:///nowhere/docker.sock"}
MORE = f"""
    users.alice.accounts = ["physics"]
    accounts.physics = {{}}
    [CLUSTER.db]
    storage_password = {{ env = "{SECRET}" }}
    [CLUSTER.submitter]
    """


def _without_time(text):
    return {**json.loads(text), "timestamp": ""}


def _file(lab, container, path):
    return base64.b64decode(lab.read(container, "base64", "-w0", path))


def test_a_plan_against_a_snapshot_is_the_engines_own(lab):
    realm = lab.realm()
    lab.declare(lab.cluster(realm, workers="count = 2", more=MORE))
    lab.apply(**{SECRET: PASSWORD})
    lab.docker.pause(f"{realm}-dev-worker-1")
    lab.read(f"{realm}-dev-controller", "sh", "-c", "echo SchedulerParameters=bf_continue >> /etc/slurm/slurm.conf")
    lab.submit(realm, "worker-0", 600)
    there = str(lab.folder / "there.json")

    taken = lab.sindplan("snapshot", "--out", there)

    text = (lab.folder / "there.json").read_text()
    assert "Wrote " in taken.err
    assert PASSWORD not in text
    assert "PRIVATE KEY" not in text
    controller = f"{realm}-dev-controller"
    assert PASSWORD.encode() in _file(lab, f"{realm}-dev-db", "/etc/slurm/slurmdbd.conf")
    key = _file(lab, controller, "/etc/munge/munge.key")
    assert len(key) >= 32
    assert base64.b64encode(key).decode()[:40] not in text
    # As it is, with more workers, with one less, and with a setting that every node feels.
    for workers, more in (
        ("count = 2", MORE),
        ("count = 4", MORE),
        ("count = 1", MORE),
        ('count = 2\nmemory = "700m"', MORE.replace("alice", "bob")),
    ):
        lab.declare(lab.cluster(realm, workers=workers, more=more))
        arguments = ("plan", "-f", str(lab.file), "--format", "json", "--allow-job-loss")
        live = lab.sindplan(*arguments)
        against = lab.sindplan(*arguments, "--against", there, **NOWHERE)
        assert _without_time(against.out) == _without_time(live.out)
        assert json.loads(live.out)["resource_changes"]
    drift = lab.sindplan("drift", "--realm", realm, code=2)
    against = lab.sindplan("drift", "--realm", realm, "--against", there, code=2, **NOWHERE)
    assert against.out == drift.out
    assert f"  # {realm}/dev/file/slurm.conf will be updated in-place\n" in drift.out
