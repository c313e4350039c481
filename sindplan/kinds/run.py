"""A run: what the steps of one apply share while they work."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from attrs import Factory, define, field

from sindplan.engine.port import Engine
from sindplan.model.address import Address
from sindplan.model.declaration import OnTimeout
from sindplan.model.hidden import Hidden
from sindplan.plan.plan import Action
from sindplan.slurm.port import Slurm


@define
class Known:
    """What is learnt while running: ids and values that no plan can know beforehand.

    Steps only ever add to it, and a step reads only what the steps it waits for have added.

    Attributes:
        ids: Docker ids by address.
        made: Nodes that this run has made.
        successors: Docker ids of containers that are to take the place of others, by address.
        aside: Docker ids of containers whose successors take their places, by address.
        subnets: Subnets by cluster (or mesh) address.
        dns: Address of the DNS server by realm.
        relay_keys: Public key of the relay by realm, one line.
        host_keys: Public host keys by node address, `ssh-ed25519 …`.
    """

    ids: dict[Address, str] = Factory(dict)
    made: set[Address] = Factory(set)
    successors: dict[Address, str] = Factory(dict)
    aside: dict[Address, str] = Factory(dict)
    subnets: dict[Address, str] = Factory(dict)
    dns: dict[str, str] = Factory(dict)
    relay_keys: dict[str, str] = Factory(dict)
    host_keys: dict[Address, str] = Factory(dict)


def _say_nothing(_: str) -> None:
    """Tell nobody."""


@define
class Run:
    """One execution of one plan.

    Attributes:
        owner: Name of the declaration; goes into `sindplan.owner`.
        token: Unique to this run; goes into `sindplan.run` of what it creates, so that it can tell its own objects.
        wait: Seconds that waiting for a node may take.
        taking_back: Whether this run undoes another.
        stop: Set when the run is interrupted; steps that wait for people look at it.
        secrets: Passwords that slurmdbd has at its database, by cluster.
        drain_timeouts: Seconds to wait for the jobs of a worker that leaves, by node address.
        on_timeouts: What happens to its jobs then, likewise.
        say: Tells people what they would not expect; may be called by any thread.
        going_off: Clusters whose controller is to be powered off: what it reads only at its start, it has not read by then.
        lifted: Workers that this run has put back into service after they had been powered off.
    """

    engine: Engine
    slurm: Slurm
    owner: str
    token: str
    wait: float
    known: Known
    taking_back: bool = False
    secrets: Mapping[Address, Hidden] = Factory(dict)
    drain_timeouts: Mapping[Address, int] = Factory(dict)
    on_timeouts: Mapping[Address, OnTimeout] = Factory(dict)
    say: Callable[[str], None] = _say_nothing
    going_off: frozenset[Address] = frozenset()
    lifted: set[Address] = Factory(set)
    stop: threading.Event = Factory(threading.Event)
    _locks: dict[str, threading.Lock] = field(factory=dict, init=False)
    _guard: threading.Lock = field(factory=threading.Lock, init=False)

    @contextmanager
    def alone(self, what: str) -> Iterator[None]:
        """Keep other steps out that do the same: files of the mesh are read, changed and written whole."""
        with self._guard:
            lock = self._locks.setdefault(what, threading.Lock())
        with lock:
            yield

    def id(self, address: Address) -> str:
        """Return the Docker id of a container or network that exists by now."""
        return self.known.ids[address]


Perform = Callable[[Run, Action], None]
