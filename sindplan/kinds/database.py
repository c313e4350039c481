"""slurmdbd's user at MariaDB: what it is made of, and how it follows the password in slurmdbd.conf."""

import hashlib

from attrs import evolve

from sindplan.engine.records import Entry
from sindplan.kinds.run import Run
from sindplan.slurm.files import CONFIG
from sindplan.slurm.text import statements

SQL_FILE = "/etc/sindplan/database.sql"
"""MariaDB runs it at each start (mariadbd, --init-file)."""
_CONF = f"{CONFIG}/slurmdbd.conf"


def database_sql(password: str) -> str:
    """Return what makes slurmdbd's database and user, and does nothing where they are right already.

    Args:
        password: Of the user `slurm` at MariaDB; without one the socket tells who asks.
    """
    way = f"mysql_native_password USING '{_hashed(password)}'" if password else "unix_socket"
    return (
        "CREATE DATABASE IF NOT EXISTS slurm_acct_db;\n"
        f"CREATE USER IF NOT EXISTS 'slurm'@'localhost' IDENTIFIED VIA {way};\n"
        f"ALTER USER 'slurm'@'localhost' IDENTIFIED VIA {way};\n"
        "GRANT ALL ON slurm_acct_db.* TO 'slurm'@'localhost';\n"
    )


def _hashed(password: str) -> str:
    """Return MySQL's own hash of a password (PASSWORD()), so that the password itself is in no file but slurmdbd's."""
    inner = hashlib.sha1(password.encode(), usedforsecurity=False).digest()
    return f"*{hashlib.sha1(inner, usedforsecurity=False).hexdigest().upper()}"


def password_in(*texts: str) -> str:
    """Return the password that slurmdbd.conf and its fragments say, in the order in which they are read; empty for none."""
    found = [one.value for text in texts for one in statements(text) if one.key == "storagepass"]
    return found[-1] if found else ""


def follow(run: Run, volume: str, node: str) -> None:
    """Give slurmdbd's user the password that slurmdbd.conf says by now, restarting MariaDB if it is another.

    Args:
        volume: A container that has the config volume.
        node: The db node, which runs.
    """
    content = _statements(run, volume)
    entry = run.engine.get_files(node, SQL_FILE).get(SQL_FILE) if run.engine.has_file(node, SQL_FILE) else None
    if entry is not None and entry.content != content:
        run.engine.put_files(node, [evolve(entry, content=content)])
        run.slurm.start_units(node, ["mariadb.service"], run.wait, restart=True)


def write_statements(run: Run, volume: str, node: str, gid: int) -> None:
    """Write what MariaDB runs at each start, for its group alone to read, with the password of slurmdbd.conf."""
    run.engine.put_files(node, [Entry(path=SQL_FILE, content=_statements(run, volume), mode=0o640, gid=gid)])


def _statements(run: Run, volume: str) -> bytes:
    files = run.engine.get_files(volume, CONFIG)
    texts = {path: entry.content.decode("utf-8", "replace") for path, entry in files.items() if entry.kind == "file"}
    main = texts.get(_CONF, "")
    # Files that nobody includes may lie beside it.
    included = [
        f"{CONFIG}/{one.value.removeprefix(CONFIG).lstrip('/')}" for one in statements(main) if one.key == "include"
    ]
    return database_sql(password_in(main, *(texts.get(path, "") for path in included))).encode()
