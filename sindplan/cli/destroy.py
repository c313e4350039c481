"""`sindplan destroy`."""

from pathlib import Path

import click

from sindplan.cli import candidates, options
from sindplan.cli.events import streamed
from sindplan.cli.execution import DESTROY, Consent, execute_prepared, lock_option, loudness, wait_option
from sindplan.model.address import Address

_CLUSTER_PARTS = 2


@click.command()
@click.argument("addresses", nargs=-1, metavar="[ADDRESS]...", shell_complete=candidates.clusters)
@options.files
@options.engine
@click.option("--auto-approve", is_flag=True, help="Do not ask.")
@options.allow_job_loss
@click.option("--parallelism", type=click.IntRange(1, 256), default=16, show_default=True, help="Actions at once.")
@loudness
@wait_option
@lock_option
@streamed
def command(
    addresses: tuple[str, ...],
    paths: tuple[Path, ...],
    auto_approve: bool,
    allow_job_loss: bool,
    parallelism: int,
    quiet: bool,
    verbose: bool,
    wait: int,
    lock_timeout: int,
) -> int:
    """Remove clusters with all their data: those of the state file, or the ADDRESSes (REALM/CLUSTER) named.

    The realm's mesh goes with its last cluster.
    """
    from sindplan.observe.observation import observe
    from sindplan.workflow import Prepared, clusters_of, prepare_destroy

    declaration, clusters = None, tuple(_cluster(text) for text in addresses)
    if paths or not addresses:
        declaration = options.read_declaration(paths)
        declared = clusters_of(declaration)
        missing = [str(cluster) for cluster in clusters if cluster not in declared]
        if missing:
            raise click.UsageError(f"{', '.join(missing)}: not in the state file; leave -f out to destroy it anyway.")
        clusters = clusters or declared
    engine, slurm = options.connected()
    try:

        def prepare() -> Prepared:
            return prepare_destroy(engine, slurm, clusters, declaration=declaration, allow_job_loss=allow_job_loss)

        return execute_prepared(
            prepare(),
            prepare,
            engine,
            slurm,
            observe_again=lambda: observe(engine, slurm, clusters),
            consent=Consent(auto_approve=auto_approve),
            on_failure="stop",
            parallelism=parallelism,
            wait=wait,
            lock_timeout=lock_timeout,
            quiet=quiet,
            verbose=verbose,
            words=DESTROY,
        )
    finally:
        engine.close()


def _cluster(text: str) -> Address:
    try:
        address = Address.parse(text)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if len(address.parts) != _CLUSTER_PARTS:
        raise click.UsageError(f"{text!r} is not a cluster: say REALM/CLUSTER, such as sind/dev.")
    return address
