"""What is made is what sind makes (v0.11): names, labels, networks, volumes, mounts, DNS and SSH, held here as data.

The tables are those of sind.md, sections 2 and 3, with sindplan's deviations (design, section 4): a state volume always, a volume
for the database, munge writable on the first controller, no copy-up but for the database, host entries.
"""

import json

import pytest

from tests.real import new_lab, said

pytestmark = pytest.mark.engine

NODES = {
    "dev-controller": ("controller", 10),
    "dev-controller-backup": ("controller", 11),
    "dev-db": ("db", 12),
    "dev-api": ("api", 13),
    "dev-submitter": ("submitter", 14),
    "dev-worker-0": ("worker", 20),
    "dev-worker-3": ("worker", 23),
    "ids-controller": ("controller", 10),
    "ids-submitter": ("submitter", 14),
    "ids-worker-0": ("worker", 20),
    "hand-controller": ("controller", 10),
    "hand-worker-0": ("worker", 20),
}
"""Role and place in the network of each node that the test declares: with munge, with auth/slurm, and without Slurm."""
CLUSTERS = {"dev": "local", "ids": "clientIds", "hand": "local"}
UNMANAGED = {"dev-worker-3", "hand-controller", "hand-worker-0"}
MANAGED = [node for node in NODES if node not in UNMANAGED]
NUMBERS = {"dev-controller-backup": "2", "dev-worker-3": "4"}

USERS = {
    # cluster: sind.users, sind.groups
    "dev": ("alice:1000:1000 bob:2002:3000", "alice:1000 hpc:3000:alice"),
    "ids": ("alice:1000:1000", "alice:1000"),
    "hand": ("", ""),
}

MESH_CONTAINERS = {"dns": "dns", "ssh": "ssh"}
COMPOSE = {
    "com.docker.compose.oneoff": "False",
    "com.docker.compose.config-hash": "",
    "com.docker.compose.project.config_files": "",
}
VOLUMES = {
    "dev": ("config", "munge", "data", "state", "home", "db"),
    "ids": ("config", "data", "state", "home"),
    "hand": ("config", "munge", "data", "state"),
}

# Mount point: volume, mode, where there is one.
_EVERYWHERE = {"/etc/slurm": ("config", "ro"), "/data": ("data", "rw")}
_MUNGE = {"/etc/munge": ("munge", "ro")}
_HOME = {"/home": ("home", "rw")}
_CONTROLS = {"/etc/slurm": ("config", "rw"), "/var/spool/slurmctld": ("state", "rw")}
MOUNTS = {
    "dev-controller": {**_EVERYWHERE, **_CONTROLS, **_HOME, "/etc/munge": ("munge", "rw")},
    "dev-controller-backup": {**_EVERYWHERE, **_CONTROLS, **_HOME, **_MUNGE},
    "dev-db": {**_EVERYWHERE, **_HOME, **_MUNGE, "/var/lib/mysql": ("db", "rw")},
    "dev-api": {**_EVERYWHERE, **_HOME, **_MUNGE},
    "dev-submitter": {**_EVERYWHERE, **_HOME, **_MUNGE},
    "dev-worker-0": {**_EVERYWHERE, **_HOME, **_MUNGE},
    "dev-worker-3": {**_EVERYWHERE, **_HOME, **_MUNGE},
    "ids-controller": {**_EVERYWHERE, **_CONTROLS, **_HOME},
    "ids-submitter": {**_EVERYWHERE, **_HOME},
    "ids-worker-0": {**_EVERYWHERE, **_HOME},
    "hand-controller": {**_EVERYWHERE, **_CONTROLS, "/etc/munge": ("munge", "rw")},
    "hand-worker-0": {**_EVERYWHERE, **_MUNGE},
}
TMPFS = {"/tmp": "rw,nosuid,nodev,size=128m", "/run": "exec,mode=755,size=64m", "/run/lock": ""}

