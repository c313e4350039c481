"""Secret keys of a cluster. Plans know whether a key is there, never what it says.

The munge key is 128 random bytes, mode 0400, owned by munge, in a folder of mode 0700 (munged(8) refuses anything wider). It is
made once: no later apply writes it again.
"""

import secrets
from collections.abc import Iterator
from typing import ClassVar

from attrs import field, frozen

from sindplan.engine.records import Entry
from sindplan.kinds.evidence import Evidence
from sindplan.kinds.run import Run
from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import IGNORED, Resource
from sindplan.plan.plan import Action

MUNGE = "/etc/munge/munge.key"
MUNGE_BYTES = 128


@frozen(kw_only=True)
class Key(Resource):
    """A key in a volume of a cluster; `uid` and `gid` are those of munge in the cluster's image."""

    KIND: ClassVar[str] = "key"

    cluster: Address = field(metadata=IGNORED)
    uid: int = field(default=0, metadata=IGNORED)
    gid: int = field(default=0, metadata=IGNORED)
    nodes: tuple[Address, ...] = field(default=(), metadata=IGNORED)

    @property
    def needs(self) -> frozenset[Address]:
        """The volume it lies on, and the controller it is written through."""
        return frozenset({self.cluster / "volume/munge", self.cluster / "node/controller"})

    @property
    def host(self) -> Address | None:
        """The volume: when it goes, so does the key."""
        return self.cluster / "volume/munge"


KIND = Kind(
    name="key",
    resource=Key,
    create=(Step("key.write", "making", after=(After("node.create", Where.NEEDED),)),),
)


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the keys that a layout wants."""
    for cluster in layout.clusters:
        uid, gid = cluster.controller.facts.owner("munge")
        yield (
            cluster.address / "key/munge",
            Key(
                cluster=cluster.address,
                uid=uid,
                gid=gid,
                nodes=tuple(cluster.address / "node" / node.short for node in cluster.nodes),
            ),
        )


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the keys that exist."""
    for cluster in evidence.clusters:
        if cluster.munge_key:
            yield cluster.address / "key/munge", Key(cluster=cluster.address)


def write(run: Run, action: Action) -> None:
    """Make a key and write it through the controller; nodes that run have to read it at once."""
    (change,) = action.changes
    key = change.after
    assert isinstance(key, Key)
    controller = run.id(key.cluster / "node/controller")
    if run.engine.has_file(controller, MUNGE):
        # The volume had outlived all containers that could show it.
        return
    folder = MUNGE.rpartition("/")[0]
    run.engine.put_files(
        controller,
        [
            Entry(path=folder, kind="dir", mode=0o700, uid=key.uid, gid=key.gid),
            Entry(path=MUNGE, content=secrets.token_bytes(MUNGE_BYTES), mode=0o400, uid=key.uid, gid=key.gid),
        ],
    )
    for node in key.nodes:
        # munged reads its key at its start only; one with the old key would split the cluster.
        container = run.engine.inspect_container(run.known.ids.get(node, ""))
        if container is not None and container.state == "running":
            run.slurm.start_units(container.id, ["munge.service"], run.wait, restart=True)


PERFORM = {"key.write": write}
