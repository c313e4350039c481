"""A cluster's network: nodes have fixed addresses in the lower half of it, Docker gives out the upper one."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import ClassVar

from attrs import field, frozen

from sindplan.errors import Conflict, NotFound, SindplanError
from sindplan.kinds import labels
from sindplan.kinds.evidence import Evidence
from sindplan.kinds.mesh_replacing import is_up
from sindplan.kinds.pinned import create_pinned
from sindplan.kinds.run import Run
from sindplan.model import names, network
from sindplan.model.address import MESH, Address
from sindplan.model.kind import After, Kind, Phase, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import IGNORED, IN_PLACE, REPLACE, EngineObject, Resource
from sindplan.plan.plan import Action


@frozen(kw_only=True)
class Network(EngineObject):
    """A cluster's bridge network.

    Attributes:
        subnet: IPv4 subnet; empty while only Docker knows.
        pinned: Whether nodes have the addresses that they should; a network of ours where none can be fixed was left by an
            apply that was killed while it was made. On another tool's, none is asked for.
        relay: Whether the realm's relay is on it.
        workers: How many workers need an address on it.
    """

    KIND: ClassVar[str] = "network"
    REMOVED_WITH: ClassVar[str] = "docker network rm"
    SHOWN: ClassVar[tuple[str, ...]] = ("subnet",)

    name: str = field(metadata=IGNORED)
    subnet: str = field(metadata=REPLACE)
    pinned: bool = field(default=True, metadata=IN_PLACE)
    relay: bool = field(metadata=IN_PLACE)
    labels: Mapping[str, str] = field(metadata=REPLACE)
    workers: int = field(default=0, metadata=IGNORED)

    @property
    def finished(self) -> bool:
        """A network that could not be pinned yet is not worth going back to."""
        return self.pinned

    @property
    def needs(self) -> frozenset[Address]:
        """The relay, to connect it."""
        return frozenset({Address((self.labels[labels.REALM], MESH, "relay"))})


_CREATE = Step("network.create", "creating")
_CONNECT = Step("network.connect", "connecting the relay", after=is_up("relay"))

KIND = Kind(
    name="network",
    resource=Network,
    create=(_CREATE, _CONNECT),
    update={"pinned": (_CREATE, _CONNECT), "relay": (_CONNECT,)},
    delete=(
        Step(
            "network.remove",
            "removing",
            Phase.REMOVE,
            after=(*is_up("relay"), After("node.remove", Where.NEEDING)),
        ),
    ),
)


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the networks that a layout wants."""
    for cluster in layout.clusters:
        yield (
            cluster.address / "network",
            Network(
                name=names.network(cluster.realm, cluster.name),
                subnet=cluster.declared.subnet or cluster.subnet,
                relay=True,
                labels=labels.network(cluster.realm, cluster.name),
                workers=max((names.worker_index(w.short) or 0 for w in cluster.workers), default=-1) + 1,
            ),
        )


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the networks that exist."""
    for cluster in evidence.clusters:
        if cluster.network is not None:
            settled = bool(cluster.network.ip_range) or cluster.by_name
            yield (
                cluster.address / "network",
                Network(
                    name=cluster.network.name,
                    subnet=cluster.network.subnet if settled else "",
                    pinned=settled,
                    relay=cluster.relay_connected,
                    labels=labels.said(cluster.network.labels, labels.network("", "")),
                    id=cluster.network.id,
                    run=cluster.network.labels.get(labels.RUN, ""),
                ),
            )


def create(run: Run, action: Action) -> None:
    """Create a network with a pinned subnet."""
    (change,) = action.changes
    wanted_ = change.after
    assert isinstance(wanted_, Network)
    if change.before is not None:
        _take_down(run, change.address)
    made = create_pinned(run, wanted_.name, wanted_.labels, subnet=wanted_.subnet, pin="upper")
    run.known.ids[change.address] = made.id
    run.known.subnets[action.scope] = made.subnet
    fit = network.workers_that_fit(made.subnet)
    if wanted_.workers > fit:
        raise SindplanError(
            f"The network {made.subnet} that Docker chose has addresses for {fit} workers, and "
            f"worker-{wanted_.workers - 1} needs one.",
            'Set the cluster\'s `subnet` to a larger one, such as subnet = "10.83.0.0/16".',
        )


def connect(run: Run, action: Action) -> None:
    """Put the realm's relay on the network."""
    (change,) = action.changes
    try:
        run.engine.connect(run.id(change.address), run.id(Address((change.address.realm, MESH, "relay"))))
    except Conflict:
        # It is there already: what was wanted.
        return


def remove(run: Run, action: Action) -> None:
    """Take the relay off the network and remove it."""
    (change,) = action.changes
    _take_down(run, change.address)


def _take_down(run: Run, address: Address) -> None:
    relay = run.known.ids.get(Address((address.realm, MESH, "relay")))
    if relay is not None:
        # Both may be gone by now: the relay, or the network.
        with suppress(NotFound):
            run.engine.disconnect(run.id(address), relay)
    remove_network(run, address)


def remove_network(run: Run, address: Address) -> None:
    """Remove a network that nothing of ours is on any more; raise SindplanError when something else is."""
    network_id = run.id(address)
    try:
        run.engine.remove_network(network_id)
    except NotFound:
        return
    except Conflict as refused:
        found = run.engine.inspect_network(network_id)
        members = ", ".join(sorted(found.members.values())) if found else ""
        raise SindplanError(
            f"The network {address} is still used by containers that sindplan did not make: {members or refused.text}.",
            "Disconnect them (docker network disconnect) and run the same command again.",
        ) from refused


PERFORM = {"network.create": create, "network.connect": connect, "network.remove": remove}
