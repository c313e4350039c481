"""`sindplan schema`."""

import json

import click


@click.command()
def command() -> int:
    """Print the JSON Schema of state files, for editors and checks."""
    from sindplan.statefile.schema import state_schema

    click.echo(json.dumps(state_schema(), indent=2))
    return 0
