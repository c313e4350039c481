"""`sindplan schema`."""

import click

from sindplan.cli import output


@click.command()
def command() -> int:
    """Print the JSON Schema of state files, for editors and checks."""
    from sindplan.statefile.schema import state_schema

    output.json(state_schema())
    return 0
