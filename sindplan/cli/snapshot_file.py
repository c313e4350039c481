"""Snapshot files: bounded, and told what is wrong with them."""

from pathlib import Path
from typing import TYPE_CHECKING

from sindplan.cli.whole_files import read_bounded

if TYPE_CHECKING:
    from sindplan.snapshots.snapshot import Snapshot


def read_snapshot_file(path: Path) -> "Snapshot":
    """Return the snapshot in a file. Raises SindplanError."""
    from sindplan.snapshots.reading import read_snapshot

    return read_snapshot(path, snapshot_bytes(path))


def snapshot_bytes(path: Path) -> bytes:
    """Return what is in a file that may be a snapshot. Raises SindplanError."""
    from sindplan.snapshots.reading import LARGEST_SNAPSHOT

    return read_bounded(path, LARGEST_SNAPSHOT)
