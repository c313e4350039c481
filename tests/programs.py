"""Programs beside Python's that tests drive: where one is missing, its tests fail and say what to do."""

import shutil
from collections.abc import Mapping

import pytest

PACKAGES: Mapping[str, str] = {
    "chromedriver": "chromium-driver",
    "chromium": "chromium",
    "dot": "graphviz",
    "fish": "fish",
    "systemd-analyze": "systemd",
    "zsh": "zsh",
}
"""Debian's package of each; `tools/test` installs the same."""


def installed(name: str) -> str:
    """Return the path of a program; without it the test fails."""
    path = shutil.which(name)
    if path is None:
        pytest.fail(
            f"There is no {name} on PATH. tools/test installs it; by hand: apt-get install {PACKAGES.get(name, name)}",
            pytrace=False,
        )
    return path
