"""Every call that changes the engine fails once, in every way, in every kind of apply; docs/tried-failures.md says how many.

Either everything is as it was before, or the next apply arrives at the declaration. Whatever happened, in the end a destroy
leaves nothing.
"""

import copy
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from attrs import evolve, frozen

from sindplan.errors import SindplanError
from sindplan.execute.apply import Settings
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from sindplan.statefile import read
from sindplan.workflow import Prepared, clusters_of, prepare, prepare_destroy
from tests.faults import FaultyEngine, Mode
from tests.slurm.test_faults_at_calls import FAULTS, HANGS
from tests.slurm.test_killed_at_calls import CALLS, EVENTS
from tests.world import World, failures, new_world

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "tried-failures.md"
FULL = Address.parse("sind/full")
MESH_OF_ALL = Address.parse("sind/@mesh")
# What happens to a call of the way back.
WAYS_BACK: Mapping[Mode, str] = {"before": "is refused as well", "dead": "is where it is killed"}
WAYS: Mapping[Mode, str] = {
    "before": "refused",
    "after": "refused, though done",
    "timeout-before": "no answer, not done",
    "timeout": "no answer, though done",
    "late": "no answer, done some calls later",
    "last": "no answer, done when all is over",
    "dead": "killed there",
}


@cache
def _sink() -> Declaration:
    return read([ROOT / "examples/kitchen-sink.toml"])


def _with(**changes: object) -> Declaration:
    declaration = _sink()
    cluster = evolve(declaration.realms["sind"].clusters["full"], **changes)
    return evolve(declaration, realms={"sind": evolve(declaration.realms["sind"], clusters={"full": cluster})})


def _groups(**changes: Mapping[str, object]) -> Declaration:
    workers = _sink().realms["sind"].clusters["full"].workers
    return _with(workers={name: evolve(group, **changes.get(name, {})) for name, group in workers.items()})


def _plan(world: World, declaration: Declaration) -> Prepared:
    return world.prepare(declaration)


def _replacing(world: World, declaration: Declaration) -> Prepared:
    return prepare(world.engine, world.slurm, declaration, replace=(FULL,))


def _replacing_mesh(world: World, declaration: Declaration) -> Prepared:
    return prepare(world.engine, world.slurm, declaration, replace=(MESH_OF_ALL,))


def _destroying(world: World, declaration: Declaration) -> Prepared:
    return prepare_destroy(world.engine, world.slurm, clusters_of(declaration), declaration=declaration)


@frozen
class Kind:
    """A kind of apply of examples/kitchen-sink.toml.

    Attributes:
        there: Whether the example is applied before.
        wanted: What is applied.
        plan: How it is planned.
    """

    says: str
    wanted: Callable[[], Declaration]
    there: bool = True
    plan: Callable[[World, Declaration], Prepared] = _plan


KINDS: Mapping[str, Kind] = {
    "create": Kind("everything is made", _sink, there=False),
    "grow": Kind("a group grows from 2 to 4", lambda: _groups(small={"count": 4})),
    "shrink": Kind("a group shrinks from 2 to 1", lambda: _groups(small={"count": 1})),
    "edit": Kind(
        "memory, text for slurm.conf and an account change",
        lambda: evolve(
            _with(
                defaults=evolve(_sink().realms["sind"].clusters["full"].defaults, memory=300 * 2**20),
                slurm=evolve(_sink().realms["sind"].clusters["full"].slurm, main="MaxJobCount=77\n"),
                accounts={
                    name: evolve(account, limits={"MaxJobs": 3})
                    for name, account in _sink().realms["sind"].clusters["full"].accounts.items()
                },
            )
        ),
    ),
    "off": Kind("the cluster is powered off", lambda: _with(power="off")),
    "replace": Kind("every node is replaced", _sink, plan=_replacing),
    "mesh": Kind("the DNS server and the relay are replaced", _sink, plan=_replacing_mesh),
    "destroy": Kind("everything is removed", _sink, plan=_destroying),
}


# A destroy goes on, and takes nothing back.
GOES_BACK = [kind for kind in KINDS if kind != "destroy"]


@cache
def calls(kind: str) -> int:
    """Return how many calls of an apply change the engine."""
    world, prepared = _start(kind)
    engine = FaultyEngine(world.engine)
    assert failures(world.run(prepared, KINDS[kind].wanted(), engine=engine, settings=_settings(prepared))) == []
    return len(engine.calls)


@cache
def _applied(*, there: bool) -> World:
    world = new_world(seed=1)
    assert not there or failures(world.apply(_sink())) == []
    return world


def _start(kind: str) -> tuple[World, Prepared]:
    """Return a world of one's own, and what is to be done in it."""
    return copy.deepcopy(_applied(there=KINDS[kind].there)), _prepared(kind)


@cache
def _prepared(kind: str) -> Prepared:
    # Planning only reads, so the plan for one copy of the world is the plan for all.
    prepared = KINDS[kind].plan(_applied(there=KINDS[kind].there), KINDS[kind].wanted())
    assert not prepared.blocked, prepared.findings
    assert not prepared.plan.empty
    return prepared


def _settings(prepared: Prepared, on_failure: str = "rollback") -> Settings:
    return Settings(
        parallelism=4,
        on_failure="stop" if on_failure == "stop" else "rollback",
        drain_timeouts=prepared.drain_timeouts,
        on_timeouts=prepared.on_timeouts,
    )


