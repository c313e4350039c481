"""Whether a daemon runs, while it goes over from one process to the next."""

import subprocess
import time
from pathlib import Path

import pytest
from attrs import define, field

from sindplan.slurm.running import RUNS, running

UNITS = ("slurmctld.service", "sshd.service")


@define
class Looks:
    """An engine of which only the processes are asked for; `seen` is what each look shows, the last one again and again."""

    seen: list[tuple[str, ...]]
    taken: int = field(default=0)

    def processes(self, container: str) -> tuple[str, ...]:
        self.taken += 1
        return self.seen.pop(0) if len(self.seen) > 1 else self.seen[0]


@pytest.mark.parametrize(
    ("seen", "runs", "looks"),
    [
        ([("sshd", "slurmctld")], (True, True), 1),
        ([("sshd",), ("sshd", "slurmctld")], (True, True), 2),
        # Both go over, one after the other.
        ([("slurmctld",), ("sshd",)], (True, True), 2),
        ([("sshd",)], (False, True), 2),
        ([()], (False, False), 2),
    ],
)
def test_what_is_not_there_is_looked_for_once_more(seen, runs, looks):
    engine = Looks(list(seen))
    assert running(engine, "node", UNITS) == dict(zip(UNITS, runs, strict=True))
    assert engine.taken == looks


@pytest.mark.parametrize(("name", "code"), [("sleep", 0), ("no-such-daemon", 1)])
def test_the_shell_sees_what_runs(name, code):
    with subprocess.Popen(["sleep", "60"]) as process:
        # Until it is what it becomes.
        while Path(f"/proc/{process.pid}/comm").read_text(encoding="ascii") != "sleep\n":
            time.sleep(0)
        assert subprocess.run(["sh", "-c", f"{RUNS}runs {name}"], check=False).returncode == code
        process.kill()
