"""Which engine a command talks to: Docker's, the one that a snapshot was taken of, or a simulated one."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sindplan.cli import output

if TYPE_CHECKING:
    from sindplan.engine.port import Engine
    from sindplan.observe.surroundings import Surroundings
    from sindplan.slurm.port import Slurm
    from sindplan.snapshots.snapshot import Snapshot

Command = TypeVar("Command", bound=Callable[..., Any])

DOCKER = "docker"
_SIMULATED = "sim:"
_KEY = "sindplan.engines"
"""Where click's context keeps what was chosen: commands need not hand it around."""


def _remembered(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def remember(ctx: click.Context, _: click.Parameter, value: Any) -> None:  # noqa: ANN401 - click's own
        ctx.meta.setdefault(_KEY, {})[name] = value

    return remember


def _engine(ctx: click.Context, param: click.Parameter, value: str) -> None:
    if (value != DOCKER and not value.removeprefix(_SIMULATED)) or not value.startswith((DOCKER, _SIMULATED)):
        raise click.BadParameter(f"{value!r} is neither docker nor sim:FILE.", ctx, param)
    if value.startswith(DOCKER) and value != DOCKER:
        raise click.BadParameter("Which Docker Engine it is, DOCKER_HOST or the docker context says.", ctx, param)
    _remembered("engine")(ctx, param, value)


engine_option = click.option(
    "--engine",
    metavar="docker|sim:FILE",
    default=DOCKER,
    show_default=True,
    expose_value=False,
    callback=_engine,
    help="Docker's engine, or a simulated one that is kept in FILE (a snapshot, or a new file): to learn and to rehearse.",
)
against_option = click.option(
    "--against",
    metavar="SNAPSHOT",
    type=click.Path(path_type=Path),
    expose_value=False,
    callback=_remembered("against"),
    help="Look at what `sindplan snapshot` has written instead of an engine.",
)


def connect() -> "tuple[Engine, Slurm]":
    """Return the engine that was chosen and the Slurm in its nodes. Raises SindplanError."""
    snapshot = _snapshot()
    if snapshot is not None:
        from sindplan.snapshots.recorded import recorded

        for line in _told(snapshot, datetime.now(UTC)):
            output.say(line)
        return recorded(snapshot)
    if rehearsing():
        from sindplan.cli.rehearsal import open_rehearsal

        chosen = _chosen()
        engine, slurm, chosen["beside"] = open_rehearsal(Path(chosen["engine"].removeprefix(_SIMULATED)))
        return engine, slurm
    return _docker()


def named() -> bool:
    """Say whether the caller named an engine or a snapshot."""
    chosen = _chosen()
    return chosen.get("against") is not None or chosen.get("engine", DOCKER) != DOCKER


def rehearsing() -> bool:
    """Say whether the engine that was chosen is a simulated one, which nobody but this command works on."""
    return str(_chosen().get("engine", DOCKER)).startswith(_SIMULATED)


def surroundings() -> "Surroundings":
    """Return what is to be looked at beside that engine, which must be connected to."""
    from sindplan.observe.surroundings import HERE

    snapshot = _snapshot()
    beside: Surroundings | None = _chosen().get("beside")
    return beside or (HERE if snapshot is None else snapshot.surroundings)


def _chosen() -> dict[str, Any]:
    context = click.get_current_context(silent=True)
    found: dict[str, Any] = {} if context is None else context.meta.setdefault(_KEY, {})
    if found.get("against") is not None and found.get("engine", DOCKER) != DOCKER:
        raise click.UsageError("--against and --engine name two engines: leave one out.")
    return found


def _docker() -> "tuple[Engine, Slurm]":
    from sindplan.engine.docker_sdk import connect
    from sindplan.slurm.commands import SlurmCommands

    engine = connect()
    return engine, SlurmCommands(engine)


def _snapshot() -> "Snapshot | None":
    chosen = _chosen()
    if chosen.get("against") is not None and "snapshot" not in chosen:
        from sindplan.cli.snapshot_file import read_snapshot_file

        chosen["snapshot"] = read_snapshot_file(chosen["against"])
    found: Snapshot | None = chosen.get("snapshot")
    return found


def _told(snapshot: "Snapshot", now: datetime) -> list[str]:
    """Return what a reader of a plan must know of the snapshot that it is made against."""
    what = "a simulated engine" if snapshot.simulated is not None else "the engine"
    lines = [
        f"Against a snapshot of {what} from {snapshot.moment:%Y-%m-%d %H:%M} UTC, {_age(snapshot.moment, now)}.",
        "What was changed there since, and images that came since, it does not know; an apply looks for itself.",
    ]
    if not snapshot.probed:
        lines.append(
            "Daemons and Slurm were not asked when it was taken (--no-probe); what they need is not in this plan."
        )
    return lines


_UNITS = ((24 * 3600, "day"), (3600, "hour"), (60, "minute"))


def _age(then: datetime, now: datetime) -> str:
    seconds = int((now - then).total_seconds())
    if seconds < 0:
        return "which is yet to come by this machine's clock"
    for size, unit in _UNITS:
        # 119 minutes say more than one hour.
        if seconds >= 2 * size or (seconds >= size and unit == "minute"):
            count = seconds // size
            return f"{count} {unit}{'s' if count != 1 else ''} old"
    return f"{seconds} second{'s' if seconds != 1 else ''} old"
