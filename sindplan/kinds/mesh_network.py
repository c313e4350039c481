"""The mesh: the network that all clusters of a realm share, laid out as sind does (v0.11).

Docker gives out its lower half, and the DNS server has the last address.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from attrs import field, frozen

from sindplan.kinds import labels
from sindplan.kinds.evidence import Evidence
from sindplan.kinds.network import remove_network
from sindplan.kinds.pinned import create_pinned
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Phase, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.network import pinned_dns
from sindplan.model.resource import IGNORED, IN_PLACE, REPLACE, EngineObject, Resource
from sindplan.plan.plan import Action


@frozen(kw_only=True)
class MeshNetwork(EngineObject):
    """A realm's mesh network.

    Attributes:
        labels: sind's, without the pinned DNS address, which only the engine decides.
        pinned: Whether its DNS address is; one that is not was left by an apply that was killed while it was made.
    """

    KIND: ClassVar[str] = "mesh-network"
    REMOVED_WITH: ClassVar[str] = "docker network rm"
    SHOWN: ClassVar[tuple[str, ...]] = ("subnet",)

    name: str = field(metadata=IGNORED)
    labels: Mapping[str, str] = field(metadata=REPLACE)
    pinned: bool = field(default=True, metadata=IN_PLACE)
    subnet: str = field(default="", metadata=IGNORED)

    @property
    def finished(self) -> bool:
        """A network that could not be pinned yet is not worth going back to."""
        return self.pinned


_CREATE = Step("mesh-network.create", "creating")

KIND = Kind(
    name="mesh-network",
    resource=MeshNetwork,
    create=(_CREATE,),
    update={"pinned": (_CREATE,)},
    delete=(
        Step(
            "mesh-network.remove",
            "removing",
            Phase.REMOVE,
            after=(
                After("node.remove", Where.NEEDING),
                After("dns.remove", Where.NEEDING),
                After("relay.remove", Where.NEEDING),
            ),
        ),
    ),
)


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the meshes that a layout wants."""
    for mesh in layout.meshes:
        yield (
            mesh.address / "network",
            MeshNetwork(name=names.mesh_network(mesh.realm), labels=labels.mesh_network(mesh.realm)),
        )


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the meshes that exist."""
    for mesh in evidence.meshes:
        if mesh.network is not None:
            yield (
                mesh.address / "network",
                MeshNetwork(
                    name=mesh.network.name,
                    labels=labels.said(mesh.network.labels, labels.mesh_network("")),
                    # Small meshes stay as Docker made them, and so do those of an older sind, which pinned none.
                    pinned=bool(mesh.network.ip_range)
                    or not mesh.network.labels.get(labels.RUN)
                    or not pinned_dns(mesh.network.subnet, mesh.network.gateway),
                    subnet=mesh.network.subnet,
                    id=mesh.network.id,
                    run=mesh.network.labels.get(labels.RUN, ""),
                ),
            )


def create(run: Run, action: Action) -> None:
    """Create a mesh network."""
    (change,) = action.changes
    mesh = change.after
    assert isinstance(mesh, MeshNetwork)
    if change.before is not None:
        remove_network(run, change.address)
    made = create_pinned(run, mesh.name, mesh.labels, subnet="", pin="lower")
    run.known.ids[change.address] = made.id
    run.known.subnets[action.scope] = made.subnet


def remove(run: Run, action: Action) -> None:
    """Remove a mesh network."""
    (change,) = action.changes
    remove_network(run, change.address)


PERFORM = {"mesh-network.create": create, "mesh-network.remove": remove}
