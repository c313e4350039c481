"""Plans only read."""

import pytest

from tests.fault_proxy import READS, READS_AND_COMMANDS, fault_proxy

pytestmark = pytest.mark.proof

COMMANDS = {"exec_create", "exec_start", "exec_die"}
LOOKS = {"archive-path", "mount", "unmount", "top"}
"""What Docker reports of commands in nodes, and of files and processes that are read."""


@pytest.mark.parametrize(
    ("options", "passing", "actions"),
    [((), READS_AND_COMMANDS, LOOKS | COMMANDS), (("--no-probe",), READS, LOOKS)],
)
def test_plans_change_nothing(lab, options, passing, actions):
    """An engine that refuses whatever is no read is enough for them; Docker's own events say the same."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, workers="count = 2"))
    lab.apply()
    before = lab.snapshot()

    with lab.hearing() as events, fault_proxy(lab.address, passing=passing) as proxy:
        lab.plan(*options, DOCKER_HOST=proxy.address)
        lab.declare(lab.cluster(realm, workers="count = 3"), lab.cluster(realm, "more"))
        lab.plan(*options, "--out", str(lab.folder / "plan"), code=2, DOCKER_HOST=proxy.address)
        if not options:
            lab.sindplan("drift", "--realm", realm, DOCKER_HOST=proxy.address)
        lab.sindplan("doctor", DOCKER_HOST=proxy.address)

    assert proxy.struck == ()
    seen = {event["Action"].partition(":")[0] for event in events}
    assert seen <= actions
    assert (seen >= COMMANDS) is not bool(options)
    assert lab.snapshot() == before
