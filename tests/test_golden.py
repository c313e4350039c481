"""Golden plans: for each folder below `golden`, what is there, what is declared, and the whole plan as text.

    before.toml   applied first, on the simulated engine (left out: nothing was applied)
    sind.toml     made first, as sind would
    scene.txt     what happens then, one line each: `what` or `what: to whom` (see SCENES, and tests/edits.py)
    after.toml    what is planned
    plan.txt      privileges, the plan as people read it, its findings, and the graph: number, what it waits for, action

`pytest --update-golden tests/test_golden.py` writes the plans anew.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from attrs import evolve
from ClusterShell.RangeSet import RangeSet

from sindplan.engine.records import Endpoint, NetworkSpec
from sindplan.kinds import labels
from sindplan.kinds.config import RESTART_MARKS
from sindplan.model import names
from sindplan.model.declaration import Declaration
from sindplan.plan.plan import Plan
from sindplan.render.text import render_text
from sindplan.slurm.files import CONFIG, NODES_FILE
from sindplan.statefile import read
from sindplan.workflow import Prepared
from tests.edits import DAMAGE, MESH_DAMAGE
from tests.sind_cluster import Sind, make_all, sind_world
from tests.world import NO_LIMITS, World, new_world

GOLDEN = Path(__file__).parent / "golden"
_KEY = re.compile(r"ssh-ed25519 [A-Za-z0-9+/]+")
LIMITLESS = "the engine holds no limits"


def _add_job(world: World, container: str) -> None:
    realm, cluster, short = _node(world, container)
    world.machine.submit(names.container(realm, cluster, names.CONTROLLER), short, "17")


def _add_guest(world: World, container: str) -> None:
    """Add a worker as sind does: its container without a label of ours, its line, and a new partition line."""
    realm, cluster, short = container.split("-", 2)
    model = world.engine.inspect_container(names.container(realm, cluster, "worker-0"))
    assert model is not None
    made = world.engine.create_container(
        evolve(
            model.spec,
            name=container,
            hostname=short,
            labels={**labels.node(realm, cluster, short), "sind.managed": "true", "sind.data.mountpath": "/data"},
            endpoints=(Endpoint(network=names.network(realm, cluster)), Endpoint(network=names.mesh_network(realm))),
        )
    )
    world.engine.start(made)
    controller = names.container(realm, cluster, names.CONTROLLER)
    path = f"{CONFIG}/{NODES_FILE}"
    text = (world.engine.read(controller, path) or b"").decode()
    *kept, partition = text.splitlines()
    partition = partition.replace(" Default=", f",{short} Default=")
    line = f"NodeName={short} CPUs=2 RealMemory=1024 State=UNKNOWN"
    world.engine.write(controller, path, "\n".join([*kept, line, partition, ""]).encode())


def _owe_restarts(world: World, container: str) -> None:
    """Leave what an apply leaves that was killed between writing and restarting."""
    for mark in RESTART_MARKS.values():
        world.engine.write(container, f"{CONFIG}/{mark}", b"")


def _add_volume(world: World, name: str) -> None:
    world.engine.create_volume(name, {"made-by": "somebody else"})


def _delete_as_old_sind(world: World, cluster: str) -> None:
    """Delete a cluster as a sind does that knows neither its state volume nor its record."""
    realm, name = cluster.split("-")
    for container in world.engine.containers():
        if container.name.startswith(f"{cluster}-"):
            world.engine.remove_container(container.id)
    world.engine.disconnect(names.network(realm, name), names.relay_container(realm))
    world.engine.remove_network(names.network(realm, name))
    for kind in ("config", "munge", "data"):
        world.engine.remove_volume(names.volume(realm, name, kind))


def _add_network(world: World, name: str) -> None:
    world.engine.create_network(NetworkSpec(name=name, labels={}, config_only=True))


def _strip_image(world: World, reference: str) -> None:
    world.engine.add_image(reference)


SCENES: Mapping[str, Callable[[World, str], None]] = {
    **DAMAGE,
    **MESH_DAMAGE,
    "a job runs": _add_job,
    "a restart is owed": _owe_restarts,
    "sind adds a worker": _add_guest,
    "sind deletes the cluster": _delete_as_old_sind,
    "somebody makes a volume": _add_volume,
    "somebody makes a network": _add_network,
    "an image says nothing of itself": _strip_image,
    LIMITLESS: lambda _, __: None,
}


def _node(world: World, container: str) -> tuple[str, str, str]:
    found = world.engine.inspect_container(container)
    assert found is not None
    return found.labels[labels.REALM], found.labels[labels.CLUSTER], found.spec.hostname


@pytest.mark.parametrize("case", sorted(path.name for path in GOLDEN.iterdir()))
def test_the_plan_is_the_golden_one(
    case: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # What an earlier probe found of an image is remembered below it.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    golden = GOLDEN / case / "plan.txt"

    found = written(_prepared(GOLDEN / case))

    if request.config.getoption("--update-golden"):
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")


def _prepared(folder: Path) -> Prepared:
    scene = _scene(folder / "scene.txt")
    new = sind_world if (folder / "sind.toml").exists() else new_world
    world = new(seed=1, **({"info": NO_LIMITS} if (LIMITLESS, "") in scene else {}))
    if (before := folder / "before.toml").exists():
        _apply(world, read([before]))
    if (sinds := folder / "sind.toml").exists():
        make_all(Sind(world.engine), world.slurm, read([sinds]))
    for what, whom in scene:
        SCENES[what](world, whom)
    return world.prepare(read([folder / "after.toml"]))


def _apply(world: World, declaration: Declaration) -> None:
    assert world.apply(declaration).outcome.complete


def _scene(file: Path) -> list[tuple[str, str]]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [(what, whom.strip()) for what, _, whom in (line.partition(":") for line in lines if line)]


def written(prepared: Prepared) -> str:
    """Return everything a plan is as text."""
    # Host keys are made at random.
    return "".join(f"{_KEY.sub('ssh-ed25519 AAAA…', line)}\n" for line in _lines(prepared))


def _lines(prepared: Prepared) -> Iterator[str]:
    yield from (f"! {privilege}" for privilege in prepared.privileges)
    yield from render_text(prepared.plan).splitlines()
    for finding in prepared.findings:
        yield ""
        yield f"{finding.severity.value}: {finding.check}"
        yield f"    {finding.what}"
        if finding.fix:
            yield f"    {finding.fix}"
    if prepared.plan.actions:
        yield ""
        yield from _graph(prepared.plan)


def _graph(plan: Plan) -> Iterator[str]:
    numbers = {action.id: number for number, action in enumerate(plan.actions, 1)}
    for action in plan.actions:
        needs = RangeSet.fromlist([str(numbers[name]) for name in action.needs])
        yield f"#{numbers[action.id]:<2} [{needs}] {action.id}"
