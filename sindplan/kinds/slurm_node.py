"""Workers as slurmctld knows them: registered, usable, and not drained by a sindplan that did not finish.

A worker that leaves is drained first and its jobs are waited for; an administrator's own drain is theirs to lift.
"""

from collections.abc import Iterator
from typing import ClassVar, Literal

from attrs import field, frozen

from sindplan.kinds.controllers import writer
from sindplan.kinds.draining import drained, lift
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.node_resource import replaced_before
from sindplan.kinds.powering import JOIN
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.kind import After, Depending, Kind, Step, Steps, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import IGNORED, IN_PLACE, Resource
from sindplan.plan.plan import Action, Change
from sindplan.slurm.port import DRAIN_REASON, OFF_REASON, SlurmNodeState

Service = Literal["in service", "powered off", "leaving", "down"]


@frozen(kw_only=True)
class SlurmNode(Resource):
    """Slurm's record of a worker.

    Attributes:
        state: `leaving` while sindplan drains it; `powered off` when it is drained and nothing runs on it any more; `down` when
            Slurm has given up a node that runs.
    """

    KIND: ClassVar[str] = "slurm"

    cluster: Address = field(metadata=IGNORED)
    name: str = field(metadata=IGNORED)
    state: Service = field(metadata=IN_PLACE)

    @property
    def needs(self) -> frozenset[Address]:
        """The worker."""
        return frozenset({self.cluster / "node" / self.name})

    @property
    def gone_with(self) -> frozenset[Address]:
        """The node: of one that Slurm does not know any more nobody can say later whether it has jobs."""
        return self.needs

    @property
    def earlier(self) -> frozenset[Address]:
        """The controllers: one that changes over cannot be asked."""
        return replaced_before(self.cluster)

    @property
    def host(self) -> Address | None:
        """The controller: without it there are no records."""
        return self.cluster / "node/controller"


_DRAIN = Step(
    "slurm.drain",
    "draining",
    after=(
        After("node.create", Where.BESIDE),
        # Nobody is drained for a configuration that slurmctld would refuse.
        After("file.try", Where.CLUSTER),
        # slurmctld is asked for jobs, and cannot answer while it is restarted for a new key.
        After("key.write", Where.CLUSTER),
    ),
)
_POWER_OFF = Step("slurm.power-off", "draining", after=_DRAIN.after)
_KEEP_OFF = Step(
    "slurm.keep-off",
    "draining",
    after=(
        After("node.create", Where.BESIDE),
        After("node.start", Where.NEEDED),
        # slurmctld runs by then, and has heard of those that are made to be off.
        After("node.join", Where.CLUSTER),
        After("node.prove", Where.EARLIER),
        After("service.start", Where.CLUSTER),
        After("service.reconfigure", Where.CLUSTER),
        After("service.restart", Where.CLUSTER),
        After("service.settle", Where.CLUSTER),
    ),
)
_RESUME = Step(
    "slurm.resume",
    "resuming",
    after=(
        After("node.join", Where.CLUSTER),
        After("node.prove", Where.NEEDED),
        After("node.prove", Where.EARLIER),
        After("service.start", Where.CLUSTER),
        # It is down for the very reason that its slurmd has not been restarted yet.
        After("service.restart", Where.CLUSTER),
        After("service.settle", Where.CLUSTER),
    ),
)


def _registering(_: None, after: SlurmNode) -> Steps:
    """Return what a worker takes that Slurm gets to know."""
    return (_KEEP_OFF,) if after.state == "powered off" else (JOIN,)


def _turning(_: SlurmNode, after: SlurmNode) -> Steps:
    """Return what brings a worker's record to a state."""
    return (_POWER_OFF,) if after.state == "powered off" else (_RESUME,)


KIND = Kind(
    name="slurm",
    resource=SlurmNode,
    create=Depending(_registering, (JOIN, _KEEP_OFF)),
    update={"state": Depending(_turning, (_RESUME, _POWER_OFF))},
    delete=(_DRAIN,),
)


def address_of(cluster: Address, short: str) -> Address:
    """Return the address of Slurm's record of a worker."""
    return cluster / "slurm/node" / short


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the workers that Slurm should know."""
    for cluster in layout.clusters:
        for worker in cluster.slurm_workers:
            yield (
                address_of(cluster.address, worker.short),
                SlurmNode(
                    cluster=cluster.address,
                    name=worker.short,
                    state="in service" if worker.power == "on" else "powered off",
                ),
            )


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the workers that Slurm knows."""
    for cluster in evidence.clusters:
        for name, state in (cluster.view.nodes if cluster.view else {}).items():
            if names.worker_index(name) is not None:
                yield (
                    address_of(cluster.address, name),
                    SlurmNode(cluster=cluster.address, name=name, state=_state(cluster, name, state)),
                )


def _state(cluster: ClusterEvidence, name: str, state: SlurmNodeState) -> Service:
    if state.leaving:
        return "leaving"
    container = cluster.nodes.get(name)
    runs = container is not None and container.state == "running"
    if state.powered_off and state.jobs and runs:
        # An apply was killed while it waited for them.
        return "leaving"
    if state.powered_off or (state.drained and container is not None and not runs):
        return "powered off"
    # A node that does not run is down for that reason; starting it is another change.
    return "down" if state.down and runs else "in service"


def empties(change: Change) -> bool:
    """Say whether a change of a worker's record waits for its jobs."""
    record = change.after
    return record is None or (isinstance(record, SlurmNode) and record.state == "powered off")


def drain(run: Run, action: Action) -> None:
    """Drain a worker and wait until its jobs are done: one that leaves, or one that is powered off."""
    (change,) = action.changes
    record = change.resource
    assert isinstance(record, SlurmNode)
    reason = DRAIN_REASON if change.after is None else OFF_REASON
    drained(run, record.cluster, record.name, reason, for_good=change.after is None)


def resume(run: Run, action: Action) -> None:
    """Let a worker take jobs again, or drain it again when a run is taken back."""
    (change,) = action.changes
    before, record = change.before, change.after
    assert isinstance(before, SlurmNode)
    assert isinstance(record, SlurmNode)
    controller = writer(run, record.cluster)
    if record.state == "leaving":
        run.slurm.drain(controller, [record.name], DRAIN_REASON)
        return
    if before.state == "down":
        run.slurm.resume(controller, [record.name])
    else:
        lift(run, controller, [record.name])
    if not run.taking_back:
        run.slurm.join(controller, {record.name: run.id(record.cluster / "node" / record.name)}, run.wait)


PERFORM = {"slurm.drain": drain, "slurm.power-off": drain, "slurm.keep-off": drain, "slurm.resume": resume}
