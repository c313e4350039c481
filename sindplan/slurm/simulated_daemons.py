"""Which daemons of a simulated node start: the rules by which real ones refuse to, those that sindplan must get right.

Keys and files with the wrong mode or owner, a worker without a line, a database that nobody set up, a password that was not filled in.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from sindplan.engine.records import Container, Entry
from sindplan.engine.simulated import SimulatedEngine
from sindplan.slurm.files import CONFIG, NODES_FILE, node_lines
from sindplan.slurm.simulated_configuration import refusal
from sindplan.slurm.versions import step

MUNGE_KEY = "/etc/munge/munge.key"
SLURM_KEY = f"{CONFIG}/slurm.key"
_HOST_KEY = "/etc/ssh/ssh_host_ed25519_key"
_SQL = "/etc/sindplan/database.sql"
_TABLES = "/var/lib/mysql"
_DBD = "slurmdbd.conf"
_MUNGE_MODE, _SECRET_MODE, _SQL_MODE = 0o400, 0o600, 0o640
_OTHERS = 0o077
_SYMBOLS = (b"<secret", b"<hidden>")


class Machine(Protocol):
    """What the rules ask of the simulated nodes."""

    @property
    def engine(self) -> SimulatedEngine:
        """The engine."""

    def text(self, container: Container, name: str) -> str:
        """Return a file of /etc/slurm."""

    def texts(self, container: Container) -> Mapping[str, str]:
        """Return the files below /etc/slurm."""

    def neighbour(self, container: Container, short: str) -> Container | None:
        """Return another node of the cluster."""

    def wrote(self, container: Container) -> str:
        """Return the version of the slurmctld that last wrote the cluster's state."""

    def active(self, container: Container, unit: str) -> bool:
        """Say whether a unit runs."""


Rule = Callable[[Machine, Container, Collection[str]], bool]
"""Says whether a daemon of a container starts, beside the units that run there."""


def can_start(machine: Machine, container: Container, running: Collection[str], unit: str) -> bool:
    """Say whether a unit starts."""
    rule = _RULES.get(unit)
    return rule is None or rule(machine, container, running)


def by_slurm_key(machine: Machine, container: Container) -> bool:
    """Say whether a node's daemons authenticate by slurm.key instead of munge."""
    return "AuthType=auth/slurm" in machine.text(container, "slurm.conf")


def _closed(machine: Machine, container: Container, path: str, mode: int) -> bool:
    """Say whether a file is there, belongs to somebody else than root, and is as closed as its reader demands."""
    found = machine.engine.get_files(container.id, path).get(path)
    return found is not None and found.mode == mode and (found.uid or found.gid) != 0 and bool(found.content)


def _authenticates(machine: Machine, container: Container, running: Collection[str]) -> bool:
    if by_slurm_key(machine, container):
        return _closed(machine, container, SLURM_KEY, _SECRET_MODE)
    return "munge.service" in running


def _munge(machine: Machine, container: Container, _: Collection[str]) -> bool:
    return _closed(machine, container, MUNGE_KEY, _MUNGE_MODE)


def _sshd(machine: Machine, container: Container, _: Collection[str]) -> bool:
    key = machine.engine.get_files(container.id, _HOST_KEY).get(_HOST_KEY)
    return key is not None and not key.mode & _OTHERS


def _mariadb(machine: Machine, container: Container, _: Collection[str]) -> bool:
    # sind has its users made by a command; where sindplan's file lies, it must be right.
    has_volume = any(mount.target == _TABLES for mount in container.spec.mounts)
    return not has_volume or _closed(machine, container, _SQL, _SQL_MODE)


def _slurmdbd(machine: Machine, container: Container, running: Collection[str]) -> bool:
    files = machine.engine.get_files(container.id, CONFIG)
    own = [entry for path, entry in files.items() if entry.kind == "file" and path.startswith(f"{CONFIG}/{_DBD}")]
    return (
        "mariadb.service" in running
        and bool(machine.text(container, _DBD))
        and all(map(_readable_by_slurmdbd, own))
        and _authenticates(machine, container, running)
    )


def _readable_by_slurmdbd(entry: Entry) -> bool:
    return entry.mode == _SECRET_MODE and entry.uid != 0 and not any(symbol in entry.content for symbol in _SYMBOLS)


def _slurmctld(machine: Machine, container: Container, running: Collection[str]) -> bool:
    if step(machine.wrote(container), container.labels.get("sind.slurm.version", "")) in ("downgrade", "too far"):
        # State that it cannot read.
        return False
    text = machine.text(container, "slurm.conf")
    if "accounting_storage/slurmdbd" in text:
        # A real one tries again every two seconds; here it is to come first.
        db = machine.neighbour(container, "db")
        if db is None or not machine.active(db, "slurmdbd.service"):
            return False
    return (
        "ClusterName=" in text and not refusal(machine.texts(container)) and _authenticates(machine, container, running)
    )


def _slurmd(machine: Machine, container: Container, running: Collection[str]) -> bool:
    lines = node_lines(machine.text(container, NODES_FILE))
    return container.spec.hostname in lines and _authenticates(machine, container, running)


def _client(machine: Machine, container: Container, running: Collection[str]) -> bool:
    return bool(machine.text(container, "slurm.conf")) and _authenticates(machine, container, running)


_RULES: Mapping[str, Rule] = {
    "munge.service": _munge,
    "sshd.service": _sshd,
    "mariadb.service": _mariadb,
    "slurmdbd.service": _slurmdbd,
    "slurmctld.service": _slurmctld,
    "slurmd.service": _slurmd,
    "slurmrestd.service": _client,
    "sackd.service": _client,
}
