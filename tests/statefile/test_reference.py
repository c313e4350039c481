"""The page on the state file says what the classes say."""

from pathlib import Path

import pytest

from sindplan.statefile.reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "state-file.md"


def test_the_page_is_up_to_date(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(reference(), encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == reference(), "run pytest --update-golden"
