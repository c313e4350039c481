"""Drift on a real engine: seen without a state file, mended by an apply, and then gone."""

import pytest

pytestmark = pytest.mark.proof


def test_three_things_that_hands_do(lab):
    realm = lab.realm()
    lab.declare(lab.cluster(realm, workers="count = 3"))
    lab.apply()
    quiet = lab.sindplan("drift", "--realm", realm)
    assert quiet.out + quiet.err == ""

    lab.docker.remove_container(f"{realm}-dev-worker-0", force=True)
    lab.docker.pause(f"{realm}-dev-worker-1")
    lab.read(f"{realm}-dev-controller", "sh", "-c", "echo SchedulerParameters=bf_continue >> /etc/slurm/slurm.conf")

    found = lab.sindplan("drift", "--realm", realm, code=2)
    for address, verdict in (
        ("node/worker-0", "will be created"),
        ("node/worker-1", "will be updated in-place"),
        ("file/slurm.conf", "will be updated in-place"),
    ):
        assert f"  # {realm}/dev/{address} {verdict}\n" in found.out
    assert "-SchedulerParameters=bf_continue" in found.out

    lab.apply()
    quiet = lab.sindplan("drift", "--realm", realm)
    assert quiet.out + quiet.err == ""
    assert set(lab.states(realm).values()) == {"idle"}


def _sh(node, script):
    return lambda lab, realm: lab.read(f"{realm}-{node}", "sh", "-c", script)


def _remove_network(lab, realm):
    for name in ("controller", "worker-0"):
        lab.docker.stop(f"{realm}-dev-{name}", timeout=3)
    lab.docker.disconnect_container_from_network(f"{realm}-ssh", f"{realm}-dev-net")
    lab.docker.remove_network(f"{realm}-dev-net")


def _other_address(lab, realm):
    lab.docker.disconnect_container_from_network(f"{realm}-dev-worker-0", f"{realm}-dev-net")
    lab.docker.connect_container_to_network(f"{realm}-dev-worker-0", f"{realm}-dev-net")


def _edit_records(lab, realm):
    text = lab.read(f"{realm}-dns", "cat", "/Corefile")
    line = next(line for line in text.splitlines() if " worker-0.dev" in line)
    lab.read(f"{realm}-dns", "sh", "-c", f"sed -i 's/^{line}$/        10.9.9.9 {line.split()[1]}/' /Corefile")


MASK = "systemctl mask slurmd ssh; systemctl stop slurmd"
DISABLE = "systemctl disable slurmctld; systemctl mask --runtime munge; systemctl stop munge"
DOWN = "scontrol update nodename=worker-0 state=down reason=by-hand"
AFTER_ANOTHER = (
    # what was done, what drift names
    (_sh("dev-worker-0", MASK), {"dev/boot/worker-0", "dev/service/worker-0/slurmd"}),
    (_sh("dev-controller", DISABLE), {"dev/boot/controller", "dev/service/controller/munge"}),
    (_sh("dev-worker-0", "rm /root/.ssh/authorized_keys"), {"dev/boot/worker-0"}),
    (_sh("ssh", "rm /root/.ssh/id_ed25519.pub"), {"@mesh/relay"}),
    (_sh("dev-controller", "rm /etc/slurm/cgroup.conf; chmod 600 /etc/slurm/slurm.conf"), {"dev/file/cgroup.conf"}),
    (_sh("dev-controller", "chown root:root /etc/munge/munge.key"), {"dev/key/munge"}),
    (_sh("dev-controller", DOWN), {"dev/slurm/node/worker-0"}),
    (_sh("ssh", "sed -i /^worker-0/d /root/.ssh/known_hosts"), {"@mesh/known-host/worker-0.dev"}),
    (_edit_records, {"@mesh/record/worker-0.dev"}),
    (_other_address, {"dev/node/worker-0"}),
    (_remove_network, {"dev/network", "dev/node/controller", "dev/node/worker-0"}),
)


def test_what_else_hands_do(lab):
    realm = lab.realm()
    lab.declare(lab.cluster(realm))
    lab.apply()
    whole = {name: found[0] for name, found in lab.identity().items()}
    subnet = lab.networks()[f"{realm}-dev-net"]["IPAM"]["Config"]
    for do, names in AFTER_ANOTHER:
        do(lab, realm)

        found = lab.sindplan("drift", "--realm", realm, code=2)
        for name in names:
            assert f"  # {realm}/{name} " in found.out, (name, found.out)
        assert "differs from the declaration" not in found.out
        lab.apply()
        quiet = lab.sindplan("drift", "--realm", realm)
        assert quiet.out + quiet.err == ""
        assert lab.states(realm) == {"worker-0": "idle"}

    assert {name: found[0] for name, found in lab.identity().items()} == whole
    assert lab.networks()[f"{realm}-dev-net"]["IPAM"]["Config"] == subnet
    known = lab.read(f"{realm}-ssh", "ssh", "-o", "BatchMode=yes", f"worker-0.dev.{realm}.sind", "hostname")
    assert known == "worker-0"
    assert lab.read(f"{realm}-dev-controller", "srun", "hostname") == "worker-0"
    # What was disabled and masked comes by itself with the next boot.
    lab.docker.restart(f"{realm}-dev-worker-0", timeout=3)
    lab.wait(f"{realm}-dev-worker-0", "systemctl -q is-active slurmd ssh munge")


def test_units_that_hands_masked_while_a_node_was_stopped(lab):
    realm = lab.realm()
    lab.declare(lab.cluster(realm))
    lab.apply()
    lab.read(f"{realm}-dev-worker-0", "systemctl", "mask", "slurmd")
    lab.docker.stop(f"{realm}-dev-worker-0", timeout=3)

    found = lab.sindplan("drift", "--realm", realm, code=2)
    assert f"  # {realm}/dev/boot/worker-0 will be updated in-place\n" in found.out

    lab.apply()
    lab.settled()
    assert lab.states(realm) == {"worker-0": "idle"}
