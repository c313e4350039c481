"""What the two containers of a mesh, DNS server and relay, have in common."""

from collections.abc import Mapping
from typing import ClassVar, TypeVar

from attrs import field, frozen

from sindplan.engine.records import Container
from sindplan.kinds import labels
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import MESH, Address
from sindplan.model.resource import IGNORED, IN_PLACE, REPLACE, EngineObject


@frozen(kw_only=True)
class MeshContainer(EngineObject):
    """A container of a realm's mesh.

    Attributes:
        on_mesh: Whether it is on the mesh network.
        paused: Whether one that does not run is frozen; told only of what was seen.
    """

    SHOWN: ClassVar[tuple[str, ...]] = ("image",)

    realm: str = field(metadata=IGNORED)
    image: str = field(metadata=REPLACE)
    running: bool = field(metadata=IN_PLACE)
    paused: bool = field(default=False, metadata=IGNORED)
    on_mesh: bool = field(default=True, metadata=IN_PLACE)
    labels: Mapping[str, str] = field(metadata=REPLACE)


T = TypeVar("T", bound=MeshContainer)


def wanted_container(kind: type[T], realm: str, service: str, image: str) -> T:
    """Return a mesh container as it should be; `service` is its compose service."""
    marks = labels.mesh_container(realm, service)
    return kind(realm=realm, image=image, running=True, labels=labels.said(marks, marks))


def seen_container(kind: type[T], realm: str, container: Container) -> T:
    """Return a mesh container as it is."""
    return kind(
        realm=realm,
        image=container.spec.image,
        running=container.state == "running",
        paused=container.state == "paused",
        on_mesh=container.endpoint(names.mesh_network(realm)) is not None,
        labels=labels.said(container.labels, labels.mesh_container("", "")),
        id=container.id,
        run=container.labels.get(labels.RUN, ""),
    )


def set_on_mesh(run: Run, address: Address, wanted: MeshContainer, pinned: str = "") -> None:
    """Put a container back on its mesh, at its pinned address if it has one, or (when a run is taken back) off it."""
    container = run.engine.inspect_container(run.id(address))
    there = container is not None and container.endpoint(names.mesh_network(wanted.realm)) is not None
    mesh = Address((wanted.realm, MESH, "network"))
    if wanted.on_mesh and not there:
        run.engine.connect(run.id(mesh), run.id(address), pinned)
    elif there and not wanted.on_mesh:
        run.engine.disconnect(run.id(mesh), run.id(address))


def put_to_rest(run: Run, container: str, wanted: MeshContainer) -> None:
    """Bring a container to what it was before it was woken."""
    if wanted.paused:
        run.engine.pause(container)
    else:
        run.engine.stop(container)


def wake(run: Run, container: str) -> None:
    """Bring a container to run, whatever it does now."""
    found = run.engine.inspect_container(container)
    if found is not None and found.state == "paused":
        run.engine.unpause(container)
    else:
        run.engine.start(container)
