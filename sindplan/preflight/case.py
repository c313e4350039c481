"""What the checks of a plan look at."""

from attrs import frozen

from sindplan.model.layout import Layout
from sindplan.observe.inventory import Inventory
from sindplan.observe.observation import Observation
from sindplan.plan.plan import Plan
from sindplan.preflight.host import Machine


@frozen(kw_only=True)
class Case:
    """What the checks look at.

    Attributes:
        plain_secrets: Where secrets stand in plain text.
        allow_job_loss: Whether jobs may be lost or begun anew.
    """

    layout: Layout
    observation: Observation
    plan: Plan
    machine: Machine
    plain_secrets: tuple[str, ...] = ()
    allow_job_loss: bool = False

    @property
    def inventory(self) -> Inventory:
        """Everything on the engine."""
        return self.observation.inventory
