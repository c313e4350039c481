"""Measures what users wait for: apply, an empty plan, growing by one, destroy, for clusters of several sizes.

    python bench/apply.py                      # 1, 4 and 16 workers, three rounds each
    python bench/apply.py --rounds 5 1 32

Uses the engine of DOCKER_HOST (or SINDPLAN_TEST_ENGINE) and makes and removes realms of its own there. An apply ends when all
workers are idle in Slurm, so its time is the whole way from nothing to a usable cluster. Compare medians, on a quiet
machine: other work on the same cores shows in every figure.
"""

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import click

INOTIFY = Path("/proc/sys/fs/inotify/max_user_instances")
INOTIFY_PER_NODE = 5
SIND = {1: (3.82, 1.85), 4: (7.31, 2.22), 16: (13.82, 4.19), 32: (31.68, 6.27)}
"""Medians of sind (April 2026) on a machine with 2 cores, Docker 28.5.2 and the same node image: create until idle, delete."""
COLUMNS = ("apply", "empty plan", "one more", "destroy")


class Bench:
    """One cluster that is made, looked at, grown and removed."""

    def __init__(self, folder: Path, image: str) -> None:
        self.realm = f"bench-{uuid.uuid4().hex[:6]}"
        self.image = image
        self.file = folder / "sindplan.toml"
        self.log = folder / "log"

    def declare(self, workers: int) -> None:
        """Write the state file."""
        cluster = f"realms.{self.realm}.clusters.dev"
        self.file.write_text(
            f'version = 1\nname = "{self.realm}"\n[{cluster}]\nimage = "{self.image}"\n'
            f'[{cluster}.workers.cpu]\ncount = {workers}\nmemory = "256m"\n',
            encoding="utf-8",
        )

    def run(self, *arguments: str) -> float:
        """Run sindplan and return how many seconds it took."""
        command = [sys.executable, "-m", "sindplan", *arguments, "-f", str(self.file)]
        began = time.monotonic()
        with self.log.open("w", encoding="utf-8") as log:
            done = subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False)  # noqa: S603 - ourselves
        seconds = time.monotonic() - began
        if done.returncode != 0:
            raise click.ClickException(f"{' '.join(arguments)} failed:\n{self.log.read_text(encoding='utf-8')}")
        return seconds

    def round(self, workers: int) -> tuple[float, ...]:
        """Measure once, in the order of COLUMNS; leave nothing behind."""
        self.declare(workers)
        try:
            applied = self.run("apply", "--auto-approve")
            # With the exit code, so that a plan that is not empty is an error.
            planned = self.run("plan", "--detailed-exitcode")
            self.declare(workers + 1)
            grown = self.run("apply", "--auto-approve")
        finally:
            destroyed = self.run("destroy", "--auto-approve")
        return applied, planned, grown, destroyed


def allow(nodes: int) -> None:
    """Raise the host's inotify limit where it is too small and we may: systemd exits with 255 without."""
    wanted = max(1024, nodes * INOTIFY_PER_NODE * 2)
    with contextlib.suppress(OSError, ValueError):
        if int(INOTIFY.read_text(encoding="ascii")) < wanted:
            INOTIFY.write_text(str(wanted), encoding="ascii")


@click.command()
@click.argument("sizes", nargs=-1, type=click.IntRange(1, 200))
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1), help="Measurements of each size.")
@click.option("--image", default="sindplan-node:26.05", show_default=True, help="Image of the nodes.")
def main(sizes: tuple[int, ...], rounds: int, image: str) -> None:
    """Measure SIZES workers (1, 4 and 16 unless set)."""
    if engine := os.environ.get("SINDPLAN_TEST_ENGINE"):
        os.environ["DOCKER_HOST"] = engine
    sizes = sizes or (1, 4, 16)
    allow(max(sizes) + 2)
    click.echo(f"seconds: min / median / max of {rounds}\n")
    click.echo(f"{'workers':>7}  " + "".join(f"{column:<22}" for column in COLUMNS) + "sind: create, delete")
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            found = [Bench(Path(folder), image).round(size) for _ in range(rounds)]
            cells = [
                f"{min(column):5.2f} /{statistics.median(column):6.2f} /{max(column):6.2f}"
                for column in zip(*found, strict=True)
            ]
            known = "{:.2f}, {:.2f}".format(*SIND[size]) if size in SIND else ""
            click.echo(f"{size:>7}  " + "".join(f"{cell:<22}" for cell in cells) + known)


if __name__ == "__main__":
    main()
