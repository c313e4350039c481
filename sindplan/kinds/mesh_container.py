"""What the two containers of a mesh, DNS server and relay, have in common."""

from collections.abc import Mapping
from typing import ClassVar, TypeVar

from attrs import field, frozen

from sindplan.engine.records import Container
from sindplan.kinds import labels
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import MESH, Address
from sindplan.model.layout import MeshLayout
from sindplan.model.resource import IGNORED, IN_PLACE, REPLACE, EngineObject, Resource


@frozen(kw_only=True)
class MeshContainer(EngineObject):
    """A container of a realm's mesh.

    Attributes:
        name: Of the container; another than its place's where a replacement that did not finish renamed it.
        image_id: What `image` meant when it was made; told only of what was seen.
        demanded: Why it is replaced though nothing of it differs; empty without such a demand.
        aside: Id of the container whose place it took, while that is there; empty otherwise.
        half: Id of a container that was to take its place and was never started.
        successor: Id of the container that took its place; only where a replacement is taken back.
        on_mesh: Whether it is on the mesh network.
        paused: Whether one that does not run is frozen; told only of what was seen.
    """

    REMOVED_WITH: ClassVar[str] = "docker rm -f"
    SHOWN: ClassVar[tuple[str, ...]] = ("image",)

    realm: str = field(metadata=IGNORED)
    image: str = field(metadata=REPLACE)
    image_id: str = field(default="", metadata=IGNORED)
    demanded: str = field(default="", metadata=REPLACE)
    # In the order in which changes are made: it is started with its name.
    successor: str = field(default="", metadata=IN_PLACE)
    name: str = field(metadata=IN_PLACE)
    aside: str = field(default="", metadata=IN_PLACE)
    half: str = field(default="", metadata=IGNORED)
    running: bool = field(metadata=IN_PLACE)
    paused: bool = field(default=False, metadata=IGNORED)
    on_mesh: bool = field(default=True, metadata=IN_PLACE)
    labels: Mapping[str, str] = field(metadata=REPLACE)

    def manner(self, before: Resource) -> str:  # noqa: ARG002 - there is one
        """`plain`."""
        return "plain"


T = TypeVar("T", bound=MeshContainer)


def wanted_container(kind: type[T], mesh: MeshLayout, service: str, image: str) -> T:
    """Return a mesh container as it should be; `service` is its compose service."""
    marks = labels.mesh_container(mesh.realm, service)
    return kind(
        realm=mesh.realm,
        name=names.mesh_container(mesh.realm, service),
        image=image,
        demanded="on demand" if kind.KIND in mesh.demanded else "",
        running=True,
        labels=labels.said(marks, marks),
    )


def seen_container(kind: type[T], realm: str, container: Container, *, aside: str, half: str) -> T:
    """Return a mesh container as it is.

    Args:
        aside: Id of the container whose place it took; empty when there is none.
        half: Id of a container that was to take its place, likewise.
    """
    return kind(
        realm=realm,
        name=container.name,
        aside=aside,
        half=half,
        image=container.spec.image,
        image_id=container.image_id,
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
