"""Secrets that a declaration refers to, looked up: the one place where they are read."""

import os
import stat
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from attrs import frozen

from sindplan.errors import SindplanError
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration, Secret, SecretReference
from sindplan.model.hidden import Hidden

LARGEST_SECRET = 4096
"""Bytes; what is longer is another file."""


@frozen(kw_only=True)
class Places:
    """Where secrets may be: the environment, and a folder of files."""

    environment: Mapping[str, str]
    folder: Path | None = None


@frozen(kw_only=True)
class Looked:
    """What looking secrets up gave: those that were found by cluster, and a sentence for each that was not."""

    found: Mapping[Address, Hidden]
    missing: tuple[str, ...]

    def demand(self) -> Mapping[Address, Hidden]:
        """Return what was found. Raises SindplanError, naming all that cannot be had, unless everything was."""
        if self.missing:
            raise SindplanError(
                f"Secrets are missing; nothing was changed. {' '.join(self.missing)}",
                "Set the variables, or point --secrets-dir at the folder of the files, and apply again.",
            )
        return self.found


def storage_passwords(
    declaration: Declaration,
    clusters: Collection[Address],
    places: Places,
    fault: Callable[[str], str | None],
) -> Looked:
    """Look up the passwords that slurmdbd has at its database, of those clusters that declare one.

    Args:
        fault: Says what is wrong with a password, or None.
    """
    found: dict[Address, Hidden] = {}
    missing: list[str] = []
    for address in sorted(clusters):
        db = declaration.realms[address.realm].clusters[address.cluster].db
        if db is None or db.storage_password is None:
            continue
        try:
            text = _value(db.storage_password, places)
        except ValueError as error:
            missing.append(f"{address}: db.storage_password: {error}.")
            continue
        wrong = fault(text)
        if wrong is None:
            found[address] = Hidden(text)
        else:
            missing.append(f"{address}: db.storage_password: what is there cannot be a password. {wrong.rstrip('.')}.")
    return Looked(found=found, missing=tuple(missing))


def _value(secret: Secret, places: Places) -> str:
    """Return a secret. Raises ValueError with a reason that holds nothing of it."""
    if isinstance(secret, SecretReference):
        if secret.env is not None:
            return _of_environment(secret.env, places.environment)
        return _of_file(secret.file or "", places.folder)
    return secret


def _of_environment(name: str, environment: Mapping[str, str]) -> str:
    value = environment.get(name)
    if not value:
        raise ValueError(f"the environment variable {name} is {'not set' if value is None else 'empty'}")
    return value


def _of_file(name: str, folder: Path | None) -> str:
    if folder is None:
        raise ValueError(f"the file {name!r} is looked for below --secrets-dir, which is not said")
    # Not Path.resolve, which stumbles over links that lead in circles.
    root = Path(os.path.realpath(folder))
    path = Path(os.path.realpath(root / name))
    if not path.is_relative_to(root):
        raise ValueError(f"the file {name!r} leads out of {folder}")
    try:
        # Asked before opening, which alone may block: pipes, terminals.
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError(f"{path} is not a regular file")
        with path.open("rb") as stream:
            data = stream.read(LARGEST_SECRET + 1)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {os.strerror(error.errno or 0)}") from error
    if len(data) > LARGEST_SECRET:
        raise ValueError(f"{path} is larger than {LARGEST_SECRET} bytes")
    try:
        # Editors end files with a newline, which nobody means.
        text = data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8") from error
    if not text:
        raise ValueError(f"{path} is empty")
    return text
