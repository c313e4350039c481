"""Simulated nodes: a tiny systemd and a tiny Slurm in the containers of a simulated engine.

`SlurmMachine` plays what the containers run; `simulated` is the port to it. Waiting takes no time: what has not come to be when it
is waited for never will. The rules that make real daemons refuse to start are those that sindplan must get right: keys with the wrong
mode or owner, a worker without a line, a node whose address is not the one in the file.
"""

from collections.abc import Mapping, Sequence

from attrs import define, field

from sindplan.engine.records import Container, Executed, Volume
from sindplan.engine.simulated import SimulatedEngine
from sindplan.model.boot import BOOTING, prints
from sindplan.slurm.effective import read_at_start
from sindplan.slurm.files import CONFIG, NODES_FILE, node_lines
from sindplan.slurm.parameters import ORDER
from sindplan.slurm.port import PROGRAMS
from sindplan.slurm.simulated_accounting import SimulatedAccounting
from sindplan.slurm.simulated_configuration import refusal
from sindplan.slurm.simulated_daemons import MUNGE_KEY, SLURM_KEY, by_slurm_key, can_start
from sindplan.slurm.trial import ACCEPTED, REFUSED, SCRIPT

_WANTS = "/etc/systemd/system/multi-user.target.wants"
UNITS = "/etc/systemd/system"
# In the order in which a boot starts them.
_DAEMONS = ("mariadb", "slurmdbd", "slurmctld", "slurmd", "slurmrestd", "sackd")


@define
class Node:
    """What runs in a node: active units, the key that its daemons have read, and what they read only once."""

    units: set[str] = field(factory=set)
    key: bytes = b""
    # Of running daemons, what they read only at their start.
    once: dict[str, Mapping[str, str]] = field(factory=dict)


@define
class _Controller:
    """What a slurmctld knows.

    Addresses by node name as last read, drain reasons, nodes that an administrator set down, the version that wrote its state.
    """

    addresses: dict[str, str] = field(factory=dict)
    reasons: dict[str, str] = field(factory=dict)
    down: set[str] = field(factory=set)
    wrote: str = ""


@define
class Job:
    """A job on a node, or one that waits for it by name; on a node it ends when it is waited for, unless it is endless.

    An interactive one cannot be requeued. One that was requeued waits for any node.
    """

    node: str
    endless: bool = False
    waiting: bool = False
    partition: str = "all"
    interactive: bool = False


