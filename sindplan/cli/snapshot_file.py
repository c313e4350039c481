"""Snapshot files: bounded, and told what is wrong with them."""

from pathlib import Path
from typing import TYPE_CHECKING

from sindplan.errors import SindplanError

if TYPE_CHECKING:
    from sindplan.snapshots.snapshot import Snapshot


def read_snapshot_file(path: Path) -> "Snapshot":
    """Return the snapshot in a file. Raises SindplanError."""
    from sindplan.snapshots.reading import read_snapshot

    return read_snapshot(path, snapshot_bytes(path))


def snapshot_bytes(path: Path) -> bytes:
    """Return what is in a file that may be a snapshot. Raises SindplanError."""
    from sindplan.snapshots.reading import LARGEST_SNAPSHOT
    from sindplan.statefile.files import read_at_most, reason

    try:
        data = read_at_most(path, LARGEST_SNAPSHOT)
    except (OSError, ValueError) as error:
        raise SindplanError(f"{path} cannot be read: {reason(error)}.") from None
    if data is None:
        raise SindplanError(f"{path} is larger than {LARGEST_SNAPSHOT // 1024**2} MiB.")
    return data
