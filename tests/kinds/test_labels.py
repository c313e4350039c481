"""Labels are a wire contract with sind and with later versions: every key, exactly."""

import json
from ipaddress import ip_network

from sindplan import __version__
from sindplan.kinds import labels
from tests.strategies import declared
from tests.world import IMAGE, World, new_world

COMPOSE = {
    "com.docker.compose.oneoff": "False",
    "com.docker.compose.config-hash": "",
    "com.docker.compose.project.config_files": "",
}


def applied() -> World:
    world = new_world()
    cluster = {"image": IMAGE, "prevent_destroy": True}
    world.apply(declared({"version": 1, "name": "lab", "realms": {"sind": {"clusters": {"dev": cluster}}}}))
    return world


def own(marks: dict[str, str], owner: str = "lab") -> dict[str, str]:
    """Return labels without sindplan's own three, which are checked."""
    rest = dict(marks)
    assert rest.pop("sindplan.owner") == owner
    assert rest.pop("sindplan.version") == __version__
    assert len(rest.pop("sindplan.run")) == 16
    return rest


def test_a_node() -> None:
    found = applied().engine.inspect_container("sind-dev-worker-0")
    assert found is not None
    rest = own(dict(found.labels))
    assert rest.pop("sindplan.host-key").startswith("ssh-ed25519 AAAA")
    assert json.loads(rest.pop("sindplan.spec")) == {
        "v": 1,
        "image": "sindplan-node:26.05",
        "tmp_size": "256m",
        "units": ["munge.service", "sshd.service", "slurmd.service"],
    }
    rest.pop("sindplan.image")  # the image's own

    assert rest == {
        "sind.realm": "sind",
        "sind.cluster": "dev",
        "sind.role": "worker",
        "sind.managed": "true",
        "sind.data.hostpath": "",
        "sind.data.mountpath": "/data",
        "sind.cvmfs": "",
        "sind.users": "",
        "sind.groups": "",
        "sind.identity": "local",
        "sind.slurm.version": "26.05.5",
        "sindplan.group": "default",
        "com.docker.compose.project": "sind-dev",
        "com.docker.compose.service": "worker",
        "com.docker.compose.container-number": "1",
        **COMPOSE,
    }


def test_networks_and_the_record() -> None:
    networks = applied().engine.networks()
    found = {network.name: dict(network.labels) for network in networks}
    subnets = {network.name: network.subnet for network in networks}

    assert own(found["sind-dev-net"]) == {
        "sind.realm": "sind",
        "sind.cluster": "dev",
        "com.docker.compose.project": "sind-dev",
        "com.docker.compose.network": "net",
    }
    assert own(found["sind-mesh"]) == {
        "sind.realm": "sind",
        "sind.dns.ip": str(ip_network(subnets["sind-mesh"])[-2]),
        "com.docker.compose.project": "sind-mesh",
        "com.docker.compose.network": "mesh",
    }
    assert own(found["sind-dev-record"]) == {
        "sindplan.record": "1",
        "sindplan.realm": "sind",
        "sindplan.cluster": "dev",
        "sindplan.protected": "true",
        "sindplan.subnet": subnets["sind-dev-net"],
        "sindplan.declaration": '{"image":"sindplan-node:26.05","prevent_destroy":true}',
        "sindplan.contents": '["file/cgroup.conf","file/plugstack.conf","file/plugstack.conf.d/.keep",'
        '"file/sind-nodes.conf","file/slurm.conf"]',
    }


def test_volumes() -> None:
    found = {volume.name: dict(volume.labels) for volume in applied().engine.volumes()}

    for kind in ("config", "munge", "state", "data"):
        assert own(found.pop(f"sind-dev-{kind}")) == {
            "sind.realm": "sind",
            "sind.cluster": "dev",
            "com.docker.compose.project": "sind-dev",
            "com.docker.compose.volume": kind,
        }
    assert own(found.pop("sind-ssh-config")) == {
        "sind.realm": "sind",
        "com.docker.compose.project": "sind-mesh",
        "com.docker.compose.volume": "ssh-config",
    }
    assert not found


def test_the_mesh_has_no_label_by_which_a_listing_takes_it_for_a_node() -> None:
    for name, service in (("sind-dns", "dns"), ("sind-ssh", "ssh")):
        found = applied().engine.inspect_container(name)
        assert found is not None
        rest = own(dict(found.labels), owner="")
        assert {key: value for key, value in rest.items() if key.startswith("com.")} == {
            "com.docker.compose.project": "sind-mesh",
            "com.docker.compose.service": service,
            "com.docker.compose.container-number": "1",
            **COMPOSE,
        }
        assert not {labels.REALM, labels.CLUSTER, labels.ROLE} & set(rest)


def test_numbers_of_compose_count_from_one() -> None:
    numbers = {
        short: labels.node("sind", "dev", short)["com.docker.compose.container-number"]
        for short in ("controller", "controller-backup", "submitter", "worker-0", "worker-7")
    }

    assert numbers == {"controller": "1", "controller-backup": "2", "submitter": "1", "worker-0": "1", "worker-7": "8"}


def test_missing_and_empty_say_the_same() -> None:
    assert labels.said({"a": "", "b": "1", "c": "2"}, ["b", "a", "d"]) == {"b": "1"}
