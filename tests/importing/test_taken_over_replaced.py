"""Nodes that sind made and that are replaced: what an apply that was killed has set aside is known by its name, and nothing is lost."""

from itertools import count
from typing import Any

import pytest

from sindplan.engine.records import ContainerSummary, Entry
from sindplan.execute.apply import Settings
from sindplan.kinds import labels
from sindplan.model.declaration import Declaration
from sindplan.preflight.finding import Severity
from tests.faults import FaultyEngine
from tests.property.histories import declared_by
from tests.property.test_histories_of_adoption import begun
from tests.world import World, failures

ROWS = "/var/lib/mysql/slurm_acct_db.ibd"
QUEUE = "/var/spool/slurmctld/job_state"
OTHER, NEWER = {"image": "other:1"}, {"image": "newer:1"}
SCRATCH = {"storage": {"mount_path": "/scratch"}}
THEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "goes on": (OTHER, {}),
    "goes back": (OTHER, {"image": "sindplan-node:26.05"}),
    "another edit": (OTHER, SCRATCH),
    "newer": (OTHER, NEWER),
    "newer goes on": (NEWER, {}),
    "off": (OTHER, {**SCRATCH, "power": "off"}),
}


def made() -> tuple[World, dict[str, Any]]:
    """Return a cluster of sind's, imported, with something in the database and the queue, which no volume holds."""
    history = begun(old=False)
    world = history.world
    world.engine.put_files("sind-dev-db", [Entry(path=ROWS, content=b"rows")])
    world.engine.put_files("sind-dev-controller", [Entry(path=QUEUE, content=b"queue")])
    return world, dict(history.tables)["dev"]


def nodes(world: World) -> dict[str, ContainerSummary]:
    return {one.name: one for one in world.engine.containers() if one.labels.get(labels.CLUSTER) == "dev"}


def killed(world: World, wanted: Declaration, at: int) -> bool:
    """Apply and kill it at a call; say whether there were so many."""
    engine = FaultyEngine(world.engine, at, "dead")
    settings = Settings(parallelism=1, on_failure="stop")
    return not world.run(world.prepare(wanted), wanted, engine=engine, settings=settings).outcome.complete


@pytest.mark.parametrize("then", THEN)
def test_whenever_it_is_killed_the_next_edit_is_applied_and_nothing_is_lost(then: str) -> None:
    first, more = THEN[then]
    for at in count(1):
        world, said = made()
        before = nodes(world).keys()
        if not killed(world, declared_by({"dev": {**said, **first}}), at):
            break
        wanted = declared_by({"dev": {**said, **first, **more}})
        prepared = world.prepare(wanted)
        if prepared.blocked:
            # It was killed while no slurmctld ran, and nobody can say whether workers that go off are busy.
            assert (then, {one.check for one in prepared.findings if one.severity is Severity.BLOCKS}) == (
                "off",
                {"jobs"},
            )
            assert failures(world.apply(declared_by({"dev": {**said, **first}}))) == [], at
            prepared = world.prepare(wanted)
        done = world.run(prepared, wanted, settings=Settings(parallelism=1))

        assert failures(done) == [], at
        assert world.pending(wanted) == [], at
        assert nodes(world).keys() == before, at
        assert {one.state for one in nodes(world).values()} == {"exited" if then == "off" else "running"}, at
        assert world.engine.read("sind-dev-db", ROWS) == b"rows", at
        assert world.engine.read("sind-dev-controller", QUEUE) == b"queue", at
        assert [finding for finding in world.prepare(wanted).findings if finding.check == "stray container"] == []
