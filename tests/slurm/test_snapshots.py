"""Snapshots of a real engine: the plan against one is the plan that the engine itself gets, and no secret is in it."""

import base64
import json
import shutil
import subprocess
import sys

import pytest
from prometheus_client.parser import text_string_to_metric_families

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
    _rehearsed(lab, realm, there)
    _as_cron_does(lab, realm)


def _rehearsed(lab, realm, there):
    """An apply to a copy of the snapshot arrives, while the engine stays as it is."""
    lab.declare(lab.cluster(realm, workers="count = 3", more=MORE))
    rehearsal = str(lab.folder / "rehearsal.json")
    shutil.copy(there, rehearsal)
    before = lab.snapshot()
    simulated = ("--engine", f"sim:{rehearsal}")
    plan = ("plan", "-f", str(lab.file), "--format", "json")
    live = json.loads(lab.sindplan(*plan).out)
    assert json.loads(lab.sindplan(*plan, *simulated, **NOWHERE).out)["resource_changes"] == live["resource_changes"]
    lab.apply(*simulated, **{SECRET: PASSWORD}, **NOWHERE)
    assert "No changes." in lab.plan(*simulated).out
    assert PASSWORD not in (lab.folder / "rehearsal.json").read_text()
    assert lab.snapshot() == before


def _as_cron_does(lab, realm):
    """No home folder, no terminal, no UTF-8."""
    metrics = lab.folder / "sindplan.prom"
    where = lab.environment()
    environment = {name: where[name] for name in ("DOCKER_HOST", "PYTHONPATH") if name in where}
    command = ("drift", "--realm", realm, "--format", "prometheus", "--out", str(metrics))
    ran = subprocess.run(
        [sys.executable, "-m", "sindplan", *command],
        env={**environment, "LANG": "C", "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=120,
        start_new_session=True,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, b"", b"")
    samples = [one for family in text_string_to_metric_families(metrics.read_text()) for one in family.samples]
    assert sum(one.value for one in samples if one.labels.get("cluster") == "dev") > 0
