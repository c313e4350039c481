"""Daemons that must run on a node: systemd units, and what slurmctld has read of its configuration."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import ClassVar

from attrs import field, frozen

from sindplan.engine.records import Entry
from sindplan.kinds import config, roles
from sindplan.kinds.controllers import with_failback, writer
from sindplan.kinds.database import follow
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.node import JOIN
from sindplan.kinds.node_wanted import units_of
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import IGNORED, IN_PLACE, Resource
from sindplan.plan.plan import Action
from sindplan.slurm.files import CONFIG, slurm_files
from sindplan.slurm.masking import masked

STALE = "not read yet"
"""Stands for the configuration of a daemon that has not been told of the last change."""
_READERS = {(names.CONTROLLER, "slurmctld"): "slurmctld", (names.DB, "slurmdbd"): "slurmdbd"}
"""Daemons that are told of changed files, by node: a backup hears it from the controller in control."""


@frozen(kw_only=True)
class Service(Resource):
    """A daemon on a node.

    Attributes:
        config: Digest of the files that slurmctld or slurmdbd reads; empty for other daemons.
        after: Daemons of other nodes that must run first.
    """

    KIND: ClassVar[str] = "service"

    node: Address = field(metadata=IGNORED)
    unit: str = field(metadata=IGNORED)
    active: bool = field(metadata=IN_PLACE)
    config: str = field(default="", metadata=IN_PLACE)
    after: frozenset[Address] = field(default=frozenset(), metadata=IGNORED)

    @property
    def needs(self) -> frozenset[Address]:
        """The node, and the daemons without which this one does not start."""
        name = self.unit.removesuffix(".service")
        same = {self.node.scope / "service" / self.node.name / other for other in roles.NEEDS.get(name, ())}
        return frozenset({self.node, *same, *self.after})

    @property
    def host(self) -> Address | None:
        """The node, whose boot starts its daemons."""
        return self.node


KIND = Kind(
    name="service",
    resource=Service,
    update={
        "active": (
            Step(
                "service.start",
                "starting",
                after=(
                    After("node.start", Where.NEEDED),
                    After("service.start", Where.NEEDED),
                    After("node.create", Where.CLUSTER),
                    After("file.write", Where.CLUSTER),
                    After("file.remove", Where.CLUSTER),
                    # A slurmctld that reads files without a worker forgets its jobs.
                    After("slurm.drain", Where.CLUSTER),
                ),
            ),
            JOIN,
        ),
        "config": (
            Step(
                "service.reconfigure",
                "reconfiguring",
                after=(
                    # Daemons are restarted for a new key: one that is down then cannot be told.
                    After("key.write", Where.CLUSTER),
                    # Files are written, and marks taken away, through a controller that may be made anew.
                    After("node.create", Where.CLUSTER),
                    After("file.write", Where.CLUSTER),
                    After("file.remove", Where.CLUSTER),
                    After("slurm.drain", Where.CLUSTER),
                    After("service.start", Where.SAME),
                    # Told of a database that does not answer, it does not come back in time.
                    After("node.start", Where.NEEDED),
                    After("service.start", Where.NEEDED),
                ),
            ),
        ),
    },
)


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the daemons that a layout wants."""
    for cluster in layout.clusters:
        files = slurm_files(cluster)
        digests = {
            reader: _digest({path: masked(file.content) for path, file in files.items() if file.reader == reader})
            for reader in config.MARKS
        }
        for node in cluster.nodes:
            for unit in units_of(cluster, node):
                name = unit.removesuffix(".service")
                reader = _READERS.get((node.short, name))
                yield (
                    cluster.address / "service" / node.short / name,
                    Service(
                        node=cluster.address / "node" / node.short,
                        unit=unit,
                        active=True,
                        config=digests[reader] if reader else "",
                        after=_after(cluster.address, node.short, name, has_db=cluster.managed_role("db")),
                    ),
                )


def _after(cluster: Address, short: str, name: str, *, has_db: bool) -> frozenset[Address]:
    """Return the daemons of other nodes before which slurmctld is not started."""
    if name != "slurmctld":
        return frozenset()
    if short == names.BACKUP:
        return frozenset({cluster / "service" / names.CONTROLLER / "slurmctld"})
    # It gives up when it has to know accounts and slurmdbd does not answer.
    return frozenset({cluster / "service" / names.DB / "slurmdbd", cluster / "node" / names.DB} if has_db else ())


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the daemons of the nodes that could be asked."""
    for cluster in evidence.clusters:
        for short, services in cluster.services.items():
            for name, active in services.items():
                reader = _READERS.get((short, name))
                yield (
                    cluster.address / "service" / short / name,
                    Service(
                        node=cluster.address / "node" / short,
                        unit=f"{name}.service",
                        active=active,
                        config=_read_by(cluster, reader) if reader else "",
                    ),
                )


def _read_by(cluster: ClusterEvidence, reader: str) -> str:
    if config.MARKS[reader] in (cluster.files or {}):
        return STALE
    present = config.present(cluster)
    # What the user put there besides is no part of what sindplan tells daemons of; before the first record there is nothing.
    own = {content.removeprefix("file/") for content in cluster.contents if content.startswith("file/")}
    return _digest(
        {
            path: masked(entry.content.decode("utf-8", "backslashreplace"))
            for path, entry in present.items()
            if config.reader_of(path) == reader and path in (own if cluster.records else present)
        }
    )


def _digest(files: Mapping[str, str]) -> str:
    """Return a digest of what a daemon reads, so that a change of a file is a change of the daemon too."""
    digest = hashlib.sha256()
    for path, text in sorted(files.items()):
        digest.update(f"{path}\0{len(text)}\0{text}\0".encode())
    return digest.hexdigest()[:12]


def start(run: Run, action: Action) -> None:
    """Start (or stop, when a run is taken back) a daemon of a running node."""
    (change,) = action.changes
    service = change.after
    assert isinstance(service, Service)
    node = run.id(service.node)
    cluster, short = change.address.scope, service.node.name
    if not service.active:
        run.slurm.stop_units(node, [service.unit])
    elif (short, service.unit) == (names.CONTROLLER, "slurmctld.service"):
        with_failback(run, cluster, lambda: run.slurm.start_units(node, [service.unit], run.wait))
    else:
        if service.unit == "slurmdbd.service":
            # It may be down for that very reason that the database knows another password.
            follow(run, writer(run, cluster), node)
        run.slurm.start_units(node, [service.unit], run.wait)


def reconfigure(run: Run, action: Action) -> None:
    """Have a daemon read its files, and take the mark away that says it has not."""
    (change,) = action.changes
    service = change.after
    assert isinstance(service, Service)
    name = service.unit.removesuffix(".service")
    cluster = change.address.scope
    volume = writer(run, cluster)
    if name == "slurmctld":
        run.slurm.reconfigure(volume)
    else:
        # Of its settings slurmdbd reads only some again while it runs (slurmdbd.conf(5), SIGHUP).
        follow(run, volume, run.id(service.node))
        run.slurm.start_units(run.id(service.node), [service.unit], run.wait, restart=True)
    mark = f"{CONFIG}/{config.MARKS[name]}"
    if service.config == STALE:
        run.engine.put_files(volume, [Entry(path=mark)])
    elif run.engine.has_file(volume, mark):
        run.slurm.remove_files(volume, [mark])


PERFORM = {"service.start": start, "service.reconfigure": reconfigure}
