"""Both engines for the contract suite."""

from collections.abc import Iterator

import pytest

from sindplan.engine.docker_sdk import DockerEngine
from sindplan.engine.port import Engine
from tests.contract.stage import Stage, real, simulated


@pytest.fixture(scope="session")
def real_engine() -> Iterator[DockerEngine]:
    """The real engine of SINDPLAN_TEST_ENGINE."""
    yield from real()


@pytest.fixture(params=["simulated", pytest.param("real", marks=pytest.mark.engine)])
def engine(request: pytest.FixtureRequest) -> Engine:
    """An engine: each test runs on both."""
    if request.param == "simulated":
        return simulated()
    found: Engine = request.getfixturevalue("real_engine")
    return found


@pytest.fixture
def stage(engine: Engine) -> Iterator[Stage]:
    """A place on an engine, cleaned afterwards."""
    stage = Stage(engine)
    yield stage
    stage.clean()
