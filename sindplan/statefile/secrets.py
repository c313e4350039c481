"""Secrets in a state file: how they are referred to, what a password may be, and where one stands in plain text.

No message here shows what was said: it may be the secret itself, at the wrong place.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from attrs import frozen

from sindplan.model.declaration import Declaration, SecretReference, SlurmText
from sindplan.statefile.context import Context
from sindplan.statefile.fault import Fault, Said
from sindplan.statefile.spellings import PASSWORD
from sindplan.statefile.wording import CONTROL, KeyPath

_LONGEST_PATH = 4095
_PASSWORD_LINE = re.compile(
    r"^[^#\n]*?(?<![A-Za-z0-9_])(?:StoragePass|JobCompPass)[ \t]*=[ \t]*[^ \t\n#]", re.IGNORECASE | re.MULTILINE
)
"""A password in slurmdbd.conf or slurm.conf. AccountingStoragePass is none: it names munge's socket."""


def fault_of_password(text: str) -> str | None:
    """Return why a text cannot be slurmdbd's password, as a clause that holds nothing of it; None if it can."""
    return None if PASSWORD.fits(text) else PASSWORD.rule[0].lower() + PASSWORD.rule[1:-1]


def file_fault(value: str) -> Said | None:
    """Say what is wrong with the path of a secret's file."""
    path = PurePosixPath(value)
    is_text = len(value.encode()) <= _LONGEST_PATH and not CONTROL.search(value)
    if is_text and path.parts and path.parts[0] not in {"/", "//", "~"} and ".." not in path.parts:
        return None
    rule = "Write a path below the folder that --secrets-dir names: relative, and without `..`."
    return "This is not the path of a secret.", rule


def _a_reference_names_one_place(context: Context) -> Iterator[Fault]:
    db = context.cluster.db
    secret = db.storage_password if db is not None else None
    if not isinstance(secret, SecretReference) or any("storage_password" in path[:-1] for path in context.dropped):
        return
    if (secret.env is None) == (secret.file is None):
        what = "This names no place." if secret.env is None else "This names two places."
        advice = 'Write `{ env = "SINDPLAN_SECRET_…" }` or `{ file = "…" }`.'
        yield context.fault(("db", "storage_password"), what, advice)


def _unmanaged_db_has_no_password(context: Context) -> Iterator[Fault]:
    db = context.cluster.db
    if db is not None and db.storage_password is not None and not context.has_managed_db:
        what = "The db node is not managed, so nobody sets its database up."
        yield context.fault(("db", "storage_password"), what, "Remove it.")


RULES = (_a_reference_names_one_place, _unmanaged_db_has_no_password)


@frozen(order=True)
class PlainSecret:
    """Where a secret stands in a state file in plain text: `key` is the key path within the cluster."""

    realm: str
    cluster: str
    key: KeyPath


def plain_secrets(declaration: Declaration) -> tuple[PlainSecret, ...]:
    """Return where secrets stand in plain text, sorted."""
    found = []
    for realm, content in declaration.realms.items():
        for name, cluster in content.clusters.items():
            if cluster.db is not None and isinstance(cluster.db.storage_password, str):
                found.append(PlainSecret(realm, name, ("db", "storage_password")))
            for key in ("main", "slurmdbd"):
                found += [
                    PlainSecret(realm, name, ("slurm", key, *rest)) for rest in _passwords(getattr(cluster.slurm, key))
                ]
    return tuple(sorted(found))


def _passwords(text: SlurmText | None) -> Iterator[tuple[str, ...]]:
    fragments: Mapping[str, str] = text if isinstance(text, Mapping) else {"": text or ""}
    for name, content in fragments.items():
        if _PASSWORD_LINE.search(content):
            yield (name,) if name else ()
