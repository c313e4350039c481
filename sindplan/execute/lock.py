"""The realm lock: sind's, both parts (v0.11), held for everything that changes a realm.

First a lock on a file of this user, then a config-only network whose name the engine makes exclusive. The network's labels say
who holds it. A lock is taken over only when its holder ran on this host, in this boot and process namespace, and is no more; it is
removed by id, so that a successor's is safe.
"""

import fcntl
import os
import re
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from attrs import frozen

from sindplan.engine.port import Engine
from sindplan.engine.records import Network, NetworkSpec
from sindplan.errors import Conflict, NotFound, SindplanError
from sindplan.homes import home
from sindplan.kinds import labels
from sindplan.model import names

TOKEN, _COMMAND, _HOST = "sind.lock.token", "sind.lock.command", "sind.lock.host"
_PID, _BOOT_ID, _PID_NAMESPACE = "sind.lock.pid", "sind.lock.boot-id", "sind.lock.pid-ns"
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0

Say = Callable[[str], None]
_NUMBER = re.compile("[0-9]{1,20}")


@frozen
class Waiting:
    """How long to wait for a lock, and who hears of it."""

    seconds: float
    say: Say


@contextmanager
def locked(engine: Engine, realms: Sequence[str], waiting: Waiting, *, shared: bool = True) -> Iterator[None]:
    """Hold the locks of realms, taken in sorted order so that two of us never wait for each other.

    Args:
        shared: Whether others can reach the engine; one that is simulated in this process has nothing to do with the realms of
            this user's that have the same names.

    Raises SindplanError when a lock is not to be had in time.
    """
    with ExitStack() as held:
        for realm in sorted(set(realms)):
            if shared:
                held.enter_context(_file_lock(realm, waiting))
            held.enter_context(_network_lock(engine, realm, waiting))
        yield


def sweep(engine: Engine, realms: Sequence[str]) -> None:
    """Remove locks whose holders are no more, for a command that finds nothing to do and so takes none itself."""
    own = _identity()
    for realm in sorted(set(realms)):
        left = engine.inspect_network(names.lock(realm))
        if left is not None and TOKEN in left.labels and _stale(left, own):
            _remove(engine, left.id)


@contextmanager
def _file_lock(realm: str, waiting: Waiting) -> Iterator[None]:
    path = state_folder(realm) / "lock"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SindplanError(
            f"The lock file {path} cannot be opened: {error.strerror}.", "Set XDG_STATE_HOME to a folder of yours."
        ) from None
    try:

        def taken() -> bool:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        _wait(taken, realm, waiting, lambda: "by another sindplan or sind of yours")
        yield
    finally:
        # Closing lets go of it. The file stays: removing it would let two hold "the" lock.
        os.close(handle)


@contextmanager
def _network_lock(engine: Engine, realm: str, waiting: Waiting) -> Iterator[None]:
    own = _identity()
    spec = NetworkSpec(name=names.lock(realm), labels={labels.REALM: realm, **own}, config_only=True)
    made: list[str] = []

    def taken() -> bool:
        try:
            made.append(engine.create_network(spec))
        except Conflict:
            holder = engine.inspect_network(spec.name)
            if holder is not None and holder.labels.get(TOKEN) == own[TOKEN]:
                # Created by a call whose answer was lost.
                made.append(holder.id)
                return True
            if holder is None or not _stale(holder, own):
                return False
            waiting.say(f"The lock of the realm {realm!r} is taken over: {who(holder)} is no more.")
            _remove(engine, holder.id)
            return taken()
        return True

    def holder() -> str:
        found = engine.inspect_network(spec.name)
        return f"by {who(found)}" if found else ""

    _wait(taken, realm, waiting, holder)
    try:
        yield
    finally:
        _remove(engine, made[0])


def _wait(taken: Callable[[], bool], realm: str, waiting: Waiting, holder: Callable[[], str]) -> None:
    deadline = time.monotonic() + waiting.seconds
    pause, told = _FIRST_PAUSE, False
    while not taken():
        if time.monotonic() >= deadline:
            raise SindplanError(
                f"The realm {realm!r} is locked {holder()}.",
                f"Wait for it, or, if nobody works on the realm any more: sindplan unlock {realm}",
            )
        if not told:
            waiting.say(f"Waiting for the lock of the realm {realm!r}, held {holder()} ...")
            told = True
        time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
        pause = min(pause * 2, _LONGEST_PAUSE)


def _identity() -> Mapping[str, str]:
    """Return who we are, as the lock's labels say it."""
    namespace = Path("/proc/self/ns/pid")
    return {
        TOKEN: secrets.token_hex(16),
        _COMMAND: " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]]),
        _HOST: socket.gethostname(),
        _PID: str(os.getpid()),
        _BOOT_ID: _read("/proc/sys/kernel/random/boot_id"),
        _PID_NAMESPACE: str(namespace.readlink()) if namespace.is_symlink() else "",
    }


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _stale(holder: Network, own: Mapping[str, str]) -> bool:
    """Say whether a lock's holder ran right here and is no more."""
    if TOKEN not in holder.labels:
        raise SindplanError(
            f"A network named {holder.name!r} exists that is not a realm lock; it was left as it is.",
            "Remove or rename it.",
        )
    return _runs_here(holder.labels, own) is False


def _runs_here(marks: Mapping[str, str], own: Mapping[str, str]) -> bool | None:
    """Say whether a lock's holder runs; None when it is not from this machine, boot and process namespace."""
    here = all(own[key] and marks.get(key) == own[key] for key in (_HOST, _BOOT_ID, _PID_NAMESPACE))
    pid = marks.get(_PID, "")
    if not here or not _NUMBER.fullmatch(pid):
        return None
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def is_alive_here(marks: Mapping[str, str]) -> bool:
    """Say whether a lock's holder, by the lock's labels, runs on this very machine."""
    return _runs_here(marks, _identity()) is True


def who(holder: Network) -> str:
    """Return what a lock's holder said of itself."""
    found = holder.labels
    return f"{found.get(_COMMAND, 'somebody')!r} (pid {found.get(_PID, '?')} on {found.get(_HOST, '?')})"


def _remove(engine: Engine, network: str) -> None:
    try:
        engine.remove_network(network)
    except NotFound:
        return


def state_folder(realm: str) -> Path:
    """Return the folder in which sind and sindplan keep what is this user's of a realm."""
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (base if base.is_absolute() else home("XDG_STATE_HOME") / ".local" / "state") / "sind" / realm
