"""What the Slurm port promises of workers and their jobs: the same on simulated nodes and on real ones."""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest
from attrs import field, frozen

from sindplan.errors import NodeFailed
from sindplan.model import names
from sindplan.slurm.commands import SlurmCommands
from sindplan.slurm.port import DRAIN_REASON, OFF_REASON, Slurm, SlurmNodeState
from tests.preflight.found import declaration
from tests.real import Lab, new_lab, until
from tests.world import World, new_world

WORKER = "worker-0"
SLURMD = ("slurmd.service",)
FOR_EVER = 3600
ENDS = 60
"""Seconds within which jobs that are told to end are gone."""


@frozen
class Simulated:
    """A cluster of simulated nodes."""

    world: World
    controller: str = "sind-dev-controller"
    workers: Mapping[str, str] = {WORKER: f"sind-dev-{WORKER}"}
    numbers: Iterator[int] = field(factory=itertools.count)

    @property
    def port(self) -> Slurm:
        return self.world.slurm

    def run(self, *, interactive: bool = False) -> str:
        """Have a job run on the worker that does not end by itself."""
        job = str(next(self.numbers) + 1)
        self.world.machine.submit(self.controller, WORKER, job, endless=True, interactive=interactive)
        return job

    def stop(self, short: str = WORKER) -> None:
        """Stop a node's container."""
        self.world.engine.stop(f"sind-dev-{short}")

    def start(self, short: str = WORKER) -> None:
        """Start it, daemons and all."""
        self.world.engine.start(f"sind-dev-{short}")


@frozen
class Real:
    """A cluster of real ones."""

    lab: Lab
    realm: str

    @property
    def controller(self) -> str:
        return f"{self.realm}-dev-controller"

    @property
    def workers(self) -> Mapping[str, str]:
        return {WORKER: f"{self.realm}-dev-{WORKER}"}

    @property
    def port(self) -> Slurm:
        return SlurmCommands(self.lab.engine)

    def run(self, *, interactive: bool = False) -> str:
        before = set(self.port.view(self.controller).nodes[WORKER].jobs)
        how = "srun sleep 600 > /dev/null 2>&1 & :" if interactive else "sbatch -D /data --wrap 'sleep 600'"
        self.lab.read(self.controller, "sh", "-c", how)
        self.lab.wait(self.controller, f"[ $(squeue -h -t R -w {WORKER} -o %A | wc -l) -gt {len(before)} ]")
        (job,) = set(self.port.view(self.controller).nodes[WORKER].jobs) - before
        return job

    def stop(self, short: str = WORKER) -> None:
        self.lab.engine.stop(f"{self.realm}-dev-{short}")

    def start(self, short: str = WORKER) -> None:
        self.lab.engine.start(f"{self.realm}-dev-{short}")


@contextmanager
def _simulated(_: object) -> Iterator[Simulated]:
    world = new_world(seed=1)
    assert world.apply(declaration()).outcome.complete
    yield Simulated(world)


@contextmanager
def _real(factory: pytest.TempPathFactory) -> Iterator[Real]:
    with new_lab(factory.mktemp("port")) as lab:
        realm = lab.realm()
        lab.declare(lab.cluster(realm, more='[CLUSTER.slurm]\nmain = "SlurmdTimeout=5"'))
        lab.apply()
        yield Real(lab, realm)


@pytest.fixture(
    scope="module",
    params=[pytest.param(_simulated, id="simulated"), pytest.param(_real, id="real", marks=pytest.mark.proof)],
)
def stage(request, tmp_path_factory):
    with request.param(tmp_path_factory) as made:
        yield made


@pytest.fixture
def place(stage):
    """A cluster whose worker is idle, afterwards too."""
    yield stage
    view = stage.port.view(stage.controller)
    stage.port.cancel(stage.controller, [*view.running_jobs, *view.pending_jobs])
    assert stage.port.wait_empty(stage.controller, [WORKER], ENDS) == ()
    stage.port.resume(stage.controller, [WORKER])
    stage.port.join(stage.controller, stage.workers, ENDS)


