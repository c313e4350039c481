"""The steps in which a node is replaced, as data; what they do is in `node_replacement`.

The old container is renamed and its successor made beside it, with nothing stopped yet. Then the old one is stopped, what must
survive moves over, and the new one starts: about a second without the node. Only when it has proved that it works, the old one goes.
Every step can be taken back until then; where a newer Slurm starts on what an older one wrote, only until that.
"""

from collections.abc import Mapping

from sindplan.kinds.mesh_replacing import is_up
from sindplan.kinds.node_resource import Node
from sindplan.kinds.powering import STOP_SERVER, is_server
from sindplan.model.kind import After, Depending, Phase, Step, Steps, Where

_BEFORE = (
    # Of its lane and of what must be newer, the planner lets the first step of a replacement wait for the last.
    After("node.discard", Where.EARLIER),
    After("mesh-network.create", Where.NEEDED),
    After("network.create", Where.NEEDED),
    After("volume.create", Where.NEEDED),
    *is_up("dns", "relay"),
    # It starts with the files as they will be, and jobs are gone from what leaves.
    After("file.write", Where.CLUSTER),
    After("file.remove", Where.CLUSTER),
    After("key.write", Where.CLUSTER),
    After("slurm.drain", Where.CLUSTER),
    After("slurm.power-off", Where.CLUSTER),
    After("node.start", Where.NEEDED),
    After("service.start", Where.NEEDED),
    After("service.reconfigure", Where.NEEDED),
    After("service.restart", Where.NEEDED),
)
_ASKED = (
    # Slurm must be asked who is busy, and may be down until then.
    After("node.start", Where.BESIDE),
    After("node.power-on", Where.BESIDE),
    After("service.start", Where.CLUSTER),
)
_DRAIN = Step("node.drain", "draining", after=(*_BEFORE, *_ASKED))
_KEEP = Step("node.keep", "keeping a copy of what the older Slurm wrote", after=_BEFORE)
_MAKE = Step("node.succeed", "making its successor", after=_BEFORE)
_SWAP = Step("node.swap", "changing over")
_UPGRADE = Step("node.upgrade", "changing over to a newer Slurm, from which there is no way back", final=True)
_PROVE = Step("node.prove", "waiting until Slurm uses it")
_DISCARD = Step("node.discard", "removing the old container")


def _replacing(*steps: Step) -> Depending:
    """Return the steps of a manner; a server that shall be off serves the others until they are."""

    def choose(_: Node, after: Node) -> Steps:
        return (*steps, STOP_SERVER) if after.power == "stopped" and is_server(after) else steps

    return Depending(choose, (*steps, STOP_SERVER))


REPLACE: Mapping[str, Depending] = {
    "plain": _replacing(_MAKE, _SWAP, _PROVE, _DISCARD),
    "worker": _replacing(_DRAIN, _MAKE, _SWAP, _PROVE, _DISCARD),
    "upgrade": _replacing(_KEEP, _MAKE, _UPGRADE, _PROVE, _DISCARD),
}
"""Steps by the manner in which a node is replaced (`Node.manner`)."""

RENAME = Step("node.rename", "renaming")
RESTORE = Step(
    "node.restore",
    "putting the old container back",
    after=(After("file.write", Where.CLUSTER), After("file.remove", Where.CLUSTER)),
)
FORGET = Step("node.forget", "removing the old container", Phase.REMOVE)
