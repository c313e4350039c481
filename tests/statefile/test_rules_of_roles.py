"""Rules of what is managed, of identity and of where the data folder may be: the key and the whole message."""

from pathlib import Path

import pytest

from tests.statefile.reading import CLUSTER, HEAD, read_text, said, said_of_cluster

WHOLE = "Remove it, or have the whole cluster managed."
ANOTHER_PATH = "Choose another path, such as /data."


@pytest.mark.parametrize(
    ("lines", "key", "what", "fix"),
    [
        (
            "managed = false\ncontroller.managed = true",
            "controller.managed",
            "The cluster's `managed` says the opposite.",
            "Say it in one place: the two mean the same.",
        ),
        (
            "managed = true\ncontroller.managed = false",
            "controller.managed",
            "The cluster's `managed` says the opposite.",
            "Say it in one place: the two mean the same.",
        ),
        (
            "managed = false\ndb.managed = true",
            "db.managed",
            "The cluster is not managed, so none of its nodes is.",
            WHOLE,
        ),
        (
            "managed = false\napi.managed = true",
            "api.managed",
            "The cluster is not managed, so none of its nodes is.",
            WHOLE,
        ),
        (
            "controller.managed = false\nworkers.a.managed = true",
            "workers.a.managed",
            "The cluster is not managed, so none of its nodes is.",
            WHOLE,
        ),
        (
            "managed = false\nslurm.main = 'MaxJobCount=5'",
            "slurm",
            "The cluster is not managed: it has no files of Slurm's.",
            "Remove it, or have the cluster managed.",
        ),
        (
            "managed = false\npartitions.p.workers = []",
            "partitions",
            "The cluster is not managed: it has no files of Slurm's.",
            "Remove it, or have the cluster managed.",
        ),
        (
            "managed = false\nworkers.a.features = ['x']",
            "workers.a.features",
            'The group "a" is not managed: Slurm does not know its workers.',
            "Only managed workers have Slurm features.",
        ),
        (
            "workers.a = { managed = false, features = ['x'] }",
            "workers.a.features",
            'The group "a" is not managed: Slurm does not know its workers.',
            "Only managed workers have Slurm features.",
        ),
        (
            "workers.a = { managed = false, gres = 'gpu:1' }",
            "workers.a.gres",
            'The group "a" is not managed: Slurm does not know its workers.',
            "Only managed workers have generic resources.",
        ),
        (
            "workers.a = { managed = false, weight = 1 }",
            "workers.a.weight",
            'The group "a" is not managed: Slurm does not know its workers.',
            "Only managed workers have a scheduling weight.",
        ),
        (
            "workers.a = { managed = false, partition = '' }",
            "workers.a.partition",
            'The group "a" is not managed: Slurm does not know its workers.',
            "Only managed workers have a partition.",
        ),
        (
            "managed = false\nidentity = 'nss_slurm'",
            "identity",
            '"nss_slurm" needs a managed controller, which carries who the users are.',
            'Write "local" or remove it.',
        ),
        (
            "controller.managed = false\nidentity = 'client_ids'",
            "identity",
            '"client_ids" needs a managed controller, which carries who the users are.',
            'Write "local" or remove it.',
        ),
        (
            "controller_users = true",
            "controller_users",
            'With `identity = "local"` users are on the controllers anyway.',
            "It goes only with `client_ids`; remove it.",
        ),
        (
            "controller_users = true\nidentity = 'nss_slurm'",
            "controller_users",
            'With `identity = "nss_slurm"` users are on the controllers anyway.',
            "It goes only with `client_ids`; remove it.",
        ),
        (
            "submitter.managed = true",
            "submitter.managed",
            "There is no such key here.",
            "`managed` is a key of `clusters.<name>`, `controller`, `db`, `api` or `workers.<name>`.",
        ),
        (
            "storage.mount_path = '/etc/slurm/data'",
            "storage.mount_path",
            '"/etc/slurm/data" is taken: Slurm\'s configuration is there.',
            ANOTHER_PATH,
        ),
        (
            "storage.mount_path = '/etc/munge'",
            "storage.mount_path",
            '"/etc/munge" is taken: the munge key is there.',
            ANOTHER_PATH,
        ),
        ("storage.mount_path = '/tmp'", "storage.mount_path", '"/tmp" is taken: every node has its own.', ANOTHER_PATH),
        (
            "storage.mount_path = '/run/lock'",
            "storage.mount_path",
            '"/run/lock" is taken: systemd needs it.',
            ANOTHER_PATH,
        ),
        (
            "storage.mount_path = '/var/spool/slurmctld/x'",
            "storage.mount_path",
            '"/var/spool/slurmctld/x" is taken: the controller\'s state is there.',
            ANOTHER_PATH,
        ),
        (
            "storage.mount_path = '/var/spool/slurmd'",
            "storage.mount_path",
            '"/var/spool/slurmd" is taken: every worker has its own.',
            ANOTHER_PATH,
        ),
        (
            "storage.mount_path = '/var/lib/mysql'\ndb = {}",
            "storage.mount_path",
            '"/var/lib/mysql" is taken: the database is there.',
            ANOTHER_PATH,
        ),
        (
            "storage.mount_path = '/home'\nusers.alice = {}",
            "storage.mount_path",
            '"/home" is taken: the users\' folders are there.',
            ANOTHER_PATH,
        ),
        (
            "storage = { mount_path = '/cvmfs', cvmfs = true }",
            "storage.mount_path",
            '"/cvmfs" is taken: CVMFS is there.',
            ANOTHER_PATH,
        ),
        (
            "storage.mount_path = '/dev/shm'",
            "storage.mount_path",
            '"/dev/shm" is taken: it is the kernel\'s.',
            ANOTHER_PATH,
        ),
        (
            "storage.mount_path = '/proc/x'",
            "storage.mount_path",
            '"/proc/x" is taken: it is the kernel\'s.',
            ANOTHER_PATH,
        ),
        ("storage.mount_path = '/sys'", "storage.mount_path", '"/sys" is taken: it is the kernel\'s.', ANOTHER_PATH),
        ("storage.mount_path = '/etc'", "storage.mount_path", '"/etc" is taken: the system is there.', ANOTHER_PATH),
        ("storage.mount_path = '/usr'", "storage.mount_path", '"/usr" is taken: the system is there.', ANOTHER_PATH),
        ("storage.mount_path = '/bin'", "storage.mount_path", '"/bin" is taken: the system is there.', ANOTHER_PATH),
        (
            "storage.mount_path = '/lib/x'",
            "storage.mount_path",
            '"/lib/x" is taken: the system is there.',
            ANOTHER_PATH,
        ),
        ("storage.mount_path = '/root'", "storage.mount_path", '"/root" is taken: the system is there.', ANOTHER_PATH),
        (
            "storage.mount_path = '/var/lib'",
            "storage.mount_path",
            '"/var/lib" is taken: the system is there.',
            ANOTHER_PATH,
        ),
    ],
)
def test_roles(tmp_path: Path, lines: str, key: str, what: str, fix: str) -> None:
    assert said_of_cluster(tmp_path, lines) == [(key, what, fix)]


