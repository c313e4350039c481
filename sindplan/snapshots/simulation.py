"""From a snapshot to a simulated engine that goes on from there, and back to a snapshot."""

import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import evolve, frozen

from sindplan import __version__
from sindplan.engine.records import Container, Entry, Image
from sindplan.engine.simulated import DEFAULT_INFO
from sindplan.engine.simulated_restored import RestoredEngine, Things
from sindplan.engine.simulated_store import Tree
from sindplan.kinds import labels
from sindplan.kinds.database import SQL_FILE
from sindplan.kinds.first_boot import WANTS
from sindplan.kinds.host_key import HOST_KEY
from sindplan.kinds.key import FILES
from sindplan.kinds.relay import KNOWN_HOSTS
from sindplan.kinds.units_said import units_said
from sindplan.model.facts import IMAGE_LABEL
from sindplan.observe.surroundings import Surroundings
from sindplan.slurm.files import CONFIG
from sindplan.slurm.masking import HIDDEN, masked
from sindplan.slurm.simulated import SimulatedSlurm
from sindplan.slurm.simulated_memory import RememberingMachine
from sindplan.snapshots import redacted, stand_in
from sindplan.snapshots.snapshot import ContainerSeen, FileSeen, Simulated, Snapshot
from sindplan.snapshots.taking import take

_PASSWORD = "simulated"  # noqa: S105 - stands where a real one was
_MOUNTED: Mapping[str, str] = {
    "config": CONFIG,
    "munge": FILES["munge"].path.rpartition("/")[0],
    "ssh-config": KNOWN_HOSTS.rpartition("/")[0],
}
"""Where volumes lie that no container mounts, by what compose calls them."""
_VOLUME = "com.docker.compose.volume"


@frozen
class Simulation:
    """A simulated engine with Slurm in its nodes, and the snapshot that it began with."""

    engine: RestoredEngine
    slurm: SimulatedSlurm
    machine: RememberingMachine
    began: Snapshot


def empty(path: Path) -> Snapshot:
    """Return a snapshot of an engine that has nothing yet and is kept in a file."""
    # The same for the same file, since saved plans name the engine that they are for.
    info = evolve(DEFAULT_INFO, engine_id=str(uuid.uuid5(uuid.NAMESPACE_URL, path.absolute().as_uri())))
    return Snapshot(version=__version__, taken="2026-01-01T00:00:00+00:00", engine=info, simulated=Simulated())


def simulate(snapshot: Snapshot, address: str) -> Simulation:
    """Return a simulated engine that has what a snapshot says.

    Args:
        address: What it says of where it is.
    """
    machine = RememberingMachine()
    known = snapshot.simulated
    engine = RestoredEngine(
        info=evolve(snapshot.engine, address=address),
        machine=machine,
        things=Things(
            images={reference: _with_facts(one, snapshot) for reference, one in snapshot.images.items()},
            networks=snapshot.networks,
            volumes=snapshot.volumes,
            containers=tuple((one.summary, one.inspected) for one in snapshot.containers),
        ),
        count=known.count if known is not None else 0,
        labels_of=stand_in.labels_of,
    )
    for seen in snapshot.containers:
        if known is None and seen.inspected is not None:
            engine.lay(seen.summary.id, _files(seen, seen.inspected))
    if known is not None:
        for name, files in known.volumes.items():
            engine.lay_on_volume(name, map(_entry, files))
        for name, files in known.layers.items():
            engine.lay_in_layer(name, map(_entry, files))
    _run(machine, snapshot)
    return Simulation(engine, SimulatedSlurm(engine, machine), machine, snapshot)


def photograph(simulation: Simulation) -> Snapshot:
    """Return a snapshot of a simulated engine, from which it can go on."""
    began, engine = simulation.began, simulation.engine
    surroundings = Surroundings(
        now=time.time, machine=lambda _: began.machine, probe=lambda image: began.probes.get(image, "")
    )
    volumes, layers = engine.trees()
    mounted = _mounted(simulation)
    return evolve(
        take(engine, simulation.slurm, surroundings=surroundings),
        engine=began.engine,
        simulated=Simulated(
            count=engine.count,
            volumes={name: _seen(tree, mounted.get(name, "/")) for name, tree in volumes.items() if tree},
            layers={name: _seen(tree, "/") for name, tree in layers.items() if tree},
            slurm=simulation.machine.remembered(),
        ),
    )


