"""What the two containers of a mesh, DNS server and relay, have in common."""

from collections.abc import Mapping
from typing import TypeVar

from attrs import field, frozen

from sindplan.engine.records import Container
from sindplan.kinds import labels
from sindplan.model.resource import IGNORED, IN_PLACE, REPLACE, Resource


@frozen(kw_only=True)
class MeshContainer(Resource):
    """A container of a realm's mesh."""

    realm: str = field(metadata=IGNORED)
    image: str = field(metadata=REPLACE)
    running: bool = field(metadata=IN_PLACE)
    labels: Mapping[str, str] = field(metadata=REPLACE)
    id: str = field(default="", metadata=IGNORED)
    run: str = field(default="", metadata=IGNORED)


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
        labels=labels.said(container.labels, labels.mesh_container("", "")),
        id=container.id,
        run=container.labels.get(labels.RUN, ""),
    )
