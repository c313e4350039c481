"""The fault injection itself."""

import pytest

from sindplan.errors import EngineRefused, EngineTimeout, EngineUnreachable
from tests.contract.stage import Stage, simulated
from tests.faults import LATE_BY, MUTATING, VERBS, FaultyEngine


def test_every_verb_is_there():
    engine = FaultyEngine(simulated())

    assert len(VERBS) > 25
    assert set(VERBS) > MUTATING
    assert all(callable(getattr(engine, verb)) for verb in VERBS)


@pytest.mark.parametrize(
    ("mode", "error", "done"),
    [
        ("before", EngineRefused, False),
        ("after", EngineRefused, True),
        ("timeout", EngineTimeout, True),
        ("timeout-before", EngineTimeout, False),
    ],
)
def test_the_nth_change_fails(mode, error, done):
    inner = simulated()
    engine = FaultyEngine(inner, fail_at=2, mode=mode)
    stage = Stage(engine)
    stage.network("one")
    with pytest.raises(error):
        stage.network("two")
    stage.network("three")
    engine.networks()

    names = {network.name for network in inner.networks()}
    assert (stage.name("two") in names) is done
    assert {stage.name("one"), stage.name("three")} < names
    assert engine.calls == [("create_network", stage.name(base)) for base in ("one", "two", "three")]


def test_what_is_late_is_done_after_others():
    inner = simulated()
    engine = FaultyEngine(inner, fail_at=1, mode="late")
    stage = Stage(engine)
    with pytest.raises(EngineTimeout):
        stage.network("one")
    assert stage.name("one") not in {network.name for network in inner.networks()}
    for number in range(LATE_BY):
        stage.network(f"more-{number}")
    assert stage.name("one") in {network.name for network in inner.networks()}
    # At the end at the latest, and once.
    other = FaultyEngine(inner, fail_at=1, mode="late")
    last = Stage(other)
    with pytest.raises(EngineTimeout):
        last.network("last")
    other.settle()
    other.settle()
    assert last.name("last") in {network.name for network in inner.networks()}


def test_who_is_dead_does_nothing_more():
    inner = simulated()
    engine = FaultyEngine(inner, fail_at=2, mode="dead")
    stage = Stage(engine)
    stage.network("one")
    for call in (lambda: stage.network("two"), lambda: stage.network("three"), engine.networks):
        with pytest.raises(EngineUnreachable):
            call()
    assert stage.name("three") not in {network.name for network in inner.networks()}
