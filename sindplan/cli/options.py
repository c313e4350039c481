"""Options that several commands have, and how they reach the engine."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sindplan.cli import candidates, engines
from sindplan.model.address import Address

if TYPE_CHECKING:
    from sindplan.engine.port import Engine
    from sindplan.model.declaration import Declaration
    from sindplan.model.hidden import Hidden
    from sindplan.observe.surroundings import Surroundings
    from sindplan.plan.plan import Plan
    from sindplan.preflight.allowed import Allowed
    from sindplan.saved import Options
    from sindplan.slurm.port import Slurm

DEFAULT_FILE = Path("sindplan.toml")

Command = TypeVar("Command", bound=Callable[..., Any])


def files(command: Command) -> Command:
    """Add `-f FILE`."""
    option = click.option(
        "-f",
        "--file",
        "paths",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="State file, or a folder of them; repeatable. sindplan.toml unless set.",
    )
    return option(command)


def replace(command: Command) -> Command:
    """Add `--replace ADDRESS`."""
    option = click.option(
        "--replace",
        multiple=True,
        metavar="ADDRESS",
        shell_complete=candidates.addresses,
        help="Replace this node (or REALM/@mesh/dns or relay), or all below this address, though nothing differs; repeatable.",
    )
    return option(command)


def part(command: Command) -> Command:
    """Add what a plan can be a part by, and `--destroy`."""
    decorators = (
        click.option(
            "--target",
            "targets",
            multiple=True,
            metavar="ADDRESS",
            shell_complete=candidates.addresses,
            help="Only this, or all below it, with what it needs (REALM/CLUSTER, or an address as plans say it); repeatable.",
        ),
        click.option(
            "--exclude",
            "excluded",
            multiple=True,
            metavar="ADDRESS",
            shell_complete=candidates.addresses,
            help="All but this, or all below it, and what needs that; repeatable.",
        ),
        click.option(
            "--destroy", is_flag=True, help="Destroy what the state files declare, as `sindplan destroy` does."
        ),
    )
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


def made_with(
    *, replace: Sequence[str], targets: Sequence[str], excluded: Sequence[str], destroy: bool, allowed: "Allowed"
) -> "Options":
    """Return the options that a plan is made with. Raises a usage error for what is none, or does not fit together."""
    from sindplan.plan.part import Part
    from sindplan.saved import Options

    if destroy and (replace or allowed.prune or allowed.data):
        raise click.UsageError(
            "--destroy destroys everything that is declared: leave --replace, --prune and --allow-data-loss out."
        )
    if destroy and (
        within := [text for text in (*targets, *excluded) if len(addresses([text])[0].parts) > _CLUSTER_PARTS]
    ):
        raise click.UsageError(
            f"--destroy takes whole clusters: name REALM/CLUSTER, not {', '.join(within)}, whose end would be its cluster's."
        )
    part_ = Part(targets=addresses(targets), excluded=addresses(excluded))
    return Options(replace=addresses(replace), part=part_, destroy=destroy, allowed=allowed)


def addresses(texts: Sequence[str]) -> tuple[Address, ...]:
    """Read addresses. Raises a usage error for what is none."""
    try:
        return tuple(map(Address.parse, texts))
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def read_declaration(paths: Sequence[Path]) -> "Declaration":
    """Read the state files named, or the default one. Raises DeclarationInvalid."""
    from sindplan.statefile import read

    return read(tuple(paths) or (DEFAULT_FILE,))


allow_job_loss = click.option("--allow-job-loss", is_flag=True, help="Go on though jobs are lost or begun anew.")
prune = click.option("--prune", is_flag=True, help="Destroy clusters of this declaration that are not in it any more.")


no_probe = click.option("--no-probe", is_flag=True, help="Run no command in nodes: daemons and Slurm are left out.")


class _Prefix(click.ParamType[Address]):
    """An address, or the beginning of some."""

    name = "address"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        if isinstance(value, Address):
            return value
        try:
            found = Address.parse(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if len(found.parts) < _CLUSTER_PARTS:
            self.fail(
                f"{value!r} names no cluster: say REALM/CLUSTER/volume/NAME, or REALM/CLUSTER for all of it", param, ctx
            )
        return found


_CLUSTER_PARTS = 2
allow_data_loss = click.option(
    "--allow-data-loss",
    "data_loss",
    multiple=True,
    metavar="ADDRESS",
    type=_Prefix(),
    shell_complete=candidates.addresses,
    help="Let this volume, or all below this address, be removed while its cluster stays; repeatable.",
)


def allowances(command: Command) -> Command:
    """Add the options that allow a plan what it does not do otherwise."""
    return allow_job_loss(allow_data_loss(prune(command)))


secrets_dir = click.option(
    "--secrets-dir",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of the files that secrets are in.",
)


def secrets(declaration: "Declaration", plan: "Plan", folder: Path | None) -> "Mapping[Address, Hidden]":
    """Look up the secrets that a plan needs, by cluster. Raises SindplanError when some cannot be had."""
    from sindplan.statefile.secret_values import Places, storage_passwords
    from sindplan.statefile.secrets import fault_of_password
    from sindplan.workflow import clusters_with_secrets

    places = Places(environment=os.environ, folder=folder)
    return storage_passwords(declaration, clusters_with_secrets(plan), places, fault_of_password).demand()


def passwords(declaration: "Declaration", folder: Path | None) -> "Mapping[Address, Hidden]":
    """Look up the passwords that can be had, by cluster: one that cannot is taken to be what it was."""
    from sindplan.statefile.secret_values import Places, storage_passwords
    from sindplan.statefile.secrets import fault_of_password
    from sindplan.workflow import clusters_of

    places = Places(environment=os.environ, folder=folder)
    return storage_passwords(declaration, clusters_of(declaration), places, fault_of_password).found


engine = engines.engine_option
against = engines.against_option
rehearsing = engines.rehearsing
engine_named = engines.named


def connected() -> "tuple[Engine, Slurm]":
    """Connect to the engine that was chosen: unless told otherwise the one that DOCKER_HOST or the docker context says.

    Raises SindplanError.
    """
    return engines.connect()


def surroundings() -> "Surroundings":
    """Return what is to be looked at beside that engine."""
    return engines.surroundings()
