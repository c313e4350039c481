"""The steps in which nodes are made, come up and go down, as data; what they do is in `node_power` and `node_joining`.

Up come first those that others need, the db, then the controllers; down they go last.
"""

from sindplan.kinds import labels
from sindplan.kinds.mesh_replacing import is_up
from sindplan.kinds.node_resource import Node
from sindplan.model import names
from sindplan.model.kind import After, Depending, Phase, Step, Steps, Where

CREATE = Step(
    "node.create",
    "creating",
    after=(
        After("mesh-network.create", Where.NEEDED),
        After("network.create", Where.NEEDED),
        After("volume.create", Where.NEEDED),
        *is_up("dns", "relay"),
    ),
)
START = Step(
    "node.start",
    "starting",
    after=(
        After("node.create", Where.SAME),
        After("boot.set", Where.NEEDING),
        After("node.start", Where.NEEDED),
        After("service.start", Where.NEEDED),
        After("file.write", Where.CLUSTER),
        After("file.remove", Where.CLUSTER),
        After("key.write", Where.CLUSTER),
        # A worker of which slurmctld has not heard gives up; other nodes may come first, and some must.
        After("service.reconfigure", Where.NEEDED),
        After("node.prove", Where.EARLIER),
        After("service.restart", Where.NEEDED),
    ),
)
POWER_ON = Step(
    "node.power-on",
    "powering on",
    # Up as they went down: first what others need.
    after=(*START.after, After("node.start", Where.BESIDE)),
)
STOP = Step("node.stop", "powering off", Phase.STOP, last=True)
STOP_SERVER = Step(
    "node.stop-server",
    "powering off",
    Phase.STOP,
    # Workers first, then the controllers, the backup before the one that it would stand in for, then the db.
    after=(After("node.stop", Where.CLUSTER), After("node.stop-server", Where.NEEDING)),
    last=True,
)
JOIN = Step(
    "node.join",
    "joining Slurm",
    after=(
        After("node.connect", Where.CLUSTER),
        After("node.start", Where.BESIDE),
        After("node.restore", Where.CLUSTER),
        After("node.power-on", Where.BESIDE),
        After("service.start", Where.CLUSTER),
        After("service.reconfigure", Where.CLUSTER),
        # Of records that a new controller lacks, the workers may be replaced meanwhile.
        After("node.prove", Where.NEEDED),
        After("node.prove", Where.EARLIER),
        After("service.restart", Where.CLUSTER),
    ),
    batch=True,
)
"""Waiting until slurmctld can use the workers: one action a cluster, taken by nodes, daemons and Slurm's records alike."""

_SERVERS = ("controller", "db")


def is_server(node: Node) -> bool:
    """Say whether others need a node: it is the last to go down, and the first to come up."""
    return node.labels[labels.ROLE] in _SERVERS


def stopping(node: Node) -> Step:
    """Return the step that powers a node off."""
    return STOP_SERVER if is_server(node) else STOP


def _making(_: Node | None, after: Node) -> Steps:
    """Return what makes a node; one that shall be off is started once, so that it is whole, and stopped."""
    if after.power == "running":
        return (CREATE, START, JOIN)
    if after.short == names.CONTROLLER:
        return (CREATE, START, JOIN, STOP_SERVER)
    return (CREATE, START, stopping(after))


def _powering(before: Node, after: Node) -> Steps:
    """Return what brings a node to a power."""
    if not before.made:
        # That it is made includes it.
        return ()
    if after.power == "stopped":
        return (stopping(after),)
    return (START if is_server(after) or before.power == "paused" else POWER_ON, JOIN)


MAKE = Depending(_making, (CREATE, START, JOIN, STOP, STOP_SERVER))
POWERING = Depending(_powering, (START, POWER_ON, JOIN, STOP, STOP_SERVER))