def state(place) -> SlurmNodeState:
    return place.port.view(place.controller).nodes[WORKER]


@pytest.mark.parametrize(("reason", "off"), [(DRAIN_REASON, False), (OFF_REASON, True)])
def test_a_drain_is_seen_and_lifted(place, reason, off):
    place.port.drain(place.controller, [WORKER], reason)
    seen = state(place)
    assert (seen.drained, seen.drained_by_us, seen.powered_off, seen.leaving, seen.down) == (
        True,
        True,
        off,
        not off,
        False,
    )
    place.port.join(place.controller, place.workers, ENDS)

    place.port.resume(place.controller, [WORKER])
    seen = state(place)
    assert (seen.drained, seen.drained_by_us, seen.powered_off, seen.leaving) == (False, False, False, False)
    # One that is in service already may be resumed all the same.
    place.port.resume(place.controller, [WORKER])


def test_a_drained_worker_keeps_its_jobs_until_they_are_cancelled(place):
    job = place.run()
    place.port.drain(place.controller, [WORKER], "disk is broken")
    seen = state(place)
    assert (seen.jobs, seen.states.rstrip("*"), seen.drained_by_others) == ((job,), "draining", True)
    assert place.port.wait_empty(place.controller, [WORKER], 1) == (job,)

    place.port.cancel(place.controller, [job])

    assert place.port.wait_empty(place.controller, [WORKER], ENDS) == ()
    assert (state(place).jobs, state(place).states.rstrip("*")) == ((), "drained")
    # That it is gone is what was wanted.
    place.port.cancel(place.controller, [job])


def test_a_batch_job_goes_back_into_the_queue(place):
    job = place.run()

    assert place.port.requeue(place.controller, [job]) == ()

    assert place.port.wait_empty(place.controller, [WORKER], ENDS) == ()
    view = place.port.view(place.controller)
    assert (view.pending_jobs, view.running_jobs, view.nodes[WORKER].waiting) == ((job,), (), ())


def test_an_interactive_job_does_not(place):
    job = place.run(interactive=True)

    assert place.port.requeue(place.controller, [job]) == (job,)

    assert state(place).jobs == (job,)


def test_a_worker_that_was_powered_off_is_known_by_its_reason_for_ever(place):
    place.port.drain(place.controller, [WORKER], OFF_REASON)
    place.stop()
    until(lambda: state(place).reason == f"{OFF_REASON} : Not responding", 60)
    seen = state(place)
    assert (seen.states, seen.powered_off, seen.down) == ("drained*", True, False)

    place.start()
    place.port.join(place.controller, place.workers, ENDS)
    assert state(place).powered_off
    place.port.resume(place.controller, [WORKER])
    assert not state(place).drained


def test_a_controller_that_boots_is_waited_for(place):
    """Otherwise a plan made after a reboot, or after an apply that was killed, says that nobody knows the jobs."""
    for _ in range(3):
        place.stop(names.CONTROLLER)
        place.start(names.CONTROLLER)

        assert WORKER in place.port.view(place.controller).nodes


def test_a_worker_that_has_ended_is_not_waited_for(place):
    """Neither one whose slurmd has, nor one whose container has; and what comes back joins."""
    (container,) = place.workers.values()
    place.port.stop_units(container, SLURMD)
    until(lambda: state(place).states.endswith("*"), 60)
    with pytest.raises(NodeFailed, match="slurmctld cannot use worker-0: slurmd gave up"):
        place.port.join(place.controller, place.workers, FOR_EVER)

    place.stop()
    with pytest.raises(NodeFailed, match="slurmctld cannot use worker-0: the node does not run"):
        place.port.join(place.controller, place.workers, FOR_EVER)

    place.start()
    place.port.boot(container, SLURMD, ENDS)
    place.port.join(place.controller, place.workers, ENDS)
