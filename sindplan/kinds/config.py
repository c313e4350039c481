"""Files on the config volume: Slurm's configuration as text.

Before a controller's first start they go into it as one archive. Later they are put beside the old ones and moved over
them, since Docker's own replacing shows readers a missing or short file. They are tried in a throwaway slurmctld first. A mark stays
until slurmctld has read them, and another until a daemon that must be restarted has been, so that an apply that was killed in
between is finished by the next one.
"""

import posixpath
from collections.abc import Iterator, Mapping
from typing import ClassVar

from attrs import evolve, field, frozen

from sindplan.engine.records import Entry
from sindplan.kinds import labels
from sindplan.kinds.controllers import writer
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.run import Run
from sindplan.model import names, network
from sindplan.model.address import Address
from sindplan.model.hidden import Hidden
from sindplan.model.kind import After, Kind, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import IGNORED, IN_PLACE, Resource
from sindplan.plan.plan import Action, Change
from sindplan.slurm.files import CONFIG, STORAGE_PASSWORD, slurm_files
from sindplan.slurm.generated import JWT_KEY
from sindplan.slurm.masking import masked
from sindplan.slurm.parameters import DATABASE, ORDER
from sindplan.slurm.text import spelled
from sindplan.slurm.trial import Trial

PENDING = ".sindplan-pending"
"""Name of the mark in /etc/slurm that says slurmctld has not read the files yet."""
MARKS: Mapping[str, str] = {"slurmctld": PENDING, "slurmdbd": ".sindplan-pending-slurmdbd"}
"""The same for each daemon that reads files."""
RESTART_MARKS: Mapping[str, str] = {name: f".sindplan-restart-{name}" for name in ORDER if name != DATABASE}
"""Names of the marks that say that daemons must be restarted; slurmdbd always is, for its files."""


@frozen(kw_only=True)
class File(Resource):
    """A file of /etc/slurm.

    Attributes:
        content: Its text, passwords hidden; may hold symbols of addresses.
        original: Its text as it is written; None when nothing is hidden in it.
        reader: The daemon that must be told when it changes.
        image: Id of the image of the controller that will read it; empty where that is not known.
    """

    KIND: ClassVar[str] = "file"

    cluster: Address = field(metadata=IGNORED)
    content: str = field(metadata=IN_PLACE)
    mode: int = field(default=0o644, metadata=IN_PLACE)
    uid: int = field(default=0, metadata=IN_PLACE)
    gid: int = field(default=0, metadata=IN_PLACE)
    original: Hidden | None = field(default=None, metadata=IGNORED)
    reader: str = field(default="slurmctld", metadata=IGNORED)
    image: str = field(default="", metadata=IGNORED)

    @property
    def needs(self) -> frozenset[Address]:
        """The volume it lies on, and the controller it is written through."""
        return frozenset({self.cluster / "volume/config", self.cluster / "node/controller"})

    @property
    def host(self) -> Address | None:
        """The volume: when it goes, so do its files."""
        return self.cluster / "volume/config"


def _read_by_slurmctld(resource: Resource) -> bool:
    return isinstance(resource, File) and resource.reader == "slurmctld"


_TRY = Step(
    "file.try",
    "trying the new configuration",
    # A network that is made anew where no address was fixed decides what the files say.
    after=(After("node.create", Where.NEEDED), After("network.create", Where.CLUSTER)),
    batch=True,
    applies=_read_by_slurmctld,
    # In a new cluster slurmctld's own start shows it.
    later_only=True,
)
_WRITE = Step(
    "file.write",
    "writing",
    after=(
        After("node.create", Where.BESIDE),
        # Addresses are known when there is a network.
        After("network.create", Where.CLUSTER),
        After("file.try", Where.CLUSTER),
        # Who has to be restarted is written down before there is a reason to.
        After("service.owe", Where.CLUSTER),
        # Configuration without a worker is written only when the worker's jobs are done.
        After("slurm.drain", Where.CLUSTER),
        # A slurmctld that goes off is not restarted: commands that read new files might miss it.
        After("slurm.power-off", Where.CLUSTER),
    ),
    batch=True,
)

