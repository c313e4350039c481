"""A node as a resource: its fields, what changing each costs, and what must run on it."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from attrs import field, frozen

from sindplan.engine.records import ContainerState, Mount
from sindplan.kinds import labels
from sindplan.kinds.first_boot import FirstBoot
from sindplan.model import names
from sindplan.model.address import MESH, Address
from sindplan.model.resource import IGNORED, IN_PLACE, REPLACE, EngineObject

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
        made: Whether it was ever started. One that was not may lack what its first boot needs: an apply was killed
            while it was made.
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
    SHOWN: ClassVar[tuple[str, ...]] = ("image", "cpus", "memory", "tmp_size", "cap_add", "cap_drop", "devices")

    name: str = field(metadata=IGNORED)
    image: str = field(metadata=REPLACE)
    # In the order in which changes are made: a node is started with what it needs.
    networks: Mapping[str, str] = field(metadata=IN_PLACE)
    cpus: int | None = field(metadata=IN_PLACE)
    memory: int | None = field(metadata=IN_PLACE)
    made: bool = field(default=True, metadata=IN_PLACE)
    power: Power = field(metadata=IN_PLACE)
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
    image_id: str = field(default="", metadata=IGNORED)

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
