"""Rewriting a file of the user's: whole or not at all, in its place, with its mode and owner."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from sindplan.errors import SindplanError


def rewrite(path: Path, before: bytes, after: bytes) -> None:
    """Put other contents into a file that is there; a link stays a link.

    Args:
        before: What was read from it; if that is not there any more, the file is left as it is.

    Raises:
        SindplanError: It cannot be written, or somebody else has written it meanwhile.
    """
    try:
        target = path.resolve(strict=True)
        there = target.stat()
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(after)
                file.flush()
                # Somebody else's file stays theirs where this may be done at all.
                with suppress(PermissionError):
                    os.fchown(file.fileno(), there.st_uid, there.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(there.st_mode))
                os.fsync(file.fileno())
            _demand(target, before)
            beside.replace(target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise SindplanError(f"{path} cannot be written: {error.strerror}.", "It was left as it is.") from None


def _demand(path: Path, content: bytes) -> None:
    if path.read_bytes() != content:
        raise SindplanError(f"{path} was changed meanwhile; it was left as it is.", "Run the command again.")
