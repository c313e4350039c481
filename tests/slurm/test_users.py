"""Users of a cluster that runs: added and taken away in place, with homes and jobs."""

import pytest

pytestmark = pytest.mark.proof

NODES = ("controller", "submitter", "worker-0")


def as_user(name):
    return ("setpriv", f"--reuid={name}", f"--regid={name}", "--init-groups")


def test_users_come_and_go(lab):
    realm = lab.realm()

    def declare(users):
        tables = "\n".join(f"[CLUSTER.users.{name}]\n{more}" for name, more in users.items())
        lab.declare(lab.cluster(realm, more=f"[CLUSTER.submitter]\n[CLUSTER.groups.lab]\n{tables}"))

    declare({"carol": ""})
    lab.apply()
    before = lab.identity()

    declare({"alice": 'groups = ["lab"]', "carol": ""})
    lab.apply()
    lab.settled()
    assert lab.identity() == before
    for short in NODES:
        groups = lab.read(f"{realm}-dev-{short}", "id", "alice")
        assert groups.endswith("(lab)")
        assert lab.read(f"{realm}-dev-{short}", "id", "-u", "carol") == "1000"
    submitter = f"{realm}-dev-submitter"
    assert lab.read(
        submitter, *as_user("alice"), "srun", "-D", "/home/alice", "sh", "-c", "id -un; touch mine"
    ).split() == ["alice"]
    options = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-l", "alice")
    assert lab.read(f"{realm}-ssh", "ssh", *options, f"submitter.dev.{realm}.sind", "pwd") == "/home/alice"

    # One who works stays, everywhere; nothing is left half done.
    lab.read(submitter, *as_user("alice"), "sh", "-c", "setsid sleep 600 < /dev/null > /dev/null 2>&1 &")
    lab.wait(submitter, "pgrep -u alice")
    declare({"carol": ""})
    refused = lab.apply(code=1)
    assert "alice has processes" in refused.err
    assert f"{realm}/dev is as it was before." in refused.err
    for short in NODES:
        assert lab.execute(f"{realm}-dev-{short}", "id", "alice").code == 0

    lab.read(submitter, "pkill", "-u", "alice")
    lab.wait(submitter, "! pgrep -u alice")
    lab.apply()
    lab.settled()
    for short in NODES:
        assert lab.execute(f"{realm}-dev-{short}", "id", "alice").code != 0
        assert lab.read(f"{realm}-dev-{short}", "id", "-u", "carol") == "1000"
    # What was theirs is kept.
    assert lab.read(submitter, "ls", "/home/alice") == "mine"
