"""Damage done by hand: the plan names it, apply mends it, and what was whole is left alone.

The damages follow each other on one cluster, each of them mended by its test.
"""

import random

import pytest

from tests.real import new_lab

pytestmark = pytest.mark.proof

SHORTS = ("controller", "worker-0", "worker-1", "worker-2")
WORKERS = SHORTS[1:]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A lab with a cluster of three workers and a file in its data volume."""
    with new_lab(tmp_path_factory.mktemp("repair")) as lab:
        realm = lab.realm("r")
        lab.declare(lab.cluster(realm, workers="count = 3"))
        lab.apply()
        lab.read(f"{realm}-dev-worker-0", "sh", "-c", "echo kept > /data/file")
        yield lab


@pytest.fixture
def realm(whole):
    (name,) = whole.realms
    return name


def _sh(container, script):
    return lambda lab, realm: lab.read(f"{realm}-{container}", "sh", "-c", script)


def _docker(verb, container, **options):
    return lambda lab, realm: getattr(lab.docker, verb)(f"{realm}-{container}", **options)


def _disconnect(container, network):
    return lambda lab, realm: lab.docker.disconnect_container_from_network(f"{realm}-{container}", f"{realm}-{network}")


def _save(lab, realm):
    """Have slurmctld write what it knows of jobs: it does so every few seconds, and one that is killed cannot."""
    lab.read(f"{realm}-dev-controller", "systemctl", "stop", "slurmctld")


def _remove_controller(lab, realm):
    _save(lab, realm)
    lab.docker.remove_container(f"{realm}-dev-controller", force=True)


def _remove_record(lab, realm):
    lab.docker.remove_network(f"{realm}-dev-record")


def _all_stopped(lab, realm):
    _save(lab, realm)
    for name in lab.containers():
        lab.docker.kill(name)


def _all_removed(lab, realm):
    _save(lab, realm)
    for name in lab.containers():
        lab.docker.remove_container(name, force=True)


DAMAGES = {
    # what was done: how, what the plan says of it, which nodes may be touched by mending it
    "a worker was removed": (
        _docker("remove_container", "dev-worker-1", force=True),
        "/dev/node/worker-1 will be created",
        {"dev-worker-1"},
    ),
    "a worker was stopped": (_docker("stop", "dev-worker-1"), "/dev/node/worker-1 will be updated", {"dev-worker-1"}),
    "a worker was killed": (_docker("kill", "dev-worker-1"), "/dev/node/worker-1 will be updated", {"dev-worker-1"}),
    "a worker was paused": (_docker("pause", "dev-worker-1"), "/dev/node/worker-1 will be updated", set()),
    "the controller was stopped": (
        _docker("stop", "dev-controller"),
        "/dev/node/controller will be updated",
        {"dev-controller"},
    ),
    "the controller was paused": (_docker("pause", "dev-controller"), "/dev/node/controller will be updated", set()),
    "the controller was removed": (
        _remove_controller,
        "/dev/node/controller will be created",
        {"dev-controller"},
    ),
    "slurmd was stopped": (
        _sh("dev-worker-2", "systemctl stop slurmd"),
        "/dev/service/worker-2/slurmd will be updated",
        set(),
    ),
    "slurmd was killed": (
        _sh("dev-worker-2", "systemctl kill -s KILL slurmd; until ! systemctl -q is-active slurmd; do sleep 0.1; done"),
        "/dev/service/worker-2/slurmd will be updated",
        set(),
    ),
    "slurmctld was stopped": (
        _sh("dev-controller", "systemctl stop slurmctld"),
        "/dev/service/controller/slurmctld will be updated",
        set(),
    ),
    "munge was stopped on a worker": (
        _sh("dev-worker-0", "systemctl stop munge"),
        "/dev/service/worker-0/munge will be updated",
        set(),
    ),
    "munge was stopped on the controller": (
        _sh("dev-controller", "systemctl stop munge"),
        "/dev/service/controller/munge will be updated",
        set(),
    ),
    "sshd was stopped": (
        _sh("dev-worker-0", "systemctl stop ssh"),
        "/dev/service/worker-0/sshd will be updated",
        set(),
    ),
    "slurm.conf was edited": (
        _sh("dev-controller", "echo 'SlurmdTimeout=77' >> /etc/slurm/slurm.conf && scontrol reconfigure"),
        "-SlurmdTimeout=77",
        set(),
    ),
    "slurm.conf was broken": (
        _sh("dev-controller", "echo 'NoSuchThing=1' > /etc/slurm/slurm.conf"),
        "-NoSuchThing=1",
        set(),
    ),
    "slurm.conf was removed": (
        _sh("dev-controller", "rm /etc/slurm/slurm.conf"),
        "/dev/file/slurm.conf will be created",
        set(),
    ),
    "slurm.conf was closed": (
        _sh("dev-controller", "chmod 600 /etc/slurm/slurm.conf"),
        "/dev/file/slurm.conf will be updated",
        set(),
    ),
    "a node line was taken out": (
        _sh(
            "dev-controller",
            "cd /etc/slurm && sed '/^NodeName=worker-2/d; s/,worker-2//' sind-nodes.conf > new && mv new sind-nodes.conf"
            " && scontrol reconfigure",
        ),
        "+NodeName=worker-2",
        set(),
    ),
    "a drain of sindplan's was left behind": (
        _sh("dev-controller", "scontrol update nodename=worker-1 state=drain reason='sindplan: leaving'"),
        "/dev/slurm/node/worker-1 will be updated",
        set(),
    ),
    "known_hosts was emptied": (
        _sh("ssh", ": > /root/.ssh/known_hosts"),
        "/@mesh/known-host/worker-[0-2].dev will be created",
        set(),
    ),
    "a host key was exchanged": (
        _sh("ssh", "sed -i '/^worker-1/s/ ssh-ed25519 AAAA/ ssh-ed25519 AAAB/' /root/.ssh/known_hosts"),
        "/@mesh/known-host/worker-1.dev will be updated",
        set(),
    ),
    "a DNS record was changed": (
        _sh("dns", "sed -i 's/^ *[0-9.]* worker-1/        192.0.2.1 worker-1/' /Corefile; kill -USR1 1"),
        "/@mesh/record/worker-1.dev will be updated",
        set(),
    ),
    "the Corefile was emptied": (
        _sh("dns", ": > /Corefile; kill -USR1 1"),
        "/@mesh/record/worker-[0-2].dev will be created",
        set(),
    ),
    "the DNS server was stopped": (_docker("stop", "dns"), "/@mesh/dns will be updated", {"dns"}),
    "the DNS server was paused": (_docker("pause", "dns"), "/@mesh/dns will be updated", set()),
    "the DNS server was removed": (
        _docker("remove_container", "dns", force=True),
        "/@mesh/dns will be created",
        {"dns"},
    ),
    "the relay was stopped": (_docker("stop", "ssh"), "/@mesh/relay will be updated", {"ssh"}),
    "the relay was paused": (_docker("pause", "ssh"), "/@mesh/relay will be updated", set()),
    "the relay was removed": (
        _docker("remove_container", "ssh", force=True),
        "/@mesh/relay will be created",
        {"ssh"},
    ),
    "a worker was taken off its network": (
        _disconnect("dev-worker-1", "dev-net"),
        "/dev/node/worker-1 will be updated",
        set(),
    ),
    "the controller was taken off its network": (
        _disconnect("dev-controller", "dev-net"),
        "/dev/node/controller will be updated",
        set(),
    ),
    "a worker was taken off the mesh": (
        _disconnect("dev-worker-1", "mesh"),
        "/dev/node/worker-1 will be updated",
        set(),
    ),
    "the relay was taken off a network": (_disconnect("ssh", "dev-net"), "/dev/network will be updated", set()),
    "the DNS server was taken off the mesh": (_disconnect("dns", "mesh"), "/@mesh/dns will be updated", {"dns"}),
    "the relay was taken off the mesh": (_disconnect("ssh", "mesh"), "/@mesh/relay will be updated", {"ssh"}),
    "the record was removed": (_remove_record, "/dev/record will be created", set()),
    "all containers were killed": (
        _all_stopped,
        "/dev/node/worker-[0-2] will be updated",
        {"dns", "ssh", *(f"dev-{short}" for short in SHORTS)},
    ),
    "all containers were removed": (
        _all_removed,
        "/dev/node/worker-[0-2] will be created",
        {"dns", "ssh", *(f"dev-{short}" for short in SHORTS)},
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage(whole, realm, damage):
    damaging, said, touched = DAMAGES[damage]
    key = whole.read(f"{realm}-dev-controller", "sha256sum", "/etc/munge/munge.key")
    # What another test left behind is not this one's.
    whole.apply()
    before = whole.identity()

    damaging(whole, realm)

    assert said in whole.plan(code=2).out
    whole.apply()
    whole.settled()
    _check_whole(whole, realm)
    left_alone = {name for name in before if name.removeprefix(f"{realm}-") not in touched}
    assert {name: whole.identity()[name] for name in left_alone} == {name: before[name] for name in left_alone}
    assert whole.read(f"{realm}-dev-worker-2", "sha256sum", "/etc/munge/munge.key") == key


_SSH = """\
for name; do
    ssh -n -o StrictHostKeyChecking=yes -o BatchMode=yes -o ConnectTimeout=10 "$name" hostname || exit 1
