"""tools/constraints.txt: every package that the checks use is pinned, and only to what pyproject.toml allows."""

import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement

REPO = Path(__file__).parents[2]
PINS = dict(
    line.split("==")
    for line in (REPO / "tools/constraints.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
)
PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(requirements: list[str], extras: frozenset[str] = frozenset()) -> Iterator[Requirement]:
    """Yield what these ask for on this Python, without what only extras nobody asked for want."""
    for requirement in map(Requirement, requirements):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
            yield requirement


def direct() -> list[str]:
    project = PROJECT["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["test"], *PROJECT["build-system"]["requires"]]


def test_what_is_asked_for_is_pinned_within_its_bounds() -> None:
    for requirement in needed(direct()):
        assert requirement.specifier.contains(PINS[plain(requirement.name)]), requirement


def test_what_that_asks_for_is_pinned_too() -> None:
    ahead = [*needed(direct())]
    known: set[tuple[str, frozenset[str]]] = set()
    for requirement in ahead:
        one = plain(requirement.name), frozenset(requirement.extras)
        if one in known:
            continue
        known.add(one)
        assert one[0] in PINS, requirement
        try:
            ahead += needed(requires(requirement.name) or [], one[1])
        except PackageNotFoundError:
            # What builds the package is not there when it is built.
            assert one[0] in map(plain, PROJECT["build-system"]["requires"])


def test_a_pin_is_a_name_and_a_version() -> None:
    text = (REPO / "tools/constraints.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]

    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line) for line in lines)
    assert lines == sorted(lines)
