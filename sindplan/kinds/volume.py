"""Named volumes: those of a cluster, and the one with a realm's SSH key."""

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from attrs import evolve, field, frozen

from sindplan.engine.records import Mount
from sindplan.engine.records import Volume as SeenVolume
from sindplan.errors import Conflict, NotFound, SindplanError
from sindplan.kinds import labels
from sindplan.kinds.evidence import Evidence
from sindplan.kinds.node_wanted import node_mounts
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Phase, Step, Where
from sindplan.model.layout import ClusterLayout, Layout
from sindplan.model.resource import IGNORED, REPLACE, EngineObject, Resource
from sindplan.plan.plan import Action

SSH = "ssh-config"
CLUSTER_VOLUMES = ("config", "munge", "data", "state", "home", "db")


@frozen(kw_only=True)
class Volume(EngineObject):
    """A named volume."""

    KIND: ClassVar[str] = "volume"
    REMOVED_WITH: ClassVar[str] = "docker volume rm"

    name: str = field(metadata=IGNORED)
    labels: Mapping[str, str] = field(metadata=REPLACE)
    driver: str = field(default="local", metadata=REPLACE)

    @property
    def removal(self) -> str:
        """By name: a volume has nothing else."""
        return f"{self.REMOVED_WITH} {self.name}"


KIND = Kind(
    name="volume",
    resource=Volume,
    create=(Step("volume.create", "creating"),),
    delete=(
        Step(
            "volume.remove",
            "removing",
            Phase.REMOVE,
            after=(After("node.remove", Where.NEEDING), After("relay.remove", Where.NEEDING)),
        ),
    ),
)


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the volumes that a layout wants."""
    for mesh in layout.meshes:
        yield (
            mesh.address / "volume" / SSH,
            Volume(name=names.ssh_volume(mesh.realm), labels=labels.mesh_volume(mesh.realm)),
        )
    for cluster in layout.clusters:
        for kind in _kinds(cluster):
            yield (
                cluster.address / "volume" / kind,
                Volume(
                    name=names.volume(cluster.realm, cluster.name, kind),
                    labels=labels.volume(cluster.realm, cluster.name, kind),
                ),
            )


def _kinds(cluster: ClusterLayout) -> Iterator[str]:
    """Yield the types of a cluster's volumes: sind's (sind.md 3.2), and one for the database."""
    yield "config"
    if cluster.declared.identity != "client_ids":
        yield "munge"
    if cluster.declared.storage.host_path is None:
        yield "data"
    # Nodes that sind made need not mount these.
    mounted = {mount.source for node in cluster.nodes for mount in node_mounts(cluster, node)}
    if names.volume(cluster.realm, cluster.name, "state") in mounted:
        yield "state"
    if cluster.people.users:
        yield "home"
    if names.volume(cluster.realm, cluster.name, "db") in mounted:
        yield "db"


def marked(run: Run, mounts: Iterable[Mount], realm: str, cluster: str) -> tuple[Mount, ...]:
    """Return mounts with which the engine, should it have to make a volume of the cluster on the way, marks it as that.

    So does a create of a container that comes after all, when what it came for was taken back long ago. Without marks nobody
    could tell such a volume from somebody's data.
    """
    kinds = {names.volume(realm, cluster, kind): kind for kind in CLUSTER_VOLUMES}
    return tuple(
        evolve(mount, labels={**labels.volume(realm, cluster, kinds[mount.source]), **labels.own(run.owner, run.token)})
        if mount.kind == "volume" and mount.source in kinds
        else mount
        for mount in mounts
    )


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the volumes that exist."""
    for mesh in evidence.meshes:
        if mesh.volume is not None:
            yield mesh.address / "volume" / SSH, _seen(mesh.volume, labels.mesh_volume(""))
    for cluster in evidence.clusters:
        for kind, volume in cluster.volumes.items():
            yield cluster.address / "volume" / kind, _seen(volume, labels.volume("", "", ""))


def _seen(volume: SeenVolume, keys: Mapping[str, str]) -> Volume:
    return Volume(
        name=volume.name,
        labels=labels.said(volume.labels, keys),
        driver=volume.driver,
        run=volume.labels.get(labels.RUN, ""),
    )


def create(run: Run, action: Action) -> None:
    """Create a volume, and make sure that it is ours: Docker gives an existing one of that name without a word."""
    (change,) = action.changes
    assert isinstance(change.after, Volume)
    wanted_ = change.after
    made = run.engine.create_volume(
        wanted_.name, {**wanted_.labels, **labels.own(run.owner, run.token)}, wanted_.driver
    )
    if made.labels.get(labels.RUN) != run.token:
        raise SindplanError(
            f"A volume named {wanted_.name!r} exists that is not part of {change.address.scope}; it was left as it is.",
            f"Look at it (docker volume inspect {wanted_.name}), then remove or rename what is in the way.",
        )


def remove(run: Run, action: Action) -> None:
    """Remove a volume with everything in it."""
    (change,) = action.changes
    assert isinstance(change.before, Volume)
    try:
        run.engine.remove_volume(change.before.name)
    except NotFound:
        return
    except Conflict as refused:
        raise SindplanError(
            f"The volume {change.before.name!r} is still used by a container that sindplan did not make: {refused.text}",
            "Remove that container and run the same command again.",
        ) from refused


PERFORM = {"volume.create": create, "volume.remove": remove}
