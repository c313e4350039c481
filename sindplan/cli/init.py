"""`sindplan init`."""

import secrets
from pathlib import Path

import click

from sindplan.cli import options, output
from sindplan.cli.new_file import AS_USUAL, write_new

DEFAULT_IMAGE = "sindplan-node:26.05"


@click.command()
@click.option(
    "-f", "--file", "path", type=click.Path(path_type=Path), default=options.DEFAULT_FILE, help="State file to write."
)
@click.option("--name", help="Name of the declaration; minted unless set.")
@click.option("--image", default=DEFAULT_IMAGE, show_default=True, help="Image of the nodes.")
def command(path: Path, name: str | None, image: str) -> int:
    """Write a first state file; an existing one is left as it is."""
    from sindplan.statefile.initial import initial

    text = initial(name or f"lab-{secrets.token_hex(2)}", image)
    write_new(path, text, AS_USUAL, "-f")
    output.say(f"Wrote {path}. Next: sindplan plan -f {path}")
    return 0
