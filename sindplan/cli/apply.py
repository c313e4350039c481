"""`sindplan apply`."""

from pathlib import Path

import click

from sindplan.cli import options, output
from sindplan.cli.execution import Consent, execute_prepared, lock_option, wait_option
from sindplan.execute.apply import OnFailure
from sindplan.model.address import Address


@click.command()
@options.files
@click.option("--auto-approve", is_flag=True, help="Do not ask.")
@click.option("--allow-privileged", is_flag=True, help="Let new nodes have what is listed as privileges, unasked.")
@options.allowances
@click.option(
    "--on-failure",
    type=click.Choice(["rollback", "stop"]),
    default="rollback",
    show_default=True,
    help="Take back what was done, or leave it.",
)
@click.option("--parallelism", type=click.IntRange(1, 256), default=16, show_default=True, help="Actions at once.")
@options.replace
@options.secrets_dir
@wait_option
@lock_option
def command(
    paths: tuple[Path, ...],
    auto_approve: bool,
    allow_privileged: bool,
    allow_job_loss: bool,
    data_loss: tuple[Address, ...],
    prune: bool,
    on_failure: OnFailure,
    parallelism: int,
    replace: tuple[str, ...],
    secrets_dir: Path | None,
    wait: int,
    lock_timeout: int,
) -> int:
    """Make the clusters match the declaration."""
    from sindplan.model.layout import images_of
    from sindplan.observe.observation import observe
    from sindplan.preflight.allowed import Allowed
    from sindplan.workflow import Prepared, get_images, prepare

    allowed = Allowed(jobs=allow_job_loss, data=data_loss, prune=prune)
    demanded = options.addresses(replace)
    declaration = options.read_declaration(paths)
    passwords = options.passwords(declaration, secrets_dir)
    engine, slurm = options.connected()

    def plan() -> Prepared:
        return prepare(engine, slurm, declaration, passwords=passwords, allowed=allowed, replace=demanded)

    try:
        prepared = plan()
        wanting = not prepared.blocked and not prepared.plan.empty
        if wanting and get_images(engine, declaration, prepared, output.say):
            prepared = plan()
        return execute_prepared(
            prepared,
            plan,
            engine,
            slurm,
            observe_again=lambda: observe(engine, slurm, prepared.clusters, images=images_of(declaration)),
            consent=Consent(auto_approve=auto_approve, allow_privileged=allow_privileged),
            on_failure=on_failure,
            parallelism=parallelism,
            wait=wait,
            lock_timeout=lock_timeout,
            secrets=lambda plan: options.secrets(declaration, plan, secrets_dir),
        )
    finally:
        engine.close()
