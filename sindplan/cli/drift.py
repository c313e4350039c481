"""`sindplan drift`."""

import click

from sindplan.cli import candidates, options, output

DRIFTED = 2


@click.command()
@click.option(
    "--realm",
    "realms",
    multiple=True,
    metavar="REALM",
    shell_complete=candidates.realms,
    help="Look at this realm only; repeatable.",
)
def command(realms: tuple[str, ...]) -> int:
    """Show what differs from what was applied last. Needs no state file, and changes nothing.

    Made for cron: silent with status 0 when nothing differs, the report and status 2 when something does.
    """
    from sindplan.preflight.finding import Severity
    from sindplan.render.text import render_text
    from sindplan.workflow import prepare_drift, without_records

    engine, slurm = options.connected()
    try:
        found = prepare_drift(engine, slurm, realms)
        forgotten = without_records(engine, realms)
    finally:
        engine.close()
    drifted = [one for one in found if not one.plan.empty]
    for one in drifted:
        output.data(render_text(one.plan, heading=f"Clusters of {one.owner!r} drifted; an apply would do this:"))
        output.findings(finding for finding in one.findings if finding.severity is Severity.BLOCKS)
    output.findings(forgotten)
    return DRIFTED if drifted or forgotten else 0
