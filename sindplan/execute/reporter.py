"""What an execution may tell the world: no-ops by default; the command line prints, tests write down."""

from sindplan.errors import SindplanError
from sindplan.plan.plan import Action, Plan


class Reporter:
    """Hears of an execution as it goes on; called by one thread only."""

    def planned(self, plan: Plan) -> None:
        """Hear that this plan is about to be executed."""

    def started(self, action: Action) -> None:
        """Hear that an action was started."""

    def still(self, action: Action, seconds: float) -> None:
        """Hear that an action goes on, and since when."""

    def finished(self, action: Action, seconds: float) -> None:
        """Hear that an action was done, and how long it took."""

    def noted(self, text: str) -> None:
        """Hear of something that people would not expect; called by any thread."""

    def failed(self, action: Action, error: SindplanError) -> None:
        """Hear that an action failed."""

    def taking_back(self, plan: Plan) -> None:
        """Hear that what was done is taken back by this plan."""
