"""Rules of secrets: the key and the whole message, which never shows what was said."""

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.statefile.secrets import PlainSecret, fault_of_password, plain_secrets
from tests.statefile.reading import CLUSTER, HEAD, problems, read_text, said_of_cluster, write
from tests.strategies import SETTINGS

PASSWORD = "A password is 1 to 79 ASCII letters, digits and signs, but no blank, quote, # or backslash."
VARIABLE = "Only variables whose names begin with SINDPLAN_SECRET_ are read; the rest is of A-Z, 0-9 and underscores."
BELOW = "Write a path below the folder that --secrets-dir names: relative, and without `..`."


@pytest.mark.parametrize(
    ("lines", "key", "what", "fix"),
    [
        (
            "db.storage_password = ''",
            "db.storage_password",
            "This is not a password that slurmdbd.conf can hold.",
            PASSWORD,
        ),
        (
            "db.storage_password = 'a b'",
            "db.storage_password",
            "This is not a password that slurmdbd.conf can hold.",
            PASSWORD,
        ),
        (
            "db.storage_password = 'a#b'",
            "db.storage_password",
            "This is not a password that slurmdbd.conf can hold.",
            PASSWORD,
        ),
        (
            'db.storage_password = "a\'b"',
            "db.storage_password",
            "This is not a password that slurmdbd.conf can hold.",
            PASSWORD,
        ),
        (
            "db.storage_password = 'a\\\\b'",
            "db.storage_password",
            "This is not a password that slurmdbd.conf can hold.",
            PASSWORD,
        ),
        (
            "db.storage_password = 'pässword'",
            "db.storage_password",
            "This is not a password that slurmdbd.conf can hold.",
            PASSWORD,
        ),
        (
            'db.storage_password = "a\\u0000"',
            "db.storage_password",
            "This is not a password that slurmdbd.conf can hold.",
            PASSWORD,
        ),
        (
            "db.storage_password = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'",
            "db.storage_password",
            "This is not a password that slurmdbd.conf can hold.",
            PASSWORD,
        ),
        ("db.storage_password = 12345", "db.storage_password", "This must be a string or a table.", ""),
        (
            "db.storage_password = {}",
            "db.storage_password",
            "This names no place.",
            'Write `{ env = "SINDPLAN_SECRET_…" }` or `{ file = "…" }`.',
        ),
        (
            "db.storage_password = { env = 'SINDPLAN_SECRET_A', file = 'x' }",
            "db.storage_password",
            "This names two places.",
            'Write `{ env = "SINDPLAN_SECRET_…" }` or `{ file = "…" }`.',
        ),
        (
            "db.storage_password = { env = 'HOME' }",
            "db.storage_password.env",
            "This is not the name of a variable for secrets.",
            VARIABLE,
        ),
        (
            "db.storage_password = { env = 'SINDPLAN_SECRET_' }",
            "db.storage_password.env",
            "This is not the name of a variable for secrets.",
            VARIABLE,
        ),
        (
            "db.storage_password = { env = 'SINDPLAN_SECRET_a' }",
            "db.storage_password.env",
            "This is not the name of a variable for secrets.",
            VARIABLE,
        ),
        (
            "db.storage_password = { file = '/etc/passwd' }",
            "db.storage_password.file",
            "This is not the path of a secret.",
            BELOW,
        ),
        (
            "db.storage_password = { file = '../x' }",
            "db.storage_password.file",
            "This is not the path of a secret.",
            BELOW,
        ),
        (
            "db.storage_password = { file = 'a/../b' }",
            "db.storage_password.file",
            "This is not the path of a secret.",
            BELOW,
        ),
        (
            "db.storage_password = { file = '~/x' }",
            "db.storage_password.file",
            "This is not the path of a secret.",
            BELOW,
        ),
        ("db.storage_password = { file = '' }", "db.storage_password.file", "This is not the path of a secret.", BELOW),
        (
            "db.storage_password = { file = './' }",
            "db.storage_password.file",
            "This is not the path of a secret.",
            BELOW,
        ),
        (
            'db.storage_password = { file = "a\\nb" }',
            "db.storage_password.file",
            "This is not the path of a secret.",
            BELOW,
        ),
        (
            "db.storage_password = { vault = 'x' }",
            "db.storage_password.vault",
            "There is no such key here.",
            "The keys here are `env` and `file`.",
        ),
        (
            "db = { managed = false, storage_password = 'x' }",
            "db.storage_password",
            "The db node is not managed, so nobody sets its database up.",
            "Remove it.",
        ),
        (
            "managed = false\ndb.storage_password = { env = 'SINDPLAN_SECRET_A' }",
            "db.storage_password",
            "The db node is not managed, so nobody sets its database up.",
            "Remove it.",
        ),
    ],
)
def test_secrets(tmp_path: Path, lines: str, key: str, what: str, fix: str) -> None:
    assert said_of_cluster(tmp_path, lines) == [(key, what, fix)]


