"""The ids that sind gives users and groups that say none (sind v0.11).

They follow the order of the list, and so they change when somebody is added in its middle; sindplan's do not. Therefore a
translation says them.
"""

from collections.abc import Sequence
from itertools import count

from attrs import frozen

from sindplan.model.people import FIRST_ID, NEVER_ASSIGNED


@frozen
class Numbered:
    """A user or a group.

    Attributes:
        name: Its name.
        is_said: Whether it says an id, be it wrong.
        number: The id it says.
    """

    name: str
    is_said: bool
    number: int | None


def automatic_ids(users: Sequence[Numbered], groups: Sequence[Numbered]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the uids and gids of all that say none: the lowest that nobody has, users first."""
    taken = {one.number for one in (*users, *groups)} | NEVER_ASSIGNED
    free = (number for number in count(FIRST_ID) if number not in taken)
    uids = {user.name: next(free) for user in users if not user.is_said}
    gids = {group.name: next(free) for group in groups if not group.is_said}
    return uids, gids
