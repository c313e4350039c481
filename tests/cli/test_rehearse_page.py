"""docs/rehearse.md is run as it stands: each command, and what it shows of the output."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from sindplan.snapshots.reading import write_snapshot
from sindplan.snapshots.taking import take
from sindplan.statefile import read
from tests.cli.conftest import ROOT, Call, write_state
from tests.world import new_world

PAGE = (ROOT / "docs" / "rehearse.md").read_text(encoding="utf-8")
_SECONDS = re.compile(r"\d+\.\ds")


def _commands() -> Iterator[tuple[str, list[str]]]:
    """Yield the commands of the page with the lines that they show."""
    command, shown = "", list[str]()
    for line in PAGE.splitlines():
        if not line.startswith("    ") or line.startswith("    host$ "):
            continue
        if line.startswith("    $ "):
            if command:
                yield command, shown
            command, shown = line.removeprefix("    $ "), []
        else:
            shown.append(line.removeprefix("    "))
    yield command, shown


def _shows(said: str, shown: list[str]) -> bool:
    """Say whether the lines that are shown are the beginnings of those that were said, with gaps only where there is `...`."""
    lines = _SECONDS.sub("s", said).splitlines()
    at, gap = 0, False
    for line in shown:
        if line == "...":
            gap = True
            continue
        beginning = _SECONDS.sub("s", line)
        found = [here for here, one in enumerate(lines[at:], at) if one.startswith(beginning)]
        if not found or (not gap and found[0] != at):
            return False
        at, gap = found[0] + 1, False
    return True


def test_the_page(folder: Path, call: Call) -> None:
    world = new_world(seed=1)
    state = write_state(folder, 1)
    world.apply(read([state]))
    (folder / "there.json").write_bytes(write_snapshot(take(world.engine, world.slurm)))
    state.write_text(PAGE.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    ran = list(_commands())
    assert len(ran) > 9
    for command, shown in ran:
        if not command.startswith("sindplan "):
            # The two words that a reader's shell has beside ours.
            assert command.split()[0] in ("cp", "sed")
            subprocess.run(command.split(), check=True, cwd=folder)
            continue
        said = call(*command.split()[1:])
        assert said.status == 0, said
        assert _shows(said.err + said.out, shown), (command, said)


def test_a_page_that_shows_something_else_is_told() -> None:
    assert _shows("a\nb 1.2s\nc\n", ["a", "b 3.4s"])
    assert _shows("a\nb\nc\n", ["...", "c"])
    assert not _shows("a\nb\nc\n", ["a", "c"])
    assert not _shows("a\nb\nc\n", ["...", "d"])
