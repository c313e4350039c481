"""Addresses: where a resource stands. `sind/dev/node/worker-3`; a prefix selects everything below it."""

import re
from collections.abc import Iterable
from functools import lru_cache, total_ordering

from attrs import frozen

MESH = "@mesh"
"""Stands in the place of a cluster for what all clusters of a realm share; no cluster can be called so."""

_DIGITS = re.compile(r"([0-9]+)")


@lru_cache(maxsize=4096)
def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key by which `worker-2` comes before `worker-10`."""
    # The expression has one group: every second part is a number.
    parts = enumerate(_DIGITS.split(text))
    return tuple(_number(part) if place % 2 else (1, 0, part) for place, part in parts if part)


def _number(digits: str) -> tuple[int, int, str]:
    # Numbers are ordered by length, then as text: whoever wrote them, they may be longer than Python reads.
    significant = digits.lstrip("0")
    return 0, len(significant), significant


@total_ordering
@frozen(order=False)
class Address:
    """A path of names that identifies one resource for ever, whatever Docker calls or numbers it.

    Attributes:
        parts: `(realm, cluster or "@mesh", kind, name…)`; shorter ones name a realm or a cluster.
    """

    parts: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read `sind/dev/node/worker-3`. Raises ValueError when a part is empty."""
        parts = tuple(text.split("/"))
        if not all(parts):
            raise ValueError(f"{text!r} is not an address: an address is names joined by single slashes")
        return cls(parts)

    def __str__(self) -> str:
        return "/".join(self.parts)

    def __truediv__(self, name: str) -> "Address":
        return Address((*self.parts, *name.split("/")))

    def __lt__(self, other: "Address") -> bool:
        return self._key() < other._key()

    def _key(self) -> tuple[tuple[tuple[tuple[int, int, str], ...], ...], tuple[str, ...]]:
        # The parts decide between `worker-1` and `worker-01`.
        return tuple(natural(part) for part in self.parts), self.parts

    @property
    def realm(self) -> str:
        """The realm, the first part."""
        return self.parts[0]

    @property
    def cluster(self) -> str:
        """The cluster, or `@mesh`."""
        return self.parts[1]

    @property
    def kind(self) -> str:
        """The word after the cluster, such as `network` or `node`; empty for a cluster itself."""
        return "".join(self.parts[2:3])

    @property
    def name(self) -> str:
        """The last part."""
        return self.parts[-1]

    @property
    def scope(self) -> "Address":
        """The cluster or mesh this belongs to: the unit of rolling back."""
        return Address(self.parts[:2])

    def below(self, prefix: "Address") -> bool:
        """Say whether `prefix` selects this address."""
        return self.parts[: len(prefix.parts)] == prefix.parts


def below_any(address: Address, prefixes: Iterable[Address]) -> bool:
    """Say whether one of the prefixes selects the address."""
    return any(address.below(prefix) for prefix in prefixes)
