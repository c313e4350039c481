"""The files of examples/drift as they stand, under cron's environment: no HOME, no terminal, LANG=C, an empty PATH but for cron's own."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from sindplan.cli import rehearsal
from sindplan.engine.simulated_restored import RestoredEngine
from sindplan.render.drift_prometheus import HELP
from tests.cli.conftest import ROOT, write_state
from tests.programs import installed

EXAMPLES = ROOT / "examples" / "drift"
_LINE = re.compile(r"(?P<when>(?:[0-9*/,-]+ ){5})(?P<user>[a-z][a-z0-9-]*) (?P<command>.+)")
_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
PROM = "/var/lib/prometheus/node-exporter/sindplan.prom"


def _crontab() -> tuple[Mapping[str, str], str]:
    """Return the variables of the crontab and its one command, read as cron(8) reads files of /etc/cron.d."""
    variables: dict[str, str] = {}
    commands: list[str] = []
    text = (EXAMPLES / "sindplan-drift.cron").read_text(encoding="ascii")
    assert text.endswith("\n")
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if assigned := re.fullmatch(r"([A-Z]+)=(.*)", line):
            variables[assigned[1]] = assigned[2]
            continue
        found = _LINE.fullmatch(line)
        assert found, line
        for part, (low, high) in zip(found["when"].split(), _RANGES, strict=True):
            assert part == "*" or low <= int(part) <= high
        # A percent sign would be a line end.
        assert "%" not in found["command"]
        commands.append(found["command"])
    assert len(commands) == 1
    return variables, commands[0]


@pytest.fixture
def bin_(tmp_path: Path) -> Path:
    """A folder with the command as it would be in /usr/local/bin, on a simulated engine."""
    folder = tmp_path / "bin"
    folder.mkdir()
    code = "import sys; from sindplan.cli.main import main; main([*sys.argv[1:], '--engine', 'sim:lab.json'])"
    script = f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -c "{code}" "$@"\n'
    (folder / "sindplan").write_text(script, encoding="utf-8")
    (folder / "sindplan").chmod(0o755)
    return folder


def _as_cron(command: str, bin_: Path, folder: Path) -> "subprocess.CompletedProcess[bytes]":
    environment = {"LANG": "C", "SHELL": "/bin/sh", "LOGNAME": "root", "PATH": f"{bin_}:/usr/bin:/bin"}
    return subprocess.run(
        ["/bin/sh", "-c", command],
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
        start_new_session=True,
    )


def _mailed(ran: "subprocess.CompletedProcess[bytes]") -> bytes:
    # A rehearsal says so; the engine of a cron job is a real one.
    return ran.stdout + ran.stderr.replace(b"Simulated: only lab.json is changed.\n", b"")


def test_cron_mails_nothing_until_something_drifts(bin_: Path, folder: Path) -> None:
    variables, command = _crontab()
    assert "/usr/local/bin" in variables["PATH"].split(":")
    write_state(folder, 1)
    assert _as_cron("sindplan apply --auto-approve", bin_, folder).returncode == 0

    quiet = _as_cron(command, bin_, folder)
    assert (quiet.returncode, _mailed(quiet)) == (0, b"")

    _drift(folder)
    loud = _as_cron(command, bin_, folder)
    assert loud.returncode == 2
    assert b"  # sind/dev/node/worker-0 will be updated in-place\n" in _mailed(loud)
    _mailed(loud).decode("ascii")
    os.truncate(folder / "lab.json", 10)
    failed = _as_cron(command, bin_, folder)
    assert failed.returncode == 1
    assert b"Error: " in _mailed(failed)


def test_the_service_writes_what_the_library_reads(bin_: Path, folder: Path) -> None:
    started = _setting("service", "ExecStart")
    assert PROM in started
    write_state(folder, 1)
    assert _as_cron("sindplan apply --auto-approve", bin_, folder).returncode == 0
    _drift(folder)

    command = started.replace("/usr/local/bin/sindplan", "sindplan").replace(PROM, "sindplan.prom")
    ran = _as_cron(command, bin_, folder)

    assert ran.returncode == int(_setting("service", "SuccessExitStatus")) == 2
    assert _mailed(ran) == b""
    samples = [
        one
        for family in text_string_to_metric_families((folder / "sindplan.prom").read_text())
        for one in family.samples
    ]
    assert sum(one.value for one in samples if one.name == "sindplan_drift_changes") == 1


def _setting(unit: str, name: str) -> str:
    lines = (EXAMPLES / f"sindplan-drift.{unit}").read_text(encoding="ascii").splitlines()
    (found,) = [line.partition("=")[2] for line in lines if line.startswith(f"{name}=")]
    return found


def _drift(folder: Path) -> None:
    """Let a hand stop a node of the simulated engine."""
    assert Path.cwd() == folder
    engine, _, _ = rehearsal.open_rehearsal(Path("lab.json"))
    assert isinstance(engine, RestoredEngine)
    engine.stop("sind-dev-worker-0")
    engine.close()


def test_systemd_takes_the_units(bin_: Path, tmp_path: Path) -> None:
    units = tmp_path / "units"
    units.mkdir()
    for name in ("sindplan-drift.service", "sindplan-drift.timer"):
        text = (EXAMPLES / name).read_text(encoding="ascii")
        (units / name).write_text(text.replace("/usr/local/bin/sindplan", str(bin_ / "sindplan")), encoding="ascii")

    ran = subprocess.run(
        [installed("systemd-analyze"), "verify", "--man=no", *map(str, sorted(units.iterdir()))],
        env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"},
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert (ran.returncode, ran.stderr) == (0, b""), ran


def test_the_alerts_are_about_metrics_that_are_written() -> None:
    (group,) = yaml.safe_load((EXAMPLES / "sindplan-drift.rules.yml").read_text(encoding="utf-8"))["groups"]
    named = {name for rule in group["rules"] for name in re.findall(r"sindplan_\w+", rule["expr"])}

    assert named == set(HELP)
