"""Options of the test suite."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--update-golden`, which writes the plans below tests/golden anew; read the difference before you keep it."""
    parser.addoption("--update-golden", action="store_true", help="write the golden plans anew")