done
"""


def _check_whole(lab, realm):
    """Check that everything works: Slurm, DNS, SSH, and that the data are there."""
    controller = f"{realm}-dev-controller"
    assert lab.states(realm) == dict.fromkeys(WORKERS, "idle")
    jobs = lab.read(controller, "timeout", "30", "srun", "-N3", "hostname")
    assert sorted(jobs.split()) == list(WORKERS)
    names = [f"{short}.dev.{realm}.sind" for short in SHORTS]
    assert lab.read(f"{realm}-ssh", "sh", "-c", _SSH, "ssh", *names).split() == list(SHORTS)
    assert len(lab.read(controller, "getent", "hosts", *names).splitlines()) == len(SHORTS)
    assert lab.read(f"{realm}-dev-worker-0", "cat", "/data/file") == "kept"


def test_much_damage_at_once(whole, realm):
    together = [
        "a worker was removed",
        "slurmd was stopped",
        "slurm.conf was edited",
        "known_hosts was emptied",
        "the DNS server was removed",
        "the record was removed",
    ]
    for damage in together:
        DAMAGES[damage][0](whole, realm)
    whole.docker.pause(f"{realm}-dev-worker-0")

    plan = whole.plan(code=2).out

    assert all(DAMAGES[damage][1] in plan for damage in together)
    assert "/dev/node/worker-0 will be updated" in plan
    whole.apply()
    whole.settled()
    _check_whole(whole, realm)


def test_a_lost_munge_key(whole, realm):
    """A new one is made, and every munged has it: the running ones too, which read it only when they start (FC-62)."""
    whole.apply()
    old = whole.read(f"{realm}-dev-controller", "sha256sum", "/etc/munge/munge.key")
    whole.read(f"{realm}-dev-controller", "rm", "/etc/munge/munge.key")

    assert "/dev/key/munge will be created" in whole.plan(code=2).out
    whole.apply()
    whole.settled()
    whole.docker.restart(f"{realm}-dev-worker-0", timeout=10)
    whole.apply()

    assert whole.read(f"{realm}-dev-controller", "sha256sum", "/etc/munge/munge.key") != old
    credential = whole.read(f"{realm}-dev-controller", "munge", "-n")
    for short in SHORTS:
        assert "Success" in whole.read(f"{realm}-dev-{short}", "sh", "-c", f"echo '{credential}' | unmunge")
    _check_whole(whole, realm)


@pytest.mark.parametrize("seed", range(2))
def test_everything_was_restarted(whole, realm, seed):
    """As after a restart of the daemon, in any order; a plan is empty or apply mends what is left (FC-47)."""
    containers = list(whole.containers())
    random.Random(seed).shuffle(containers)
    for name in containers:
        whole.docker.restart(name, timeout=10)

    whole.apply()

    whole.settled()
    whole.wait(f"{realm}-dev-controller", "[ $(sinfo -hN -r -t idle -o %N | wc -l) = 3 ]")
    _check_whole(whole, realm)


def test_the_queue_survives_a_controller(whole, realm):
    """Its state is in a volume."""
    controller = f"{realm}-dev-controller"
    job = whole.submit(realm, "worker-2")
    waiting = whole.read(controller, "sbatch", "--parsable", "-H", "--wrap", "true")
    _remove_controller(whole, realm)

    whole.apply()

    assert whole.job(realm, job) == "RUNNING"
    assert whole.job(realm, waiting) == "PENDING"
    whole.read(controller, "scancel", waiting)
    whole.enough(realm, job)
    whole.wait(controller, f'[ -z "$(squeue -h -j {job} 2>/dev/null)" ]')
    assert whole.job(realm, job) == "COMPLETED"
    whole.settled()
