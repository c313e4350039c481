"""One cluster as the rules see it: what is said of it, where it stands, and what could not be read."""

from collections.abc import Iterator, Mapping

from attrs import frozen

from sindplan.model.declaration import Cluster, NodeOptions
from sindplan.statefile.fault import Fault
from sindplan.statefile.wording import KeyPath


@frozen
class Context:
    """One cluster and where it stands.

    Attributes:
        name: Its name.
        cluster: What is said of it, without what did not fit the grammar.
        path: Its key path.
        dropped: The keys that did not fit, which nothing can be concluded from.
        said: The keys of the cluster's own table that stand in the file.
    """

    name: str
    cluster: Cluster
    path: KeyPath
    dropped: frozenset[KeyPath]
    said: frozenset[str] = frozenset()

    def has_dropped(self, key: str) -> bool:
        """Say whether a key of this name was left out anywhere in the cluster."""
        return any(path[-1] == key for path in self.dropped)

    def lacks(self, *keys: str | int) -> bool:
        """Say whether a key of the cluster, or a table around it, was left out."""
        path = (*self.path, *keys)
        return any(path[: len(dropped)] == dropped for dropped in self.dropped)

    def has_dropped_below(self, *keys: str | int) -> bool:
        """Say whether a key in a table of the cluster was left out."""
        path = (*self.path, *keys)
        return any(dropped[: len(path)] == path for dropped in self.dropped)

    def fault(self, keys: KeyPath, what: str, fix: str = "") -> Fault:
        """Return a fault at a key of the cluster."""
        return Fault((*self.path, *keys), what, fix)

    def fault_of_line(self, keys: KeyPath, line: int, what: str, fix: str = "") -> Fault:
        """Return a fault at a line of the text at a key of the cluster; `what` goes on after "This line"."""
        return Fault.of_line((*self.path, *keys), line, what, fix)

    @property
    def is_managed(self) -> bool:
        """Whether Slurm is set up in the cluster: a word at the cluster or at its controller decides."""
        return self.cluster.managed and self.cluster.controller.managed is not False

    @property
    def has_managed_db(self) -> bool:
        """Whether the cluster has accounting."""
        return self.is_managed and self.cluster.db is not None and self.cluster.db.managed is not False

    def nodes(self) -> Iterator[tuple[KeyPath, NodeOptions]]:
        """Yield everything that has a node's options, with its key path in the cluster, `defaults` first."""
        cluster = self.cluster
        single: Mapping[str, NodeOptions | None] = {
            "defaults": cluster.defaults,
            "controller": cluster.controller,
            "submitter": cluster.submitter,
            "db": cluster.db,
            "api": cluster.api,
        }
        yield from (((key,), node) for key, node in single.items() if node is not None)
        yield from ((("workers", name), group) for name, group in cluster.workers.items())
