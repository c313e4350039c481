"""One case a rule: the key, the line, and the whole message."""

from pathlib import Path

import pytest

from tests.statefile.reading import CLUSTER, HEAD, problems, read_text, said, said_of_cluster, write

LABEL = "A name of a realm or cluster is 1 to 63 of a-z, 0-9 and hyphens, with no hyphen at either end."
GROUP = "A group's name is 1 to 63 of a-z, 0-9 and hyphens, beginning with a letter."
SIZE = 'A size is a number and a unit, such as "512m", "1.5g" or "2GiB".'
TMP = 'Write digits and k, m, g, t or %, such as "256m" or "10%".'
DURATION = 'A duration is hours, minutes and seconds, such as "90s", "10m" or "1h30m".'
IMAGE = (
    'An image is written as Docker does: "name:tag", "registry:5000/path/name:tag" or "name@sha256:…", in lower case.'
)
NODES = 'Write workers by number, such as "worker-[8-9]" or "worker-0,worker-[4-7]".'
MOUNT = 'Write an absolute path below `/` without comma, "..", or a slash at the end, such as "/data".'
TWO_SUBNETS = f"""{HEAD}[realms.a.clusters]
b = {{ image = 'x', subnet = '10.0.0.0/24' }}
c = {{ image = 'x', subnet = '10.0.0.64/26' }}
"""
NETWORK = 'Write a network such as "10.42.0.0/24".'


