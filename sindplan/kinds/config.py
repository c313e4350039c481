"""Files on the config volume: Slurm's configuration as text.

Before a controller's first start they go into it as one archive. Later they are put beside the old ones and moved over
them, since Docker's own replacing shows readers a missing or short file. A mark stays until slurmctld has read them, so that an
apply that was killed in between is finished by the next one.
"""

from collections.abc import Iterator
from typing import ClassVar

from attrs import field, frozen

from sindplan.engine.records import Entry
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.run import Run
from sindplan.model import network
from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Phase, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import IGNORED, IN_PLACE, Resource
from sindplan.plan.plan import Action
from sindplan.slurm.files import CONFIG, slurm_files

PENDING = ".sindplan-pending"
"""Name of the mark in /etc/slurm that says slurmctld has not read the files yet."""


@frozen(kw_only=True)
class File(Resource):
    """A file of /etc/slurm. `content` may hold symbols of addresses."""

    KIND: ClassVar[str] = "file"

    cluster: Address = field(metadata=IGNORED)
    content: str = field(metadata=IN_PLACE)
    mode: int = field(default=0o644, metadata=IN_PLACE)
    uid: int = field(default=0, metadata=IN_PLACE)
    gid: int = field(default=0, metadata=IN_PLACE)

    @property
    def needs(self) -> frozenset[Address]:
        """The volume it lies on, and the controller it is written through."""
        return frozenset({self.cluster / "volume/config", self.cluster / "node/controller"})

    @property
    def host(self) -> Address | None:
        """The volume: when it goes, so do its files."""
        return self.cluster / "volume/config"


_WRITE = Step(
    "file.write",
    "writing",
    # Configuration without a worker is written only when the worker's jobs are done.
    after=(After("node.create", Where.NEEDED), After("slurm.drain", Where.CLUSTER)),
    batch=True,
)

KIND = Kind(
    name="file",
    resource=File,
    create=(_WRITE,),
    update=dict.fromkeys(("content", "mode", "uid", "gid"), (_WRITE,)),
    delete=(Step("file.remove", "removing", Phase.REMOVE, batch=True),),
)


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the files that a layout wants."""
    for cluster in layout.clusters:
        for path, content in slurm_files(cluster).items():
            yield cluster.address / "file" / path, File(cluster=cluster.address, content=content)


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the files that sindplan writes and that exist; others on the volume are the user's own."""
    for cluster in evidence.clusters:
        for path, entry in _ours(cluster):
            yield (
                cluster.address / "file" / path,
                File(
                    cluster=cluster.address,
                    content=entry.content.decode("utf-8", "backslashreplace"),
                    mode=entry.mode,
                    uid=entry.uid,
                    gid=entry.gid,
                ),
            )


GENERATED = ("slurm.conf", "sind-nodes.conf", "cgroup.conf", "plugstack.conf", "plugstack.conf.d/.keep")
"""Paths of the files that sindplan writes."""


def _ours(cluster: ClusterEvidence) -> Iterator[tuple[str, Entry]]:
    for path in GENERATED:
        entry = (cluster.files or {}).get(path)
        if entry is not None and entry.kind == "file":
            yield path, entry


def write(run: Run, action: Action) -> None:
    """Write all files of a cluster that changed."""
    controller = run.id(action.scope / "node/controller")
    subnet = run.known.subnets.get(action.scope, "")
    entries: list[Entry] = []
    unread = False
    for change in action.changes:
        before, file = change.before, change.after
        assert isinstance(file, File)
        content = network.resolve(file.content, subnet)
        # A file whose mode or owner alone is set right says nothing new to slurmctld.
        unread = unread or not isinstance(before, File) or before.content != content
        path = f"{CONFIG}/{'/'.join(change.address.parts[3:])}"
        entries.append(Entry(path=path, content=content.encode(), mode=file.mode, uid=file.uid, gid=file.gid))
    container = run.engine.inspect_container(controller)
    if container is not None and container.state == "running":
        # The mark comes first: whatever is moved after it, slurmctld has not read.
        mark = [Entry(path=f"{CONFIG}/{PENDING}")] if unread else []
        run.slurm.install(controller, [*mark, *entries])
    else:
        run.engine.put_files(controller, entries)


def settle(run: Run, controller: str) -> None:
    """Take the mark away: a slurmctld that was started or told to has read everything."""
    if run.engine.has_file(controller, f"{CONFIG}/{PENDING}"):
        run.slurm.remove_files(controller, [f"{CONFIG}/{PENDING}"])


def remove(run: Run, action: Action) -> None:
    """Remove files that are no longer generated."""
    controller = run.id(action.scope / "node/controller")
    paths = [f"{CONFIG}/{'/'.join(change.address.parts[3:])}" for change in action.changes]
    run.slurm.remove_files(controller, paths)


PERFORM = {"file.write": write, "file.remove": remove}
