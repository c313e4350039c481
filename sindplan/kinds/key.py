"""Secret keys of a cluster. Plans know whether a key is there and who may read it, never what it says.

A key is made once: no later apply writes another. It comes with its owner and mode in the headers of the archive, so that it is
never readable to anybody else, not even for a moment.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from attrs import evolve, field, frozen

from sindplan.engine.records import ContainerSpec, Entry
from sindplan.kinds import labels
from sindplan.kinds.controllers import writer
from sindplan.kinds.evidence import Evidence
from sindplan.kinds.node_wanted import units_of
from sindplan.kinds.powering import JOIN
from sindplan.kinds.run import Run
from sindplan.kinds.volume import marked
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Phase, Step, Where
from sindplan.model.layout import ClusterLayout, Layout
from sindplan.model.resource import IGNORED, IN_PLACE, Resource
from sindplan.plan.plan import Action


@frozen(kw_only=True)
class KeyFile:
    """Where a key is, and what its reader demands of it.

    Attributes:
        size: Random bytes.
        owner: The user of the image that it belongs to.
        readers: Units that read it at their start only.
        folder: Mode of the folder, when that is the key's own.
    """

    path: str
    volume: str
    size: int
    mode: int
    owner: str
    readers: tuple[str, ...]
    folder: int | None = None


_AUTH_READERS = ("slurmdbd", "slurmctld", "slurmd", "sackd")
FILES: Mapping[str, KeyFile] = {
    # munged(8) refuses a key that others can read, and a folder that they can write.
    "munge": KeyFile(
        path="/etc/munge/munge.key",
        volume="munge",
        size=128,
        mode=0o400,
        owner="munge",
        readers=("munge",),
        folder=0o700,
    ),
    # Slurm, authentication plugins: auth/slurm is fatal when others have access; 1024 bytes are its advice.
    "slurm": KeyFile(
        path="/etc/slurm/slurm.key", volume="config", size=1024, mode=0o600, owner="slurm", readers=_AUTH_READERS
    ),
    # Slurm, JWT: HS256 with at least 32 bytes, closed to others; slurmctld and slurmdbd read it.
    "jwt": KeyFile(
        path="/etc/slurm/jwt_hs256.key",
        volume="config",
        size=32,
        mode=0o600,
        owner="slurm",
        readers=("slurmdbd", "slurmctld"),
    ),
}


SHORTEST = 32
"""Bytes below which munged and Slurm take no key: one that was emptied is none."""


@frozen(kw_only=True)
class Key(Resource):
    """A key in a volume of a cluster.

    Attributes:
        uid, gid: Of its owner in the cluster's image.
        readers: Nodes and those of their units that read it.
    """

    KIND: ClassVar[str] = "key"

    cluster: Address = field(metadata=IGNORED)
    name: str = field(metadata=IGNORED)
    mode: int = field(metadata=IN_PLACE)
    uid: int = field(metadata=IN_PLACE)
    gid: int = field(metadata=IN_PLACE)
    readers: tuple[tuple[Address, tuple[str, ...]], ...] = field(default=(), metadata=IGNORED)

    @property
    def needs(self) -> frozenset[Address]:
        """The volume it lies on, and the controller it is written through."""
        return frozenset({self.cluster / "volume" / FILES[self.name].volume, self.cluster / "node/controller"})

    @property
    def host(self) -> Address | None:
        """The volume: when it goes, so does the key."""
        return self.cluster / "volume" / FILES[self.name].volume


_WRITE = Step("key.write", "making", after=(After("node.create", Where.NEEDED),))

KIND = Kind(
    name="key",
    resource=Key,
    # Daemons that were restarted for a new key have to find each other again.
    create=(_WRITE, JOIN),
    update=dict.fromkeys(
        ("mode", "uid", "gid"), (Step("key.close", "closing", after=(After("node.create", Where.NEEDED),)),)
    ),
    delete=(Step("key.remove", "removing", Phase.REMOVE),),
)


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the keys that a layout wants."""
    for cluster in layout.clusters:
        for name in _names(cluster):
            file = FILES[name]
            uid, gid = cluster.controller.facts.owner(file.owner)
            yield (
                cluster.address / "key" / name,
                Key(
                    cluster=cluster.address,
                    name=name,
                    mode=file.mode,
                    uid=uid,
                    gid=gid,
                    readers=tuple(_readers(cluster, file)),
                ),
            )


