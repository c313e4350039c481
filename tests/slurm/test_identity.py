"""Who knows the users: what the images allow, and what the nodes get for it."""

import json

import pytest

pytestmark = pytest.mark.proof


def users(realm, identity):
    return f"""
        identity = "{identity}"
        [CLUSTER.submitter]
        [CLUSTER.users.alice]
        """


def test_without_its_library_nss_slurm_is_refused(lab):
    """Debian does not package libnss_slurm; nothing is made."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, more=users(realm, "nss_slurm")))

    refused = lab.apply(code=1)

    assert "lacks libnss_slurm, which identity nss_slurm needs" in refused.err
    assert 'identity = "client_ids"' in refused.err
    assert lab.names() == set()


def claiming_image(lab):
    """Make an image that says it has the library: as far as nodes can be tested where there is none."""
    labels = lab.docker.inspect_image(lab.image)["Config"]["Labels"]
    facts = {**json.loads(labels["sindplan.image"]), "nss_slurm": True}
    container = lab.docker.create_container(lab.image, ["true"], name=f"{lab.realm()}-source")
    tag = lab.realm()
    quoted = json.dumps(json.dumps(facts))
    lab.docker.commit(container["Id"], repository=tag, tag="nss", changes=[f"LABEL sindplan.image={quoted}"])
    lab.docker.remove_container(container["Id"])
    lab.images.append(f"{tag}:nss")
    return f"{tag}:nss"


@pytest.mark.parametrize("identity", ["nss_slurm", "client_ids"])
def test_with_its_library_workers_ask_slurm_first(lab, identity):
    realm = lab.realm()
    lab.declare(lab.cluster(realm, image=claiming_image(lab), more=users(realm, identity)))
    lab.apply()
    lab.settled()

    lookup = ("grep", "-E", "^(passwd|group):", "/etc/nsswitch.conf")
    for line in lab.read(f"{realm}-dev-worker-0", *lookup).splitlines():
        assert line.split()[1] == "slurm"
    for short in ("controller", "submitter"):
        assert "slurm" not in lab.read(f"{realm}-dev-{short}", *lookup)
    knows = {"nss_slurm": {"controller", "submitter"}, "client_ids": {"submitter"}}[identity]
    for short in ("controller", "submitter", "worker-0"):
        assert (lab.execute(f"{realm}-dev-{short}", "id", "alice").code == 0) == (short in knows)
    configuration = lab.read(f"{realm}-dev-controller", "scontrol", "show", "config")
    assert "enable_nss_slurm" in configuration

    # It is read at each boot of slurmd, and changed once.
    lab.read(f"{realm}-dev-worker-0", "systemctl", "restart", "slurmd")
    assert lab.read(f"{realm}-dev-worker-0", *lookup).count("slurm") == 2
    alice = ("setpriv", "--reuid=alice", "--regid=alice", "--init-groups")
    assert lab.read(f"{realm}-dev-submitter", *alice, "srun", "-D", "/tmp", "id", "-u") == "1000"


def test_controller_users_may_submit_by_rest(lab):
    """Under client_ids a token can submit only for users whom the controllers know."""
    realm = lab.realm()
    more = """
        identity = "client_ids"
        controller_users = true
        [CLUSTER.api]
        [CLUSTER.users.alice]
        """
    lab.declare(lab.cluster(realm, more=more))
    lab.apply()
    controller = f"{realm}-dev-controller"

    token = lab.read(controller, "scontrol", "token", "username=alice", "lifespan=600").removeprefix("SLURM_JWT=")
    job = {
        "script": "#!/bin/sh\nid -u > /home/alice/out\n",
        "job": {"current_working_directory": "/home/alice", "environment": ["PATH=/usr/bin:/bin"], "name": "rest"},
    }
    answer = lab.read(
        controller, "curl", "-s", "-X", "POST", "-H", f"X-SLURM-USER-TOKEN: {token}", "-H",
        "Content-Type: application/json", "-d", json.dumps(job), "http://api:6820/slurm/v0.0.42/job/submit",
    )  # fmt: skip
    assert json.loads(answer)["job_id"] > 0, answer
    lab.wait(controller, "[ -s /home/alice/out ]")
    assert lab.read(controller, "cat", "/home/alice/out") == "1000"
