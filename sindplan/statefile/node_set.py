"""Nodes written as node sets: `submitter,worker-[8-9]`, in the notation of ClusterShell and of Slurm itself."""

import re
from functools import lru_cache

from sindplan.model.names import FIXED_NODES, worker, worker_index
from sindplan.statefile.bounds import LARGEST_WORKER
from sindplan.statefile.wording import plain, quoted

LONGEST_NODE_SET = 4096

_NUMBER = r"(?:0|[1-9][0-9]*)"
_RANGE = rf"({_NUMBER})(?:-({_NUMBER})(?:/({_NUMBER}))?)?"
_TERM = re.compile(rf"worker-(?:{_NUMBER}|\[{_RANGE}(?:,{_RANGE})*\])")
_OPERATORS = re.compile(r"[,!&^](?![^\[]*\])")
"""ClusterShell's operators, outside of brackets."""
_COMMAS = re.compile(r",(?![^\[]*\])")
_RANGES = re.compile(_RANGE)


# Several rules ask for the same few node sets.
@lru_cache(maxsize=64)
def worker_indexes(text: str) -> frozenset[int]:
    """Return the indexes of the workers in a node set. Raises ValueError with a sentence.

    Bounds are checked before ClusterShell sees the text, which would count up any range it is given.
    """
    if not text or len(text) > LONGEST_NODE_SET:
        raise ValueError(f"{quoted(text)} is not a node set of 1 to {LONGEST_NODE_SET} characters")
    size = 0
    for term in _OPERATORS.split(text):
        if _TERM.fullmatch(term) is None:
            raise ValueError(f"{quoted(text)} is not a node set of workers")
        size += sum(_size(*found) for found in _RANGES.findall(term.removeprefix("worker-")))
        if size > LARGEST_WORKER + 1:
            raise ValueError(f"{quoted(text)} names more than {LARGEST_WORKER} workers")
    indexes = _expanded(text)
    if len(indexes) < size and not set("!&^") & set(text):
        raise ValueError(f"{quoted(text)} names a worker twice")
    return indexes


def node_names(text: str) -> frozenset[str]:
    """Return the nodes of any role in a node set, by short name. Raises ValueError with a sentence."""
    terms = _COMMAS.split(text)
    fixed = [term for term in terms if term in FIXED_NODES]
    if len(set(fixed)) < len(fixed):
        raise ValueError(f"{quoted(text)} names a node twice")
    workers = ",".join(term for term in terms if term not in FIXED_NODES)
    try:
        indexes = worker_indexes(workers) if workers or not fixed else frozenset[int]()
    except ValueError as error:
        raise ValueError(str(error).replace("a node set of workers", "a node set of a cluster's nodes")) from None
    return frozenset({*fixed, *map(worker, indexes)})


def _size(first: str, last: str, step: str) -> int:
    """Return how many numbers a range has. Raises ValueError when it is backwards or beyond the highest worker."""
    low, high = first, last or first
    if max(len(low), len(high)) > len(str(LARGEST_WORKER)) or int(high) > LARGEST_WORKER:
        raise ValueError(f"the highest worker is worker-{LARGEST_WORKER}")
    if int(low) > int(high):
        raise ValueError(f"the range {low}-{high} is backwards")
    if step and not 1 <= int(step[:6]) <= LARGEST_WORKER:
        raise ValueError(f"a step of {plain(step[:6])} makes no range")
    return (int(high) - int(low)) // int(step or 1) + 1


def _expanded(text: str) -> frozenset[int]:
    # Only who writes node sets pays for ClusterShell.
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

    try:
        names = list(NodeSet(text, resolver=RESOLVER_NOGROUP))
    except NodeSetException as error:
        raise ValueError(plain(str(error))) from error
    indexes = (worker_index(name) for name in names)
    return frozenset(index for index in indexes if index is not None)
