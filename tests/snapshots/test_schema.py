"""The schema of snapshots in the repository is what the code makes."""

import json
from pathlib import Path

import jsonschema
import pytest

from sindplan.snapshots.schema import FILE_NAME, snapshot_schema

FILE = Path(__file__).parents[2] / "schemas" / FILE_NAME


def test_the_file_is_what_the_code_makes(pytestconfig: pytest.Config) -> None:
    text = f"{json.dumps(snapshot_schema(), indent=2, ensure_ascii=False)}\n"
    if pytestconfig.getoption("--update-golden"):
        FILE.write_text(text, encoding="utf-8")

    assert FILE.read_text(encoding="utf-8") == text
    jsonschema.Draft202012Validator.check_schema(snapshot_schema())