@pytest.mark.parametrize(
    "lines",
    [
        "db.storage_password = 'correct.horse=battery!'",
        f"db.storage_password = '{'x' * 79}'",
        "db.storage_password = { env = 'SINDPLAN_SECRET_DB_2' }",
        "db.storage_password = { file = 'lab/db password' }",
        "db = { managed = false }",
    ],
)
def test_what_is_allowed(tmp_path: Path, lines: str) -> None:
    read_text(tmp_path, f'{HEAD}[{CLUSTER}]\nimage = "x"\n{lines}')


SECRET = "hunter2hunter2"


@pytest.mark.parametrize(
    "value",
    [
        f"'{SECRET} '",
        f"{{ env = '{SECRET}' }}",
        f"{{ file = '/{SECRET}' }}",
        f"{{ env = '{SECRET}', file = '{SECRET}' }}",
        f"['{SECRET}']",
        "0x12345678",
    ],
)
def test_no_message_shows_what_was_said(tmp_path: Path, value: str) -> None:
    (file,) = write(tmp_path, state=f'{HEAD}[{CLUSTER}]\nimage = "x"\ndb.storage_password = {value}')
    found = problems(file)
    assert found
    assert not any(secret in str(problem) for problem in found for secret in (SECRET, str(0x12345678)))


def test_no_representation_shows_a_password(tmp_path: Path) -> None:
    text = f'{HEAD}[{CLUSTER}]\nimage = "x"\ndb.storage_password = "{SECRET}"'
    assert SECRET not in repr(read_text(tmp_path, text))


@SETTINGS
@given(st.text(max_size=90))
def test_passwords(text: str) -> None:
    bad = set(text) - set(string.ascii_letters + string.digits + "!$%&()*+,-./:;<=>?@[]^_{|}~")
    fault = fault_of_password(text)
    assert (fault is None) == (not bad and 1 <= len(text) <= 79)
    assert fault in {None, PASSWORD[0].lower() + PASSWORD[1:-1]}


def test_plain_secrets(tmp_path: Path) -> None:
    text = f"""{HEAD}
[realms.b.clusters.plain]
image = "x"
db.storage_password = "pl4in"
[realms.a.clusters]
env = {{ image = "x", db.storage_password.env = "SINDPLAN_SECRET_DB" }}
none = {{ image = "x", db = {{}} }}
text = {{ image = "x", db = {{}}, slurm.slurmdbd = "DebugLevel=info\\n storagepass = x" }}
main = {{ image = "x", slurm.main = "JobCompPass=x\\nAccountingStoragePass=/run/munge/socket" }}
socket = {{ image = "x", slurm.main = "AccountingStoragePass=/run/munge/socket" }}
comment = {{ image = "x", db = {{}}, slurm.slurmdbd = "# StoragePass=x\\nOldStoragePass=z # StoragePass=y" }}
[realms.a.clusters.fragments]
image = "x"
db = {{}}
slurm.slurmdbd = {{ 10-a = "PurgeEventAfter=1month", 20-b = "StoragePass=x" }}
"""
    assert plain_secrets(read_text(tmp_path, text)) == (
        PlainSecret("a", "fragments", ("slurm", "slurmdbd", "20-b")),
        PlainSecret("a", "main", ("slurm", "main")),
        PlainSecret("a", "text", ("slurm", "slurmdbd")),
        PlainSecret("b", "plain", ("db", "storage_password")),
    )
