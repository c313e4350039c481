"""What lies in a node before its first boot, by role and identity: nothing is missing, and nothing is there that is not its own."""

import json
import re
from functools import cache
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings

from sindplan.engine.records import Entry
from sindplan.engine.simulated import DEFAULT_INFO
from sindplan.kinds import node
from sindplan.kinds.boot_daemons import database_sql
from sindplan.kinds.first_boot import boot_entries
from sindplan.kinds.host_key import HostKey, new_host_key
from sindplan.kinds.key import FILES
from sindplan.kinds.node_resource import Node
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from sindplan.model.facts import Facts, ImageFacts, image_facts
from sindplan.model.hidden import Hidden
from sindplan.model.layout import lay_out, node_images
from tests.strategies import SETTINGS, declarations, declared
from tests.world import IMAGE, IMAGE_FACTS, PASSWORD

KEY = HostKey(private=b"PRIVATE HALF", public="ssh-ed25519 PUBLIC")
RELAY = "ssh-ed25519 RELAY sind\n"
DEV = Address.parse("sind/dev")


@cache
def _image() -> ImageFacts:
    found = image_facts("sha256:1", json.dumps(IMAGE_FACTS))
    assert found is not None
    return found


def nodes(declaration: Declaration, image: ImageFacts | None = None) -> dict[Address, Node]:
    images = dict.fromkeys(node_images(declaration), image or _image())
    layout = lay_out(declaration, Facts(engine=DEFAULT_INFO, images=images))
    return {address: found for address, found in node.wanted(layout) if isinstance(found, Node)}


def archives(image: ImageFacts | None = None, **cluster: Any) -> dict[str, dict[str, Entry]]:
    """Return what is put into each node of a cluster, by short name and path."""
    document = {"version": 1, "name": "lab", "realms": {"sind": {"clusters": {"dev": {"image": IMAGE, **cluster}}}}}
    found = {}
    for address, made in nodes(declared(document), image).items():
        assert made.boot is not None
        entries = boot_entries(made.boot, KEY, RELAY, Hidden(PASSWORD))
        assert len({entry.path for entry in entries}) == len(entries)
        found[address.name] = {entry.path: entry for entry in entries}
    return found


def _line(entry: Entry) -> str:
    what = f" -> {entry.link}" if entry.kind == "link" else "/" if entry.kind == "dir" else ""
    owner = "" if (entry.uid, entry.gid) == (0, 0) else f" {entry.uid}:{entry.gid}"
    mode = "" if entry.kind == "link" else f" {entry.mode:04o}"
    return f"{entry.path}{what}{mode}{owner}"


def lines(archive: dict[str, Entry]) -> set[str]:
    """Return what is in an archive beside what every node has."""
    every = {
        "/etc/machine-id 0444",
        "/etc/ssh/ssh_host_ed25519_key 0600",
        "/etc/ssh/ssh_host_ed25519_key.pub 0644",
        "/etc/ssh/sshd_config.d/10-sindplan.conf 0644",
        "/root/.ssh/ 0700",
        "/root/.ssh/authorized_keys 0600",
    }
    found = set(map(_line, archive.values()))
    assert every <= found
    return found - every


def wants(*daemons: str) -> set[str]:
    """Return the links that have systemd start daemons."""
    folder = "/etc/systemd/system/multi-user.target.wants"
    return {f"{folder}/{name}.service -> /usr/lib/systemd/system/{name}.service" for name in daemons}


def drop_ins(*daemons: str) -> set[str]:
    return {f"/etc/systemd/system/{name}.service.d/sindplan.conf 0644" for name in daemons}


PEOPLE = "/etc/sysusers.d/sindplan.conf 0644"
HOMES = {
    "/etc/skel/ 0700",
    "/etc/skel/.ssh/ 0700",
    "/etc/skel/.ssh/authorized_keys 0600",
    "/etc/tmpfiles.d/sindplan.conf 0644",
}
NO_MUNGE = "/etc/systemd/system/munge.service -> /dev/null"
STATE = "/var/spool/slurmctld/ 0755 64030:64030"
MUNGE = "/etc/munge/ 0700 900:900"
EVERYTHING: dict[str, Any] = {
    "controller": {"backup": True},
    "db": {"storage_password": "hunter2!"},
    "api": {},
    "submitter": {},
    "workers": {"byhand": {"managed": False}, "cpu": {}},
    "users": {"alice": {}},
}
SERVERS = {
    "db": {*wants("mariadb", "slurmdbd"), *drop_ins("mariadb", "slurmdbd"), "/etc/sindplan/database.sql 0640 0:902"},
    "api": {*wants("slurmrestd"), *drop_ins("slurmrestd")},
}

