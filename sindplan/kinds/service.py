"""Daemons that must run on a node: systemd units, what they have read of their configuration, and what they read only once."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import ClassVar

from attrs import field, frozen

from sindplan.engine.records import Entry
from sindplan.kinds import config, labels, roles
from sindplan.kinds.controllers import answering, with_failback, writer
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
from sindplan.plan.plan import Action, Change
from sindplan.slurm.effective import read_at_start
from sindplan.slurm.files import CONFIG, slurm_files
from sindplan.slurm.masking import masked

_SLURMD = "slurmd.service"
STALE = "not read yet"
"""Stands for the configuration of a daemon that has not been told of the last change."""
_READERS = {(names.CONTROLLER, "slurmctld"): "slurmctld", (names.DB, "slurmdbd"): "slurmdbd"}
"""Daemons that are told of changed files, by node: a backup hears it from the controller in control."""
OWED: Mapping[str, str] = {"restart": "owed"}
"""Stands for what a daemon has read at its start when it has not been restarted since the files changed."""


@frozen(kw_only=True)
class Service(Resource):
    """A daemon on a node.

    Attributes:
        config: Digest of the files that slurmctld or slurmdbd reads; empty for other daemons.
        read_at_start: The parameters that the daemon reads only at its start. A backup slurmctld has none: it is restarted with
            the first one.
        after: Daemons of other nodes that must run first.
    """

    KIND: ClassVar[str] = "service"

    node: Address = field(metadata=IGNORED)
    unit: str = field(metadata=IGNORED)
    active: bool = field(metadata=IN_PLACE)
    config: str = field(default="", metadata=IN_PLACE)
    read_at_start: Mapping[str, str] = field(factory=dict, metadata=IN_PLACE)
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


_READ_FILES = (
    # Files are written, and marks taken away, through a controller that may be made anew.
    After("node.create", Where.CLUSTER),
    After("file.write", Where.CLUSTER),
    After("file.remove", Where.CLUSTER),
    After("slurm.drain", Where.CLUSTER),
    After("service.start", Where.SAME),
    # Told of a database that does not answer, it does not come back in time.
    After("node.start", Where.NEEDED),
    After("service.start", Where.NEEDED),
)

_OWE = Step(
    "service.owe",
    "noting what must be restarted",
    after=(
        After("node.create", Where.CLUSTER),
        After("file.try", Where.CLUSTER),
        After("slurm.drain", Where.CLUSTER),
    ),
    batch=True,
    first=True,
)
_SETTLE = Step(
    "service.settle",
    "waiting for what was restarted",
    after=(
        After("service.restart", Where.CLUSTER),
        After("service.start", Where.CLUSTER),
        After("node.start", Where.CLUSTER),
    ),
    batch=True,
)

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
                covers=frozenset({"service.restart"}),
            ),
            JOIN,
        ),
        "config": (Step("service.reconfigure", "reconfiguring", after=_READ_FILES),),
        "read_at_start": (
            _OWE,
            Step(
                "service.restart",
                "restarting",
                # slurmdbd first (which is always restarted), then slurmctld, then who talks to it.
                after=(
                    *_READ_FILES,
                    After("service.reconfigure", Where.NEEDED),
                    After("service.restart", Where.NEEDED),
                ),
                # One that starts reads everything.
                covers=frozenset({"service.reconfigure"}),
            ),
            _SETTLE,
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
        once = _once({path: masked(file.content) for path, file in files.items()})
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
                        read_at_start=once.get(name, {}) if node.short != names.BACKUP else {},
                        after=_after(cluster.address, node.short, name, has_db=cluster.managed_role("db")),
                    ),
                )


def _once(texts: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """Return what each daemon reads only at its start."""
    return {daemon: read_at_start(texts, daemon) for daemon in config.RESTART_MARKS}


def _after(cluster: Address, short: str, name: str, *, has_db: bool) -> frozenset[Address]:
    """Return the daemons of other nodes before which one is not started: who talks comes after who listens."""
    first = cluster / "service" / names.CONTROLLER / "slurmctld"
    if name in config.RESTART_MARKS and name != "slurmctld":
        return frozenset({first})
    if name != "slurmctld":
        return frozenset()
    if short == names.BACKUP:
        return frozenset({first})
    # It gives up when it has to know accounts and slurmdbd does not answer.
    return frozenset({cluster / "service" / names.DB / "slurmdbd", cluster / "node" / names.DB} if has_db else ())


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the daemons of the nodes that could be asked."""
    for cluster in evidence.clusters:
        once = _once(_own_texts(cluster))
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
                        read_at_start=_read_once(cluster, once, short, name),
                        after=_after(cluster.address, short, name, has_db="slurmdbd" in cluster.services.get("db", {})),
                    ),
                )


