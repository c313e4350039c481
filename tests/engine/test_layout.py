"""What is made is what sind makes (v0.11): names, labels, networks, volumes, mounts, DNS and SSH, held here as data.

sindplan's deviations (design, section 4): a state volume always, munge writable on the controller, no copy-up, host entries.
"""

import json

import pytest

from tests.real import new_lab, said

pytestmark = pytest.mark.engine

NODES = {
    "controller": ("controller", 10),
    "submitter": ("submitter", 14),
    "worker-0": ("worker", 20),
    "worker-3": ("worker", 23),
}
"""Role and place in the network of each node that the test declares."""

MESH_CONTAINERS = {"dns": "dns", "ssh": "ssh"}
COMPOSE = {
    "com.docker.compose.oneoff": "False",
    "com.docker.compose.config-hash": "",
    "com.docker.compose.project.config_files": "",
}
NUMBERS = {"controller": "1", "submitter": "1", "worker-0": "1", "worker-3": "4"}
VOLUMES = ("config", "munge", "data", "state")

MOUNTS = {
    "controller": {
        "/etc/slurm": ("config", "rw"),
        "/etc/munge": ("munge", "rw"),
        "/data": ("data", "rw"),
        "/var/spool/slurmctld": ("state", "rw"),
    },
    "submitter": {"/etc/slurm": ("config", "ro"), "/etc/munge": ("munge", "ro"), "/data": ("data", "rw")},
    "worker": {"/etc/slurm": ("config", "ro"), "/etc/munge": ("munge", "ro"), "/data": ("data", "rw")},
}
TMPFS = {"/tmp": "rw,nosuid,nodev,size=128m", "/run": "exec,mode=755,size=64m", "/run/lock": ""}
FILES = {
    # path: mode, owner
    "/etc/slurm/slurm.conf": ("644", "root:root"),
    "/etc/slurm/sind-nodes.conf": ("644", "root:root"),
    "/etc/slurm/cgroup.conf": ("644", "root:root"),
    "/etc/slurm/plugstack.conf": ("644", "root:root"),
    "/etc/munge": ("700", "munge:munge"),
    "/etc/munge/munge.key": ("400", "munge:munge"),
    "/var/spool/slurmctld": ("755", "slurm:slurm"),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A lab with one cluster of every role that there is yet; nothing in this file changes it."""
    with new_lab(tmp_path_factory.mktemp("layout")) as lab:
        lab.realm()
        (realm,) = lab.realms
        lab.declare(
            lab.cluster(
                realm,
                workers='nodes = "worker-[0,3]"\nmemory = "256m"',
                more='defaults = { tmp_size = "128m" }\n[CLUSTER.submitter]',
            )
        )
        lab.apply()
        lab.settled()
        yield lab


@pytest.fixture
def realm(built):
    (name,) = built.realms
    return name


def test_names(built, realm):
    nodes = {f"{realm}-dev-{short}" for short in NODES}
    volumes = {f"{realm}-dev-{kind}" for kind in VOLUMES}

    assert set(built.containers()) == {*nodes, f"{realm}-dns", f"{realm}-ssh"}
    assert set(built.networks()) == {f"{realm}-mesh", f"{realm}-dev-net", f"{realm}-dev-record"}
    assert set(built.volumes()) == {*volumes, f"{realm}-ssh-config"}


@pytest.mark.parametrize("short", NODES)
def test_labels_of_nodes(built, realm, short):
    role, _ = NODES[short]
    found = built.inspect(f"{realm}-dev-{short}")["Config"]["Labels"]
    version = built.read(f"{realm}-dev-controller", "slurmctld", "-V").split()[1]

    assert said(found) == {
        "sind.realm": realm,
        "sind.cluster": "dev",
        "sind.role": role,
        "sind.managed": "true",
        "sind.slurm.version": version,
        "sind.data.hostpath": "",
        "sind.data.mountpath": "/data",
        "sind.cvmfs": "",
        "sind.users": "",
        "sind.groups": "",
        "sind.identity": "local",
        "com.docker.compose.project": f"{realm}-dev",
        "com.docker.compose.service": role,
        "com.docker.compose.container-number": NUMBERS[short],
        **COMPOSE,
    }
    assert found["sindplan.owner"] == built.name
    assert found["sindplan.group"] == ("cpu" if role == "worker" else "")


@pytest.mark.parametrize("service", MESH_CONTAINERS)
def test_labels_of_mesh_containers(built, realm, service):
    """They carry no sind.realm, so that no listing takes them for nodes."""
    found = built.inspect(f"{realm}-{service}")["Config"]["Labels"]
    base = built.docker.inspect_image(built.image)["Config"]["Labels"]

    assert {key: value for key, value in said(found).items() if key not in base} == {
        "com.docker.compose.project": f"{realm}-mesh",
        "com.docker.compose.service": service,
        "com.docker.compose.container-number": "1",
        **COMPOSE,
    }


def test_labels_of_networks(built, realm):
    networks = built.networks()
    mesh, cluster = networks[f"{realm}-mesh"], networks[f"{realm}-dev-net"]
    (pool,) = mesh["IPAM"]["Config"]

    assert said(cluster["Labels"]) == {
        "sind.realm": realm,
        "sind.cluster": "dev",
        "com.docker.compose.project": f"{realm}-dev",
        "com.docker.compose.network": "net",
    }
    assert said(mesh["Labels"]) == {
        "sind.realm": realm,
        "sind.dns.ip": built.inspect(f"{realm}-dns")["NetworkSettings"]["Networks"][f"{realm}-mesh"]["IPAddress"],
        "com.docker.compose.project": f"{realm}-mesh",
        "com.docker.compose.network": "mesh",
    }
    # The lower half is Docker's to give out; the server has the last address.
    assert pool["IPRange"].split("/")[0] == pool["Subnet"].split("/")[0]


def test_labels_of_volumes(built, realm):
    found = {name: said(volume["Labels"]) for name, volume in built.volumes().items()}

    assert found == {
        f"{realm}-ssh-config": {
            "sind.realm": realm,
            "com.docker.compose.project": f"{realm}-mesh",
            "com.docker.compose.volume": "ssh-config",
        }
    } | {
        f"{realm}-dev-{kind}": {
            "sind.realm": realm,
            "sind.cluster": "dev",
            "com.docker.compose.project": f"{realm}-dev",
            "com.docker.compose.volume": kind,
        }
        for kind in VOLUMES
    }


def test_record(built, realm):
    """A config-only network, which takes no addresses, says whose the cluster is and what was applied."""
    record = built.docker.inspect_network(f"{realm}-dev-record")

    assert record["ConfigOnly"]
    assert record["Labels"]["sindplan.owner"] == built.name
    assert json.loads(record["Labels"]["sindplan.declaration"])["workers"]["cpu"]["nodes"] == "worker-[0,3]"


@pytest.mark.parametrize("short", NODES)
def test_mounts(built, realm, short):
    found = built.inspect(f"{realm}-dev-{short}")
    mounts = found["HostConfig"]["Mounts"]

    assert {mount["Target"]: (mount["Source"], "ro" if mount.get("ReadOnly") else "rw") for mount in mounts} == {
        target: (f"{realm}-dev-{kind}", mode) for target, (kind, mode) in MOUNTS[NODES[short][0]].items()
    }
    # With copy-up every cluster would have the image's munge key.
    assert all(mount["VolumeOptions"]["NoCopy"] for mount in mounts)
    assert found["HostConfig"]["Tmpfs"] == TMPFS


@pytest.mark.parametrize("short", NODES)
def test_options(built, realm, short):
    found = built.inspect(f"{realm}-dev-{short}")
    host, config = found["HostConfig"], found["Config"]
    dns = built.networks()[f"{realm}-mesh"]["Labels"]["sind.dns.ip"]
    half = {"worker": 128}.get(NODES[short][0], 256)

    assert config["Hostname"] == short
    assert host["ShmSize"] == half * 2**20
    assert host["Dns"] == [dns]
    assert host["DnsSearch"] == [f"dev.{realm}.sind"]
    assert sorted(host["SecurityOpt"]) == ["label=disable", "writable-cgroups=true"]
    assert host["CgroupnsMode"] == "private"
    assert host["RestartPolicy"]["Name"] in ("", "no")
    assert not host["Privileged"]
    assert not host["CapAdd"]
    assert not host["Devices"]
    assert not host["PortBindings"]


@pytest.mark.parametrize("short", NODES)
def test_addresses(built, realm, short):
    """A node has the address of its place in the lower half of the cluster's network, and the default route there."""
    (pool,) = built.networks()[f"{realm}-dev-net"]["IPAM"]["Config"]
    base = pool["Subnet"].split("/")[0].rsplit(".", 1)[0]
    found = built.inspect(f"{realm}-dev-{short}")["NetworkSettings"]["Networks"]

    assert set(found) == {f"{realm}-dev-net", f"{realm}-mesh"}
    assert found[f"{realm}-dev-net"]["IPAddress"] == f"{base}.{NODES[short][1]}"
    assert built.read(f"{realm}-dev-{short}", "ip", "route", "show", "default").split()[2] == pool["Gateway"]


@pytest.mark.parametrize("asking", [*(f"dev-{short}" for short in NODES), "ssh"])
def test_every_node_is_resolved_everywhere(built, realm, asking):
    networks = {short: built.inspect(f"{realm}-dev-{short}")["NetworkSettings"]["Networks"] for short in NODES}

    for short, found in networks.items():
        name = f"{short}.dev.{realm}.sind"
        answer = built.read(f"{realm}-{asking}", "getent", "ahostsv4", name).splitlines()
        assert {line.split()[0] for line in answer} == {found[f"{realm}-dev-net"]["IPAddress"]}


@pytest.mark.parametrize("short", NODES)
def test_ssh_from_the_relay(built, realm, short):
    """Strictly: the host key is known, and the relay's key lets it in."""
    options = ("-o", "StrictHostKeyChecking=yes", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")

    assert built.read(f"{realm}-ssh", "ssh", *options, f"{short}.dev.{realm}.sind", "hostname") == short


def test_known_hosts(built, realm):
    """One line a node, as sind writes it, and a key of its own for each."""
    lines = built.read(f"{realm}-ssh", "cat", "/root/.ssh/known_hosts").splitlines()
    hosts = {line.split()[0]: line.split()[1:] for line in lines}

    assert set(hosts) == {f"{short}.dev.{realm}.sind" for short in NODES}
    assert {kind for kind, _ in hosts.values()} == {"ssh-ed25519"}
    assert len({key for _, key in hosts.values()}) == len(NODES)
    modes = built.read(
        f"{realm}-ssh", "sh", "-c", "cd /root/.ssh && stat -c '%n %a' id_ed25519 id_ed25519.pub known_hosts"
    )
    assert modes.splitlines() == ["id_ed25519 600", "id_ed25519.pub 644", "known_hosts 644"]


def test_files_and_their_owners(built, realm):
    found = built.read(f"{realm}-dev-controller", "stat", "-c", "%n %a %U:%G", *FILES)

    assert {line.split()[0]: tuple(line.split()[1:]) for line in found.splitlines()} == FILES


def test_nodes_are_not_copies_of_each_other(built, realm):
    """Machine ids and SSH host keys of an image would be the same in all of its containers."""
    read = "cat /etc/machine-id; cut -d' ' -f2 /etc/ssh/ssh_host_ed25519_key.pub"
    seen = [built.read(f"{realm}-dev-{short}", "sh", "-c", read).split() for short in NODES]

    assert len({machine for machine, _ in seen}) == len(NODES)
    assert len({key for _, key in seen}) == len(NODES)


def test_slurm_from_the_submitter(built, realm):
    """Jobs start from the login node; a credential of each node is good on every other (FC-62)."""
    submitter, controller = f"{realm}-dev-submitter", f"{realm}-dev-controller"

    assert sorted(built.read(submitter, "srun", "-N2", "hostname").split()) == ["worker-0", "worker-3"]
    for short in NODES:
        credential = built.read(controller, "munge", "-n")
        assert "Success" in built.read(f"{realm}-dev-{short}", "sh", "-c", f"echo '{credential}' | unmunge")


def test_nothing_failed_in_any_node(built, realm):
    for short in NODES:
        assert built.read(f"{realm}-dev-{short}", "systemctl", "list-units", "--failed", "--no-legend", "--plain") == ""