@define
class SlurmMachine:
    """What simulated containers run.

    Attributes:
        broken: Nodes whose boot fails.
        working: Users who have processes everywhere, and so cannot be removed.
    """

    broken: set[str] = field(factory=set)
    jobs: dict[str, Job] = field(factory=dict)
    accounting: SimulatedAccounting = field(factory=SimulatedAccounting)
    working: set[str] = field(factory=set)
    reconfigured: int = 0
    _engine: SimulatedEngine | None = field(default=None, init=False)
    _nodes: dict[str, Node] = field(factory=dict, init=False)
    # By config volume, so that it outlives a restart of the container as slurmctld's state volume does.
    _controllers: dict[str, _Controller] = field(factory=dict, init=False)

    def attach(self, engine: SimulatedEngine) -> None:
        """Take the engine."""
        self._engine = engine

    @property
    def engine(self) -> SimulatedEngine:
        """The engine whose containers these are."""
        assert self._engine is not None, "the engine attaches itself"
        return self._engine

    def started(self, container: Container) -> int | None:
        """Boot a node: start what its links say; try a configuration; everything else just runs."""
        if _is_trial(container):
            return REFUSED if refusal(self.texts(container)) else 0
        if not self._is_node(container):
            return None
        if container.name in self.broken:
            return 255
        self._nodes[container.id] = Node()
        for name in ("munge", "sshd", *(d for d in _DAEMONS if self._linked(container, d))):
            self.start_unit(container, f"{name}.service")
        return None

    def stopped(self, container: Container) -> int | None:
        """End everything that runs."""
        self._nodes.pop(container.id, None)
        return 0

    def execute(self, container: Container, command: Sequence[str], user: str) -> Executed:
        """Know no command but `true` and `ssh -V`: what nodes do is the port's business."""
        return Executed(code=0 if command[0] == "true" or list(command) == ["ssh", "-V"] else 127, out="", err="")

    def processes(self, container: Container) -> Sequence[str]:
        """Return systemd and the daemons of active units."""
        node = self._nodes.get(container.id)
        # Labels and snapshots may name units that nobody knows.
        return [*(PROGRAMS[unit] for unit in (node.units if node else ()) if unit in PROGRAMS), "systemd"]

    def output(self, container: Container) -> Sequence[str]:
        """Return the boot script's line, or what slurmctld says in a trial."""
        if _is_trial(container):
            return refusal(self.texts(container)) or [ACCEPTED]
        return [BOOTING] if prints(container.spec.command) else []

    def start_unit(self, container: Container, unit: str) -> None:
        """Start a unit if what it needs is there."""
        node = self._nodes[container.id]
        if not self.masked(container, unit) and can_start(self, container, node.units, unit):
            node.units.add(unit)
        if unit == "munge.service" and unit in node.units:
            node.key = self.engine.read(container.id, MUNGE_KEY) or b""
        elif unit in node.units and by_slurm_key(self, container):
            node.key = self.engine.read(container.id, SLURM_KEY) or b""
        daemon = unit.removesuffix(".service")
        if unit in node.units and daemon in ORDER:
            node.once[daemon] = read_at_start(self.texts(container), daemon)
        if unit == "slurmd.service" and unit in node.units:
            # It registers anew: ReturnToService=2.
            self.controller(container).down.discard(container.spec.hostname)
        if unit == "slurmctld.service" and unit in node.units:
            self.controller(container).wrote = container.labels.get("sind.slurm.version", "")
            self.read_configuration(container)

    def stop_unit(self, container: Container, unit: str) -> None:
        """Stop a unit."""
        self._nodes[container.id].units.discard(unit)
        self._nodes[container.id].once.pop(unit.removesuffix(".service"), None)

    def masked(self, container: Container, unit: str) -> bool:
        """Say whether a unit must not be started."""
        path = f"{UNITS}/{unit}"
        if not self.engine.has_file(container.id, path):
            return False
        return self.engine.get_files(container.id, path)[path].link == "/dev/null"

    def active(self, container: Container, unit: str) -> bool:
        """Say whether a unit is active."""
        node = self._nodes.get(container.id)
        return node is not None and unit in node.units

    def reachable(self, container: Container) -> bool:
        """Say whether commands on a controller, which read the files of now, reach the slurmctld that runs there."""
        known = self._nodes[container.id].once.get("slurmctld")
        return known == read_at_start(self.texts(container), "slurmctld")

    def once(self, container: Container, daemon: str) -> Mapping[str, str] | None:
        """Return what a running daemon read only at its start."""
        return self._nodes[container.id].once.get(daemon)

    def read_configuration(self, container: Container) -> None:
        """Have slurmctld read its nodes; drains of nodes that left are forgotten."""
        known = self.controller(container)
        lines = node_lines(self.text(container, NODES_FILE))
        # Without an address a node goes by its name, which Docker resolves while it runs.
        known.addresses = {name: address_in(line) for name, line in lines.items()}
        known.reasons = {name: reason for name, reason in known.reasons.items() if name in known.addresses}
        known.down &= known.addresses.keys()

    def wrote(self, container: Container) -> str:
        """Return the version of the slurmctld that last wrote the state of a container's cluster."""
        return self.controller(container).wrote

    def controller(self, container: Container) -> _Controller:
        """Return what the slurmctld of a container's cluster knows."""
        return self.controller_on(config_volume(container))

    def controller_on(self, volume: str) -> _Controller:
        """Return what the slurmctld of the cluster with a config volume knows."""
        return self._controllers.setdefault(volume, _Controller())

    def state_of(self, controller: Container, name: str) -> str:
        """Return a node's state as slurmctld sees it."""
        known = self.controller(controller)
        node = self.neighbour(controller, name)
        usable = (
            node is not None
            and node.state == "running"
            and self.active(node, "slurmd.service")
            and self._nodes[node.id].key == self._nodes[controller.id].key
            # Ports and authentication.
            and self._nodes[node.id].once.get("slurmd") == self._nodes[controller.id].once.get("slurmctld")
            and any(known.addresses[name] in ("", endpoint.address) for endpoint in node.spec.endpoints)
        )
        if not usable:
            return "drained*" if name in known.reasons else "down*"
        if name in known.down:
            return "down"
        busy = bool(self.jobs_on(controller, name))
        if name in known.reasons:
            return "draining" if busy else "drained"
        return "allocated" if busy else "idle"

    def reason_of(self, controller: Container, name: str) -> str:
        """Return why a node is drained, as slurmctld says it."""
        reason = self.controller(controller).reasons.get(name, "")
        return f"{reason} : Not responding" if reason and self.state_of(controller, name).endswith("*") else reason

    def submit(
        self,
        controller: str,
        name: str,
        job: str,
        *,
        endless: bool = False,
        waiting: bool = False,
        partition: str = "all",
        interactive: bool = False,
    ) -> None:
        """Put a job on a node, or have one wait for it."""
        found = self.engine.inspect_container(controller)
        assert found is not None
        self.jobs[job] = Job(
            node=_key(found, name), endless=endless, waiting=waiting, interactive=interactive, partition=partition
        )

    def requeue(self, controller: Container, job: str) -> bool:
        """Put a job back into the queue, if it is one that can be."""
        if self.jobs[job].interactive:
            return False
        self.jobs[job] = Job(node=_key(controller, ""), endless=self.jobs[job].endless, waiting=True)
        return True

    def jobs_on(self, controller: Container, name: str) -> tuple[str, ...]:
        """Return the jobs on a node."""
        return self._jobs(controller, name, waiting=False)

    def jobs_for(self, controller: Container, name: str) -> tuple[str, ...]:
        """Return the pending jobs that wait for a node by name."""
        return self._jobs(controller, name, waiting=True)

    def jobs_by_partition(self, controller: Container) -> Mapping[str, tuple[str, ...]]:
        """Return the jobs that run or wait in each partition."""
        volume = f"{config_volume(controller)}/"
        found: dict[str, tuple[str, ...]] = {}
        for job, one in self.jobs.items():
            if one.node.startswith(volume):
                found[one.partition] = (*found.get(one.partition, ()), job)
        return found

    def _jobs(self, controller: Container, name: str, *, waiting: bool) -> tuple[str, ...]:
        key = _key(controller, name)
        return tuple(job for job, found in self.jobs.items() if found.node == key and found.waiting == waiting)

    def memory(self) -> object:
        """Return all that is known, comparable: what a rollback must bring back."""
        return (
            {container: (sorted(node.units), node.key, dict(node.once)) for container, node in self._nodes.items()},
            {
                volume: (dict(known.addresses), dict(known.reasons), sorted(known.down))
                for volume, known in self._controllers.items()
                if any(found.name == volume for found in self.engine.volumes())
            },
            self.accounting.memory(volume for volume in self.engine.volumes() if volume.name.endswith("-db")),
        )

    def _is_node(self, container: Container) -> bool:
        # sind's nodes print no line, and are known by their label alone.
        return prints(container.spec.command) or "sind.role" in container.labels

    def _linked(self, container: Container, daemon: str) -> bool:
        return self.engine.has_file(container.id, f"{_WANTS}/{daemon}.service")

    def text(self, container: Container, name: str) -> str:
        """Return a file of /etc/slurm; empty when there is none."""
        return (self.engine.read(container.id, f"{CONFIG}/{name}") or b"").decode("utf-8", "replace")

    def texts(self, container: Container) -> Mapping[str, str]:
        """Return the files below /etc/slurm."""
        return {
            path.removeprefix(f"{CONFIG}/"): entry.content.decode("utf-8", "replace")
            for path, entry in self.engine.get_files(container.id, CONFIG).items()
            if entry.kind == "file"
        }

    def neighbour(self, container: Container, short: str) -> Container | None:
        """Return the node of that short name in the cluster of a container: it shares its config volume.

        While a node is replaced there are two of a name, of which one runs.
        """
        for summary in sorted(self.engine.containers(), key=lambda found: found.state not in ("running", "paused")):
            found = self.engine.inspect_container(summary.id)
            if found and found.spec.hostname == short and config_volume(found) == config_volume(container):
                return found
        return None

    def database(self, controller: Container) -> Volume | None:
        """Return the volume of the database that a controller's commands reach; None when nobody serves it."""
        node = self.neighbour(controller, "db")
        if node is None or not self.active(node, "slurmdbd.service"):
            return None
        if not self.active(controller, "slurmctld.service"):
            return None
        name = next((mount.source for mount in node.spec.mounts if mount.target == "/var/lib/mysql"), "")
        # sind's db node keeps its tables in itself.
        inside = Volume(name=f"inside {node.id}", driver="", labels={})
        return next((volume for volume in self.engine.volumes() if volume.name == name), None) if name else inside


def _is_trial(container: Container) -> bool:
    return SCRIPT in (container.spec.entrypoint or ())


def config_volume(container: Container) -> str:
    """Return the config volume of a container's cluster."""
    return next((mount.source for mount in container.spec.mounts if mount.target == CONFIG), "")


def _key(controller: Container, name: str) -> str:
    return f"{config_volume(controller)}/{name}"


def address_in(line: str) -> str:
    """Return the address in a node's line; empty for one that goes by its name."""
    return dict(word.partition("=")[::2] for word in line.split()).get("NodeAddr", "")
