"""The schemas of plans and of events in the repository are what the code makes."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sindplan.render import document_schema, events_schema
from sindplan.render.document_schema import plan_schema

FOLDER = Path(__file__).parents[2] / "schemas"


@pytest.mark.parametrize(
    ("name", "schema"),
    [(document_schema.FILE_NAME, plan_schema()), (events_schema.FILE_NAME, events_schema.events_schema())],
)
def test_the_file_is_what_the_code_makes(pytestconfig: pytest.Config, name: str, schema: dict[str, Any]) -> None:
    text = f"{json.dumps(schema, indent=2, ensure_ascii=False)}\n"
    if pytestconfig.getoption("--update-golden"):
        (FOLDER / name).write_text(text, encoding="utf-8")

    assert (FOLDER / name).read_text(encoding="utf-8") == text
    jsonschema.Draft202012Validator.check_schema(schema)
