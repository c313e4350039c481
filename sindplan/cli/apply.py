"""`sindplan apply`."""

import re
from collections.abc import Mapping
from pathlib import Path

import click
from attrs import evolve

from sindplan.cli import options, output
from sindplan.cli.events import streamed
from sindplan.cli.execution import (
    APPLY,
    DESTROY,
    Consent,
    execute_prepared,
    lock_option,
    loudness,
    rollback_option,
    wait_option,
)
from sindplan.cli.plan_file import read_plan_file
from sindplan.execute.apply import OnFailure
from sindplan.model.address import Address


@click.command()
@click.argument("saved", required=False, metavar="[PLAN]", type=click.Path(path_type=Path))
@options.files
@options.engine
@click.option("--auto-approve", is_flag=True, help="Do not ask.")
@click.option(
    "--approve",
    metavar="DIGEST",
    help="Apply, unasked, only if this is the plan's digest (sha256:…), as `sindplan plan` has said it.",
)
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
@options.part
@options.replace
@options.secrets_dir
@loudness
@wait_option
@rollback_option
@lock_option
@streamed
def command(
    saved: Path | None,
    paths: tuple[Path, ...],
    auto_approve: bool,
    approve: str | None,
    allow_privileged: bool,
    allow_job_loss: bool,
    data_loss: tuple[Address, ...],
    prune: bool,
    on_failure: OnFailure,
    parallelism: int,
    targets: tuple[str, ...],
    excluded: tuple[str, ...],
    destroy: bool,
    replace: tuple[str, ...],
    secrets_dir: Path | None,
    quiet: bool,
    verbose: bool,
    wait: int,
    rollback_timeout: int,
    lock_timeout: int,
) -> int:
    """Make the clusters match the declaration, or do what a saved PLAN says."""
    from sindplan.model.layout import images_of
    from sindplan.observe.observation import observe
    from sindplan.preflight.allowed import Allowed
    from sindplan.pulling import get_images, pull_images
    from sindplan.reviewed import Reviewed
    from sindplan.saved import prepare_with
    from sindplan.workflow import Prepared

    reviewed = Reviewed(_digest(approve)) if approve is not None else None
    if saved is not None:
        _refuse_beside_a_plan(
            {
                "--approve": approve is not None,
                "-f": bool(paths),
                "--target, --exclude": bool(targets or excluded),
                "--destroy": destroy,
                "--replace": bool(replace),
                "--allow-… and --prune": allow_job_loss or prune or bool(data_loss),
            }
        )
        plan_ = read_plan_file(saved)
        declaration, made_with = plan_.declaration, plan_.options
        reviewed = Reviewed(plan_.digest, plan_)
    else:
        allowed = Allowed(jobs=allow_job_loss, data=data_loss, prune=prune)
        made_with = options.made_with(
            replace=replace, targets=targets, excluded=excluded, destroy=destroy, allowed=allowed
        )
        declaration = options.read_declaration(paths)
    passwords = options.passwords(declaration, secrets_dir)
    engine, slurm = options.connected()

    def plan() -> Prepared:
        return prepare_with(
            engine, slurm, declaration, made_with, passwords=passwords, surroundings=options.surroundings()
        )

    try:
        told = () if made_with.destroy else pull_images(engine, declaration, output.say)
        prepared = plan()
        wanting = not (prepared.blocked or prepared.plan.empty or made_with.destroy)
        if wanting and get_images(engine, declaration, prepared, output.say):
            prepared = plan()
        return execute_prepared(
            evolve(prepared, findings=(*prepared.findings, *told)),
            plan,
            engine,
            slurm,
            observe_again=lambda: observe(
                engine, slurm, prepared.clusters, images=images_of(declaration), surroundings=options.surroundings()
            ),
            consent=Consent(auto_approve=auto_approve, allow_privileged=allow_privileged, reviewed=reviewed),
            # What was destroyed cannot be taken back.
            on_failure="stop" if made_with.destroy else on_failure,
            parallelism=parallelism,
            wait=wait,
            rollback_timeout=rollback_timeout,
            lock_timeout=lock_timeout,
            quiet=quiet,
            verbose=verbose,
            words=DESTROY if made_with.destroy else APPLY,
            secrets=lambda plan: options.secrets(declaration, plan, secrets_dir),
        )
    finally:
        engine.close()


def _refuse_beside_a_plan(said: Mapping[str, bool]) -> None:
    """Refuse what a plan says itself, by option. Raises a usage error."""
    if too_many := [option for option, is_said in said.items() if is_said]:
        raise click.UsageError(
            f"A saved plan says itself what it was made from: leave {', '.join(too_many)} out, or say it to `sindplan plan`."
        )


_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def _digest(text: str) -> str:
    if not _DIGEST.fullmatch(text):
        raise click.UsageError(
            "--approve takes a digest as `sindplan plan` says it: sha256: and 64 hexadecimal digits."
        )
    return text