@pytest.mark.parametrize("mode", get_args(Mode))
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_whichever_call_fails(kind: str, mode: Mode) -> None:
    wanted = KINDS[kind].wanted()
    for at in range(1, calls(kind) + 1):
        world, prepared = _start(kind)
        before = world.snapshot()
        engine = FaultyEngine(world.engine, fail_at=at, mode=mode)
        applied = None
        with suppress(SindplanError):
            on_failure = "stop" if mode == "dead" or kind == "destroy" else "rollback"
            applied = world.run(prepared, wanted, engine=engine, settings=_settings(prepared, on_failure))
        engine.settle()

        where = f"call {at}, {engine.calls[at - 1] if len(engine.calls) >= at else 'not reached'}"
        if applied is not None and mode not in ("late", "last"):
            scopes = {action.scope for action in prepared.plan.actions}
            if not applied.outcome.complete and applied.restored >= scopes and not applied.leftovers:
                assert world.snapshot() == before, where
        _arrives(world, kind, where)
        if mode not in ("before", "late", "last"):
            continue
        # Where something could leak: what was not done is asked for again, what comes late is asked for by nobody.
        assert failures(world.destroy(wanted)) == [], where
        assert world.engine.snapshot() == new_world(seed=1).engine.snapshot(), where


@cache
def way_back(kind: str) -> range:
    """Return the numbers of the calls that take back what was done when the last call fails of which everything is."""
    for last in range(calls(kind), 0, -1):
        world, prepared = _start(kind)
        before = world.snapshot()
        engine = FaultyEngine(world.engine, fail_at=last)
        world.run(prepared, KINDS[kind].wanted(), engine=engine, settings=_settings(prepared))
        if len(engine.calls) > last and world.snapshot() == before:
            return range(last + 1, len(engine.calls) + 1)
    raise AssertionError(f"nothing is ever taken back of {kind}")


@pytest.mark.parametrize("mode", WAYS_BACK)
@pytest.mark.parametrize("kind", GOES_BACK)
def test_nothing_is_lost_whichever_call_of_the_way_back_fails(kind: str, mode: Mode) -> None:
    wanted, numbers = KINDS[kind].wanted(), way_back(kind)
    for at in numbers:
        world, prepared = _start(kind)
        before = world.snapshot()
        failing = FaultyEngine(world.engine, fail_at=numbers.start - 1)
        engine = FaultyEngine(failing, fail_at=at, mode=mode)
        applied = None
        with suppress(SindplanError):
            applied = world.run(prepared, wanted, engine=engine, settings=_settings(prepared))

        where = f"call {at}, {engine.calls[at - 1] if len(engine.calls) >= at else 'not reached'}"
        if applied is not None:
            assert not applied.outcome.complete, where
            assert applied.leftovers or world.snapshot() == before, where
        _arrives(world, kind, where)
        assert failures(world.destroy(wanted)) == [], where
        assert world.engine.snapshot() == new_world(seed=1).engine.snapshot(), where


def _arrives(world: World, kind: str, where: str) -> None:
    """Do the same once more, and look whether anything is left to do."""
    wanted = KINDS[kind].wanted()
    if kind == "destroy":
        assert failures(world.run(_destroying(world, wanted), wanted, settings=Settings(on_failure="stop"))) == [], (
            where
        )
        assert world.engine.snapshot() == new_world(seed=1).engine.snapshot(), where
        return
    again = world.prepare(wanted)
    assert not again.blocked, (where, again.findings)
    assert failures(world.run(again, wanted, settings=_settings(again))) == [], where
    assert world.pending(wanted) == [], where


def test_the_table_in_the_docs_is_true(pytestconfig: pytest.Config) -> None:
    rows = [f"| {kind.says} | {calls(name)} | {calls(name) * len(WAYS)} |" for name, kind in KINDS.items()]
    total = sum(map(calls, KINDS))
    ways = "\n".join(f"- {way}" for way in WAYS.values())
    text = f"""\
# Failures that are tried

Each call of sindplan that changes the engine is made to fail, one at a time, in each of these ways:

{ways}

This is done to [examples/kitchen-sink.toml](../examples/kitchen-sink.toml) on the simulated engine, in each of the applies below. Each
time either everything is as it was before, or the next apply arrives at the declaration; nothing is left over.

| apply | calls | tried |
|---|---|---|
{chr(10).join(rows)}
| in all | {total} | {total * len(WAYS)} |

What is taken back is tried as well: of each of these but the last, everything that can be taken back is done, then a call fails, and
each call of the way back is refused too, or is where sindplan is killed. Either all is as it was before or what is left is
told, and the next apply arrives at the declaration.

On the real engine, with real Slurm:

- {len(CALLS)} calls and {len(EVENTS)} events of the engine at which sindplan is killed while a cluster of four workers is made,
  changed, replaced and destroyed (`tests/slurm/test_killed_at_calls.py`);
- {len(FAULTS) + len(HANGS)} calls that are refused, broken off, late or never answered (`tests/slurm/test_faults_at_calls.py`),
  and applies of which each call is answered late;
- lines of its output at which it is killed or interrupted (`tests/slurm/test_killed.py`);
- an engine that is restarted or killed in the middle (`tests/tools/test_private_engine.py`);
- nodes that do not boot, and mounts that the engine refuses (`tests/slurm/test_failures.py`).

This page is written by `pytest --update-golden tests/execute/test_every_call.py`.
"""
    if pytestconfig.getoption("--update-golden"):
        TABLE.write_text(text, encoding="utf-8")
    assert TABLE.read_text(encoding="utf-8") == text
    assert set(WAYS) == set(get_args(Mode))
