"""One state file as far as it could be read, which turns faults into problems with file and line."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from sindplan.errors import Problem
from sindplan.model.declaration import Cluster, Declaration
from sindplan.statefile.clusters import faults_of_cluster
from sindplan.statefile.context import Context
from sindplan.statefile.fault import Fault
from sindplan.statefile.fields import faults_of_fields
from sindplan.statefile.files import Document
from sindplan.statefile.structure import Structured, structure
from sindplan.statefile.text_lines import Spot
from sindplan.statefile.wording import KeyPath, key_path

_CLUSTER_DEPTH = 4
"""Keys in a cluster's path."""


@frozen
class Source:
    """A state file and what it declares, without what does not fit the grammar."""

    document: Document
    structured: Structured

    @classmethod
    def of(cls, document: Document) -> "Source":
        """Return the source that a document is."""
        return cls(document, structure(document.content))

    @property
    def declaration(self) -> Declaration:
        """What the file declares."""
        return self.structured.declaration

    def said(self, path: KeyPath) -> bool:
        """Say whether a key stands in the file and fits the grammar."""
        table: Any = self.document.content
        for key in path:
            if not isinstance(table, Mapping) or key not in table:
                return False
            table = table[key]
        return path not in self.structured.dropped

    def line(self, path: KeyPath) -> int:
        """Return the line of a key, or of the nearest table around it."""
        return self.document.places.line(path)

    def place(self, path: KeyPath) -> str:
        """Return file and line of a key for a sentence."""
        return f"{self.document.file}:{self.line(path)}"

    def problem(self, fault: Fault) -> Problem:
        """Return a fault with its place."""
        spot = self._spot(fault)
        what = fault.of_its_line if spot.is_own else fault.what
        return Problem(self.document.file, spot.line, key_path(fault.path), what, fault.fix)

    def _spot(self, fault: Fault) -> Spot:
        """Return the line that a fault is about, and whether there is nothing else on it."""
        line, string = self.line(fault.path), self.document.places.strings.get(fault.path)
        return Spot(line, is_own=True) if string is None or not fault.line else string.find(fault.line)

    def faults(self) -> Iterator[Fault]:
        """Yield everything that is wrong with this file by itself."""
        yield from self.structured.faults
        yield from faults_of_fields(self.declaration)
        dropped: defaultdict[KeyPath, set[KeyPath]] = defaultdict(set)
        for key in self.structured.dropped:
            dropped[key[:_CLUSTER_DEPTH]].add(key)
        for realm, name, cluster in clusters_of(self.declaration):
            path = cluster_path(realm, name)
            yield from faults_of_cluster(Context(name, cluster, path, frozenset(dropped[path]), self._said_in(path)))

    def _said_in(self, path: KeyPath) -> frozenset[str]:
        """Return the keys of a table that stand in the file and fit the grammar."""
        table: Any = self.document.content
        for key in path:
            table = table[key]
        return frozenset(key for key in table if (*path, key) not in self.structured.dropped)


def clusters_of(declaration: Declaration) -> Iterator[tuple[str, str, Cluster]]:
    """Yield realm, name and content of each cluster."""
    for realm, content in declaration.realms.items():
        for name, cluster in content.clusters.items():
            yield realm, name, cluster


def cluster_path(realm: str, name: str) -> KeyPath:
    """Return the key path of a cluster."""
    return ("realms", realm, "clusters", name)