@pytest.mark.parametrize(
    "lines",
    [
        "managed = false\ncontroller = { managed = false, backup = true }\ndb.managed = false",
        "managed = false\nusers.alice = {}\napi = {}\nworkers.a = { count = 2, cap_add = ['ALL'] }\nslurm = {}",
        "controller.managed = false\nworkers.a.managed = false",
        "managed = true\ncontroller = { managed = true, backup = true }",
        "db.managed = false\napi.managed = false\nworkers.a.managed = false",
        "identity = 'nss_slurm'",
        "identity = 'client_ids'\ncontroller_users = true",
        "identity = 'client_ids'\nstorage.mount_path = '/etc/munge'",
        "controller_users = false",
        "storage = { cvmfs = true, mount_path = '/cvmfs-data' }",
        "storage.mount_path = '/cvmfs'",
        "storage.mount_path = '/home/shared'\nusers.alice = {}",
        "storage.mount_path = '/usr/local'",
        "storage.mount_path = '/var/lib/mysql'",
    ],
)
def test_what_is_allowed(tmp_path: Path, lines: str) -> None:
    read_text(tmp_path, f'{HEAD}[{CLUSTER}]\nimage = "x"\n{lines}')


def test_nothing_is_concluded_from_what_does_not_fit(tmp_path: Path) -> None:
    lines = "identity = 'nis'\ncontroller_users = true\nmanaged = 'no'\ncontroller.managed = true"
    assert [key for key, _, _ in said_of_cluster(tmp_path, lines)] == ["identity", "managed"]


@pytest.mark.parametrize(
    ("db", "limit"), [("db = {}", 40), ("db.managed = false", 63), ("managed = false\ndb = {}", 63)]
)
def test_accounting_limits_the_name(tmp_path: Path, db: str, limit: int) -> None:
    name = "a" * 63
    found = said(tmp_path, f'{HEAD}[realms.a.clusters.{name}]\nimage = "x"\n{db}')
    expected = ("The name has 63 characters.", "With a managed db node a cluster's name is at most 40 characters.")
    assert [entry[1:] for entry in found] == ([expected] if limit < len(name) else [])
