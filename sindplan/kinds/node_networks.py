"""The networks of nodes that are there already."""

from sindplan.kinds.node_resource import Node
from sindplan.kinds.run import Run
from sindplan.model import names, network
from sindplan.plan.plan import Action


def connect(run: Run, action: Action) -> None:
    """Put a node on the networks, at the addresses, that it should have."""
    (change,) = action.changes
    before, after = change.before, change.after
    assert isinstance(before, Node)
    assert isinstance(after, Node)
    put_on(run, run.id(change.address), before, after)


def put_on(run: Run, container: str, before: Node, after: Node) -> None:
    """Put a container, which is on the networks of one node, on those of another."""
    for name in {**before.networks, **after.networks}:
        # Also one that it only seems to be on: what it holds on to is in the way of another of that name.
        if before.networks.get(name) != after.networks.get(name):
            run.engine.disconnect(name, container)
    for name, address in after.networks.items():
        if before.networks.get(name) != address:
            own = name == names.network(after.cluster.realm, after.cluster.cluster)
            resolved = network.resolve(address, run.known.subnets.get(after.cluster, ""))
            run.engine.connect(name, container, resolved, gw_priority=1 if own else 0)


PERFORM = {"node.connect": connect}
