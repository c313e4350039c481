"""What a simulated Slurm knows, as plain records that a file can hold."""

from collections.abc import Mapping
from typing import Any

from attrs import define, evolve, field, frozen

from sindplan.engine.records import Container
from sindplan.slurm.accounting import AccountingView
from sindplan.slurm.accounting_commands import OF_RECORD
from sindplan.slurm.effective import read_at_start
from sindplan.slurm.files import NODES_FILE, node_lines
from sindplan.slurm.limits import LIMITS, NONE
from sindplan.slurm.parameters import ORDER
from sindplan.slurm.port import SlurmView
from sindplan.slurm.simulated_accounting import Database, blank
from sindplan.slurm.simulated_daemons import MUNGE_KEY, SLURM_KEY, by_slurm_key
from sindplan.slurm.simulated_machine import Job, Node, SlurmMachine, address_in, config_volume

_LATER = " : Not responding"
"""What slurmctld adds to a reason, and will add again."""


@frozen(kw_only=True)
class JobMemory:
    """A job of a simulated Slurm."""

    node: str
    endless: bool = False
    waiting: bool = False
    partition: str = "all"
    interactive: bool = False


@frozen(kw_only=True)
class ControllerMemory:
    """What a simulated slurmctld knows: addresses and drain reasons of nodes, those set down, the version of its state."""

    addresses: Mapping[str, str] = field(factory=dict)
    reasons: Mapping[str, str] = field(factory=dict)
    down: tuple[str, ...] = ()
    wrote: str = ""


@frozen(kw_only=True)
class DatabaseMemory:
    """What a simulated slurmdbd has on a volume.

    Attributes:
        records: What is left of accounts that were deleted.
    """

    volume: str
    created: str
    view: AccountingView
    qos: tuple[str, ...] = ()
    records: Mapping[str, Mapping[str, str]] = field(factory=dict)


@frozen(kw_only=True)
class NodeMemory:
    """What runs in a simulated node: active units, and what their daemons read only at their start."""

    units: tuple[str, ...] = ()
    once: Mapping[str, Mapping[str, str]] = field(factory=dict)


@frozen(kw_only=True)
class SlurmMemory:
    """All of it: jobs by id, controllers by their config volume, databases, nodes by their container."""

    jobs: Mapping[str, JobMemory] = field(factory=dict)
    controllers: Mapping[str, ControllerMemory] = field(factory=dict)
    databases: tuple[DatabaseMemory, ...] = ()
    nodes: Mapping[str, NodeMemory] = field(factory=dict)


