"""What a snapshot holds: the answers of engine and Slurm to everything that a plan asks, without secrets."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

from attrs import field, frozen

from sindplan.engine.records import Container, ContainerSummary, EngineInfo, Image, Network, Volume
from sindplan.observe.machine import Machine
from sindplan.observe.surroundings import Surroundings
from sindplan.slurm.accounting import AccountingView
from sindplan.slurm.port import SlurmView
from sindplan.slurm.simulated_memory import SlurmMemory

FORMAT: Literal[1] = 1
"""Raised when a reader of the old one would understand it wrongly."""


@frozen(kw_only=True)
class FileSeen:
    """A file, folder or link in a container.

    Attributes:
        text, base64: What a file says; the second where that is no text.
        hidden: How long a file is whose content is not here, up to `LONGEST_HIDDEN` bytes; None where it is.
    """

    path: str
    kind: Literal["file", "dir", "link"] = "file"
    text: str = ""
    base64: str = ""
    hidden: int | None = None
    link: str = ""
    mode: int = 0o644
    uid: int = 0
    gid: int = 0


LONGEST_HIDDEN = 1024


@frozen(kw_only=True)
class FilesSeen:
    """What was found at a path: a file, or a folder and all below it.

    Attributes:
        refused: The status with which the engine refused to look, 0 when it did not.
    """

    path: str
    entries: tuple[FileSeen, ...] = ()
    refused: int = 0


@frozen(kw_only=True)
class ContainerSeen:
    """A container; of those that are none of a cluster or a mesh the line of the list alone.

    Attributes:
        present: Paths of which it was asked only whether something is there.
        services: Whether its units are active; None when that could not be asked.
        view, accounting: What Slurm says there, where it was asked and answered.
    """

    summary: ContainerSummary
    inspected: Container | None = None
    files: tuple[FilesSeen, ...] = ()
    present: Mapping[str, bool] = field(factory=dict)
    services: Mapping[str, bool] | None = None
    view: SlurmView | None = None
    accounting: AccountingView | None = None


@frozen(kw_only=True)
class Simulated:
    """What a simulated engine and its Slurm know beyond what is asked of them.

    Attributes:
        count: How many things were made so far, so that no id comes twice.
        volumes, layers: Files by volume, and by container of its own.
    """

    count: int = 0
    volumes: Mapping[str, tuple[FileSeen, ...]] = field(factory=dict)
    layers: Mapping[str, tuple[FileSeen, ...]] = field(factory=dict)
    slurm: SlurmMemory = field(factory=SlurmMemory)


@frozen(kw_only=True)
class Snapshot:
    """An engine and the Slurm of its clusters at one moment.

    Attributes:
        version: Of the sindplan that took it.
        taken: When, as RFC 3339 has it.
        probed: Whether daemons and Slurm were asked.
        machine: What the engine's host said.
        images: By every reference.
        probes: What was found in images that do not say themselves what they have, by id.
        simulated: More of an engine that is a simulated one.
    """

    kind: Literal["sindplan snapshot"] = "sindplan snapshot"
    format: Literal[1] = FORMAT
    version: str
    taken: str
    probed: bool = True
    engine: EngineInfo
    machine: Machine = field(factory=Machine)
    images: Mapping[str, Image] = field(factory=dict)
    probes: Mapping[str, str] = field(factory=dict)
    networks: tuple[Network, ...] = ()
    volumes: tuple[Volume, ...] = ()
    containers: tuple[ContainerSeen, ...] = ()
    simulated: Simulated | None = None

    @property
    def moment(self) -> datetime:
        """When it was taken."""
        return datetime.fromisoformat(self.taken).astimezone(UTC)

    def _probe(self, image: str) -> str:
        return self.probes.get(image, "")

    @property
    def surroundings(self) -> Surroundings:
        """What was beside the engine then."""
        return Surroundings(
            now=self.moment.timestamp,
            machine=lambda _: self.machine,
            probe=self._probe,
        )