@pytest.mark.parametrize(
    ("lines", "key", "what", "fix"),
    [
        # Unknown keys
        ("subnett = 4", "subnett", "There is no such key here.", "Did you mean `subnet`?"),
        (
            "memory = '1g'",
            "memory",
            "There is no such key here.",
            "`memory` is a key of `defaults`, `controller`, `submitter`, `db`, `api` or `workers.<name>`.",
        ),
        (
            "nodes = [{ role = 'controller' }]",
            "nodes",
            "There is no such key here.",
            "Nodes are tables here: `controller`, `submitter` and `workers.<name>`.",
        ),
        (
            "workers.cpu.backup = true",
            "workers.cpu.backup",
            "There is no such key here.",
            "`backup` is a key of `controller`.",
        ),
        ("controller.tmpSize = '1m'", "controller.tmpSize", "There is no such key here.", "Did you mean `tmp_size`?"),
        ("controller.cpu = 4", "controller.cpu", "There is no such key here.", "Did you mean `cpus`?"),
        (
            "storage.zzz = 4",
            "storage.zzz",
            "There is no such key here.",
            "The keys here are `host_path`, `mount_path` and `cvmfs`.",
        ),
        ('2.image = "x"', "2", "There is no such key here.", "The keys here are"),
        # Types
        ("controller.cpus = '4'", "controller.cpus", 'This must be a whole number, not the string "4".', ""),
        ("controller.cpus = 2.9", "controller.cpus", "This must be a whole number, not the number 2.9.", ""),
        ("controller.cpus = true", "controller.cpus", "This must be a whole number, not true.", ""),
        (
            "controller.cpus = 0xfffffffffffffffff",
            "controller.cpus",
            "This must be a whole number, not an integer of more than 64 bits.",
            "",
        ),
        ("prevent_destroy = 'no'", "prevent_destroy", 'This must be true or false, not the string "no".', ""),
        ("prevent_destroy = 1", "prevent_destroy", "This must be true or false, not the integer 1.", ""),
        ("subnet = 1979-05-27", "subnet", "This must be a string, not a date.", ""),
        ("subnet = 07:32:00", "subnet", "This must be a string, not a time.", ""),
        ("subnet = 1979-05-27T07:32:00Z", "subnet", "This must be a string, not a date and time.", ""),
        ("subnet = nan", "subnet", "This must be a string, not the number nan.", ""),
        ("controller = 5", "controller", "This must be a table, not the integer 5.", ""),
        ("workers = [{ count = 1 }]", "workers", "This must be a table, not an array.", ""),
        ("workers.cpu = 5", "workers.cpu", "This must be a table, not the integer 5.", ""),
        ("workers.cpu.count = false", "workers.cpu.count", "This must be a whole number, not false.", ""),
        ("controller.cap_add = 'X'", "controller.cap_add", 'This must be an array of strings, not the string "X".', ""),
        ("controller.cap_add = [ 5 ]", "controller.cap_add[0]", "This must be a string, not the integer 5.", ""),
        ("on_timeout = 'fial'", "on_timeout", 'This must be "fail", "requeue" or "cancel", not the string "fial".', ""),
        # Sizes and durations
        ("controller.memory = 512", "controller.memory", "This must be a size in quotes, not the integer 512.", SIZE),
        ("controller.memory = '5m'", "controller.memory", "'5m' is less than the 6m that Docker demands.", SIZE),
        ("controller.memory = ''", "controller.memory", "'' is not a size.", SIZE),
        ("controller.memory = '0'", "controller.memory", "'0' is less than the 6m that Docker demands.", SIZE),
        ("controller.memory = '-1'", "controller.memory", "'-1' is not a size.", SIZE),
        ("controller.memory = '1 g b'", "controller.memory", "'1 g b' is not a size.", SIZE),
        ("controller.memory = '1,5g'", "controller.memory", "'1,5g' is not a size.", SIZE),
        ("controller.memory = '1e9'", "controller.memory", "'1e9' is not a size.", SIZE),
        ("controller.memory = 'nan'", "controller.memory", "'nan' is not a size.", SIZE),
        ("controller.memory = '\uff11g'", "controller.memory", "'\\uff11g' is not a size.", SIZE),
        ("controller.memory = '9999999p'", "controller.memory", "'9999999p' is more than Docker can count.", SIZE),
        (
            f"controller.memory = '{'9' * 65}'",
            "controller.memory",
            f'"{"9" * 65}" is too long for a size in quotes.',
            SIZE,
        ),
        ("controller.tmp_size = '0'", "controller.tmp_size", "A tmpfs of size 0 has no limit at all.", TMP),
        ("controller.tmp_size = '1.5g'", "controller.tmp_size", "'1.5g' is not a tmpfs size.", TMP),
        (
            "controller.tmp_size = '101%'",
            "controller.tmp_size",
            '"101%" is more than all memory.',
            "A percentage is of the node's memory, at most 100%.",
        ),
        ("drain_timeout = 10", "drain_timeout", "This must be a duration in quotes, not the integer 10.", DURATION),
        ("drain_timeout = '10'", "drain_timeout", "'10' is not a duration.", DURATION),
        ("drain_timeout = '9000h'", "drain_timeout", "That is longer than a year.", "A worker drains at most 8760h."),
        (
            "workers.cpu.drain_timeout = '9000h'",
            "workers.cpu.drain_timeout",
            "That is longer than a year.",
            "A worker drains at most 8760h.",
        ),
        # Bounds
        ("controller.cpus = 0", "controller.cpus", "0 is out of bounds.", "Write a whole number from 1 to 65000."),
        (
            "workers.cpu.count = -1",
            "workers.cpu.count",
            "-1 is out of bounds.",
            "Write a whole number from 0 to 65000.",
        ),
        # Images
        ("controller.image = ''", "controller.image", '"" is not an image reference.', IMAGE),
        ("controller.image = 'a b'", "controller.image", '"a b" is not an image reference.', IMAGE),
        ("controller.image = 'Upper:1'", "controller.image", '"Upper:1" is not an image reference.', IMAGE),
        ('controller.image = "x\\u0000"', "controller.image", '"x\\u0000" is not an image reference.', IMAGE),
        ('controller.image = "x\\n"', "controller.image", '"x\\u000a" is not an image reference.', IMAGE),
        # Node sets
        ("workers.a.nodes = '@all'", "workers.a.nodes", '"@all" is not a node set of workers.', NODES),
        ("workers.a.nodes = 'worker-[0-99999999999]'", "workers.a.nodes", "The highest worker is worker-65000.", NODES),
        (
            "workers.a = { count = 1, nodes = 'worker-0' }",
            "workers.a.count",
            "`count` and `nodes` exclude each other.",
            "Remove one of them.",
        ),
        (
            "workers = { a.nodes = 'worker-[0-3]', b.nodes = 'worker-[3-5]' }",
            "workers.b.nodes",
            'worker-3 is in group "a" already.',
            "A worker is in one group.",
        ),
        (
            "workers = { a.count = 65000, b.count = 1 }",
            "workers",
            "The cluster has 65001 workers.",
            "A cluster has at most 65000.",
        ),
        # Names
        ("workers.CPU.count = 1", "workers.CPU", '"CPU" is not a name.', GROUP),
        ("workers.1.count = 1", "workers.1", '"1" is not a name.', GROUP),
        # Subnets
        ("subnet = '10.0.0.0'", "subnet", '"10.0.0.0" is not an IPv4 network.', NETWORK),
        ("subnet = 'fd00::/64'", "subnet", '"fd00::/64" is not an IPv4 network.', NETWORK),
        ("subnet = '10.0.0.256/24'", "subnet", '"10.0.0.256/24" is not an IPv4 network.', NETWORK),
        ("subnet = '010.0.0.0/24'", "subnet", '"010.0.0.0/24" is not an IPv4 network.', NETWORK),
        ("subnet = '127.0.0.0/16'", "subnet", '"127.0.0.0/16" is no network for containers.', NETWORK),
        (
            "subnet = '10.0.0.1/24'",
            "subnet",
            '"10.0.0.1/24" is an address within a network.',
            'The network is "10.0.0.0/24".',
        ),
        (
            "subnet = '10.0.0.0/27'",
            "subnet",
            '"10.0.0.0/27" has no fit size.',
            "A cluster's network is between /16 and /26.",
        ),
        (
            "subnet = '10.0.0.0/8'",
            "subnet",
            '"10.0.0.0/8" has no fit size.',
            "A cluster's network is between /16 and /26.",
        ),
        (
            "subnet = '10.0.0.0/26'\nworkers.a.count = 13",
            "subnet",
            'There is no address for worker-12: "10.0.0.0/26" has room for 12 workers.',
            "Write a larger network, with a smaller number after the slash.",
        ),
        # Storage
        (
            "storage.host_path = '~/data'",
            "storage.host_path",
            '"~/data": `~` is not expanded.',
            'Write the absolute path; "./~" is a folder called so.',
        ),
        (
            "storage.host_path = ''",
            "storage.host_path",
            '"" is not a path.',
            "Write the path of a folder of the Docker host.",
        ),
        (
            'storage.host_path = "a\\nb"',
            "storage.host_path",
            '"a\\u000ab" is not a path.',
            "Write the path of a folder of the Docker host.",
        ),
        ("storage.mount_path = 'data'", "storage.mount_path", '"data" is no place for the data folder.', MOUNT),
        ("storage.mount_path = '/'", "storage.mount_path", '"/" is no place for the data folder.', MOUNT),
        ("storage.mount_path = '/a/'", "storage.mount_path", '"/a/" is no place for the data folder.', MOUNT),
        ("storage.mount_path = '//a'", "storage.mount_path", '"//a" is no place for the data folder.', MOUNT),
        ("storage.mount_path = '/a,b'", "storage.mount_path", '"/a,b" is no place for the data folder.', MOUNT),
        (
            "storage.mount_path = '/etc/slurm'",
            "storage.mount_path",
            '"/etc/slurm" is taken: Slurm\'s configuration is there.',
            "Choose another path, such as /data.",
        ),
        (
            "storage.mount_path = '/var/spool/slurmctld'",
            "storage.mount_path",
            '"/var/spool/slurmctld" is taken: the controller\'s state is there.',
            "Choose another path, such as /data.",
        ),
    ],
)
def test_within_a_cluster(tmp_path: Path, lines: str, key: str, what: str, fix: str) -> None:
    found = said_of_cluster(tmp_path, lines)
    assert [entry[:2] for entry in found] == [(key, what)]
    assert found[0][2].startswith(fix) if fix else found[0][2] == ""


