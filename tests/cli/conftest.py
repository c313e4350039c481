"""What tests of the command line share: a world behind it, a state file, and ways to call it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from sindplan.cli import options, output
from sindplan.cli.main import run
from tests.world import World, new_world

ROOT = Path(__file__).parents[2]
STATE = """\
version = 1
name = "lab"

[realms.sind.clusters.dev]
image = "sindplan-node:26.05"
workers.cpu.count = {count}
"""


HEADING = "Docker 28.5.2 at sim:\n"
"""What commands that reached the simulated engine say first."""
DIGEST = re.compile(r"^Digest: sha256:[0-9a-f]{64}\n", re.MULTILINE)
"""What a plan that is not empty says last."""


@frozen
class Said:
    """How a call ended; `err` without the heading, and without a plan's digest."""

    status: int
    out: str
    err: str


Call = Callable[..., Said]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A simulated engine behind the command line."""
    made = new_world(seed=1)
    monkeypatch.setattr(options, "connected", lambda: (made.engine, made.slurm))
    return made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def state(folder: Path) -> Path:
    """A state file of one worker, where commands look for it."""
    return write_state(folder, 1)


def write_state(folder: Path, count: int) -> Path:
    """Write a state file with so many workers."""
    file = folder / "sindplan.toml"
    file.write_text(STATE.format(count=count), encoding="utf-8")
    return file


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Call the command line in this process."""

    def called(*arguments: str) -> Said:
        capsys.readouterr()
        status = run(arguments)
        streams = capsys.readouterr()
        return Said(status, streams.out, DIGEST.sub("", streams.err.removeprefix(HEADING)))

    return called


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Make stdin a terminal on which something was typed."""
    opened: list[Any] = []
    ends: list[int] = []

    def typed(text: str) -> None:
        ours, theirs = os.openpty()
        ends.append(ours)
        os.write(ours, text.encode())
        stream = os.fdopen(theirs, "r")
        opened.append(stream)
        monkeypatch.setattr(sys, "stdin", stream)

    yield typed
    for stream in opened:
        stream.close()
    for end in ends:
        os.close(end)


def program(
    *arguments: str, module: str = "tests.cli.simulated", environment: dict[str, str] | None = None, **more: object
) -> "subprocess.CompletedProcess[bytes]":
    """Run the command line as a program of its own, on a simulated engine unless `module` says otherwise."""
    streams: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
        check=False,
        timeout=60,
        **{**streams, **more},
    )


@pytest.fixture(autouse=True)
def _colour_as_at_the_start() -> Iterator[None]:
    yield
    output.use_colour(wanted=True)
