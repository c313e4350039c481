"""The real engine for tests that need one: mark them `engine`."""

from collections.abc import Iterator

import pytest

from sindplan.engine.docker_sdk import DockerEngine
from tests.contract.stage import Stage, real
from tests.real import lab

__all__ = ["lab", "real_engine", "stage"]


@pytest.fixture(scope="session")
def real_engine() -> Iterator[DockerEngine]:
    """The real engine of SINDPLAN_TEST_ENGINE."""
    yield from real()


@pytest.fixture
def stage(real_engine: DockerEngine) -> Iterator[Stage]:
    """A place on the real engine, cleaned afterwards."""
    stage = Stage(real_engine)
    yield stage
    stage.clean()
