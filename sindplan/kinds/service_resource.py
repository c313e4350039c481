"""A daemon as a resource: what runs, what it has read, and what it reads only once."""

from collections.abc import Mapping
from typing import ClassVar

from attrs import field, frozen

from sindplan.kinds import roles
from sindplan.kinds.node_resource import replaced_before
from sindplan.model.address import Address
from sindplan.model.resource import IGNORED, IN_PLACE, Resource

STALE = "not read yet"
"""Stands for the configuration of a daemon that has not been told of the last change."""
OWED: Mapping[str, str] = {"restart": "owed"}
"""Stands for what a daemon has read at its start when it has not been restarted since the files changed."""


@frozen(kw_only=True)
class Service(Resource):
    """A daemon on a node.

    Attributes:
        config: Digest of the files that slurmctld or slurmdbd reads; empty for other daemons.
        read_at_start: The parameters that the daemon reads only at its start. A backup slurmctld has none: it is restarted with
            the first one.
        registered: Whether the first slurmctld has a database that knows the cluster; never of other daemons.
        after: Daemons of other nodes that must run first.
    """

    KIND: ClassVar[str] = "service"
    FOLLOWS_POWER: ClassVar[bool] = True

    node: Address = field(metadata=IGNORED)
    unit: str = field(metadata=IGNORED)
    active: bool = field(metadata=IN_PLACE)
    config: str = field(default="", metadata=IN_PLACE)
    read_at_start: Mapping[str, str] = field(factory=dict, metadata=IN_PLACE)
    registered: bool = field(default=False, metadata=IN_PLACE)
    after: frozenset[Address] = field(default=frozenset(), metadata=IGNORED)

    @property
    def needs(self) -> frozenset[Address]:
        """The node, and the daemons without which this one does not start."""
        name = self.unit.removesuffix(".service")
        same = {self.node.scope / "service" / self.node.name / other for other in roles.NEEDS.get(name, ())}
        return frozenset({self.node, *same, *self.after})

    @property
    def earlier(self) -> frozenset[Address]:
        """Of a worker's the controllers, which say whether it has joined: one that changes over cannot."""
        return replaced_before(self.node.scope, self.node.name)

    @property
    def host(self) -> Address | None:
        """The node, whose boot starts its daemons."""
        return self.node
