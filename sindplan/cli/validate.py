"""`sindplan validate`."""

from pathlib import Path

import click

from sindplan.cli import options, output


@click.command()
@options.files
def command(paths: tuple[Path, ...]) -> int:
    """Check state files, without an engine; every problem is listed."""
    declaration = options.read_declaration(paths)
    clusters = sum(len(realm.clusters) for realm in declaration.realms.values())
    output.data(f"The declaration {declaration.name!r} is valid: {clusters} cluster{'s' if clusters != 1 else ''}.")
    return 0
