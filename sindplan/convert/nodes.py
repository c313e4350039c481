"""sind's list of nodes said as tables: one for each single role, and a worker group for each item of workers."""

from collections.abc import Iterator, Sequence

from attrs import evolve

from sindplan.convert.found import WRONG, Found
from sindplan.convert.rules import SINGLE, is_uncertain
from sindplan.convert.tables import Key, Table, same

_OPTIONS = {
    "image": "image",
    "cpus": "cpus",
    "memory": "memory",
    "tmpSize": "tmp_size",
    "capAdd": "cap_add",
    "capDrop": "cap_drop",
    "devices": "devices",
    "securityOpt": "security_opt",
}
"""What can be said of every node, in both tools."""
_GROUP = "workers"
"""Name of the worker group; `default` could have no partition of its own."""


def options(found: Found) -> tuple[Key, ...]:
    """Return what is said of a node, or of all. 0 CPUs say nothing, as in sind."""
    return tuple(key for key in same(found, _OPTIONS) if not (key.name == "cpus" and key.value == 0))


def image(found: Found, fallback: str) -> Iterator[Key]:
    """Yield the image of nodes that name none."""
    defaults, listed = found.map.get("defaults"), found.list("nodes")
    if defaults is not None and (defaults.said("image") or defaults.is_wrong):
        yield from (key for key in options(defaults) if key.name == "image")
    elif not listed or not all(node.said("image") for node in listed):
        yield Key(
            "image",
            fallback,
            above=("The file does not name an image for every node. sind would take its own, this is sindplan's.",),
        )


def nodes(found: Found) -> Iterator[Key]:
    """Yield the tables of all nodes."""
    listed = found.list("nodes")
    for role in SINGLE:
        own = [node for node in listed if node.text("role") == role]
        if own:
            yield Key(role, Table((*_backup(own[0]), *_managed(own[0]), *options(own[0]))), own[0].place)
        elif is_uncertain(found):
            yield Key(role, WRONG, found.place_of("nodes"))
        elif role == "controller":
            yield Key(role, Table())
    groups = _groups([node for node in listed if node.text("role") == "worker"])
    yield Key("workers", Table(groups), found.place_of("nodes"))


def _backup(node: Found) -> Iterator[Key]:
    yield from (key for key in same(node, {"backupController": "backup"}) if key.value is not False)


def _managed(node: Found) -> Iterator[Key]:
    """Yield that a node is unmanaged. Of the controller, and so of all, the cluster says it."""
    if node.text("role") != "controller":
        yield from (key for key in same(node, {"managed": "managed"}) if key.value is not True)


def _groups(workers: Sequence[Found]) -> tuple[Key, ...]:
    """Return the worker groups, named so that their workers have the numbers that sind gives them."""
    if not workers:
        above = ("The file lists no nodes, which means a controller and a worker.",)
        return (Key(_GROUP, Table((Key("count", 1),)), above=above),)
    groups = [Key(_GROUP, Table((*_count(node), *_managed(node), *options(node))), node.place) for node in workers]
    if len(groups) > 1:
        groups = [evolve(group, name=f"{_GROUP}-{number}") for number, group in enumerate(groups, 1)]
        above = ("Workers are numbered group after group, by the groups' names; so this is the order of sind's list.",)
        groups[0] = evolve(groups[0], above=above)
    return tuple(groups)


def _count(node: Found) -> Iterator[Key]:
    if not node.said("count"):
        yield Key("count", 1)
    for key in same(node, {"count": "count"}):
        yield evolve(key, value=1, beside="0 in the file, which means 1 to sind") if key.value == 0 else key
