"""Removing a container: the same for every kind that is one."""

from contextlib import suppress

from sindplan.errors import NotFound
from sindplan.kinds.run import Run
from sindplan.plan.plan import Action


def remove_container(run: Run, action: Action) -> None:
    """Remove the container of an action's resource; one that is gone is what was wanted."""
    (change,) = action.changes
    with suppress(NotFound):
        run.engine.remove_container(run.id(change.address))
