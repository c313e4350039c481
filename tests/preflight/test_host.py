"""Checks of the engine and its host: one row a finding, with the whole sentence."""

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from sindplan.engine.simulated import DEFAULT_INFO
from sindplan.observe.machine import Machine, _nsdelegate, _number, read_machine
from sindplan.preflight.finding import Finding, Severity
from sindplan.preflight.host import check_host

REMOUNT = "Remount it: mount -o remount,nsdelegate /sys/fs/cgroup"
ENGINE_ELSEWHERE = "Use an engine that runs as root without user namespaces."


def found(machine: Machine | None = None, **info: Any) -> list[tuple[str, str, str, str]]:
    findings = check_host(evolve(DEFAULT_INFO, **info), machine or Machine())
    return [(one.severity.value, one.check, one.what, one.fix) for one in findings]


def test_a_good_engine_has_no_finding() -> None:
    assert found() == []
    assert found(Machine(inotify_instances=1024, nsdelegate=True)) == []


@pytest.mark.parametrize(
    ("info", "finding"),
    [
        (
            {"version": "27.5.1"},
            (
                "blocks",
                "engine version",
                "The Docker Engine is 27.5.1; nodes need 28 or newer (writable cgroups).",
                "Upgrade it, or let tools/engine start a private one.",
            ),
        ),
        (
            {"security_options": ("name=seccomp,profile=builtin", "name=rootless")},
            (
                "blocks",
                "rootless mode",
                "The Docker Engine runs with rootless mode, in which nodes cannot have writable cgroups.",
                ENGINE_ELSEWHERE,
            ),
        ),
        (
            {"security_options": ("name=userns",)},
            (
                "blocks",
                "userns-remap",
                "The Docker Engine runs with userns-remap, in which nodes cannot have writable cgroups.",
                ENGINE_ELSEWHERE,
            ),
        ),
        (
            {"cgroup_version": "1"},
            (
                "blocks",
                "cgroup v2",
                "The Docker Engine runs containers on cgroup v1; systemd nodes need v2.",
                "Boot the host with systemd.unified_cgroup_hierarchy=1, or let tools/engine start a private engine.",
            ),
        ),
        (
            {"memory_limit": False},
            (
                "warns",
                "limits",
                (
                    "The engine cannot hold memory limits (its cgroup tree lacks the controllers): nodes run without, and "
                    "Slurm without its cgroup plugins."
                ),
                "Boot the host with cgroup v2 only if the limits matter.",
            ),
        ),
    ],
)
def test_what_an_engine_says_of_itself(info: dict[str, Any], finding: tuple[str, ...]) -> None:
    assert found(**info) == [finding]


@pytest.mark.parametrize(
    ("version", "blocks"),
    [
        ("28.0.0", False),
        ("28.5.2+dfsg4", False),
        ("29.1", False),
        ("100.0", False),
        ("27.99.99", True),
        ("20.10.24+dfsg1", True),
        ("9.0", True),
        # Built by hand: not older, only without a number.
        ("dev", False),
        ("", False),
        ("v28", False),
        (f"{'9' * 5000}.0", False),
    ],
)
def test_versions(version: str, blocks: bool) -> None:
    assert [one[1] for one in found(version=version)] == (["engine version"] if blocks else [])


@pytest.mark.parametrize(
    "options", [("name=rootlesskit",), ("name=seccomp,profile=name=rootless",), ("rootless",), ("name=usernsx",)]
)
def test_options_are_compared_whole(options: tuple[str, ...]) -> None:
    assert found(security_options=options) == []


@pytest.mark.parametrize(
    ("machine", "finding"),
    [
        (
            Machine(inotify_instances=128),
            (
                "warns",
                "inotify",
                (
                    "fs.inotify.max_user_instances is 128, enough for about 25 nodes on this host; the next ones would exit "
                    "with 255."
                ),
                "As root: sysctl fs.inotify.max_user_instances=1024",
            ),
        ),
        (
            Machine(nsdelegate=False),
            (
                "blocks",
                "nsdelegate",
                "The host mounts cgroup2 without nsdelegate, so nodes could not hand controllers down.",
                REMOUNT,
            ),
        ),
    ],
)
def test_what_the_machine_says(machine: Machine, finding: tuple[str, ...]) -> None:
    assert found(machine) == [finding]


def test_all_findings_come_at_once() -> None:
    findings = found(
        Machine(inotify_instances=0, nsdelegate=False),
        version="20.10.1",
        security_options=("name=rootless", "name=userns"),
        cpu_limit=False,
        memory_limit=False,
        cpuset=False,
    )

    assert [one[:2] for one in findings] == [
        ("blocks", "engine version"),
        ("blocks", "rootless mode"),
        ("blocks", "userns-remap"),
        ("blocks", "nsdelegate"),
        ("warns", "limits"),
        ("warns", "inotify"),
    ]
    assert "CPU, memory, cpuset" in findings[4][2]


def test_without_controllers_there_is_nothing_to_hand_down() -> None:
    none = {"memory_limit": False, "cpu_limit": False, "cpuset": False, "pids_limit": False}
    assert [one[1] for one in found(Machine(nsdelegate=False), **none)] == ["limits"]


def test_a_cgroup_v1_host_is_not_told_of_nsdelegate_too() -> None:
    assert [one[1] for one in found(Machine(nsdelegate=False), cgroup_version="1")] == ["cgroup v2"]


def test_pids_are_not_needed() -> None:
    assert found(pids_limit=False) == []


def test_every_finding_says_how_to_mend_it() -> None:
    findings = check_host(
        evolve(DEFAULT_INFO, version="1.0", security_options=("name=rootless", "name=userns"), cgroup_version="1"),
        Machine(inotify_instances=1),
    )

    assert len(findings) == 5
    assert all(finding.fix for finding in findings)
    assert Finding("x", "y").severity is Severity.BLOCKS


def test_an_engine_elsewhere_tells_nothing_of_this_machine() -> None:
    assert read_machine(evolve(DEFAULT_INFO, address="tcp://192.0.2.1:2376")) == Machine()
    assert read_machine(evolve(DEFAULT_INFO, address="ssh://host")) == Machine()


def test_a_local_engine_is_this_machine() -> None:
    machine = read_machine(evolve(DEFAULT_INFO, address="unix:///run/docker.sock"))

    assert machine.inotify_instances == int(Path("/proc/sys/fs/inotify/max_user_instances").read_text("ascii"))


@pytest.mark.parametrize(
    ("mounts", "expected"),
    [
        ("cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nsdelegate,memory_recursiveprot 0 0\n", True),
        ("cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n", False),
        ("cgroup2 /sys/fs/cgroup cgroup2 rw,nonsdelegate 0 0\n", False),
        ("cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\ntmpfs / tmpfs rw 0 0\n", None),
        ("a / cgroup2 rw 0 0\nb /x cgroup2 rw,nsdelegate 0 0\n", True),
        ("nsdelegate /cgroup2 ext4 rw,nsdelegate 0 0\n", None),
        ("", None),
    ],
)
def test_mounts(mounts: str, expected: bool | None, tmp_path: Path) -> None:
    file = tmp_path / "mounts"
    file.write_text(mounts, encoding="ascii")

    assert _nsdelegate(file) is expected


def test_what_cannot_be_read_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("many\n", encoding="ascii")

    assert _nsdelegate(tmp_path / "none") is None
    assert _number(tmp_path / "none") is None
    assert _number(tmp_path / "text") is None