CONTENTS: dict[str, dict[str, set[str]]] = {
    "local": {
        "controller": {*wants("slurmctld"), STATE, MUNGE, PEOPLE, *HOMES},
        "controller-backup": {*wants("slurmctld"), *drop_ins("slurmctld"), STATE, PEOPLE},
        "db": {*SERVERS["db"], PEOPLE},
        "api": {*SERVERS["api"], PEOPLE},
        "submitter": {PEOPLE},
        "worker-0": {PEOPLE},
        "worker-1": {*wants("slurmd"), PEOPLE},
    },
    "nss_slurm": {
        "controller": {*wants("slurmctld"), STATE, MUNGE, PEOPLE, *HOMES},
        "controller-backup": {*wants("slurmctld"), *drop_ins("slurmctld"), STATE, PEOPLE},
        "db": {*SERVERS["db"], PEOPLE},
        "api": {*SERVERS["api"], PEOPLE},
        "submitter": {PEOPLE},
        "worker-0": {PEOPLE},
        "worker-1": {*wants("slurmd"), *drop_ins("slurmd")},
    },
    "client_ids": {
        # The first controller makes the homes, whether or not it knows the users.
        "controller": {*wants("slurmctld"), NO_MUNGE, STATE, *HOMES},
        "controller-backup": {*wants("slurmctld"), *drop_ins("slurmctld"), NO_MUNGE, STATE},
        "db": {*SERVERS["db"], NO_MUNGE},
        "api": {*SERVERS["api"], NO_MUNGE},
        "submitter": {*wants("sackd"), NO_MUNGE, PEOPLE},
        "worker-0": {NO_MUNGE, PEOPLE},
        "worker-1": {*wants("slurmd"), *drop_ins("slurmd"), NO_MUNGE},
    },
}


@pytest.mark.parametrize("identity", sorted(CONTENTS))
def test_what_is_in_the_archive(identity: str) -> None:
    found = archives(identity=identity, **EVERYTHING)

    assert {short: lines(archive) for short, archive in found.items()} == CONTENTS[identity]


def test_what_is_in_the_archive_of_unmanaged_nodes() -> None:
    found = archives(managed=False, controller={"backup": True}, db={}, workers={"a": {}}, users={"alice": {}})

    # Whoever installs Slurm by hand finds its state folder and munge's, and the users.
    assert {short: lines(archive) for short, archive in found.items()} == {
        "controller": {STATE, MUNGE, PEOPLE, *HOMES},
        "controller-backup": {STATE, PEOPLE},
        "db": {PEOPLE},
        "worker-0": {PEOPLE},
    }


def test_a_plain_node_has_nothing_of_users() -> None:
    assert lines(archives()["worker-0"]) == wants("slurmd")
    assert lines(archives()["controller"]) == {*wants("slurmctld"), STATE, MUNGE}


def test_keys_are_the_nodes_own() -> None:
    for archive in archives(identity="client_ids", **EVERYTHING).values():
        assert archive["/etc/ssh/ssh_host_ed25519_key"].content == KEY.private
        assert archive["/etc/ssh/ssh_host_ed25519_key.pub"].content == b"ssh-ed25519 PUBLIC\n"
        assert archive["/root/.ssh/authorized_keys"].content == b"ssh-ed25519 RELAY sind\n"
        # Keys of the cluster come through its volumes.
        assert not {file.path for file in FILES.values()} & archive.keys()
        private = [path for path, entry in archive.items() if KEY.private in entry.content]
        assert private == ["/etc/ssh/ssh_host_ed25519_key"]


