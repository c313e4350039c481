"""Daemons that must run on a node: systemd units, and what slurmctld has read of its configuration."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import ClassVar

from attrs import field, frozen

from sindplan.engine.records import Entry
from sindplan.kinds import config
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.node import JOIN
from sindplan.kinds.node_resource import DAEMONS, units
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import IGNORED, IN_PLACE, Resource
from sindplan.plan.plan import Action
from sindplan.slurm.files import CONFIG, slurm_files

_SLURM = {f"{daemon}.service" for daemons in DAEMONS.values() for daemon in daemons}
STALE = "not read yet"
"""Stands for the configuration of a slurmctld that has not been told of the last change."""


@frozen(kw_only=True)
class Service(Resource):
    """A daemon on a node.

    Attributes:
        config: Digest of the files that slurmctld reads; empty for other daemons.
    """

    KIND: ClassVar[str] = "service"

    node: Address = field(metadata=IGNORED)
    unit: str = field(metadata=IGNORED)
    active: bool = field(metadata=IN_PLACE)
    config: str = field(default="", metadata=IN_PLACE)

    @property
    def needs(self) -> frozenset[Address]:
        """The node, and munge on it, without which no daemon of Slurm starts."""
        munge = self.node.scope / "service" / self.node.name / "munge"
        return frozenset({self.node, munge} if self.unit in _SLURM else {self.node})

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
                    After("file.write", Where.CLUSTER),
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
                    After("file.write", Where.CLUSTER),
                    After("slurm.drain", Where.CLUSTER),
                    After("service.start", Where.SAME),
                ),
            ),
        ),
    },
)


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the daemons that a layout wants."""
    for cluster in layout.clusters:
        digest = _digest(slurm_files(cluster))
        for node in cluster.nodes:
            for unit in units(node.role):
                name = unit.removesuffix(".service")
                yield (
                    cluster.address / "service" / node.short / name,
                    Service(
                        node=cluster.address / "node" / node.short,
                        unit=unit,
                        active=True,
                        config=digest if name == "slurmctld" else "",
                    ),
                )


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the daemons of the nodes that could be asked."""
    for cluster in evidence.clusters:
        for short, services in cluster.services.items():
            for name, active in services.items():
                yield (
                    cluster.address / "service" / short / name,
                    Service(
                        node=cluster.address / "node" / short,
                        unit=f"{name}.service",
                        active=active,
                        config=_read_by(cluster) if name == "slurmctld" and short == names.CONTROLLER else "",
                    ),
                )


def _read_by(cluster: ClusterEvidence) -> str:
    files = cluster.files or {}
    if config.PENDING in files:
        return STALE
    return _digest({path: files[path].content.decode("utf-8", "replace") for path in config.GENERATED if path in files})


def _digest(files: Mapping[str, str]) -> str:
    """Return a digest of what slurmctld reads, so that a change of a file is a change of the daemon too."""
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
    if service.active:
        run.slurm.start_units(node, [service.unit], run.wait)
    else:
        run.slurm.stop_units(node, [service.unit])


def reconfigure(run: Run, action: Action) -> None:
    """Have slurmctld read its files, and take the mark away that says it has not."""
    (change,) = action.changes
    service = change.after
    assert isinstance(service, Service)
    node = run.id(service.node)
    run.slurm.reconfigure(node)
    if service.config == STALE:
        run.slurm.install(node, [Entry(path=f"{CONFIG}/{config.PENDING}")])
    else:
        run.slurm.remove_files(node, [f"{CONFIG}/{config.PENDING}"])


PERFORM = {"service.start": start, "service.reconfigure": reconfigure}
