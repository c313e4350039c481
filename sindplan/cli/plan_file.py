"""Plan files: written so that only their owner can read them, and never over anything but another plan."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sindplan.cli.whole_files import read_bounded, write_whole
from sindplan.errors import SindplanError

if TYPE_CHECKING:
    from sindplan.saved import SavedPlan

LARGEST_PLAN = 32 * 1024 * 1024
"""Bytes. A plan of 1,000 nodes has about 6 MiB."""
_MODE = 0o600
"""A plan says where everything is and what is run: its owner's business."""


def check_free(path: Path) -> None:
    """Demand that a plan can be saved there without anything else being lost. Raises SindplanError."""
    if not path.exists() and not path.is_symlink():
        return
    try:
        read_plan_file(path)
    except SindplanError:
        raise SindplanError(
            f"{path} exists and is not a plan that sindplan saved; it was left as it is.", "Name another with --out."
        ) from None


def write_plan(path: Path, data: bytes) -> None:
    """Save a plan, whole or not at all. Raises SindplanError."""
    write_whole(path, data, _MODE)


def read_plan_file(path: Path) -> "SavedPlan":
    """Return the plan in a file. Raises SindplanError."""
    from sindplan.saved import read_plan

    return read_plan(path, read_bounded(path, LARGEST_PLAN))


def read_plan_document(path: Path) -> dict[str, Any]:
    """Return the document in a file, to be shown. Raises SindplanError."""
    from sindplan.render.reading import read_document

    return read_document(path, read_bounded(path, LARGEST_PLAN))