@pytest.mark.parametrize(
    ("text", "key", "what", "fix"),
    [
        ('name = "x"', "version", "This key is required and missing.", "Write `version = 1`."),
        (
            "version = 1",
            "name",
            "This key is required and missing.",
            'Write `name = "…"`, a name of your own for all these clusters; `sindplan init` mints one.',
        ),
        ('version = 2\nname = "x"', "version", "This must be 1, not the integer 2.", ""),
        ('version = true\nname = "x"', "version", "This must be 1, not true.", ""),
        ('version = 1.0\nname = "x"', "version", "This must be 1, not the number 1.0.", ""),
        (
            'version = 1\nname = "X"',
            "name",
            '"X" is not a name.',
            "The name is 1 to 63 of a-z, 0-9 and hyphens, beginning with no hyphen.",
        ),
        ('version = 1\nname = "x"\n[realm.a]', "realm", "There is no such key here.", "Did you mean `realms`?"),
        (
            f"kind = 'Cluster'\n{HEAD}",
            "kind",
            "There is no such key here.",
            "This is sind's YAML in another dress; `sindplan convert FILE` makes a state file of the YAML.",
        ),
        (
            'version = 1\nname = "x"\n[clusters.a]',
            "clusters",
            "There is no such key here.",
            "Clusters belong to a realm: `[realms.<realm>.clusters.<name>]`.",
        ),
        (
            f"{HEAD}[realms.a.clusters.b]",
            "realms.a.clusters.b",
            "No image is said for controller and workers.default.",
            'Write `image = "…"` at the cluster.',
        ),
        (
            f"{HEAD}[realms.a.clusters.b]\nsubmitter = {{}}\nworkers = {{ c.image = 'x', d = {{}}, e.count = 0 }}",
            "realms.a.clusters.b",
            "No image is said for controller, submitter and workers.d.",
            'Write `image = "…"` at the cluster.',
        ),
        (
            f"{HEAD}[realms.ci.clusters.42-dev]\nimage = 'x'\n[realms.ci-42.clusters.dev]\nimage = 'x'",
            "realms.ci-42.clusters.dev",
            'This would have the container "ci-42-dev-controller", as cluster "42-dev" of realm "ci" (FILE:3).',
            "Rename one of the two.",
        ),
        (
            f"{HEAD}[realms.a-b]\n[realms.a.clusters.b-ssh]\nimage = 'x'",
            "realms.a.clusters.b-ssh",
            'This would have the volume "a-b-ssh-config", as the mesh of realm "a-b" (FILE:3).',
            "Rename one of the two.",
        ),
        (
            f"{HEAD}[realms.a.clusters.ssh]\nimage = 'x'",
            "realms.a.clusters.ssh",
            '"ssh" is reserved: its config volume would be the realm\'s -ssh-config.',
            "Choose another name.",
        ),
        (
            TWO_SUBNETS,
            "realms.a.clusters.c.subnet",
            '"10.0.0.64/26" overlaps "10.0.0.0/24" of cluster "b" of realm "a" (FILE:4).',
            "Choose networks that share no address.",
        ),
        (f"{HEAD}realms.a.mesh.dns_image = 'A'", "realms.a.mesh.dns_image", '"A" is not an image reference.', IMAGE),
    ],
)
def test_of_a_file(tmp_path: Path, text: str, key: str, what: str, fix: str) -> None:
    assert said(tmp_path, text) == [(key, what, fix)]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("DEV", "DEV"),
        ("dév", '"d\\u00e9v"'),
        ("d\u0435v", '"d\\u0435v"'),
        ("dev\\n", '"dev\\u000a"'),
        ("\\u202edev", '"\\u202edev"'),
        ("-dev", "-dev"),
        ("dev-", "dev-"),
        ("dev_1", "dev_1"),
        ("٣", '"\\u0663"'),
        ("", '""'),
        ("@mesh", '"@mesh"'),
    ],
)
def test_names_of_clusters_and_realms(tmp_path: Path, name: str, shown: str) -> None:
    quoted = shown if shown.startswith('"') else f'"{shown}"'
    for text, key in (
        (f'{HEAD}[realms.a.clusters."{name}"]\nimage = "x"', f"realms.a.clusters.{shown}"),
        (f'{HEAD}[realms."{name}"]', f"realms.{shown}"),
    ):
        assert said(tmp_path, text) == [(key, f"{quoted} is not a name.", LABEL)]


