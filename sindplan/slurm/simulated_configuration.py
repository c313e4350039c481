"""What a simulated slurmctld refuses of its files, in the words of a real one."""

from collections.abc import Iterator, Mapping

from sindplan.slurm.effective import Placed, Texts, below, in_force, nodes, said
from sindplan.slurm.generated import CONFIG
from sindplan.slurm.parameters import KNOWN, RECORDS
from sindplan.slurm.text import unread

_UNREADABLE = "fatal: Unable to process configuration file"
_PLUGINS: Mapping[str, tuple[frozenset[str], str]] = {
    "SchedulerType": (
        frozenset({"sched/backfill", "sched/builtin"}),
        "fatal: Failed to initialize the various schedulers",
    ),
    "SelectType": (
        frozenset({"select/cons_tres", "select/linear"}),
        "fatal: failed to initialize node selection plugin",
    ),
    "PriorityType": (
        frozenset({"priority/basic", "priority/multifactor"}),
        "fatal: failed to initialize priority plugin",
    ),
    "AuthType": (frozenset({"auth/munge", "auth/slurm"}), "fatal: failed to initialize auth plugin"),
}


def refusal(texts: Texts) -> tuple[str, ...]:
    """Return what slurmctld says when it does not come up with these files; nothing when it does."""
    for placed in said(texts):
        if lines := tuple(_unreadable(texts, placed)):
            return lines
    broken = [path for path in {"slurm.conf", *_included(texts)} if unread(texts.get(path, ""))]
    if broken:
        return (f"error: Parse error in file {CONFIG}/{min(broken)}", _UNREADABLE)
    return (*_plugins(texts), *_partitions(texts))


def _unreadable(texts: Texts, placed: Placed) -> Iterator[str]:
    statement = placed.statement
    if statement.key == "include":
        if below(statement.value) not in texts:
            path = f"{CONFIG}/{below(statement.value)}"
            yield f"error: s_p_parse_file: cannot stat file {path}: No such file or directory, retrying in 1sec up to 60sec"
    elif statement.key not in RECORDS and statement.key not in KNOWN:
        yield f"error: _parse_next_key: Parsing error at unrecognized key: {statement.key}"
        yield _UNREADABLE


def _included(texts: Texts) -> Iterator[str]:
    return (below(placed.statement.value) for placed in said(texts) if placed.statement.key == "include")


def _plugins(texts: Texts) -> Iterator[str]:
    found = in_force(texts)
    for key, (known, fatal) in _PLUGINS.items():
        if key in found and found[key].lower() not in known:
            yield f"error: cannot create context for {found[key]}"
            yield fatal


def _partitions(texts: Texts) -> Iterator[str]:
    known = nodes(texts)
    for placed in said(texts):
        wanted = placed.statement.get("Nodes") if placed.statement.key == "partitionname" else None
        missing = [name for name in (wanted or "").split(",") if name.startswith("worker-") and "[" not in name]
        if any(name not in known for name in missing):
            yield f"fatal: Invalid node names in partition {placed.statement.value}"
