"""Plans only read."""

import pytest

pytestmark = pytest.mark.proof

READS = {"exec_create", "exec_start", "exec_die", "archive-path"}
"""What Docker reports of commands in nodes and of files that are read."""


@pytest.mark.parametrize("options", [(), ("--no-probe",)])
def test_plans_change_nothing(lab, options):
    """Docker's own events tell."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, workers="count = 2"))
    lab.apply()
    before = lab.snapshot()
    since = _now(lab)

    lab.plan(*options)
    lab.declare(lab.cluster(realm, workers="count = 3"), lab.cluster(realm, "more"))
    lab.plan(*options, code=2)

    commands = {event["Action"].partition(":")[0] for event in _events(lab, since, _now(lab))}
    assert commands <= (READS if not options else READS - {"exec_create", "exec_start", "exec_die"})
    assert lab.snapshot() == before


def _now(lab):
    """Return the engine's own time."""
    return lab.docker.info()["SystemTime"]


def _events(lab, since, until):
    """Return what happened to this test's objects."""
    for event in lab.docker.events(since=since, until=until, decode=True):
        actor = event["Actor"]
        if lab.mine(actor["Attributes"].get("name", "")) or lab.mine(actor["ID"]):
            yield event