def test_lengths_of_names(tmp_path: Path) -> None:
    for length, what in ((63, []), (64, [f'"{"a" * 64}" is not a name (64 characters).'])):
        found = said(tmp_path, f'{HEAD}[realms.a.clusters.{"a" * length}]\nimage = "x"')
        assert [entry[1] for entry in found] == what
    for length, count in ((40, 0), (41, 1)):
        found = said(tmp_path, f'{HEAD}[realms.a.clusters.{"a" * length}]\nimage = "x"\ndb = {{}}')
        assert sum(entry[1] == f"The name has {length} characters." for entry in found) == count


@pytest.mark.parametrize(
    "lines",
    [
        'identity = "local"',
        'power = "on"\nworkers.a.power = "on"',
        "pull = true\nfollow_tag = true",
        "pull = false\nmax_unavailable = 1\ncontroller.cap_add = []",
        "slurm = {}\nusers = {}\npartitions = {}",
        "workers.a.features = []\nworkers.a.on_timeout = 'fail'",
    ],
)
def test_what_changes_nothing_may_be_said(tmp_path: Path, lines: str) -> None:
    read_text(tmp_path, f'{HEAD}[{CLUSTER}]\nimage = "x"\n{lines}')


@pytest.mark.parametrize(
    "lines",
    [
        'image = "registry.example:5000/a/b__c-d.e:TAG_1.2@sha256:' + "0" * 64 + '"',
        'image = "sha256:' + "0" * 64 + '"',
        'image = "[fd00::1]:5000/x"',
        "workers = {}",
        "workers.a.count = 0",
        "workers.a.nodes = 'worker-[0-9/3]!worker-3'",
        "subnet = '10.0.0.0/26'\nworkers.a.count = 12",
        "subnet = '203.0.113.0/24'\nworkers.a.nodes = 'worker-107'",
        "storage.mount_path = '/home'",
        "storage.mount_path = '/etc/slurm-data'",
        "controller.tmp_size = '100%'",
        "drain_timeout = '8760h'",
        "power = 'off'\non_timeout = 'requeue'\npowered_off = 'worker-[0-3],controller'",
        "powered_off = 'controller-backup,worker-[2-9/2]'\ncontroller.backup = true\nworkers.a.power = 'off'",
        "powered_off = 'controller,db'\nmanaged = false\ndb = {}",
        "powered_off = 'db'\ndb.managed = false",
    ],
)
def test_what_is_allowed(tmp_path: Path, lines: str) -> None:
    image = "" if lines.startswith("image") else 'image = "x"\n'
    read_text(tmp_path, f"{HEAD}[{CLUSTER}]\n{image}{lines}")


