"""What the checks of a plan look at."""

from collections.abc import Mapping

from attrs import field, frozen

from sindplan.model.address import Address
from sindplan.model.declaration import OnTimeout
from sindplan.model.layout import Layout
from sindplan.observe.inventory import Inventory
from sindplan.observe.machine import Machine
from sindplan.observe.observation import Observation
from sindplan.plan.plan import Plan
from sindplan.preflight.allowed import NOTHING, Allowed


@frozen(kw_only=True)
class Case:
    """What the checks look at.

    Attributes:
        plain_secrets: Where secrets stand in plain text.
        allowed: What may be lost.
        pruned: Clusters that are no longer declared and go.
        drain_timeouts: Seconds that a worker's jobs are waited for before it leaves, by node address.
        on_timeouts: What happens to the jobs of a worker that leaves when its drain_timeout is over, by node address.
    """

    layout: Layout
    observation: Observation
    plan: Plan
    machine: Machine
    plain_secrets: tuple[str, ...] = ()
    allowed: Allowed = NOTHING
    pruned: frozenset[Address] = frozenset()
    drain_timeouts: Mapping[Address, int] = field(factory=dict)
    on_timeouts: Mapping[Address, OnTimeout] = field(factory=dict)

    @property
    def inventory(self) -> Inventory:
        """Everything on the engine."""
        return self.observation.inventory
