"""`sindplan show`."""

from pathlib import Path

import click

from sindplan.cli import formats, output
from sindplan.cli.plan_file import read_plan_document


@click.command()
@click.argument("saved", metavar="PLAN", type=click.Path(path_type=Path))
@formats.option
def command(saved: Path, form: formats.Format) -> int:
    """Show a saved PLAN, or what `sindplan plan --format json` printed, in any format. Needs no engine."""
    from sindplan.preflight.finding import Finding, Severity
    from sindplan.render.reading import read_review

    document = read_plan_document(saved)
    found = read_review(saved, document)
    shown = formats.rendered(form, document, saved)
    if form != "text":
        output.document(shown)
        return 0
    for privilege in found.privileges:
        output.data(f"! {privilege}")
    # As `plan` does: that nothing is to be done would be a lie about what is left alone.
    if not (found.blocked and not found.entries):
        output.data(shown)
    output.findings(
        Finding(one.check, one.what, one.fix, Severity.BLOCKS if one.blocks else Severity.WARNS)
        for one in found.remarks
    )
    if found.entries and not found.blocked:
        output.say(f"Digest: {found.digest}")
    return 0
