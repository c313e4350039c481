"""What was found on the engine, sorted by realm and cluster: raw records, before any judgement."""

import json
from collections.abc import Mapping, Sequence

from attrs import field, frozen

from sindplan.engine.records import Container, Entry, Network, Volume
from sindplan.kinds import labels
from sindplan.model import names
from sindplan.model.address import MESH, Address
from sindplan.slurm.accounting import AccountingView
from sindplan.slurm.port import SlurmView


@frozen(kw_only=True)
class BootEvidence:
    """What a node would find at its next boot: see kinds.boot."""

    enabled: frozenset[str] = frozenset()
    masked: frozenset[str] = frozenset()
    drop_ins: frozenset[str] = frozenset()
    statements: bool = False
    authorized: str | None = None


@frozen(kw_only=True)
class ClusterEvidence:
    """What was found of one cluster.

    Attributes:
        nodes: Containers by short name.
        aside: Ids of containers whose successors have taken their places, by short name.
        halves: Ids of containers that were to take a place and were never started, by short name.
        volumes: Volumes by type (config, munge, data, …).
        records: The config-only networks that hold its record, newest first.
        files: What is below /etc/slurm, by path relative to it; None when no container can show it.
        keys: Mode, user id and group id of the keys that there are, by path; None when no container can show them.
        people: Texts of sysusers.d and tmpfiles.d of the nodes that have any.
        boots: What the nodes that sindplan made would find at their next boot.
        services: Unit (without `.service`) to whether it is active, by node; only nodes that could be asked.
        view: What slurmctld says; None when it was not asked or did not answer.
        accounting: What slurmdbd says; None likewise.
        in_control: Short name of the controller in control of a pair; empty when that cannot be told.
        host_keys: Public SSH host keys of nodes whose labels do not say them, as they lie in the nodes.
        relay_connected: Whether the realm's relay is on the cluster's network.
    """

    realm: str
    name: str
    network: Network | None = None
    volumes: Mapping[str, Volume] = field(factory=dict)
    nodes: Mapping[str, Container] = field(factory=dict)
    aside: Mapping[str, str] = field(factory=dict)
    halves: Mapping[str, str] = field(factory=dict)
    records: tuple[Network, ...] = ()
    files: Mapping[str, Entry] | None = None
    keys: Mapping[str, tuple[int, int, int]] | None = None
    people: Mapping[str, tuple[str, str]] = field(factory=dict)
    boots: Mapping[str, BootEvidence] = field(factory=dict)
    services: Mapping[str, Mapping[str, bool]] = field(factory=dict)
    view: SlurmView | None = None
    accounting: AccountingView | None = None
    in_control: str = ""
    host_keys: Mapping[str, str] = field(factory=dict)
    relay_connected: bool = False

    @property
    def address(self) -> Address:
        """The cluster's address."""
        return Address((self.realm, self.name))

    @property
    def managed(self) -> bool:
        """Whether Slurm in it is sindplan's business: its controllers' labels say so."""
        return all(
            labels.is_managed(n.labels) for short, n in self.nodes.items() if names.role_of(short) == "controller"
        )

    @property
    def by_name(self) -> bool:
        """Whether another tool made the network: no address on it is fixed, and nodes go by their names."""
        return self.network is not None and not self.network.ip_range and not self.network.labels.get(labels.OWNER)

    @property
    def foreign(self) -> frozenset[str]:
        """Nodes that another tool made and that stay: one that was never started is made anew."""
        return frozenset(
            short for short, node in self.nodes.items() if node.state != "created" and not node.labels.get(labels.OWNER)
        )

    @property
    def bare(self) -> frozenset[str]:
        """Nodes that hold slurmctld's state or MariaDB's tables in their own container, as sind has it, and their successors do."""
        kinds = {names.CONTROLLER: "state", names.BACKUP: "state", names.DB: "db"}
        return frozenset(
            short
            for short, node in self.nodes.items()
            if self.by_name
            and short in kinds
            and node.state != "created"
            and all(mount.source != names.volume(self.realm, self.name, kinds[short]) for mount in node.spec.mounts)
        )

    @property
    def contents(self) -> frozenset[str]:
        """What the last apply put into volumes and into Slurm: addresses below the cluster's, by its record."""
        return record_contents(self.records)


def record_contents(records: Sequence[Network]) -> frozenset[str]:
    """Return what a cluster's records, newest first, say of its contents."""
    try:
        found = json.loads(records[0].labels.get(labels.CONTENTS, "[]")) if records else []
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(map(str, found)) if isinstance(found, list) else frozenset()


@frozen(kw_only=True)
class MeshEvidence:
    """What was found of one realm's mesh.

    Attributes:
        corefile, known_hosts, relay_key: Texts of the files; None when they could not be read.
        dns_aside, relay_aside: Ids of containers whose successors have taken their places; empty while there are none.
        dns_half, relay_half: Ids of containers that were to take a place and were never started; likewise.
    """

    realm: str
    network: Network | None = None
    volume: Volume | None = None
    dns: Container | None = None
    relay: Container | None = None
    corefile: str | None = None
    known_hosts: str | None = None
    relay_key: str | None = None
    dns_aside: str = ""
    dns_half: str = ""
    relay_aside: str = ""
    relay_half: str = ""

    @property
    def address(self) -> Address:
        """The mesh's address."""
        return Address((self.realm, MESH))


@frozen(kw_only=True)
class Evidence:
    """All of it.

    Attributes:
        asked: The clusters that were looked for, there or not.
    """

    asked: tuple[Address, ...] = ()
    clusters: tuple[ClusterEvidence, ...] = ()
    meshes: tuple[MeshEvidence, ...] = ()
