"""What a command line allows by name, that no plan does otherwise."""

from collections.abc import Collection

from attrs import frozen

from sindplan.model.address import Address, below_any


@frozen(kw_only=True)
class Allowed:
    """What may be lost.

    Attributes:
        jobs: Whether running jobs may be.
        data: Volumes that may be removed while their cluster stays: their addresses, or prefixes of them.
        prune: Whether clusters that are no longer declared are destroyed.
    """

    jobs: bool = False
    data: Collection[Address] = ()
    prune: bool = False

    def may_lose(self, volume: Address) -> bool:
        """Say whether a volume may be removed."""
        return below_any(volume, self.data)


NOTHING = Allowed()
