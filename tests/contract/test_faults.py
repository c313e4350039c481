"""The fault injection itself."""

import pytest

from sindplan.errors import EngineRefused, EngineTimeout
from tests.contract.stage import Stage, simulated
from tests.faults import MUTATING, VERBS, FaultyEngine


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
