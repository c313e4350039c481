"""What is asked of a forge, whichever it is."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol


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

    def decide(self, request: Request, digest: str, verdict: str) -> None:
        """Say of a request's newest commit that its plan is right; with an empty digest that it is not."""

    def approved(self, head: str) -> str:
        """Return the digest that the bot's newest decision about exactly this commit has; empty when there is none."""
