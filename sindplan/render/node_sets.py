"""Many names as one, in Slurm's notation: `sind/dev/node/worker-[0-2]`."""

import re
from collections.abc import Iterable, Sequence

from ClusterShell.RangeSet import RangeSet

from sindplan.model.address import natural

NUMBERED = re.compile(r"\bworker-(0|[1-9][0-9]{0,8})\b")
_LISTED = re.compile(r"\bworker-(?:0|[1-9][0-9]{0,8})(?:,worker-(?:0|[1-9][0-9]{0,8})){7,}\b")
"""Eight workers or more with commas between them, as files of Slurm's list them."""


def fold(names: Iterable[str]) -> list[str]:
    """Fold names that differ by a worker's number only: `sind/dev/node/worker-[0-2]`."""
    patterns: dict[str, list[int]] = {}
    plain: list[str] = []
    for name in names:
        found = NUMBERED.search(name)
        if found:
            patterns.setdefault(name[: found.start(1)] + "\0" + name[found.end(1) :], []).append(int(found[1]))
        else:
            plain.append(name)
    folded = [pattern.replace("\0", _range(numbers)) for pattern, numbers in patterns.items()]
    return sorted([*plain, *folded], key=natural)


def fold_lists(line: str) -> str:
    """Fold long lists of workers within a line; what they name stays the same."""
    return _LISTED.sub(lambda found: "".join(fold(found[0].split(","))), line)


def _range(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return str(numbers[0])
    return f"[{RangeSet.fromlist(map(str, numbers))}]"
