"""The page on what a change costs says what the tables say, and the tables say something of everything."""

from pathlib import Path

import pytest
from attrs import fields

from sindplan.kinds.costs import costs
from sindplan.kinds.registry import KINDS
from sindplan.model.resource import Cost

PAGE = Path(__file__).parents[2] / "docs" / "what-a-change-costs.md"


def test_the_page_is_up_to_date(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(costs(), encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == costs(), "run pytest --update-golden"


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_field_that_changes_in_place_has_steps_and_no_other_has(kind) -> None:  # type: ignore[no-untyped-def]
    marks = {field.name: field.metadata["cost"] for field in fields(kind.resource)}

    assert {name for name, cost in marks.items() if cost is Cost.IN_PLACE} == set(kind.update)


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_field_that_can_change_is_on_the_page(kind) -> None:  # type: ignore[no-untyped-def]
    (section,) = [part for part in costs().split("\n### ") if part.startswith(f"`{kind.name}`")] or [""]

    for field in fields(kind.resource):
        if field.metadata["cost"] is not Cost.IGNORED:
            assert f"`{field.name}`" in section
