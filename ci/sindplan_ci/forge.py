"""What is asked of a forge, whichever it is."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from sindplan_ci.review import is_digest

_PRIVILEGES = ":privileges:"
"""Stands in the text of an approval that allows privileges, before the hash of those."""
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Request:
    """A pull or merge request.

    Attributes:
        number: By which the forge names it.
        head: Its newest commit, in full.
    """

    number: int
    head: str
    labels: frozenset[str]


@dataclass(frozen=True)
class Approval:
    """What the bot has approved: it is written down where only the bot can write.

    Attributes:
        digest: Of the plan.
        privileges: Hash of the privileges that its new nodes may have (`Review.hashed_privileges`); empty when they get none.
    """

    digest: str
    privileges: str

    def __str__(self) -> str:
        """Return the text by which a forge keeps it."""
        return f"{self.digest}{_PRIVILEGES}{self.privileges}" if self.privileges else self.digest

    @classmethod
    def read(cls, text: str) -> "Approval | None":
        """Return what a text approves; None when it is not, to the letter, one that an approval has."""
        digest, mark, privileges = text.partition(_PRIVILEGES)
        right = is_digest(digest) and (not mark or _HASH.fullmatch(privileges))
        return cls(digest, privileges) if right else None


class Forge(Protocol):
    """A forge, and the bot that the token is of."""

    def open_requests(self, head: str, base: str) -> Collection[Request]:
        """Return the open requests onto a branch whose newest commit is this one."""

    def merged_request(self, commit: str, base: str) -> Request | None:
        """Return the request whose merge onto a branch has made this commit."""

    def files(self, request: Request) -> frozenset[str]:
        """Return the paths that a request touches: both of what it renames."""

    def comment(self, request: Request, marker: str, body: str) -> None:
        """Write the bot's comment that begins with a marker: over the one that it wrote before."""

    def decide(self, request: Request, approval: Approval | None, verdict: str) -> None:
        """Say of a request's newest commit that its plan is approved, or with None that it is not."""

    def approved(self, head: str) -> Approval | None:
        """Return what the bot's newest decision about exactly this commit approves; None when that is nothing."""