def test_everything_is_said_at_once(tmp_path: Path) -> None:
    lines = """
storage.mount_path = "/home"
users.Eve.uid = 5
groups."a b".gid = 1000
accounts.root.parent = "x"
partitions.default.workers = ["cpu", "cpu"]
partitions.p = { workers = ["none"], default = true }
partitions.q = { workers = ["cpu"], default = true }
workers.cpu.count = 1
slurm.mian = "x"
slurm.cgroup = { a = "ConstrainCores=yes", x = 5 }
db.imgae = "x"
"""
    assert [(key, what) for key, what, _ in said_of_cluster(tmp_path, lines)] == [
        ("storage.mount_path", '"/home" is taken: the users\' folders are there.'),
        ("users.Eve", '"Eve" is not a name.'),
        ("users.Eve.uid", "5 is out of bounds."),
        ('groups."a b"', '"a b" is not a name.'),
        ("accounts.root", '"root" is reserved: Slurm has it already.'),
        ("accounts.root.parent", 'There is no account "x".'),
        ("partitions.default", '"default" is reserved: Slurm reads it as the template of all partitions.'),
        ("partitions.default.workers", 'The worker group "cpu" is named 2 times.'),
        ("partitions.p.workers", 'There is no worker group "none".'),
        ("partitions.q.default", '"p" is the default partition already.'),
        ("slurm.mian", "There is no such key here."),
        ("slurm.cgroup.x", "This must be a string, not the integer 5."),
        ("db.imgae", "There is no such key here."),
    ]


def test_nothing_is_concluded_from_what_does_not_fit(tmp_path: Path) -> None:
    text = f"{HEAD}[{CLUSTER}]\nimage = 5\nworkers.cpu = 1\npartitions.p.workers = ['cpu']"
    assert [what for _, what, _ in said(tmp_path, text)] == [
        "This must be a string, not the integer 5.",
        "This must be a table, not the integer 1.",
    ]


def test_lines_point_at_the_key(tmp_path: Path) -> None:
    text = f"{HEAD}\n[{CLUSTER}]\nimage = 'x'\n\n[{CLUSTER}.workers.cpu]\n# no = 1\ncount = 'x'\nzzz = 1\n"
    (file,) = write(tmp_path, state=text)
    assert [str(problem).split(": ")[0] for problem in problems(file)] == [f"{file}:9", f"{file}:10"]
