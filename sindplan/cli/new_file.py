"""State files that commands write: never over another file, whole or not at all."""

import os
from pathlib import Path

from sindplan.cli.whole_files import why
from sindplan.errors import SindplanError

OWNER_ONLY = 0o600
"""What is written down of clusters that run, or of a file that may have been closed: its owner opens it to others."""
AS_USUAL = 0o666
"""As the user's umask has it."""


def write_new(path: Path, text: str, mode: int, option: str) -> None:
    """Write a file that is not there yet, with its mode from the start.

    Args:
        option: The command's option that names the file.

    Raises:
        SindplanError: Something is there, or it cannot be written; then nothing is there afterwards.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    except FileExistsError:
        raise SindplanError(f"{path} exists; it was left as it is.", f"Name another with {option}.") from None
    except (OSError, ValueError) as error:
        raise SindplanError(f"{path} cannot be written: {why(error)}.") from None
