"""`sindplan snapshot`."""

from pathlib import Path

import click

from sindplan.cli import options, output
from sindplan.render.escape import escaped

_MODE = 0o600
"""A snapshot says where everything is, how it is configured and who uses it."""


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    required=True,
    help="Where to write it; over nothing but another snapshot.",
)
@options.engine
@click.option("--no-probe", is_flag=True, help="Run no command in nodes: daemons and Slurm are left out.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but what goes wrong: for cron.")
def command(out: Path, no_probe: bool, quiet: bool) -> int:
    """Write down what plans read of the engine, to plan where it cannot be reached. Holds no secret, changes nothing."""
    from sindplan.cli.whole_files import check_replaceable, write_whole
    from sindplan.snapshots.reading import LARGEST_SNAPSHOT, is_rehearsal, is_snapshot, write_snapshot
    from sindplan.snapshots.taking import take

    check_replaceable(
        out,
        "a snapshot of an engine (a simulated one that is kept in a file is somebody's work)",
        lambda found: is_snapshot(found) and not is_rehearsal(found),
        LARGEST_SNAPSHOT,
    )
    engine, slurm = options.connected()
    try:
        snapshot = take(engine, slurm, probe=not no_probe, surroundings=options.surroundings())
    finally:
        engine.close()
    write_whole(out, write_snapshot(snapshot), _MODE)
    if quiet:
        return 0
    output.engine(snapshot.engine)
    output.say(escaped(f"Wrote {out}. To plan against it: sindplan plan --against {out}"))
    return 0
