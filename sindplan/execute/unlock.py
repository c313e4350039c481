"""Taking a realm's lock away from a holder that is no more, and of which that cannot be told from here."""

from attrs import frozen

from sindplan.engine.port import Engine
from sindplan.errors import NotFound, SindplanError
from sindplan.execute.lock import TOKEN, is_alive_here, who
from sindplan.model import names


@frozen
class Held:
    """A realm's lock.

    Attributes:
        id: Of the network that is the lock.
        who: What its holder said of itself: command, process and host.
        alive: Whether that process runs on this very machine.
    """

    realm: str
    id: str
    who: str
    alive: bool


def held(engine: Engine, realm: str) -> Held | None:
    """Return a realm's lock on the engine; None when nobody holds it.

    Raises SindplanError when a network of its name is something else.
    """
    found = engine.inspect_network(names.lock(realm))
    if found is None:
        return None
    if TOKEN not in found.labels:
        raise SindplanError(
            f"The network {found.name!r} is not a realm lock; it was left as it is.", "Remove or rename it."
        )
    return Held(realm, found.id, who(found), is_alive_here(found.labels))


def unlock(engine: Engine, lock: Held) -> bool:
    """Remove a lock, by its id, so that a successor's stays. Returns whether it was still there."""
    try:
        engine.remove_network(lock.id)
    except NotFound:
        return False
    return True
