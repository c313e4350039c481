"""The database's password on a cluster that runs: what changes reaches MariaDB, and accounting never loses anything."""

import signal

import pytest

from tests.real import NO_CHANGES, new_lab

pytestmark = pytest.mark.proof

VARIABLE = "SINDPLAN_SECRET_T"
REFERENCE = f'storage_password = {{ env = "{VARIABLE}" }}'
KILLED = ["/dev/node/db: creating", "writing known hosts", "/dev/node/db: starting", "/dev/node/controller: starting"]
"""Lines of an apply that makes the cluster; the process is killed when it has printed them."""


def declare(lab, realm, password, *, purge="12months"):
    more = f"""
        [CLUSTER.db]
        {password}
        [CLUSTER.users.alice]
        accounts = ["physics"]
        [CLUSTER.accounts.physics]
        [CLUSTER.slurm]
        slurmdbd = {{ purge = "PurgeJobAfter={purge}" }}
        """
    lab.declare(lab.cluster(realm, more=more))


def accounts(lab, realm):
    return lab.read(f"{realm}-dev-controller", "sacctmgr", "-nP", "show", "assoc", "format=account,user").split()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A cluster without a password, which every test gives one of its own."""
    with new_lab(tmp_path_factory.mktemp("password")) as lab:
        realm = lab.realm()
        declare(lab, realm, "")
        lab.apply()
        yield lab, realm


def test_a_password_comes_changes_and_goes(cluster):
    lab, realm = cluster
    before = accounts(lab, realm)
    assert "physics|alice" in before
    for password, secret in ((REFERENCE, "first-of-all"), (REFERENCE, "second"), (REFERENCE, "third"), ("", "")):
        declare(lab, realm, password)
        applied = lab.apply(**{VARIABLE: secret} if secret else {})
        assert applied.counts[1] >= 2
        assert not secret or secret not in applied.out + applied.err
        again = lab.apply(**{VARIABLE: secret} if secret else {})
        assert NO_CHANGES in again.out
        assert accounts(lab, realm) == before
        found = lab.read(f"{realm}-dev-controller", "sh", "-c", "grep -h StoragePass /etc/slurm/slurmdbd.conf || true")
        assert found == (f"StoragePass={secret}" if secret else "")
        # It is MariaDB's, too: slurmdbd comes back by itself with it.
        lab.read(f"{realm}-dev-db", "systemctl", "restart", "slurmdbd")


def test_what_slurmdbd_refuses_is_taken_back_with_the_password(cluster):
    """The old bytes, the real password among them, and a daemon that runs with them."""
    lab, realm = cluster
    declare(lab, realm, REFERENCE)
    lab.apply(**{VARIABLE: "before"})
    text = lab.read(f"{realm}-dev-controller", "sh", "-c", "cat /etc/slurm/slurmdbd.conf /etc/slurm/slurmdbd.conf.d/*")

    declare(lab, realm, REFERENCE, purge="never-ever")
    refused = lab.apply(code=1, **{VARIABLE: "after"})

    assert f"{realm}/dev is as it was before." in refused.err
    assert "before" not in refused.err.replace("as it was before", "")
    assert "StoragePass=before" in text
    assert (
        lab.read(f"{realm}-dev-controller", "sh", "-c", "cat /etc/slurm/slurmdbd.conf /etc/slurm/slurmdbd.conf.d/*")
        == text
    )
    assert "physics|alice" in accounts(lab, realm)
    declare(lab, realm, REFERENCE)
    assert NO_CHANGES in lab.apply(**{VARIABLE: "before"}).out


@pytest.mark.parametrize("line", KILLED)
def test_killed_while_a_database_is_made(lab, line):
    realm = lab.realm()
    declare(lab, realm, REFERENCE)
    running = lab.start("apply", **{VARIABLE: "quite-secret"})
    running.until(line)
    assert running.send(signal.SIGKILL) == -signal.SIGKILL

    lab.apply(**{VARIABLE: "quite-secret"})

    lab.settled()
    assert "physics|alice" in accounts(lab, realm)
    lab.destroy()
    assert lab.names() == set()
