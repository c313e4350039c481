"""The engine's lists, sorted by whose the objects are: exact labels and exact names, never a prefix of a name."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeVar

from attrs import field, frozen

from sindplan.engine.records import ContainerSummary, EngineInfo, Network, Volume
from sindplan.kinds import labels
from sindplan.kinds.cluster_record import is_record
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.observe.places import MeshPlace, Places, mesh_place, places

T = TypeVar("T")
VOLUME_KINDS = ("config", "munge", "data", "state", "home", "db")


@frozen(kw_only=True)
class Found:
    """What the lists hold of one cluster.

    Attributes:
        nodes, aside, halves: Containers by short name (see `Places`).
        strays: Containers that carry the cluster's labels and are none of its nodes: helpers that somebody left behind,
            or copies of a node made by hand.
    """

    network: Network | None = None
    volumes: Mapping[str, Volume] = field(factory=dict)
    nodes: Mapping[str, ContainerSummary] = field(factory=dict)
    aside: Mapping[str, ContainerSummary] = field(factory=dict)
    halves: Mapping[str, ContainerSummary] = field(factory=dict)
    records: tuple[Network, ...] = ()
    strays: tuple[str, ...] = ()

    @property
    def owners(self) -> frozenset[str]:
        """The owner labels on the cluster; the empty one stands for what another tool made."""
        if self.records:
            return frozenset({self.records[0].labels.get(labels.OWNER, "")})
        # A worker that sind added does not make the cluster sind's.
        sets = [volume.labels for volume in self.volumes.values()]
        sets += [node.labels for node in self.nodes.values()]
        sets += [self.network.labels] if self.network else []
        marks = [found.get(labels.OWNER, "") for found in sets]
        return frozenset(mark for mark in marks if mark) or frozenset(marks)


@frozen(kw_only=True)
class Inventory:
    """All containers, networks and volumes of an engine."""

    engine: EngineInfo
    containers: tuple[ContainerSummary, ...]
    networks: tuple[Network, ...]
    volumes: tuple[Volume, ...]

    def clusters(self) -> Mapping[Address, Found]:
        """Return every sind cluster on the engine, by what is left of it: even a single volume counts."""
        containers: dict[Address, list[ContainerSummary]] = defaultdict(list)
        for container in self.containers:
            if (address := _cluster(container.labels)) is not None:
                containers[address].append(container)
        placed = {address: places(address, found) for address, found in containers.items()}
        networks = {
            address: network
            for network in self.networks
            if (address := _cluster(network.labels)) is not None
            and network.name == names.network(address.realm, address.cluster)
        }
        volumes: dict[Address, dict[str, Volume]] = defaultdict(dict)
        for volume in self.volumes:
            if (address := _cluster(volume.labels)) is not None:
                for kind in VOLUME_KINDS:
                    if volume.name == names.volume(address.realm, address.cluster, kind):
                        volumes[address][kind] = volume
        records = self._records()
        return {
            address: Found(
                network=networks.get(address),
                volumes=volumes.get(address, {}),
                nodes=there.nodes,
                aside=there.aside,
                halves=there.halves,
                records=records.get(address, ()),
                strays=tuple(there.strays),
            )
            for address in sorted({*placed, *networks, *volumes, *records})
            for there in (placed.get(address, Places()),)
        }

    def _records(self) -> Mapping[Address, tuple[Network, ...]]:
        found: dict[Address, list[Network]] = defaultdict(list)
        for network in filter(is_record, self.networks):
            realm = network.labels.get(labels.RECORD_REALM, "")
            cluster = network.labels.get(labels.RECORD_CLUSTER, "")
            if realm and cluster:
                found[Address((realm, cluster))].append(network)
        return {
            address: tuple(sorted(records, key=lambda record: (record.created, record.id), reverse=True))
            for address, records in found.items()
        }

    def mesh_network(self, realm: str) -> Network | None:
        """Return a realm's mesh network."""
        return _one(
            network
            for network in self.networks
            if network.name == names.mesh_network(realm) and network.labels.get(labels.REALM) == realm
        )

    def ssh_volume(self, realm: str) -> Volume | None:
        """Return a realm's SSH volume."""
        return _one(
            volume
            for volume in self.volumes
            if volume.name == names.ssh_volume(realm) and volume.labels.get(labels.REALM) == realm
        )

    def mesh_place(self, realm: str, service: str) -> MeshPlace:
        """Return a realm's DNS container (`dns`) or relay (`ssh`), with what a replacement of it has left."""
        name = names.mesh_container(realm, service)
        found = {
            container.name: container
            for container in self.containers
            if container.labels.get(labels.PROJECT) == names.mesh_project(realm)
            and container.labels.get(labels.COMPOSE_SERVICE) == service
        }
        return mesh_place(found.get(name), found.get(names.aside(name)))


def _cluster(found: Mapping[str, str]) -> Address | None:
    realm, cluster = found.get(labels.REALM, ""), found.get(labels.CLUSTER, "")
    return Address((realm, cluster)) if realm and cluster else None


def _one(found: Iterable[T]) -> T | None:
    return next(iter(found), None)