_CONFIG = {
    "/etc/slurm/slurm.conf": ("644", "root:root"),
    "/etc/slurm/sind-nodes.conf": ("644", "root:root"),
    "/etc/slurm/cgroup.conf": ("644", "root:root"),
    "/etc/slurm/plugstack.conf": ("644", "root:root"),
}
_MUNGE_KEY = {"/etc/munge": ("700", "munge:munge"), "/etc/munge/munge.key": ("400", "munge:munge")}
_STATE = {"/var/spool/slurmctld": ("755", "slurm:slurm")}
FILES = {
    # path: mode, owner
    "dev": {
        **_CONFIG,
        **_MUNGE_KEY,
        **_STATE,
        "/etc/slurm/slurmdbd.conf": ("600", "slurm:slurm"),
        "/etc/slurm/slurmdbd.conf.d": ("700", "slurm:slurm"),
        "/etc/slurm/slurmdbd.conf.d/purge.conf": ("600", "slurm:slurm"),
        "/etc/slurm/jwt_hs256.key": ("600", "slurm:slurm"),
        "/home": ("755", "root:root"),
        "/home/alice": ("700", "alice:alice"),
        "/home/alice/.ssh/authorized_keys": ("600", "alice:alice"),
    },
    "ids": {**_CONFIG, **_STATE, "/etc/slurm/slurm.key": ("600", "slurm:slurm")},
    "hand": {**_MUNGE_KEY, **_STATE},
}
KEYS = {"/etc/munge/munge.key": 128, "/etc/slurm/slurm.key": 1024, "/etc/slurm/jwt_hs256.key": 32}
"""Sizes in bytes."""

UNITS = {
    "dev-controller": {"munge", "ssh", "slurmctld"},
    "dev-controller-backup": {"munge", "ssh", "slurmctld"},
    "dev-db": {"munge", "ssh", "mariadb", "slurmdbd"},
    "dev-api": {"munge", "ssh", "slurmrestd"},
    "dev-submitter": {"munge", "ssh"},
    "dev-worker-0": {"munge", "ssh", "slurmd"},
    "dev-worker-3": {"munge", "ssh"},
    "ids-controller": {"ssh", "slurmctld"},
    "ids-submitter": {"ssh", "sackd"},
    "ids-worker-0": {"ssh", "slurmd"},
    "hand-controller": {"munge", "ssh"},
    "hand-worker-0": {"munge", "ssh"},
}
"""Daemons that run on each node, of those that a node can have."""

CAPABILITIES = {"dev-worker-0": (["SYS_NICE", "SYS_PTRACE"], ["MKNOD"])}
"""Added and dropped: what is declared, and SYS_NICE for task/affinity on managed workers."""
DEVICES = {"dev-worker-0": [("/dev/null", "/dev/fake", "rw")]}
SECURITY = {"dev-worker-0": ["label=disable", "no-new-privileges=true", "writable-cgroups=true"]}

DECLARED = """
    [realms.REALM.clusters.dev]
    image = "IMAGE"
    defaults = { tmp_size = "128m" }
    [realms.REALM.clusters.dev.controller]
    backup = true
    [realms.REALM.clusters.dev.db]
    [realms.REALM.clusters.dev.api]
    [realms.REALM.clusters.dev.submitter]
    [realms.REALM.clusters.dev.workers.cpu]
    nodes = "worker-0"
    memory = "256m"
    cap_add = ["SYS_PTRACE"]
    cap_drop = ["MKNOD"]
    devices = ["/dev/null:/dev/fake:rw"]
    security_opt = ["no-new-privileges=true"]
    [realms.REALM.clusters.dev.workers.plain]
    nodes = "worker-3"
    memory = "256m"
    managed = false
    [realms.REALM.clusters.dev.groups.hpc]
    gid = 3000
    [realms.REALM.clusters.dev.users]
    alice = { groups = ["hpc"] }
    bob = { uid = 2002, group = "hpc" }
    [realms.REALM.clusters.dev.slurm]
    main = "TaskPlugin=task/affinity"
    slurmdbd = { purge = "PurgeJobAfter=12months" }

    [realms.REALM.clusters.ids]
    image = "IMAGE"
    identity = "client_ids"
    defaults = { tmp_size = "128m", memory = "256m" }
    [realms.REALM.clusters.ids.submitter]
    [realms.REALM.clusters.ids.workers.cpu]
    [realms.REALM.clusters.ids.users.alice]

    [realms.REALM.clusters.hand]
    image = "IMAGE"
    managed = false
    defaults = { tmp_size = "128m", memory = "256m" }
    [realms.REALM.clusters.hand.workers.cpu]
    """


