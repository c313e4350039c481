"""Warnings about secrets, controllers and limits, and the sentences about privileges."""

import struct
import time
from typing import Any

import pytest

from sindplan.engine.records import Entry
from sindplan.workflow import prepare_drift
from tests.preflight.found import declaration, found
from tests.world import new_world

PROFILE = 'seccomp={"defaultAction": "SCMP_ACT_ALLOW", "syscalls": []}'


@pytest.mark.parametrize(
    ("cluster", "keys"),
    [
        ({"db": {"storage_password": "pl4in!"}}, ["db.storage_password"]),
        ({"db": {}, "slurm": {"slurmdbd": "StoragePass=pl4in!\n"}}, ["slurm.slurmdbd"]),
        (
            {"db": {}, "slurm": {"slurmdbd": {"own": "storagepass = pl4in!\n"}, "main": "JobCompPass=pl4in!\n"}},
            ["slurm.main", "slurm.slurmdbd.own"],
        ),
        ({"db": {"storage_password": {"env": "SINDPLAN_SECRET_DB"}}}, []),
        ({"db": {}, "slurm": {"slurmdbd": "# StoragePass=pl4in!\n"}}, []),
    ],
)
def test_secrets_in_plain_text(cluster: dict[str, Any], keys: list[str]) -> None:
    findings = found(new_world(), declaration(**cluster))

    assert findings == [("~secret", f"sind/dev: {key} is in plain text in the state file.") for key in keys]
    assert "pl4in" not in repr(findings)


@pytest.mark.parametrize(("place", "age", "warned"), [(1, 0, True), (0, 0, False), (1, 3600, False)])
def test_a_backup_in_control(place: int, age: int, warned: bool) -> None:
    world = new_world()
    wanted = declaration(controller={"backup": True})
    world.apply(wanted)
    beat = struct.pack(">QQ", int(time.time()) - age, place)
    world.engine.write("sind-dev-controller", "/var/spool/slurmctld/heartbeat", beat)
    expected = [
        (
            "~controllers",
            "The backup controller is in control of sind/dev; it gives control back when the first one is started.",
        )
    ]

    assert found(world, wanted) == (expected if warned else [])
    # It says so while the first one is down, which is when it is so.
    world.engine.stop("sind-dev-controller")
    assert found(world, wanted) == (expected if warned else [])


@pytest.mark.parametrize(
    ("enforced", "warned"),
    [
        (None, True),
        ("associations", True),
        ("associations,limits", False),
        ("safe", False),
        ("ALL", False),
        ("2", False),
        ("1", True),
        ("3", False),
    ],
)
def test_limits_that_nobody_enforces(enforced: str | None, warned: bool) -> None:
    slurm = {"slurm": {"main": f"AccountingStorageEnforce={enforced}\n"}} if enforced else {}
    accounts = {"b": {"limits": {"MaxJobs": 1}}, "a": {"limits": {"GrpJobs": 1}}, "c": {}}

    findings = found(new_world(), declaration(db={}, accounts=accounts, **slurm))

    assert findings == (
        [("~accounts", "sind/dev sets limits of accounts (a, b), which nobody enforces.")] if warned else []
    )
    assert found(new_world(), declaration(db={}, accounts={"c": {}}, **slurm)) == []


# Privileges


def privileges(**cluster: Any) -> tuple[str, ...]:
    return new_world().prepare(declaration(**cluster)).privileges


def test_a_plain_cluster_has_no_privileges() -> None:
    everything = {"controller": {"backup": True}, "db": {}, "api": {}, "submitter": {}, "users": {"alice": {}}}

    # What sindplan itself adds (SYS_NICE, for binding tasks) is none of the user's making.
    assert privileges(**everything, slurm={"main": "TaskPlugin=task/affinity\n"}) == ()


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (
            {"storage": {"host_path": "/srv/data"}},
            ["every node reads and writes the host's /srv/data"],
        ),
        ({"storage": {"cvmfs": True}}, ["every node reads the host's /cvmfs"]),
        ({"controller": {"cap_add": ["SYS_ADMIN"]}}, ["controller: added capability SYS_ADMIN"]),
        ({"controller": {"cap_drop": ["MKNOD"]}}, []),
        (
            {"workers": {"gpu": {"count": 2, "devices": ["/dev/null:/dev/gpu0", "/dev/zero"]}}},
            [
                "worker-0, worker-1: device of the host /dev/null:/dev/gpu0",
                "worker-0, worker-1: device of the host /dev/zero",
            ],
        ),
        (
            {"defaults": {"security_opt": [PROFILE, "apparmor=unconfined"]}, "workers": {"a": {"count": 0}}},
            ["controller: security option seccomp={…}", "controller: security option apparmor=unconfined"],
        ),
        (
            {"controller": {"backup": True, "cap_add": ["SYS_TIME"]}, "workers": {"a": {"cap_add": ["SYS_TIME"]}}},
            ["controller, controller-backup, worker-0: added capability SYS_TIME"],
        ),
    ],
)
def test_sentences_of_privileges(cluster: dict[str, Any], expected: list[str]) -> None:
    assert privileges(**cluster) == tuple(f"sind/dev: {sentence}" for sentence in expected)


def test_only_new_nodes_are_spoken_of() -> None:
    world = new_world()
    devices = ["/dev/fuse"]
    world.apply(declaration(workers={"a": {"devices": devices}}))
    assert world.prepare(declaration(workers={"a": {"devices": devices}})).privileges == ()

    more = world.prepare(declaration(workers={"a": {"devices": devices, "count": 2}}))

    assert more.privileges == ("sind/dev: worker-1: device of the host /dev/fuse",)


def test_what_stands_for_a_password_is_not_written_in_its_place() -> None:
    """`sindplan import` writes such a file, and what was compared as hidden would be lost with the next edit."""
    world = new_world()
    assert world.apply(declaration(slurm={"main": "JobCompPass=s3kr3t\n"})).outcome.complete

    imported = declaration(slurm={"main": "JobCompPass=<hidden>\n"})
    assert not world.prepare(imported).blocked
    assert world.plan(imported).empty
    edited = declaration(slurm={"main": "JobCompPass=<hidden>\nMaxJobCount=77\n"})
    what = (
        "sind/dev/file/slurm.conf would be written with <hidden> where a password belongs: whoever wrote this text did not "
        "know the password."
    )
    assert ("hidden password", what) in found(world, edited)

    world.engine.put_files("sind-dev-controller", [Entry(path="/etc/slurm/slurm.conf", content=b"JobCompPass=gone\n")])
    (drifted,) = prepare_drift(world.engine, world.slurm)
    assert not drifted.plan.empty
    assert not drifted.blocked
