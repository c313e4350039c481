"""`sindplan plan`."""

import json
from pathlib import Path

import click

from sindplan.cli import formats, options, output
from sindplan.cli.plan_file import check_free, write_plan
from sindplan.cli.planning import planned
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration

CHANGES = 2


@click.command()
@options.files
@options.part
@options.replace
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="PLAN",
    help="Save the plan; `sindplan apply PLAN` does what it says.",
)
@formats.option
@click.option("--detailed-exitcode", is_flag=True, help="Exit with 2 when there are changes.")
@options.engine
@options.against
@options.allowances
@options.no_probe
def command(
    paths: tuple[Path, ...],
    targets: tuple[str, ...],
    excluded: tuple[str, ...],
    destroy: bool,
    replace: tuple[str, ...],
    out: Path | None,
    form: formats.Format,
    detailed_exitcode: bool,
    no_probe: bool,
    allow_job_loss: bool,
    data_loss: tuple[Address, ...],
    prune: bool,
) -> int:
    """Show what would change, and why. Changes nothing."""
    from sindplan.cli.execution import APPLY, DESTROY, show
    from sindplan.preflight.allowed import Allowed
    from sindplan.saved import check_savable, digest_of

    def check(declaration: Declaration) -> None:
        if out is not None:
            check_savable(declaration)
            check_free(out)

    allowed = Allowed(jobs=allow_job_loss, data=data_loss, prune=prune)
    made_with = options.made_with(replace=replace, targets=targets, excluded=excluded, destroy=destroy, allowed=allowed)
    made = planned(paths, made_with, probe=not no_probe, check=check)
    prepared = made.prepared
    if form == "text":
        show(prepared, (DESTROY if destroy else APPLY).nothing)
    else:
        output.document(formats.rendered(form, made.describe()))
        output.findings(prepared.findings)
    if prepared.blocked:
        return 1
    if out is not None:
        write_plan(out, json.dumps(made.describe()).encode())
        output.say(f"Saved to {out}. To do exactly this: sindplan apply {out}")
    if form == "text" and not prepared.plan.empty:
        output.say(f"Digest: {digest_of(prepared)}")
    return CHANGES if detailed_exitcode and not prepared.plan.empty else 0