def cluster_of(node):
    """Return the cluster and the short name of a node."""
    cluster, _, short = node.partition("-")
    return cluster, short


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A lab with one cluster of every kind and every role; nothing in this file changes it."""
    with new_lab(tmp_path_factory.mktemp("layout")) as lab:
        realm = lab.realm()
        lab.declare(DECLARED.replace("REALM", realm).replace("IMAGE", lab.image))
        lab.apply("--allow-privileged")
        lab.settled()
        yield lab


@pytest.fixture
def realm(built):
    (name,) = built.realms
    return name


def test_names(built, realm):
    nodes = {f"{realm}-{node}" for node in NODES}
    volumes = {f"{realm}-{cluster}-{kind}" for cluster, kinds in VOLUMES.items() for kind in kinds}
    networks = {f"{realm}-{cluster}-{kind}" for cluster in CLUSTERS for kind in ("net", "record")}

    assert set(built.containers()) == {*nodes, f"{realm}-dns", f"{realm}-ssh"}
    assert set(built.networks()) == {f"{realm}-mesh", *networks}
    assert set(built.volumes()) == {*volumes, f"{realm}-ssh-config"}


@pytest.mark.parametrize("node", NODES)
def test_labels_of_nodes(built, realm, node):
    role, _ = NODES[node]
    cluster, _ = cluster_of(node)
    found = built.inspect(f"{realm}-{node}")["Config"]["Labels"]
    version = built.read(f"{realm}-dev-controller", "slurmctld", "-V").split()[1]
    users, groups = USERS[cluster]

    assert said(found) == {
        "sind.realm": realm,
        "sind.cluster": cluster,
        "sind.role": role,
        "sind.managed": "false" if node in UNMANAGED else "true",
        "sind.slurm.version": "" if cluster == "hand" else version,
        "sind.data.hostpath": "",
        "sind.data.mountpath": "/data",
        "sind.cvmfs": "",
        "sind.users": users,
        "sind.groups": groups,
        "sind.identity": CLUSTERS[cluster],
        "com.docker.compose.project": f"{realm}-{cluster}",
        "com.docker.compose.service": role,
        "com.docker.compose.container-number": NUMBERS.get(node, "1"),
        **COMPOSE,
    }
    assert found["sindplan.owner"] == built.name
    assert found["sindplan.group"] == ({"dev-worker-3": "plain"}.get(node, "cpu") if role == "worker" else "")


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
    mesh = networks[f"{realm}-mesh"]
    (pool,) = mesh["IPAM"]["Config"]

    for cluster in CLUSTERS:
        assert said(networks[f"{realm}-{cluster}-net"]["Labels"]) == {
            "sind.realm": realm,
            "sind.cluster": cluster,
            "com.docker.compose.project": f"{realm}-{cluster}",
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
        f"{realm}-{cluster}-{kind}": {
            "sind.realm": realm,
            "sind.cluster": cluster,
            "com.docker.compose.project": f"{realm}-{cluster}",
            "com.docker.compose.volume": kind,
        }
        for cluster, kinds in VOLUMES.items()
        for kind in kinds
    }


def test_record(built, realm):
    """A config-only network, which takes no addresses, says whose the cluster is and what was applied."""
    record = built.docker.inspect_network(f"{realm}-dev-record")

    assert record["ConfigOnly"]
    assert record["Labels"]["sindplan.owner"] == built.name
    assert json.loads(record["Labels"]["sindplan.declaration"])["workers"]["cpu"]["nodes"] == "worker-0"
    assert "file/slurmdbd.conf.d/purge.conf" in json.loads(record["Labels"]["sindplan.contents"])


@pytest.mark.parametrize("node", NODES)
def test_mounts(built, realm, node):
    cluster, _ = cluster_of(node)
    found = built.inspect(f"{realm}-{node}")
    mounts = found["HostConfig"]["Mounts"]

    assert {mount["Target"]: (mount["Source"], "ro" if mount.get("ReadOnly") else "rw") for mount in mounts} == {
        target: (f"{realm}-{cluster}-{kind}", mode) for target, (kind, mode) in MOUNTS[node].items()
    }
    # With copy-up every cluster would have the image's munge key; the database begins with the image's tables.
    filled = {mount["Target"] for mount in mounts if not mount.get("VolumeOptions", {}).get("NoCopy")}
    assert filled == ({"/var/lib/mysql"} if node == "dev-db" else set())
    assert found["HostConfig"]["Tmpfs"] == TMPFS


@pytest.mark.parametrize("node", NODES)
def test_options(built, realm, node):
    cluster, short = cluster_of(node)
    found = built.inspect(f"{realm}-{node}")
    host, config = found["HostConfig"], found["Config"]
    dns = built.networks()[f"{realm}-mesh"]["Labels"]["sind.dns.ip"]
    half = 256 if cluster == "dev" and NODES[node][0] != "worker" else 128
    added, dropped = CAPABILITIES.get(node, ([], []))
    devices = [(one["PathOnHost"], one["PathInContainer"], one["CgroupPermissions"]) for one in host["Devices"] or []]

    assert config["Hostname"] == short
    assert host["ShmSize"] == half * 2**20
    assert host["Dns"] == [dns]
    assert host["DnsSearch"] == [f"{cluster}.{realm}.sind"]
    assert sorted(host["SecurityOpt"]) == SECURITY.get(node, ["label=disable", "writable-cgroups=true"])
    assert host["CgroupnsMode"] == "private"
    assert host["RestartPolicy"]["Name"] in ("", "no")
    assert not host["Privileged"]
    assert [name.removeprefix("CAP_") for name in host["CapAdd"] or []] == added
    assert [name.removeprefix("CAP_") for name in host["CapDrop"] or []] == dropped
    assert devices == DEVICES.get(node, [])
    assert not host["PortBindings"]


@pytest.mark.parametrize("node", NODES)
def test_addresses(built, realm, node):
    """A node has the address of its place in the lower half of the cluster's network, and the default route there."""
    cluster, _ = cluster_of(node)
    (pool,) = built.networks()[f"{realm}-{cluster}-net"]["IPAM"]["Config"]
    base = pool["Subnet"].split("/")[0].rsplit(".", 1)[0]
    found = built.inspect(f"{realm}-{node}")["NetworkSettings"]["Networks"]

    assert set(found) == {f"{realm}-{cluster}-net", f"{realm}-mesh"}
    assert found[f"{realm}-{cluster}-net"]["IPAddress"] == f"{base}.{NODES[node][1]}"
    assert built.read(f"{realm}-{node}", "ip", "route", "show", "default").split()[2] == pool["Gateway"]


