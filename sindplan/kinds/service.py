"""Daemons that must run on a node: systemd units, what they have read of their configuration, and what they read only once."""

import hashlib
from collections.abc import Iterator, Mapping

from sindplan.engine.records import Entry
from sindplan.kinds import config, restarting
from sindplan.kinds.controllers import with_failback, writer
from sindplan.kinds.database import follow
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.node_wanted import units_of
from sindplan.kinds.powering import JOIN
from sindplan.kinds.run import Run
from sindplan.kinds.service_resource import OWED, STALE, Service
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import Resource
from sindplan.plan.plan import Action
from sindplan.slurm.effective import read_at_start
from sindplan.slurm.files import CONFIG, slurm_files
from sindplan.slurm.masking import masked

_READERS = {(names.CONTROLLER, "slurmctld"): "slurmctld", (names.DB, "slurmdbd"): "slurmdbd"}
"""Daemons that are told of changed files, by node: a backup hears it from the controller in control."""
_READ_FILES = (
    # Daemons are restarted for a new key: one that is down then cannot be told.
    After("key.write", Where.CLUSTER),
    # Files are written, and marks taken away, through a controller that may be made anew.
    After("node.create", Where.BESIDE),
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
        After("node.create", Where.BESIDE),
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
        After("node.start", Where.BESIDE),
        After("node.power-on", Where.BESIDE),
    ),
    batch=True,
)

KIND = Kind(
    name="service",
    resource=Service,
    comes_with_host=True,
    update={
        "active": (
            Step(
                "service.start",
                "starting",
                after=(
                    After("node.start", Where.NEEDED),
                    After("node.power-on", Where.NEEDED),
                    After("service.start", Where.NEEDED),
                    After("node.create", Where.BESIDE),
                    After("boot.set", Where.CLUSTER),
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
        has_db = cluster.managed_role("db")
        for node in cluster.nodes:
            # On a node that is off nothing is expected to run.
            for unit in units_of(cluster, node) if node.power == "on" else ():
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
                        after=_after(cluster.address, node.short, name, has_db=has_db),
                    ),
                )


def _once(texts: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """Return what each daemon reads only at its start."""
    return {daemon: read_at_start(texts, daemon) for daemon in config.RESTART_MARKS}


def _after(cluster: Address, short: str, name: str, *, has_db: bool) -> frozenset[Address]:
    """Return the daemons of other nodes before which one is not started: who talks comes after who listens.

    With a daemon goes its node, which may be what starts it. So nobody starts a backup's slurmctld while the first controller's, to
    start, has it stopped (`controllers.with_failback`).
    """
    first = frozenset({cluster / "service" / names.CONTROLLER / "slurmctld", cluster / "node" / names.CONTROLLER})
    if name in config.RESTART_MARKS and name != "slurmctld":
        return first
    if name != "slurmctld":
        return frozenset()
    # It gives up when it has to know accounts and slurmdbd does not answer.
    db = frozenset({cluster / "service" / names.DB / "slurmdbd", cluster / "node" / names.DB} if has_db else ())
    return first | db if short == names.BACKUP else db


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


PERFORM = {"service.start": start, "service.reconfigure": reconfigure, **restarting.PERFORM}