KIND = Kind(
    name="file",
    resource=File,
    create=(_TRY, _WRITE),
    update={"content": (_TRY, _WRITE), **dict.fromkeys(("mode", "uid", "gid"), (_WRITE,))},
    # Taken away before its reader is told, and put back when an apply fails.
    delete=(
        _TRY,
        Step(
            "file.remove",
            "removing",
            after=(
                After("file.write", Where.CLUSTER),
                After("file.try", Where.CLUSTER),
                After("service.owe", Where.CLUSTER),
            ),
            batch=True,
        ),
    ),
)


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the files that a layout wants."""
    for cluster in layout.clusters:
        for path, file in slurm_files(cluster).items():
            uid, gid = cluster.controller.facts.owner(file.owner)
            yield (
                cluster.address / "file" / path,
                evolve(
                    _file(cluster.address, file.content, reader=file.reader, mode=file.mode, uid=uid, gid=gid),
                    image=cluster.controller.facts.id,
                ),
            )


def _file(cluster: Address, text: str, *, reader: str, mode: int, uid: int, gid: int) -> File:
    shown = masked(text)
    return File(
        cluster=cluster,
        content=shown,
        original=Hidden(text) if shown != text else None,
        reader=reader,
        mode=mode,
        uid=uid,
        gid=gid,
    )


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the files that exist where sindplan writes some; whose they are, the cluster's record tells."""
    for cluster in evidence.clusters:
        for path, entry in present(cluster).items():
            yield (
                cluster.address / "file" / path,
                _file(
                    cluster.address,
                    entry.content.decode("utf-8", "backslashreplace"),
                    reader=reader_of(path),
                    mode=entry.mode,
                    uid=entry.uid,
                    gid=entry.gid,
                ),
            )


GENERATED = ("slurm.conf", "sind-nodes.conf", "cgroup.conf", "plugstack.conf", "plugstack.conf.d/.keep")
"""Paths of the files that every managed cluster has."""
_OTHERS = ("gres.conf", "topology.conf", "slurmdbd.conf")
_KEYS = (f"{CONFIG}/slurm.key", JWT_KEY)
_FOLDERS = tuple(f"{name}.conf.d" for name in ("slurm", "cgroup", "gres", "topology", "plugstack", "slurmdbd"))


def reader_of(path: str) -> str:
    """Return the daemon that must be told when a file changes."""
    return "slurmdbd" if path.startswith("slurmdbd.conf") else "slurmctld"


def present(cluster: ClusterEvidence) -> Mapping[str, Entry]:
    """Return the files of a cluster that may be sindplan's, by path below /etc/slurm."""
    return {path: entry for path, entry in (cluster.files or {}).items() if entry.kind == "file" and may_be_ours(path)}


def may_be_ours(path: str) -> bool:
    """Say whether sindplan writes files of that path below /etc/slurm: whatever else lies there is somebody's own."""
    return path in (*GENERATED, *_OTHERS) or path.partition("/")[0] in _FOLDERS


def write(run: Run, action: Action) -> None:
    """Write all files of a cluster that changed."""
    controller = writer(run, action.scope)
    entries: list[Entry] = []
    unread: set[str] = set()
    for change in action.changes:
        before, file = change.before, change.after
        assert isinstance(file, File)
        # A file whose mode or owner alone is set right says nothing new to its reader.
        if not isinstance(before, File) or before.content != file.content:
            unread.add(file.reader)
        entries.append(_entry(run, change, file))
    folders = _folders(action)
    container = run.engine.inspect_container(controller)
    if container is not None and container.state == "running":
        # The mark comes first: whatever is moved after it, its reader has not read.
        marks = [Entry(path=f"{CONFIG}/{MARKS[reader]}") for reader in sorted(unread)]
        run.slurm.install(controller, [*folders, *marks, *entries])
    else:
        run.engine.put_files(controller, [*folders, *entries])


