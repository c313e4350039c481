"""The user's home folder, which cron and containers need not have."""

from pathlib import Path

from sindplan.errors import SindplanError


def home(instead: str) -> Path:
    """Return the home folder.

    Args:
        instead: The variable that names a folder which is used in its place.

    Raises:
        SindplanError: There is none: no HOME, and a user id that the system does not know.
    """
    try:
        return Path.home()
    except RuntimeError:
        raise SindplanError("This user has no home folder.", f"Set HOME or {instead} to a folder of yours.") from None
