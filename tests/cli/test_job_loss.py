"""What apply says of jobs that it would end, and of configurations that Slurm does not take."""

from pathlib import Path

from sindplan.engine.records import ContainerSpec, NetworkSpec
from sindplan.slurm.files import CONFIG
from sindplan.slurm.trial import LABEL
from tests.cli.conftest import Call
from tests.world import IMAGE, World

CONTROLLER = "sind-dev-controller"
STATE = """\
version = 1
name = "lab"

[realms.sind.clusters.dev]
image = "sindplan-node:26.05"
workers.cpu = {{ count = 1, cpus = {cpus} }}
slurm.main = "MaxJobCount=9\\n{main}"
"""


def write(file: Path, *, cpus: int = 1, main: str = "") -> None:
    file.write_text(STATE.format(cpus=cpus, main=main), encoding="utf-8")


def test_jobs_that_begin_anew_want_to_be_allowed(world: World, state: Path, call: Call) -> None:
    write(state)
    assert call("apply", "--auto-approve").status == 0
    world.machine.submit(CONTROLLER, "worker-0", "17")
    before = world.snapshot()
    write(state, cpus=2)

    planned, refused = call("plan"), call("apply", "--auto-approve")

    for said in (planned, refused):
        assert said.status == 1
        assert "begins the jobs 17 that run there anew" in said.err
        assert "--allow-job-loss" in said.err
    assert world.snapshot() == before
    allowed = call("apply", "--auto-approve", "--allow-job-loss")
    assert allowed.status == 0
    assert "Warning: sind/dev: worker-0 gets other CPUs" in allowed.err


def test_a_refused_configuration_is_told_in_slurms_words(world: World, state: Path, call: Call) -> None:
    write(state)
    assert call("apply", "--auto-approve").status == 0
    before = world.snapshot()
    write(state, main="Nonsense=1\\n")

    said = call("apply", "--auto-approve")

    assert said.status == 1
    assert "slurmctld refuses the new configuration of sind/dev: " in said.err
    assert "of slurm.conf)" in said.err
    assert "sind/dev is as it was before.\n" in said.err
    assert "Taking back" not in said.err
    assert world.snapshot() == before


def test_leftovers_of_a_trial_are_swept_by_an_apply_that_does_something(world: World, state: Path, call: Call) -> None:
    write(state)
    assert call("apply", "--auto-approve").status == 0
    world.engine.create_network(NetworkSpec(name="sind-dev-try", labels={LABEL: "sind/dev"}, internal=True))
    world.engine.create_container(ContainerSpec(name="sind-dev-try", image=IMAGE, labels={LABEL: "sind/dev"}))

    assert "'sind-dev-try' is left of a configuration that was tried" in call("plan").err
    # It need not try one itself.
    world.slurm.stop_units("sind-dev-worker-0", ["slurmd.service"])
    assert call("apply", "--auto-approve").status == 0

    assert world.engine.inspect_container("sind-dev-try") is None
    assert world.engine.inspect_network("sind-dev-try") is None


def test_a_destroy_takes_them_along(world: World, state: Path, call: Call) -> None:
    empty = world.engine.snapshot()
    write(state)
    assert call("apply", "--auto-approve").status == 0
    world.engine.create_network(NetworkSpec(name="sind-dev-try", labels={LABEL: "sind/dev"}, internal=True))

    assert call("destroy", "--auto-approve").status == 0

    assert world.engine.snapshot() == empty


def test_a_half_that_is_left_with_nothing_more_to_do_is_told_so(world: World, state: Path, call: Call) -> None:
    write(state)
    assert call("apply", "--auto-approve").status == 0
    # Nothing is declared anew: the mark alone asks for a reconfigure, and that fails for a file of somebody's own.
    text = world.engine.read(CONTROLLER, f"{CONFIG}/slurm.conf") or b""
    assert text
    write(state, main="include mine.conf\\n")
    world.engine.write(CONTROLLER, f"{CONFIG}/mine.conf", b"MaxArraySize=9\n")
    assert call("apply", "--auto-approve").status == 0
    world.engine.write(CONTROLLER, f"{CONFIG}/mine.conf", b"Nonsense=9\n")
    world.engine.write(CONTROLLER, f"{CONFIG}/.sindplan-pending", b"")

    said = call("apply", "--auto-approve", "--on-failure", "stop")

    assert said.status == 1
    assert "sind/dev is left with everything done but what failed." in said.err
    assert "with 0 still to do" not in said.err
