"""Making a plan to look at, which `plan` and `graph` have in common."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from sindplan.cli import options, output
from sindplan.model.declaration import Declaration

if TYPE_CHECKING:
    from sindplan.saved import Options
    from sindplan.workflow import Prepared


@frozen
class Planned:
    """A plan, and what makes its document."""

    prepared: "Prepared"
    describe: Callable[[], dict[str, Any]]


def planned(
    paths: tuple[Path, ...],
    made_with: "Options",
    *,
    probe: bool = True,
    check: Callable[[Declaration], None] = lambda _: None,
) -> Planned:
    """Plan, and say on stderr for which engine, and what the plan leaves out.

    Args:
        check: Looks at the declaration before the engine is asked.
    """
    from sindplan.pulling import pull_notice
    from sindplan.saved import describe, prepare_with

    declaration = options.read_declaration(paths)
    check(declaration)
    engine, slurm = options.connected()
    try:
        prepared = prepare_with(engine, slurm, declaration, made_with, probe=probe, surroundings=options.surroundings())
    finally:
        engine.close()
    output.engine(prepared.engine)
    if not probe:
        output.say("Daemons and Slurm were not asked (--no-probe); what they need is not in this plan.")
    if notice := pull_notice(declaration):
        output.say(notice)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Planned(prepared, lambda: describe(prepared, declaration, made_with, now))
