"""Snapshots as bytes, and back: a file that anybody may have written is read with every problem of it told at once."""

import json
from pathlib import Path
from typing import Any

from sindplan import __version__
from sindplan.bounded import json_of
from sindplan.errors import Problem, SindplanError, SnapshotInvalid
from sindplan.snapshots.checks import check
from sindplan.snapshots.codec import Decoder, DoesNotFit, Fault, encode
from sindplan.snapshots.snapshot import FORMAT, Snapshot

LARGEST_SNAPSHOT = 256 * 1024 * 1024
"""Bytes. One of 1,000 nodes has about 10 MiB."""
MOST_TOLD = 50
"""Problems that are told one by one."""
KIND = "sindplan snapshot"
_ANEW = "Take one anew, on the Docker host: sindplan snapshot --out FILE"


def write_snapshot(snapshot: Snapshot) -> bytes:
    """Return a snapshot as bytes: the same for the same snapshot."""
    content = {"kind": KIND, "format": FORMAT, **encode(snapshot)}
    return f"{json.dumps(content, indent=1, ensure_ascii=False)}\n".encode()


def is_snapshot(beginning: bytes) -> bool:
    """Say by the first bytes of a file whether it is one that `write_snapshot` has made, of any version."""
    return beginning.startswith(f'{{\n "kind": "{KIND}",'.encode())


def is_rehearsal(data: bytes) -> bool:
    """Say of a whole file that `write_snapshot` has made whether a simulated engine is kept in it."""
    # A line break stands in no JSON text, so this is a key of the outermost table.
    return is_snapshot(data) and b'\n "simulated": {' in data


def read_snapshot(path: Path, data: bytes) -> Snapshot:
    """Return the snapshot in a file's bytes. Raises SnapshotInvalid, or SindplanError for one of another version.

    Args:
        path: Where they are from, for errors.
    """
    try:
        # JSON may be in UTF-16, too; a snapshot is not.
        data.decode()
        content = json_of(data, table=_table, constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise SnapshotInvalid((Problem(path, *_place(error)),), _ANEW) from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise SnapshotInvalid((Problem(path, 0, "", "It is not a snapshot of sindplan's."),), _ANEW)
    if content.get("format") != FORMAT or isinstance(content["format"], bool):
        made_by = content.get("version")
        raise SindplanError(
            f"{path} is a snapshot of sindplan {made_by if isinstance(made_by, str) else '(another)'}, which this version "
            f"({__version__}) does not understand.",
            _ANEW,
        )
    decoder = Decoder()
    try:
        snapshot = decoder.read(Snapshot, content)
    except (DoesNotFit, RecursionError):
        raise _invalid(path, decoder.faults) from None
    if faults := list(check(snapshot)):
        raise _invalid(path, faults)
    return snapshot


def _invalid(path: Path, faults: list[Fault]) -> SnapshotInvalid:
    told = [Problem(path, 0, fault.where, f"{fault.what[:1].upper()}{fault.what[1:]}.") for fault in faults[:MOST_TOLD]]
    if len(faults) > MOST_TOLD:
        told.append(Problem(path, 0, "", f"And {len(faults) - MOST_TOLD} more."))
    return SnapshotInvalid(tuple(told), _ANEW)


def _place(error: Exception) -> tuple[int, str, str]:
    """Return line, key and sentence of a problem with the JSON itself."""
    match error:
        case json.JSONDecodeError():
            return error.lineno, "", f"It is not JSON: {error.msg} (column {error.colno})."
        case UnicodeDecodeError():
            return 0, "", f"It is not UTF-8: byte {error.start}."
        case RecursionError():
            return 0, "", "Something is nested too deep."
        case Twice():
            return 0, str(error), "The key stands twice in one table."
    return 0, "", "It is not JSON: a number that is none, or has thousands of digits."


class Twice(ValueError):
    """A key stands twice in one table."""


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise Twice(next(key for key in found if keys.count(key) > 1))
    return found


def _no_number(text: str) -> Any:  # noqa: ANN401 - it returns nothing
    raise ValueError(text)
