"""Workers as slurmctld knows them: registered, usable, and not drained by a sindplan that did not finish.

A worker that leaves is drained first and its jobs are waited for; an administrator's own drain is theirs to lift.
"""

from collections.abc import Iterator
from typing import ClassVar, Literal

from attrs import field, frozen

from sindplan.errors import NodeFailed, SindplanError
from sindplan.kinds.controllers import answering, writer
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.node import JOIN
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.declaration import DRAIN_TIMEOUT
from sindplan.model.kind import After, Kind, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import IGNORED, IN_PLACE, Resource
from sindplan.model.units import spell_duration
from sindplan.plan.plan import Action
from sindplan.slurm.port import DRAIN_REASON, SlurmNodeState

_SLICE = 10
"""Seconds after which a wait for jobs looks up whether it was interrupted."""
Service = Literal["in service", "leaving", "down"]


@frozen(kw_only=True)
class SlurmNode(Resource):
    """Slurm's record of a worker.

    Attributes:
        state: `leaving` while sindplan drains it; `down` when Slurm has given up a node that runs.
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
    def host(self) -> Address | None:
        """The controller: without it there are no records."""
        return self.cluster / "node/controller"


KIND = Kind(
    name="slurm",
    resource=SlurmNode,
    create=(JOIN,),
    update={
        "state": (
            Step(
                "slurm.resume",
                "resuming",
                after=(
                    After("node.join", Where.CLUSTER),
                    After("service.start", Where.CLUSTER),
                    # It is down for the very reason that its slurmd has not been restarted yet.
                    After("service.restart", Where.CLUSTER),
                    After("service.settle", Where.CLUSTER),
                ),
            ),
        )
    },
    delete=(
        Step(
            "slurm.drain",
            "draining",
            after=(
                After("node.create", Where.CLUSTER),
                # Nobody is drained for a configuration that slurmctld would refuse.
                After("file.try", Where.CLUSTER),
                # slurmctld is asked for jobs, and cannot answer while it is restarted for a new key.
                After("key.write", Where.CLUSTER),
            ),
        ),
    ),
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
                SlurmNode(cluster=cluster.address, name=worker.short, state="in service"),
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
    # A node that does not run is down for that reason; starting it is another change.
    return "down" if state.down and container is not None and container.state == "running" else "in service"


def drain(run: Run, action: Action) -> None:
    """Drain a worker and wait until its jobs are done."""
    (change,) = action.changes
    record = change.before
    assert isinstance(record, SlurmNode)
    drained(run, record.cluster, record.name)


def drained(run: Run, cluster: Address, short: str, *, stays: bool = False) -> None:
    """Drain a worker and wait until its jobs are done.

    Args:
        stays: Whether it comes back: jobs that wait for it by name may go on waiting then.
    """
    controller = answering(run, cluster)
    view = run.slurm.view(controller) if controller is not None else None
    if controller is None or view is None:
        if run.taking_back:
            # What this run made never became part of a cluster that answers.
            return
        raise SindplanError(
            f"slurmctld of {cluster} does not answer, so nobody can say whether {short} is busy.",
            "Mend the controller first (sindplan plan shows what it needs), then take workers away.",
        )
    if short not in view.nodes:
        return
    waiting = view.nodes[short].waiting
    if waiting and not stays and not run.taking_back:
        raise SindplanError(
            f"The pending jobs {', '.join(waiting)} ask for {short} by name and would fail with it; it stays.",
            "Let them run, cancel them (scancel), or have them ask for something else (scontrol update).",
        )
    try:
        run.slurm.drain(controller, [short], DRAIN_REASON)
    except NodeFailed:
        again = run.slurm.view(controller)
        if again is None or short in again.nodes:
            raise
        # The reconfigure of an apply that was killed has just taken it out.
        return
    timeout = run.drain_timeouts.get(cluster / "node" / short, DRAIN_TIMEOUT)
    left = _wait_empty(run, controller, short, timeout)
    if left:
        run.slurm.resume(controller, [short])
        when = "at the interruption" if run.stop.is_set() else f"after {spell_duration(timeout)}"
        raise SindplanError(
            f"{short} still runs the jobs {', '.join(left)} {when}; it stays.",
            "Wait for the jobs or cancel them (scancel), or give the group a longer drain_timeout.",
        )


def _wait_empty(run: Run, controller: str, name: str, timeout: int) -> tuple[str, ...]:
    """Wait for a worker's jobs, in slices, so that an interruption is heard; return those that are left."""
    left: tuple[str, ...] = ()
    for waited in range(0, max(timeout, 1), _SLICE):
        left = run.slurm.wait_empty(controller, [name], min(_SLICE, timeout - waited))
        if not left or run.stop.is_set():
            break
    return left


def resume(run: Run, action: Action) -> None:
    """Let a worker take jobs again, or drain it again when a run is taken back."""
    (change,) = action.changes
    record = change.after
    assert isinstance(record, SlurmNode)
    controller = writer(run, record.cluster)
    if record.state == "in service":
        run.slurm.resume(controller, [record.name])
        if not run.taking_back:
            run.slurm.join(controller, [record.name], run.wait)
    elif record.state == "leaving":
        run.slurm.drain(controller, [record.name], DRAIN_REASON)


PERFORM = {"slurm.drain": drain, "slurm.resume": resume}