def _names(cluster: ClusterLayout) -> Iterator[str]:
    # One who installs Slurm by hand gets a munge key too, as with sind.
    yield "slurm" if cluster.declared.identity == "client_ids" else "munge"
    if cluster.managed_role("api"):
        yield "jwt"


def _readers(cluster: ClusterLayout, file: KeyFile) -> Iterator[tuple[Address, tuple[str, ...]]]:
    for node in cluster.nodes:
        units = units_of(cluster, node)
        reading = tuple(unit for unit in units if unit.removesuffix(".service") in file.readers)
        if reading:
            yield cluster.address / "node" / node.short, reading


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the keys that exist."""
    for cluster in evidence.clusters:
        for name, file in FILES.items():
            found = (cluster.keys or {}).get(file.path)
            if found is not None:
                mode, uid, gid = found
                yield (
                    cluster.address / "key" / name,
                    Key(cluster=cluster.address, name=name, mode=mode, uid=uid, gid=gid),
                )


def write(run: Run, action: Action) -> None:
    """Make a key and write it through the controller; daemons that run have to read it at once."""
    (change,) = action.changes
    key = change.after
    assert isinstance(key, Key)
    file = FILES[key.name]
    # Munge's volume can be written through the first controller alone.
    controller = run.id(key.cluster / "node/controller") if key.name == "munge" else writer(run, key.cluster)
    there = run.engine.get_files(controller, file.path) if run.engine.has_file(controller, file.path) else {}
    if file.path in there and len(there[file.path].content) >= SHORTEST:
        # The volume had outlived all containers that could show it.
        return
    entry = Entry(path=file.path, content=secrets.token_bytes(file.size), mode=file.mode, uid=key.uid, gid=key.gid)
    folders = []
    if file.folder is not None:
        path = file.path.rpartition("/")[0]
        folders.append(Entry(path=path, kind="dir", mode=file.folder, uid=key.uid, gid=key.gid))
    _put(run, key, controller, [*folders, entry])
    for node, units in key.readers:
        if node in run.known.made:
            # It finds the key when its daemons are started for good.
            continue
        # One daemon with the old key would split the cluster.
        container = run.engine.inspect_container(run.known.ids.get(node, ""))
        if container is not None and container.state == "running":
            run.slurm.start_units(container.id, units, run.wait, restart=True)


def _put(run: Run, key: Key, controller: str, entries: Sequence[Entry]) -> None:
    """Put a key where it lies. Where no node may write, as on all nodes of sind's, a container does that is never started."""
    file = FILES[key.name]
    found = run.engine.inspect_container(controller)
    target = file.path.rpartition("/")[0]
    mount = next((one for one in found.spec.mounts if one.target == target), None) if found else None
    if found is None or mount is None or not mount.read_only:
        run.engine.put_files(controller, entries)
        return
    realm, cluster = key.cluster.parts
    helper = run.engine.create_container(
        ContainerSpec(
            # By sind's name and labels: what is left of a killed apply, either tool knows.
            name=f"{names.project(realm, cluster)}-{key.name}-helper",
            image=found.image_id,
            labels={labels.REALM: realm, labels.CLUSTER: cluster, **labels.own(run.owner, run.token)},
            mounts=marked(run, [evolve(mount, read_only=False)], realm, cluster),
        )
    )
    try:
        run.engine.put_files(helper, entries)
    finally:
        run.engine.remove_container(helper)


def close(run: Run, action: Action) -> None:
    """Set mode and owner of a key right; what it says stays."""
    (change,) = action.changes
    key = change.after
    assert isinstance(key, Key)
    path = FILES[key.name].path
    controller = run.id(key.cluster / "node/controller")
    entry = run.engine.get_files(controller, path)[path]
    _put(run, key, controller, [evolve(entry, mode=key.mode, uid=key.uid, gid=key.gid)])


def remove(run: Run, action: Action) -> None:
    """Remove a key that nothing reads any more."""
    (change,) = action.changes
    key = change.before
    assert isinstance(key, Key)
    run.slurm.remove_files(run.id(key.cluster / "node/controller"), [FILES[key.name].path])


PERFORM = {"key.write": write, "key.close": close, "key.remove": remove}