def test_machine_ids_are_all_different() -> None:
    found = [
        archive["/etc/machine-id"].content for archive in (*archives(**EVERYTHING).values(), archives()["controller"])
    ]

    assert len(set(found)) == len(found)
    # machine-id(5): 32 lower case digits and a newline.
    assert all(re.fullmatch(rb"[0-9a-f]{32}\n", content) for content in found)


@settings(SETTINGS, max_examples=40)
@given(declarations())
def test_the_password_is_in_no_archive(declaration: Declaration) -> None:
    key = new_host_key()
    needles = (PASSWORD, "pl4in!")
    for made in nodes(declaration).values():
        for needle in needles:
            assert made.boot is not None
            for entry in boot_entries(made.boot, key, RELAY, Hidden(needle)):
                assert needle.encode() not in entry.content, entry.path
            assert needle not in repr(made)


def test_the_hash_of_the_password_is_mariadbs() -> None:
    # SELECT PASSWORD('password') on any MySQL or MariaDB.
    assert "USING '*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19'" in database_sql("password")
    assert "unix_socket" in database_sql("")
    assert "USING" not in database_sql("")


def test_the_database_is_told_of_a_password_only_where_one_is_declared() -> None:
    with_one, without = (archives(db=db)["db"]["/etc/sindplan/database.sql"] for db in ({"storage_password": "x"}, {}))

    assert b"mysql_native_password USING '*" in with_one.content
    assert b"unix_socket" in without.content
    for entry in (with_one, without):
        # mysqld runs it; nobody else reads it.
        assert (entry.mode, entry.uid, entry.gid) == (0o640, 0, 902)


def test_lines_of_sysusers_and_tmpfiles() -> None:
    people = {
        "users": {"alice": {"groups": ["lab"]}, "bob": {"group": "lab"}},
        "groups": {"lab": {"gid": 2000}, "hpc": {}},
    }

    archive = archives(**people)["controller"]

    # sysusers.d(5): groups before the users that name them, memberships last.
    assert archive["/etc/sysusers.d/sindplan.conf"].content.decode().splitlines() == [
        "g alice 1000",
        "g hpc 1002",
        "g lab 2000",
        'u alice 1000:1000 "alice" /home/alice /bin/bash',
        'u bob 1001:2000 "bob" /home/bob /bin/bash',
        "m alice lab",
    ]
    # tmpfiles.d(5): `:` is for what is made now only, so what its owner changes later stays.
    assert archive["/etc/tmpfiles.d/sindplan.conf"].content.decode().splitlines() == [
        "C /home/alice - :1000 :1000 - /etc/skel",
        "C /home/bob - :1001 :2000 - /etc/skel",
    ]
    assert archive["/etc/skel/.ssh/authorized_keys"].content == b"ssh-ed25519 RELAY sind\n"


def test_groups_without_users_are_made_too() -> None:
    archive = archives(groups={"lab": {}})["controller"]

    assert archive["/etc/sysusers.d/sindplan.conf"].content == b"g lab 1000\n"
    assert not {"/etc/tmpfiles.d/sindplan.conf", "/etc/skel"} & archive.keys()


def test_a_worker_without_libnss_slurm_is_not_told_to_ask_it() -> None:
    image = evolve(_image(), nss_slurm=False)

    for identity in ("client_ids", "nss_slurm"):
        assert not drop_ins("slurmd") & lines(archives(image, identity=identity, submitter={})["worker-0"])


def test_slurmrestd_gets_a_user_where_the_image_has_none() -> None:
    image = evolve(_image(), ids={name: ids for name, ids in _image().ids.items() if name != "slurmrestd"})
    path = "/etc/sysusers.d/sindplan-slurmrestd.conf"

    assert archives(image, api={})["api"][path].content.startswith(b"u slurmrestd - ")
    assert path not in archives(api={})["api"]
    assert path not in archives(image, api={})["controller"]


def test_mariadb_listens_to_nobody_else() -> None:
    text = archives(db={})["db"]["/etc/systemd/system/mariadb.service.d/sindplan.conf"].content.decode()

    assert "--bind-address=127.0.0.1" in text
    assert "--init-file=/etc/sindplan/database.sql" in text
    # One option a word: systemd splits the variable at blanks, and the backslash of this source is gone.
    assert "\\" not in text
    assert len(text.splitlines()) == 2
