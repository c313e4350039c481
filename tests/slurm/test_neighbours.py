"""Clusters beside each other: in one realm, under one name in two realms, and under names that begin alike."""

import pytest

pytestmark = pytest.mark.proof


def test_two_realms_with_one_cluster_name(lab):
    """Everything is looked up by realm and cluster, never by one of them or by the beginning of a name (FC-01, FC-02)."""
    first, second = lab.realm("a"), lab.realm("a-42")
    lab.declare(lab.cluster(first), lab.cluster(second))
    lab.apply()
    lab.settled()
    mine = [name for name in lab.names() if name.startswith(f"{second}-")]
    other = {key: value for key, value in lab.snapshot().items() if second in key}
    assert len(mine) == 4 + 3 + 5

    lab.sindplan("destroy", f"{first}/dev", "--auto-approve")

    assert {key: value for key, value in lab.snapshot().items() if second in key} == other
    assert set(lab.names()) == set(mine)
    assert lab.read(f"{second}-dev-controller", "srun", "hostname") == "worker-0"


def test_two_clusters_of_one_realm(lab):
    """They share the mesh and nothing else; it stays until the last one goes."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, "dev"), lab.cluster(realm, "dev2"))
    lab.apply()
    lab.settled()
    before = lab.identity(*(name for name in lab.containers() if not name.startswith(f"{realm}-dev-")))
    key = lab.read(f"{realm}-dev2-controller", "sha256sum", "/etc/munge/munge.key")
    assert lab.read(f"{realm}-dev-controller", "sha256sum", "/etc/munge/munge.key") != key

    lab.sindplan("destroy", f"{realm}/dev", "--auto-approve")

    assert lab.identity() == before
    assert lab.read(f"{realm}-dev2-controller", "srun", "hostname") == "worker-0"
    hosts = lab.read(f"{realm}-ssh", "cat", "/root/.ssh/known_hosts")
    assert {line.split(".")[1] for line in hosts.splitlines()} == {"dev2"}
    lab.sindplan("destroy", f"{realm}/dev2", "--auto-approve")
    assert lab.names() == set()


def test_many_at_once(lab):
    """Their networks are created at the same time, and Docker picks addresses for each of them twice."""
    realms = [lab.realm(), lab.realm()]
    clusters = ["one", "two", "three"]
    lab.declare(*(lab.cluster(realm, cluster) for realm in realms for cluster in clusters))

    lab.apply()

    lab.settled()
    subnets = [pool["Subnet"] for network in lab.networks().values() for pool in network["IPAM"]["Config"] or []]
    assert len(set(subnets)) == len(subnets) == 8
    for realm in realms:
        for cluster in clusters:
            assert lab.read(f"{realm}-{cluster}-controller", "srun", "hostname") == "worker-0"
    lab.destroy()
    assert lab.names() == set()


def test_a_name_leads_to_the_own_cluster_always(lab):
    """Also while the own node is stopped, and Docker's resolver has only the neighbour's (FC-11)."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, "dev"), lab.cluster(realm, "qa"))
    lab.apply()
    own = {name: _address(lab, realm, name, "controller") for name in ("dev", "qa")}
    for name, address in own.items():
        assert _resolved(lab, f"{realm}-{name}-worker-0", "controller") == {address}
        worker = _address(lab, realm, name, "worker-0")
        assert _resolved(lab, f"{realm}-{name}-controller", "worker-0") == {worker}

    lab.docker.stop(f"{realm}-dev-controller")

    assert _resolved(lab, f"{realm}-dev-worker-0", "controller") == {own["dev"]}
    assert _resolved(lab, f"{realm}-qa-worker-0", "controller") == {own["qa"]}
    # Nor does slurmd listen to the neighbour's.
    assert lab.execute(f"{realm}-dev-worker-0", "timeout", "5", "scontrol", "ping").out.count("UP") == 0
    lab.apply()
    assert lab.states(realm, "dev") == {"worker-0": "idle"}


def _address(lab, realm, cluster, short):
    networks = lab.inspect(f"{realm}-{cluster}-{short}")["NetworkSettings"]["Networks"]
    return networks[f"{realm}-{cluster}-net"]["IPAddress"]


def _resolved(lab, container, name):
    return {line.split()[0] for line in lab.read(container, "getent", "ahostsv4", name).splitlines()}
