"""`sindplan graph`."""

from pathlib import Path

import click

from sindplan.cli import formats, options, output
from sindplan.cli.plan_file import read_plan_document
from sindplan.cli.planning import planned


@click.command()
@click.argument("saved", required=False, metavar="[PLAN]", type=click.Path(path_type=Path))
@options.files
@options.part
@options.replace
@options.prune
@options.engine
@options.against
@click.option(
    "--format",
    "form",
    type=click.Choice(formats.GRAPHS),
    default="dot",
    show_default=True,
    help="For Graphviz (`dot -Tsvg`), or for mermaid.",
)
@click.option(
    "--all", "whole", is_flag=True, help="Draw every action, also of a large plan, whose equal ones are one otherwise."
)
@options.no_probe
def command(
    saved: Path | None,
    paths: tuple[Path, ...],
    targets: tuple[str, ...],
    excluded: tuple[str, ...],
    destroy: bool,
    replace: tuple[str, ...],
    prune: bool,
    form: formats.Format,
    whole: bool,
    no_probe: bool,
) -> int:
    """Print what an apply does, and what waits for what, as a graph: of a new plan, or of a saved PLAN."""
    if saved is not None:
        if any((paths, targets, excluded, destroy, replace, prune, no_probe, options.engine_named())):
            raise click.UsageError("A saved plan says itself what it was made from: leave the other options out.")
        output.document(formats.rendered(form, read_plan_document(saved), saved, whole=whole))
        return 0
    from sindplan.preflight.allowed import Allowed

    allowed = Allowed(prune=prune)
    made_with = options.made_with(replace=replace, targets=targets, excluded=excluded, destroy=destroy, allowed=allowed)
    made = planned(paths, made_with, probe=not no_probe)
    output.document(formats.rendered(form, made.describe(), whole=whole))
    output.findings(made.prepared.findings)
    return 1 if made.prepared.blocked else 0
