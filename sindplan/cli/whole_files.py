"""Files that commands read and write: bounded; whole or not at all, and never over anything that is not such a file already."""

import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

from sindplan.errors import SindplanError


def read_bounded(path: Path, largest: int) -> bytes:
    """Return what is in a file, of at most `largest` bytes. Raises SindplanError."""
    from sindplan.statefile.files import read_at_most, reason

    try:
        data = read_at_most(path, largest)
    except (OSError, ValueError) as error:
        raise SindplanError(f"{path} cannot be read: {reason(error)}.") from None
    if data is None:
        raise SindplanError(f"{path} is larger than {largest // 1024**2} MiB.")
    return data


def write_whole(path: Path, data: bytes, mode: int) -> None:
    """Write a file in one step: who reads it meanwhile has the old one or the new one. Raises SindplanError.

    Args:
        mode: Its permissions, whatever the umask is.
    """
    beside = path.with_name(f".{path.name[:200]}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                os.fchmod(file.fileno(), mode)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        raise SindplanError(f"{path} cannot be written: {why(error)}.") from None


def check_replaceable(path: Path, noun: str, is_one: Callable[[bytes], bool], longest: int) -> None:
    """Demand that a file can be written there without anything else being lost. Raises SindplanError.

    Args:
        noun: What may be there, such as `a snapshot`.
        is_one: Says of the bytes of a file, `longest` of them at most, whether it is such a one.
    """
    try:
        found = path.lstat()
        fits = stat.S_ISREG(found.st_mode) and (found.st_size == 0 or is_one(_beginning(path, longest)))
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise SindplanError(f"{path} cannot be looked at: {why(error)}.") from None
    if not fits:
        raise SindplanError(f"{path} exists and is not {noun}; it was left as it is.", "Name another with --out.")


def _beginning(path: Path, longest: int) -> bytes:
    with path.open("rb") as file:
        return file.read(longest)


def why(error: Exception) -> str:
    """Return why a file cannot be written, as the system says it."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