def _with_facts(image: Image, snapshot: Snapshot) -> Image:
    """Return an image that says itself what an earlier probe of it has found: no other can look into it here."""
    found = "" if image.labels.get(IMAGE_LABEL) else snapshot.probes.get(image.id, "")
    return evolve(image, labels={**image.labels, IMAGE_LABEL: found}) if found else image


def _mounted(simulation: Simulation) -> Mapping[str, str]:
    """Return where each volume is mounted, or would be."""
    found = {
        one.name: _MOUNTED[kind]
        for one in simulation.engine.volumes()
        if (kind := one.labels.get(_VOLUME, "")) in _MOUNTED
    }
    for summary in simulation.engine.containers():
        container = simulation.engine.inspect_container(summary.id)
        for mount in container.spec.mounts if container is not None else ():
            if mount.kind == "volume":
                found[mount.source] = mount.target
    return found


def _seen(tree: Tree, target: str) -> tuple[FileSeen, ...]:
    """Return files without secrets, by their paths in the tree; what they are, their paths in a container tell."""
    return tuple(
        evolve(redacted.file(evolve(entry, path=f"{target.rstrip('/')}{path}")), path=path)
        for path, entry in sorted(tree.items())
    )


def _entry(seen: FileSeen) -> Entry:
    """Return a file; where its password was masked something stands that daemons take for one."""
    found = redacted.entry(seen)
    if HIDDEN.encode() in found.content and (text := _decoded(found.content)) is not None:
        filled = text.replace(HIDDEN, _PASSWORD)
        if masked(filled) == text:
            return evolve(found, content=filled.encode())
    return found


def _decoded(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _files(seen: ContainerSeen, container: Container) -> Iterator[Entry]:
    """Yield the files of a real container, and those that it must have though nobody has looked at them."""
    found = {one.path: _entry(one) for files in seen.files for one in files.entries}
    yield from found.values()
    marks = container.labels
    if not marks.get(labels.ROLE):
        return
    if seen.present.get(SQL_FILE):
        yield Entry(path=SQL_FILE, content=b"?", mode=0o640, uid=1)
    if HOST_KEY not in found:
        yield Entry(path=HOST_KEY, content=b"?", mode=0o600)
        yield Entry(path=f"{HOST_KEY}.pub", content=f"{marks.get(labels.HOST_KEY, '')}\n".encode())
    if not marks.get(labels.OWNER):
        # sind enables units by commands, and their links were not read.
        for unit in units_said(marks):
            yield Entry(path=f"{WANTS}/{unit}", kind="link", link=f"/lib/systemd/system/{unit}")


def _run(machine: RememberingMachine, snapshot: Snapshot) -> None:
    """Have run what ran."""
    if snapshot.simulated is not None:
        machine.remember(snapshot.simulated.slurm)
    nodes = [one for one in snapshot.containers if one.inspected is not None and one.inspected.labels.get(labels.ROLE)]
    for seen in nodes:
        container = machine.engine.inspect_container(seen.summary.id)
        if container is not None and container.state in ("running", "paused") and not machine.knows(container):
            # One that is frozen, or was not asked, has what it should have.
            machine.learn(container, seen.services or dict.fromkeys(units_said(container.labels), True))
    for seen in nodes if snapshot.simulated is None else ():
        if seen.inspected is not None and seen.view is not None:
            machine.learn_view(seen.inspected, seen.view)
        if seen.inspected is not None and seen.accounting is not None:
            machine.learn_accounting(seen.inspected, seen.accounting)
    if snapshot.simulated is None:
        for seen in nodes:
            if seen.inspected is not None and seen.inspected.spec.hostname == "controller" and seen.view is None:
                machine.read_configuration(seen.inspected)