@define
class RememberingMachine(SlurmMachine):
    """Simulated nodes that can be written down and brought back."""

    def remembered(self) -> SlurmMemory:
        """Return all that is known. Keys that daemons hold are not in it: they are taken to be those that lie in the nodes."""
        there = {volume.name for volume in self.engine.volumes()}
        return SlurmMemory(
            jobs={name: JobMemory(**_fields(job)) for name, job in self.jobs.items()},
            controllers={
                volume: ControllerMemory(
                    addresses=dict(known.addresses),
                    reasons=dict(known.reasons),
                    down=tuple(sorted(known.down)),
                    wrote=known.wrote,
                )
                for volume, known in self._controllers.items()
                if volume in there
            },
            databases=tuple(
                DatabaseMemory(
                    volume=volume,
                    created=created,
                    view=AccountingView(accounts=dict(found.accounts), users=dict(found.users)),
                    qos=tuple(sorted(found.qos)),
                    records=dict(found.records),
                )
                for (volume, created), found in self.accounting.databases.items()
            ),
            nodes={
                container: NodeMemory(units=tuple(sorted(node.units)), once=dict(node.once))
                for container, node in self._nodes.items()
            },
        )

    def remember(self, memory: SlurmMemory) -> None:
        """Bring back what was known. The engine's containers must be there."""
        self.jobs.update({name: Job(**_fields(job)) for name, job in memory.jobs.items()})
        for volume, said in memory.controllers.items():
            known = self.controller_on(volume)
            known.addresses, known.reasons = dict(said.addresses), dict(said.reasons)
            known.down, known.wrote = set(said.down), said.wrote
        for one in memory.databases:
            self.accounting.databases[one.volume, one.created] = _sound(one.view, one.qos, one.records)
        for container, node in memory.nodes.items():
            self._runs(container, node.units, node.once)

    def knows(self, container: Container) -> bool:
        """Say whether it is known what runs in a container."""
        return container.id in self._nodes

    def learn(self, container: Container, units: Mapping[str, bool]) -> None:
        """Take a real node's daemons to run, with the keys and files that lie there now."""
        active = tuple(unit for unit, runs in units.items() if runs)
        texts = self.texts(container)
        once = {daemon: read_at_start(texts, daemon) for daemon in ORDER if f"{daemon}.service" in active}
        self._runs(container.id, active, once)

    def learn_view(self, container: Container, view: SlurmView) -> None:
        """Take what a real slurmctld said for what the simulated one of a container's cluster knows."""
        known = self.controller(container)
        lines = node_lines(self.text(container, NODES_FILE))
        known.addresses = {name: address_in(lines.get(name, "")) for name in view.nodes}
        known.reasons = {name: one.reason.removesuffix(_LATER) for name, one in view.nodes.items() if one.drained}
        known.down = {name for name, one in view.nodes.items() if one.states == "down"}
        known.wrote = container.labels.get("sind.slurm.version", "")
        partitions = {job: name for name, jobs in view.partitions.items() for job in jobs}
        volume = config_volume(container)
        for job in (*view.pending_jobs, *view.running_jobs):
            where = next((name for name, one in view.nodes.items() if job in (*one.jobs, *one.waiting)), "")
            # Two clusters may have jobs of one number.
            name = job if job not in self.jobs else f"{job} of {volume}"
            self.jobs[name] = Job(
                node=f"{volume}/{where}",
                waiting=job not in view.running_jobs,
                partition=partitions.get(job, "all"),
            )

    def learn_accounting(self, container: Container, view: AccountingView) -> None:
        """Take what a real slurmdbd said for what the simulated one has."""
        volume = self.database(container)
        if volume is None:
            return
        said = (one.limits.get(limit, "") for one in view.accounts.values() for limit in ("QOS", "DefaultQOS"))
        qos = tuple({name for names in said for name in names.split(",") if name and name != NONE})
        self.accounting.databases[volume.name, volume.created] = _sound(view, qos, {})

    def _runs(self, container: str, units: tuple[str, ...], once: Mapping[str, Mapping[str, str]]) -> None:
        found = self.engine.inspect_container(container)
        if found is None:
            return
        path = SLURM_KEY if by_slurm_key(self, found) else MUNGE_KEY
        self._nodes[container] = Node(
            units=set(units), key=self.engine.read(container, path) or b"", once={k: dict(v) for k, v in once.items()}
        )


def _fields(job: Any) -> dict[str, Any]:  # noqa: ANN401 - either of the two records of a job
    names = ("node", "endless", "waiting", "partition", "interactive")
    return {name: getattr(job, name) for name in names}


def _sound(view: AccountingView, qos: tuple[str, ...], records: Mapping[str, Mapping[str, str]]) -> Database:
    """Return a database of what a view says, whole as every real one is."""
    blanks = {name: blank(one.parent) for name, one in view.accounts.items()}
    accounts = {
        name: evolve(blanks[name], limits={**blanks[name].limits, **_known(one.limits)})
        for name, one in view.accounts.items()
    }
    fresh = Database()
    accounts = {**fresh.accounts, **accounts}
    users = {
        name: evolve(one, accounts=tuple(a for a in one.accounts if a in accounts)) for name, one in view.users.items()
    }
    kept: dict[str, Mapping[str, str]] = {
        name: {limit: one.get(limit, "") for limit in OF_RECORD} for name, one in records.items()
    }
    return Database(accounts=accounts, users={**fresh.users, **users}, qos={*fresh.qos, *qos}, records=kept)


def _known(limits: Mapping[str, str]) -> Mapping[str, str]:
    return {limit: value for limit, value in limits.items() if limit in LIMITS}
