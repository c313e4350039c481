"""What an untrusted run has left behind, read with care: the counts of a plan, its digest and privileges, and text to be shown."""

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LARGEST_PLAN = 64 * 1024 * 1024
LARGEST_TEXT = 4 * 1024 * 1024
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_COUNTED: Mapping[tuple[str, ...], str] = {
    ("create",): "create",
    ("update",): "update",
    ("delete", "create"): "replace",
    ("delete",): "delete",
}
"""What happens to a resource, by terraform's list of actions."""


class NoPlan(Exception):
    """There is no plan to be reviewed, and why."""


@dataclass(frozen=True)
class Review:
    """A plan as far as it is needed to judge it.

    Attributes:
        counts: Resources by what happens to them.
        blocked: Whether sindplan itself would refuse it.
        privileges: What new nodes get beyond their own, as anybody may have written it.
    """

    digest: str
    counts: Mapping[str, int]
    blocked: bool
    privileges: tuple[str, ...] = ()

    @property
    def destructive(self) -> bool:
        """Whether something that is there goes, for good or to be made anew."""
        return self.counts["delete"] > 0 or self.counts["replace"] > 0

    @property
    def hashed_privileges(self) -> str:
        """By which it is known again which privileges were listed: 64 hexadecimal digits, or nothing when none were."""
        return hashlib.sha256(json.dumps(self.privileges).encode()).hexdigest() if self.privileges else ""


def read_review(path: Path) -> Review:
    """Read what `sindplan plan --format json` has printed. Raises NoPlan."""
    try:
        content = json.loads(read_bounded(path, LARGEST_PLAN))
    except (ValueError, RecursionError):
        raise NoPlan(f"{path.name} is not JSON.") from None
    try:
        digest, blocked = content["sindplan"]["digest"], content["sindplan"]["blocked"]
        privileges = content["sindplan"]["privileges"]
        actions = [tuple(one["change"]["actions"]) for one in content["resource_changes"]]
    except (KeyError, TypeError):
        raise NoPlan(f"{path.name} is no plan of sindplan's.") from None
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest) or not isinstance(blocked, bool):
        raise NoPlan(f"{path.name} has no digest.")
    if not isinstance(privileges, list) or not all(isinstance(one, str) for one in privileges):
        # What is not known cannot be called none.
        raise NoPlan(f"{path.name} does not list privileges.")
    return Review(digest, _counts(actions), blocked, tuple(privileges))


def is_digest(text: Any) -> bool:  # noqa: ANN401 - it came out of JSON
    """Say whether something is a digest."""
    return isinstance(text, str) and _DIGEST.fullmatch(text) is not None


def _counts(actions: list[tuple[Any, ...]]) -> Mapping[str, int]:
    counts = dict.fromkeys(_COUNTED.values(), 0)
    for one in actions:
        try:
            counts[_COUNTED[one]] += 1
        except (KeyError, TypeError):
            # What is not known cannot be called harmless.
            raise NoPlan("A change has actions that are not known.") from None
    return counts


def read_text(path: Path) -> str:
    """Return text to be shown; what is no UTF-8 in it is marked. Raises NoPlan."""
    return read_bounded(path, LARGEST_TEXT).decode("utf-8", "replace")


def read_bounded(path: Path, most: int) -> bytes:
    """Return what is in a regular file, which is no link. Raises NoPlan."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        raise NoPlan(f"{path.name} cannot be read.") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NoPlan(f"{path.name} is no file.")
        data = file.read(most + 1)
    if len(data) > most:
        raise NoPlan(f"{path.name} has more than {most} bytes.")
    return data
