"""What tests drive beside Python, and what `tools/test` installs of it."""

import re
from pathlib import Path

import pytest

from tests.programs import PACKAGES, installed

LIB = Path(__file__).parents[2] / "tools" / "lib.sh"


def test_tools_test_installs_all_that_tests_drive() -> None:
    found = re.search(r"for wanted in ([^;]+); do", LIB.read_text(encoding="utf-8"))
    assert found is not None

    assert dict(pair.split(":") for pair in found[1].split()) == PACKAGES


def test_a_program_that_is_missing_fails_its_test_and_says_what_to_do() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"There is no nosuch on PATH\. tools/test installs it"):
        installed("nosuch")
