"""A folder that generated examples share: each writes its files anew."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that lasts for the session, as hypothesis wants of fixtures."""
    return tmp_path_factory.mktemp("scratch")
