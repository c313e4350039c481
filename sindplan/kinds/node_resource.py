"""A node as a resource: its fields, what changing each costs, and what must run on it."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from attrs import field, frozen

from sindplan.engine.records import ContainerState, Mount
from sindplan.kinds import labels
from sindplan.kinds.first_boot import FirstBoot
from sindplan.model import names
from sindplan.model.address import MESH, Address
from sindplan.model.resource import IGNORED, IN_PLACE, REPLACE, EngineObject, Resource
from sindplan.plan.plan import Plan
from sindplan.slurm.versions import is_upgrade

SECURITY = ("label=disable", "writable-cgroups=true")
"""Security options of every node: without them systemd cannot run in it (sind.md 3.3)."""

Power = Literal["running", "stopped", "paused"]
POWER: Mapping[ContainerState, Power] = {
    "running": "running",
    "restarting": "running",
    "paused": "paused",
    "exited": "stopped",
    "dead": "stopped",
    "removing": "stopped",
}


@frozen(kw_only=True)
class Node(EngineObject):
    """A node container.

    Attributes:
        name: Of its container; another than its place's where a hand, or a replacement that did not finish, renamed it.
        made: Whether it was ever started. One that was not may lack what its first boot needs: an apply was killed
            while it was made.
        aside: Id of the container whose place it took, while that is there; empty otherwise.
        half: Id of a container that was to take its place and was never started.
        idle: Whether no job can be on it, though it may run: its cluster was off when it was applied last, and still is.
        successor: Id of the container that took its place; only where a replacement is taken back.
        demanded: Why it is replaced though nothing of it differs; empty without such a demand.
        short: Its short name.
        image_id: What `image` meant when it was made; wanted only where a tag is followed.
        max_unavailable: How many of its worker group may be replaced at once.
        memory: Bytes; None when the engine holds no limit. `cpus` likewise.
        networks: Fixed address by network name; empty where Docker chooses.
        mounts: By mount point.
        labels: Those of sind that do not depend on the image, and the worker group.
        declared_mib: Declared memory in MiB, from which /dev/shm gets half, limited or not.
        units: systemd units that must be active.
        after: Nodes of the cluster that must run before this one is started.
        stated: Labels that say how the cluster was when the node was made.
        boot: What its first boot must find; None for a node as it was seen.
    """

    KIND: ClassVar[str] = "node"
    REMOVED_WITH: ClassVar[str] = "docker rm -f"
    SHOWN: ClassVar[tuple[str, ...]] = ("image", "cpus", "memory", "tmp_size", "cap_add", "cap_drop", "devices")

    image: str = field(metadata=REPLACE)
    image_id: str = field(default="", metadata=REPLACE)
    demanded: str = field(default="", metadata=REPLACE)
    short: str = field(default="", metadata=IGNORED)
    # In the order in which changes are made: a node is started with its name and what it needs.
    successor: str = field(default="", metadata=IN_PLACE)
    name: str = field(metadata=IN_PLACE)
    networks: Mapping[str, str] = field(metadata=IN_PLACE)
    cpus: int | None = field(metadata=IN_PLACE)
    memory: int | None = field(metadata=IN_PLACE)
    made: bool = field(default=True, metadata=IN_PLACE)
    power: Power = field(metadata=IN_PLACE)
    aside: str = field(default="", metadata=IN_PLACE)
    half: str = field(default="", metadata=IGNORED)
    idle: bool = field(default=False, metadata=IGNORED)
    tmp_size: str = field(metadata=REPLACE)
    mounts: tuple[Mount, ...] = field(metadata=REPLACE)
    security_opt: tuple[str, ...] = field(metadata=REPLACE)
    cap_add: tuple[str, ...] = field(default=(), metadata=REPLACE)
    cap_drop: tuple[str, ...] = field(default=(), metadata=REPLACE)
    devices: tuple[str, ...] = field(default=(), metadata=REPLACE)
    labels: Mapping[str, str] = field(metadata=REPLACE)
    hosts: tuple[str, ...] = field(default=(), metadata=IGNORED)
    declared_mib: int = field(default=0, metadata=IGNORED)
    slurm_version: str = field(default="", metadata=IGNORED)
    units: tuple[str, ...] = field(default=(), metadata=IGNORED)
    stated: Mapping[str, str] = field(factory=dict, metadata=IGNORED)
    boot: FirstBoot | None = field(default=None, metadata=IGNORED)
    after: frozenset[Address] = field(default=frozenset(), metadata=IGNORED)
    max_unavailable: int = field(default=1, metadata=IGNORED)

    @property
    def finished(self) -> bool:
        """Whether it was ever started."""
        return self.made

    @property
    def cluster(self) -> Address:
        """The cluster's address."""
        return Address((self.labels[labels.REALM], self.labels[labels.CLUSTER]))

    @property
    def starts_early(self) -> bool:
        """Whether it must run before its daemons can: where addresses are not fixed, its name means nothing until then.

        slurmctld holds still for the name of every node that it is told of (10 s, Slurm 26.05). Controllers are waited for
        by nobody, and must find their files at their start.
        """
        own = names.network(self.cluster.realm, self.cluster.cluster)
        return self.networks.get(own) == "" and self.labels.get(labels.ROLE) != "controller"

    @property
    def needs(self) -> frozenset[Address]:
        """Networks, volumes, nodes that start first, and the mesh's DNS server and relay, whose address and key go in."""
        mesh = Address((self.cluster.realm, MESH))
        prefix = names.volume(self.cluster.realm, self.cluster.cluster, "")
        volumes = {
            self.cluster / "volume" / mount.source.removeprefix(prefix)
            for mount in self.mounts
            if mount.kind == "volume" and mount.source.startswith(prefix)
        }
        return frozenset(
            {self.cluster / "network", mesh / "network", mesh / "dns", mesh / "relay", *volumes, *self.after}
        )

    @property
    def earlier(self) -> frozenset[Address]:
        """What Slurm wants to be newer than this, or as new (Slurm, Upgrade Guide): slurmdbd, then slurmctld, then the rest."""
        return replaced_before(self.cluster, self.short)

    def lane(self, before: Resource) -> tuple[str, int] | None:
        """Return its worker group, and how many of that may be away at once. One that was never started is not missed."""
        if names.worker_index(self.short) is None or self.manner(before) == "anew":
            return None
        return f"{self.cluster} {self.labels.get(labels.GROUP, '')}", self.max_unavailable

    def manner(self, before: Resource) -> str:
        """`worker` when jobs may run on it, `upgrade` when a newer Slurm will read and write what an older one left.

        `anew` when what is there was never started.
        """
        assert isinstance(before, Node)
        if not before.made:
            return "anew"
        if not (labels.is_managed(self.labels) and labels.is_managed(before.labels)):
            return "plain"
        if names.worker_index(self.short) is not None:
            # Of one that does not run, jobs need not be waited for, nor could they; nor where nobody shall be there to ask.
            empty = before.power == "stopped" or (before.idle and self.power == "stopped")
            return "plain" if empty else "worker"
        keeps = self.short in (names.DB, names.CONTROLLER)
        return "upgrade" if keeps and is_upgrade(before.slurm_version, self.slurm_version) else "plain"


_CONTROLLERS = (names.CONTROLLER, names.BACKUP)
_EARLIER: Mapping[str, tuple[str, ...]] = {
    names.DB: (),
    names.CONTROLLER: (names.DB,),
    names.BACKUP: (names.CONTROLLER,),
}
"""What is replaced before a node; before any other the controllers are."""


def replaced_before(cluster: Address, short: str = "") -> frozenset[Address]:
    """Return the nodes that are replaced before one of a cluster, or before what only asks its Slurm."""
    return frozenset(cluster / "node" / other for other in _EARLIER.get(short, _CONTROLLERS))


def going_off(plan: Plan) -> frozenset[Address]:
    """Return the clusters whose first controller runs and is to be powered off."""
    return frozenset(
        change.address.scope
        for change in plan.changes
        if change.address.name == names.CONTROLLER
        and isinstance(change.before, Node)
        and isinstance(change.after, Node)
        and change.after.power == "stopped" != change.before.power
    )