@pytest.mark.parametrize("asking", [*NODES, "ssh"])
def test_every_node_is_resolved_everywhere(built, realm, asking):
    """In one command: name and address of every node, as the asking node has them."""
    expected = set()
    for node in NODES:
        cluster, short = cluster_of(node)
        address = built.inspect(f"{realm}-{node}")["NetworkSettings"]["Networks"][f"{realm}-{cluster}-net"]["IPAddress"]
        expected.add((f"{short}.{cluster}.{realm}.sind", address))
    script = 'for name; do getent ahostsv4 "$name" | while read -r address _; do echo "$name $address"; done; done'
    names = sorted(name for name, _ in expected)

    answer = built.read(f"{realm}-{asking}", "sh", "-c", script, "sh", *names).splitlines()

    assert {tuple(line.split()) for line in answer} == expected


@pytest.mark.parametrize("node", NODES)
def test_ssh_from_the_relay(built, realm, node):
    """Strictly: the host key is known, and the relay's key lets it in."""
    cluster, short = cluster_of(node)
    options = ("-o", "StrictHostKeyChecking=yes", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10")

    assert built.read(f"{realm}-ssh", "ssh", *options, f"{short}.{cluster}.{realm}.sind", "hostname") == short


@pytest.mark.parametrize(("node", "user"), [("dev-api", "alice"), ("dev-worker-3", "bob"), ("ids-submitter", "alice")])
def test_users_log_in_from_the_relay(built, realm, node, user):
    cluster, short = cluster_of(node)
    options = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-l", user)
    host = f"{short}.{cluster}.{realm}.sind"

    assert built.read(f"{realm}-ssh", "ssh", *options, host, "id -un; pwd").split() == [user, f"/home/{user}"]


@pytest.mark.parametrize("node", NODES)
def test_who_knows_the_users(built, realm, node):
    """Everybody with local identities; with client_ids the login node alone (sind.md 6.4)."""
    cluster, short = cluster_of(node)
    knows = {"dev": True, "ids": short == "submitter", "hand": False}[cluster]
    found = built.execute(f"{realm}-{node}", "id", "alice")

    assert (found.code == 0) == knows
    if cluster == "dev":
        assert found.out.strip() == "uid=1000(alice) gid=1000(alice) groups=1000(alice),3000(hpc)"


def test_known_hosts(built, realm):
    """One line a node, as sind writes it, and a key of its own for each."""
    lines = built.read(f"{realm}-ssh", "cat", "/root/.ssh/known_hosts").splitlines()
    hosts = {line.split()[0]: line.split()[1:] for line in lines}

    assert set(hosts) == {"{1}.{0}.{2}.sind".format(*cluster_of(node), realm) for node in NODES}
    assert {kind for kind, _ in hosts.values()} == {"ssh-ed25519"}
    assert len({key for _, key in hosts.values()}) == len(NODES)
    modes = built.read(
        f"{realm}-ssh", "sh", "-c", "cd /root/.ssh && stat -c '%n %a' id_ed25519 id_ed25519.pub known_hosts"
    )
    assert modes.splitlines() == ["id_ed25519 600", "id_ed25519.pub 644", "known_hosts 644"]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_files_and_their_owners(built, realm, cluster):
    controller = f"{realm}-{cluster}-controller"
    found = built.read(controller, "stat", "-c", "%n %a %U:%G", *FILES[cluster])

    assert {line.split()[0]: tuple(line.split()[1:]) for line in found.splitlines()} == FILES[cluster]
    keys = [path for path in KEYS if path in FILES[cluster]]
    sizes = built.read(controller, "stat", "-c", "%n %s", *keys)
    assert {line.split()[0]: int(line.split()[1]) for line in sizes.splitlines()} == {key: KEYS[key] for key in keys}


def test_without_slurm_there_is_none(built, realm):
    """No file of Slurm's, no daemon; what people put there is left alone."""
    controller = f"{realm}-hand-controller"

    assert built.read(controller, "find", "/etc/slurm", "-mindepth", "1") == ""
    built.read(controller, "sh", "-c", "echo ClusterName=mine > /etc/slurm/slurm.conf")
    built.settled()
    built.apply()
    assert built.read(controller, "cat", "/etc/slurm/slurm.conf") == "ClusterName=mine"
    built.read(controller, "rm", "/etc/slurm/slurm.conf")


@pytest.mark.parametrize("node", NODES)
def test_daemons(built, realm, node):
    possible = sorted(set().union(*UNITS.values()))
    states = built.execute(f"{realm}-{node}", "systemctl", "is-active", *possible).out.split()

    assert {unit for unit, state in zip(possible, states, strict=True) if state == "active"} == UNITS[node]
    failed = built.read(f"{realm}-{node}", "systemctl", "list-units", "--failed", "--no-legend", "--plain")
    assert failed == ""


def test_nodes_are_not_copies_of_each_other(built, realm):
    """Machine ids and SSH host keys of an image would be the same in all of its containers."""
    read = "cat /etc/machine-id; cut -d' ' -f2 /etc/ssh/ssh_host_ed25519_key.pub"
    seen = [built.read(f"{realm}-{node}", "sh", "-c", read).split() for node in NODES]

    assert len({machine for machine, _ in seen}) == len(NODES)
    assert len({key for _, key in seen}) == len(NODES)


def test_slurm_from_the_submitter(built, realm):
    """Jobs start from the login node, of any user; a credential of each node is good on every other (FC-62)."""
    controller = f"{realm}-dev-controller"
    alice = ("setpriv", "--reuid=alice", "--regid=alice", "--init-groups")

    assert built.read(f"{realm}-dev-submitter", *alice, "srun", "-D", "/tmp", "id", "-un") == "alice"
    assert built.read(f"{realm}-ids-submitter", *alice, "srun", "-D", "/tmp", "id", "-u") == "1000"
    for node in NODES:
        if node.startswith("dev-"):
            credential = built.read(controller, "munge", "-n")
            assert "Success" in built.read(f"{realm}-{node}", "sh", "-c", f"echo '{credential}' | unmunge")


def test_both_controllers_are_up(built, realm):
    built.wait(f"{realm}-dev-controller", '[ "$(scontrol ping | grep -c "is UP")" = 2 ]')
