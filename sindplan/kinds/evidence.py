"""What was found on the engine, sorted by realm and cluster: raw records, before any judgement."""

from collections.abc import Mapping

from attrs import field, frozen

from sindplan.engine.records import Container, Entry, Network, Volume
from sindplan.model.address import MESH, Address
from sindplan.slurm.port import SlurmView


@frozen(kw_only=True)
class ClusterEvidence:
    """What was found of one cluster.

    Attributes:
        nodes: Containers by short name.
        volumes: Volumes by type (config, munge, data, …).
        records: The config-only networks that hold its record, newest first.
        files: What is below /etc/slurm, by path relative to it; None when no container can show it.
        munge_key: Whether there is a munge key; None when no container can show it.
        services: Unit (without `.service`) to whether it is active, by node; only nodes that could be asked.
        view: What slurmctld says; None when it was not asked or did not answer.
        relay_connected: Whether the realm's relay is on the cluster's network.
    """

    realm: str
    name: str
    network: Network | None = None
    volumes: Mapping[str, Volume] = field(factory=dict)
    nodes: Mapping[str, Container] = field(factory=dict)
    records: tuple[Network, ...] = ()
    files: Mapping[str, Entry] | None = None
    munge_key: bool | None = None
    services: Mapping[str, Mapping[str, bool]] = field(factory=dict)
    view: SlurmView | None = None
    relay_connected: bool = False

    @property
    def address(self) -> Address:
        """The cluster's address."""
        return Address((self.realm, self.name))


@frozen(kw_only=True)
class MeshEvidence:
    """What was found of one realm's mesh.

    Attributes:
        corefile, known_hosts, relay_key: Texts of the files; None when they could not be read.
        dns_runs_dnsmasq: Whether the DNS container was made by sindplan from a node image.
    """

    realm: str
    network: Network | None = None
    volume: Volume | None = None
    dns: Container | None = None
    relay: Container | None = None
    corefile: str | None = None
    known_hosts: str | None = None
    relay_key: str | None = None

    @property
    def address(self) -> Address:
        """The mesh's address."""
        return Address((self.realm, MESH))


@frozen(kw_only=True)
class Evidence:
    """All of it."""

    clusters: tuple[ClusterEvidence, ...] = ()
    meshes: tuple[MeshEvidence, ...] = ()