def _read_once(
    cluster: ClusterEvidence, once: Mapping[str, Mapping[str, str]], short: str, name: str
) -> Mapping[str, str]:
    if short == names.BACKUP or name not in config.RESTART_MARKS:
        return {}
    return OWED if config.RESTART_MARKS[name] in (cluster.files or {}) else once[name]


def _own_texts(cluster: ClusterEvidence) -> Mapping[str, str]:
    """Return what the files say that sindplan put there.

    What the user put there besides is no part of what sindplan tells daemons of; before the first record there is nothing.
    """
    present = config.present(cluster)
    own = {content.removeprefix("file/") for content in cluster.contents if content.startswith("file/")}
    return {
        path: masked(entry.content.decode("utf-8", "backslashreplace"))
        for path, entry in present.items()
        if path in (own if cluster.records else present)
    }


def _read_by(cluster: ClusterEvidence, reader: str) -> str:
    if config.MARKS[reader] in (cluster.files or {}):
        return STALE
    return _digest({path: text for path, text in _own_texts(cluster).items() if config.reader_of(path) == reader})


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


def restart(run: Run, action: Action) -> None:
    """Restart a daemon that reads only at its start what has changed; of two controllers the first before its backup."""
    (change,) = action.changes
    service = change.after
    assert isinstance(service, Service)
    node = run.id(service.node)

    def again() -> None:
        run.slurm.start_units(node, [service.unit], run.wait, restart=True)

    if (service.node.name, service.unit) == (names.CONTROLLER, "slurmctld.service"):
        with_failback(run, change.address.scope, again)
    else:
        again()


def owe(run: Run, action: Action) -> None:
    """Leave marks that say which daemons have to be restarted, before their files are written."""
    marks = [Entry(path=f"{CONFIG}/{config.RESTART_MARKS[name]}") for name in sorted({*map(_daemon, action.changes)})]
    run.engine.put_files(writer(run, action.scope), marks)


def _daemon(change: Change) -> str:
    service = change.after
    assert isinstance(service, Service)
    return service.unit.removesuffix(".service")


def settle(run: Run, action: Action) -> None:
    """Wait until slurmctld answers, and take the marks away that say who has to be restarted."""
    volume = writer(run, action.scope)
    owed: set[str] = set()
    done: set[str] = set()
    for change in action.changes:
        service = change.after
        assert isinstance(service, Service)
        name = service.unit.removesuffix(".service")
        (owed if service.read_at_start == OWED else done).add(config.RESTART_MARKS[name])
        if name == "slurmctld":
            # It has read everything with that.
            (owed if service.config == STALE else done).add(config.PENDING)
    if any(_daemon(change) == "slurmd" for change in action.changes):
        _restart_guests(run, action)
    controller = answering(run, action.scope)
    if controller is not None and not run.taking_back:
        run.slurm.join(controller, [], run.wait)
    if owed:
        run.engine.put_files(volume, [Entry(path=f"{CONFIG}/{mark}") for mark in sorted(owed)])
    left = [path for mark in sorted(done - owed) if run.engine.has_file(volume, path := f"{CONFIG}/{mark}")]
    if left:
        run.slurm.remove_files(volume, left)


def _restart_guests(run: Run, action: Action) -> None:
    """Restart slurmd of workers that are no part of any plan, as those that sind added: they read the same files."""
    planned = {change.address.parts[3] for change in action.changes}
    for address, node in sorted(run.known.ids.items()):
        is_worker = names.worker_index(address.name) is not None and address == action.scope / "node" / address.name
        if is_worker and address.name not in planned and _serves(run, node):
            run.slurm.start_units(node, [_SLURMD], run.wait, restart=True)


def _serves(run: Run, node: str) -> bool:
    container = run.engine.inspect_container(node)
    is_up = container is not None and container.state == "running" and labels.is_managed(container.labels)
    return is_up and run.slurm.services(node, [_SLURMD])[_SLURMD]


PERFORM = {
    "service.start": start,
    "service.reconfigure": reconfigure,
    "service.owe": owe,
    "service.restart": restart,
    "service.settle": settle,
}
