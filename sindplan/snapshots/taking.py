"""Taking a snapshot: everything is observed once, by what every plan observes with, and the answers are written down."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import cast

from attrs import define, field, frozen

from sindplan import __version__
from sindplan.engine.port import Engine
from sindplan.engine.records import Container, Entry
from sindplan.errors import EngineRefused
from sindplan.kinds import labels
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.facts import IMAGE_LABEL
from sindplan.observe.gather import gather, take_inventory
from sindplan.observe.inventory import Inventory
from sindplan.observe.surroundings import HERE, Surroundings
from sindplan.slurm.accounting import AccountingView
from sindplan.slurm.port import Slurm, SlurmView
from sindplan.snapshots import redacted
from sindplan.snapshots.snapshot import ContainerSeen, FilesSeen, Snapshot

_NOBODY = "-"
"""Of a cluster that is none, so that the mesh of a realm without clusters is looked at, too."""


def take(engine: Engine, slurm: Slurm, *, probe: bool = True, surroundings: Surroundings = HERE) -> Snapshot:
    """Take a snapshot of an engine and the Slurm of all its clusters. Only reads.

    Args:
        probe: Whether commands may be run in nodes to read daemon and Slurm states.
    """
    moment = surroundings.now()
    inventory = take_inventory(engine)
    answers = _Answers()
    asked = cast("Engine", _AskedEngine(engine, answers)), cast("Slurm", _AskedSlurm(slurm, answers))
    gather(*asked, inventory, _everything(inventory), probe=probe, now=lambda: moment)
    images = {reference: redacted.image(found) for reference, found in sorted(engine.images().items())}
    speechless = {found.id for found in images.values() if not found.labels.get(IMAGE_LABEL)}
    speechless |= {one.image_id for one in inventory.containers if not one.labels.get(IMAGE_LABEL)}
    return Snapshot(
        version=__version__,
        taken=datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds"),
        probed=probe,
        engine=inventory.engine,
        machine=surroundings.machine(inventory.engine),
        images=images,
        probes={image: found for image in sorted(speechless) if (found := surroundings.probe(image))},
        networks=tuple(map(redacted.network, inventory.networks)),
        volumes=tuple(map(redacted.volume, inventory.volumes)),
        containers=tuple(answers.seen(inventory)),
    )


def _everything(inventory: Inventory) -> tuple[Address, ...]:
    """Return all clusters, and one that is none in every realm."""
    marks = [one.labels for one in inventory.containers]
    marks += [one.labels for one in inventory.networks]
    marks += [one.labels for one in inventory.volumes]
    suffix = names.mesh_project("")
    realms = {found[labels.REALM] for found in marks if found.get(labels.REALM)}
    realms |= {
        project.removesuffix(suffix)
        for found in marks
        if (project := found.get(labels.PROJECT, "")).endswith(suffix) and project != suffix
    }
    return (*inventory.clusters(), *(Address((realm, _NOBODY)) for realm in sorted(realms)))


@define
class _Answers:
    """What was answered, by container."""

    inspected: dict[str, Container | None] = field(factory=dict)
    files: dict[str, dict[str, FilesSeen]] = field(factory=lambda: defaultdict(dict))
    present: dict[str, dict[str, bool]] = field(factory=lambda: defaultdict(dict))
    services: dict[str, Mapping[str, bool]] = field(factory=dict)
    views: dict[str, SlurmView | None] = field(factory=dict)
    accounting: dict[str, AccountingView | None] = field(factory=dict)

    def seen(self, inventory: Inventory) -> Iterator[ContainerSeen]:
        """Yield all containers with what was said of them."""
        for one in inventory.containers:
            inspected = self.inspected.get(one.id)
            yield ContainerSeen(
                summary=redacted.summary(one),
                inspected=None if inspected is None else redacted.container(inspected),
                files=tuple(found for _, found in sorted(self.files.get(one.id, {}).items())),
                present=dict(sorted(self.present.get(one.id, {}).items())),
                services=self.services.get(one.id),
                view=self.views.get(one.id),
                accounting=self.accounting.get(one.id),
            )


@frozen
class _AskedEngine:
    """An engine whose answers are written down."""

    engine: Engine
    answers: _Answers

    def inspect_container(self, container: str) -> Container | None:
        """Ask, and write it down."""
        found = self.engine.inspect_container(container)
        self.answers.inspected[container] = found
        return found

    def get_files(self, container: str, path: str, limit: int = 4 * 1024 * 1024) -> Mapping[str, Entry]:
        """Ask, and write it down without secrets."""
        try:
            found = self.engine.get_files(container, path, limit)
        except EngineRefused as error:
            self.answers.files[container][path] = FilesSeen(path=path, refused=error.status)
            raise
        entries = tuple(map(redacted.file, found.values()))
        self.answers.files[container][path] = FilesSeen(path=path, entries=entries)
        return found

    def has_file(self, container: str, path: str) -> bool:
        """Ask, and write it down."""
        found = self.engine.has_file(container, path)
        self.answers.present[container][path] = found
        return found


@frozen
class _AskedSlurm:
    """A Slurm likewise."""

    slurm: Slurm
    answers: _Answers

    def services(self, node: str, units: Sequence[str]) -> Mapping[str, bool]:
        """Ask, and write it down."""
        found = self.slurm.services(node, units)
        self.answers.services[node] = found
        return found

    def view(self, controller: str) -> SlurmView | None:
        """Ask, and write it down."""
        found = self.slurm.view(controller)
        self.answers.views[controller] = found
        return found

    def accounting(self, controller: str) -> AccountingView | None:
        """Ask, and write it down."""
        found = self.slurm.accounting(controller)
        self.answers.accounting[controller] = found
        return found
