"""A node as a resource: its fields, what changing each costs, and what must run on it."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from attrs import field, frozen

from sindplan.engine.records import ContainerState, Mount
from sindplan.kinds import labels
from sindplan.model import names
from sindplan.model.address import MESH, Address
from sindplan.model.resource import IGNORED, IN_PLACE, REPLACE, EngineObject

SECURITY = ("label=disable", "writable-cgroups=true")
DAEMONS = {"controller": ("slurmctld",), "worker": ("slurmd",)}
"""Slurm's daemons by role; other roles run none."""
BASE_UNITS = ("munge.service", "sshd.service")
"""What runs on every node. Debian's unit is ssh.service, with sshd.service for an alias; elsewhere the alias is the name."""

Power = Literal["running", "stopped", "paused"]
POWER: Mapping[ContainerState, Power] = {
    "running": "running",
    "restarting": "running",
    "paused": "paused",
    "exited": "stopped",
    "dead": "stopped",
    "removing": "stopped",
}


def units(role: str) -> tuple[str, ...]:
    """Return the systemd units that must be active on a node of a role."""
    return (*BASE_UNITS, *(f"{daemon}.service" for daemon in DAEMONS.get(role, ())))


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
        owners: User ids and group ids of the image that files are made with.
    """

    KIND: ClassVar[str] = "node"
    SHOWN: ClassVar[tuple[str, ...]] = ("image", "cpus", "memory", "tmp_size")

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
    labels: Mapping[str, str] = field(metadata=REPLACE)
    hosts: tuple[str, ...] = field(default=(), metadata=IGNORED)
    declared_mib: int = field(default=0, metadata=IGNORED)
    slurm_version: str = field(default="", metadata=IGNORED)
    units: tuple[str, ...] = field(default=(), metadata=IGNORED)
    owners: Mapping[str, tuple[int, int]] = field(factory=dict, metadata=IGNORED)
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
    def needs(self) -> frozenset[Address]:
        """Networks, volumes, and the mesh's DNS server and relay, whose address and key go into the node."""
        mesh = Address((self.cluster.realm, MESH))
        prefix = names.volume(self.cluster.realm, self.cluster.cluster, "")
        volumes = {
            self.cluster / "volume" / mount.source.removeprefix(prefix)
            for mount in self.mounts
            if mount.kind == "volume" and mount.source.startswith(prefix)
        }
        return frozenset({self.cluster / "network", mesh / "network", mesh / "dns", mesh / "relay", *volumes})
