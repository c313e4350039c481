"""`sindplan import`."""

import secrets
from pathlib import Path

import click

from sindplan.cli import candidates, options, output
from sindplan.cli.new_file import OWNER_ONLY, write_new
from sindplan.model import names
from sindplan.model.address import Address


@click.command()
@click.argument(
    "clusters", nargs=-1, required=True, metavar="REALM[/CLUSTER]...", shell_complete=candidates.clusters_and_realms
)
@options.engine
@click.option(
    "-o", "--output", "target", type=click.Path(path_type=Path), help="State file to write; stdout unless set."
)
@click.option("--name", help="Name of the declaration, for clusters that belong to none yet; minted unless set.")
def command(clusters: tuple[str, ...], target: Path | None, name: str | None) -> int:
    """Write down clusters that run, as a state file. Changes nothing; applying the file takes over what sind made."""
    from sindplan.importing.imports import import_clusters

    wanted = [_address(text) for text in clusters]
    engine, slurm = options.connected()
    try:
        written = import_clusters(engine, slurm, wanted, name=name or f"lab-{secrets.token_hex(2)}")
    finally:
        engine.close()
    if target is None:
        output.document(written.text)
        return 0
    write_new(target, written.text, OWNER_ONLY, "-o")
    for note in written.notes:
        output.say(note)
    output.say(f"Wrote {target}. Next: sindplan plan -f {target}")
    return 0


def _address(text: str) -> Address:
    parts = tuple(text.split("/"))
    if len(parts) not in (1, 2) or not all(map(names.is_dns_label, parts)):
        raise click.BadParameter(f"{text!r} is neither a realm nor a cluster, such as sind or sind/dev.")
    return Address(parts)
