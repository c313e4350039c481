"""`sindplan plan`."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import click

from sindplan.cli import options, output
from sindplan.cli.plan_file import check_free, write_plan
from sindplan.model.address import Address

CHANGES = 2


@click.command()
@options.files
@options.replace
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="PLAN",
    help="Save the plan; `sindplan apply PLAN` does what it says.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="What is printed. JSON has the shape of terraform's.",
)
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 when there are changes.")
@options.allowances
@click.option("--no-probe", is_flag=True, help="Run no command in nodes: daemons and Slurm are left out.")
def command(
    paths: tuple[Path, ...],
    replace: tuple[str, ...],
    out: Path | None,
    form: Literal["text", "json"],
    detailed_exitcode: bool,
    no_probe: bool,
    allow_job_loss: bool,
    data_loss: tuple[Address, ...],
    prune: bool,
) -> int:
    """Show what would change, and why. Changes nothing."""
    from sindplan.cli.execution import show
    from sindplan.preflight.allowed import Allowed
    from sindplan.pulling import pull_notice
    from sindplan.saved import Options, check_savable, describe, digest_of
    from sindplan.workflow import prepare

    allowed = Allowed(jobs=allow_job_loss, data=data_loss, prune=prune)
    demanded = options.addresses(replace)
    declaration = options.read_declaration(paths)
    if out is not None:
        check_savable(declaration)
        check_free(out)
    engine, slurm = options.connected()
    try:
        prepared = prepare(engine, slurm, declaration, probe=not no_probe, allowed=allowed, replace=demanded)
    finally:
        engine.close()
    output.engine(prepared.engine)
    if no_probe:
        output.say("Daemons and Slurm were not asked (--no-probe); what they need is not in this plan.")
    if notice := pull_notice(declaration):
        output.say(notice)
    made_with = Options(replace=demanded, allowed=allowed)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    if form == "json":
        output.json(describe(prepared, declaration, made_with, now))
        output.findings(prepared.findings)
    else:
        show(prepared)
    if prepared.blocked:
        return 1
    if out is not None:
        write_plan(out, json.dumps(describe(prepared, declaration, made_with, now)).encode())
        output.say(f"Saved to {out}. To do exactly this: sindplan apply {out}")
    if form == "text" and not prepared.plan.empty:
        output.say(f"Digest: {digest_of(prepared)}")
    return CHANGES if detailed_exitcode and not prepared.plan.empty else 0
