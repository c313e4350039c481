"""`sindplan plan`."""

from pathlib import Path

import click

from sindplan.cli import options, output
from sindplan.model.address import Address

CHANGES = 2


@click.command()
@options.files
@options.replace
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 when there are changes.")
@options.allowances
@click.option("--no-probe", is_flag=True, help="Run no command in nodes: daemons and Slurm are left out.")
def command(
    paths: tuple[Path, ...],
    replace: tuple[str, ...],
    detailed_exitcode: bool,
    no_probe: bool,
    allow_job_loss: bool,
    data_loss: tuple[Address, ...],
    prune: bool,
) -> int:
    """Show what would change, and why. Changes nothing."""
    from sindplan.cli.execution import show
    from sindplan.preflight.allowed import Allowed
    from sindplan.workflow import prepare

    allowed = Allowed(jobs=allow_job_loss, data=data_loss, prune=prune)
    demanded = options.addresses(replace)
    declaration = options.read_declaration(paths)
    engine, slurm = options.connected()
    try:
        prepared = prepare(engine, slurm, declaration, probe=not no_probe, allowed=allowed, replace=demanded)
    finally:
        engine.close()
    output.engine(prepared.engine)
    if no_probe:
        output.say("Daemons and Slurm were not asked (--no-probe); what they need is not in this plan.")
    show(prepared)
    if prepared.blocked:
        return 1
    return CHANGES if detailed_exitcode and not prepared.plan.empty else 0