def _entry(run: Run, change: Change, file: File) -> Entry:
    """Return a file as it is written: addresses known, the password filled in."""
    scope = change.address.scope
    text = network.resolve(file.original.value if file.original else file.content, run.known.subnets.get(scope, ""))
    if STORAGE_PASSWORD in text:
        password = run.secrets.get(scope)
        assert password is not None, "secrets are looked up before anything is done"
        text = text.replace(STORAGE_PASSWORD, spelled(password.value))
    return Entry(path=_path(change), content=text.encode(), mode=file.mode, uid=file.uid, gid=file.gid)


def try_out(run: Run, action: Action) -> None:
    """Have a throwaway slurmctld read the files as they will be, before anybody else does."""
    changes = [
        change for change in action.changes if reader_of(_path(change).removeprefix(f"{CONFIG}/")) == "slurmctld"
    ]
    # What is put back was there before, whatever slurmctld thinks of it.
    if run.taking_back or not changes:
        return
    scope = action.scope
    controller = run.engine.inspect_container(run.id(scope / "node" / names.CONTROLLER))
    if controller is None:
        return
    files = {path: entry for path, entry in run.engine.get_files(controller.id, CONFIG).items() if _is_tried(entry)}
    for change in action.changes:
        files.pop(_path(change), None)
        if isinstance(change.after, File):
            files[_path(change)] = _entry(run, change, change.after)
    run.slurm.try_configuration(
        Trial(
            name=names.trial(scope.realm, scope.cluster),
            about=str(scope),
            # A controller that is replaced reads them with another Slurm.
            image=next((change.after.image for change in changes if isinstance(change.after, File)), "")
            or controller.image_id,
            hostname=controller.spec.hostname,
            labels=labels.own(run.owner, run.token),
            files=[files[path] for path in sorted(files)],
        )
    )


def _is_tried(entry: Entry) -> bool:
    """Say whether slurmctld reads a file: not slurmdbd's, with its password, and no key of the cluster."""
    path = entry.path.removeprefix(f"{CONFIG}/")
    return entry.path not in _KEYS and reader_of(path) == "slurmctld" and not path.startswith(".sindplan-")


def _path(change: Change) -> str:
    return f"{CONFIG}/{'/'.join(change.address.parts[3:])}"


def _folders(action: Action) -> list[Entry]:
    """Return the folders that files lie in; one of secret files is as closed as they are."""
    found = {}
    for change in action.changes:
        folder = posixpath.dirname(_path(change))
        file = change.after
        if folder != CONFIG and isinstance(file, File):
            secret = not file.mode & 0o077
            uid, gid = (file.uid, file.gid) if secret else (0, 0)
            found[folder] = Entry(path=folder, kind="dir", mode=0o700 if secret else 0o755, uid=uid, gid=gid)
    return [found[folder] for folder in sorted(found)]


def settle(run: Run, controller: str, mark: str = PENDING) -> None:
    """Take a mark away: a daemon that was started or told to has read everything.

    Args:
        controller: A container that can write the config volume.
    """
    mark = f"{CONFIG}/{mark}"
    if run.engine.has_file(controller, mark):
        run.slurm.remove_files(controller, [mark])


def remove(run: Run, action: Action) -> None:
    """Remove files that are no longer generated, and the folders that this leaves empty."""
    controller = writer(run, action.scope)
    paths = [_path(change) for change in action.changes]
    container = run.engine.inspect_container(controller)
    if container is None or container.state != "running":
        # Nothing can be removed from a container that does not run; an empty file says as little as none.
        run.engine.put_files(controller, [Entry(path=path) for path in paths])
        return
    readers = sorted({change.before.reader for change in action.changes if isinstance(change.before, File)})
    run.slurm.install(controller, [Entry(path=f"{CONFIG}/{MARKS[reader]}") for reader in readers])
    run.slurm.remove_files(controller, paths)


PERFORM = {"file.try": try_out, "file.write": write, "file.remove": remove}
