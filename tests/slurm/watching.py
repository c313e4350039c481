"""Who was away together, while something was done to a cluster: by the engine's events, and by what a node saw itself."""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import frozen

from tests.real import Lab

_LOOP = "while ! [ -e {said}.enough ]; do {sample}; sleep 0.05; done >> {said}; mv {said} {said}.all"


@frozen
class Change:
    """A container that began to run or ended: of which node, when by the engine's clock, and which one."""

    at: int
    node: str
    runs: bool
    id: str


def changes(events: Iterable[Mapping[str, Any]], prefix: str) -> list[Change]:
    """Return what containers began and ended by what the engine said, whatever they were called at that moment."""
    found = []
    for event in events:
        name = event["Actor"]["Attributes"].get("name", "")
        if event["Type"] == "container" and event["Action"] in {"start", "die"} and name.startswith(prefix):
            node = name.removeprefix(prefix).removesuffix("-replaced")
            found.append(Change(event["timeNano"], node, event["Action"] == "start", event["Actor"]["ID"]))
    return sorted(found, key=lambda change: change.at)


def away_together(seen: list[Change]) -> int:
    """Return how many nodes at most had no container that ran, of those that all ran before."""
    away: set[str] = set()
    most = 0
    for change in seen:
        (away.discard if change.runs else away.add)(change.node)
        most = max(most, len(away))
    return most


@frozen
class Watch:
    """What a node sees, again and again: one line for each look."""

    lab: Lab
    container: str
    said: str

    def lines(self) -> list[str]:
        """End it; return what it saw."""
        self.lab.read(self.container, "touch", f"{self.said}.enough")
        self.lab.wait(self.container, f"[ -e {self.said}.all ]")
        return self.lab.read(self.container, "cat", f"{self.said}.all").splitlines()


def watch(lab: Lab, container: str, sample: str, first: str) -> Watch:
    """Have a node take a look again and again, beside everything else; return when it saw the line `first`, a pattern.

    Args:
        sample: Commands for bash that print a line.
    """
    found = Watch(lab, container, "/root/seen")
    loop = _LOOP.format(said=found.said, sample=sample)
    lab.read(container, "systemd-run", "-q", "--unit=watch", "bash", "-c", loop)
    lab.wait(container, f"grep -sqx '{first}' {found.said}")
    return found
