"""Generic resources: what worker groups say they have, as gres.conf(5) wants it.

slurmd takes a count for a made-up resource. GPUs without device files it ignores, and the node is drained for missing
them; mps and shard are parts of GPUs (Slurm 24.11 and 26.05).
"""

import re
from collections.abc import Mapping, Sequence

from attrs import frozen

from sindplan.model.address import natural
from sindplan.model.declaration import Cluster, WorkerGroup
from sindplan.model.layout import ClusterLayout

_NUMBER = re.compile("([0-9]{1,20})([kKmMgGtTpP]?)")
_SUFFIXES = " KMGTP"
NEED_FILES = frozenset({"gpu"})
"""Resources that do not exist without device files."""
NEED_GPUS = frozenset({"mps", "shard"})
"""Resources that are parts of GPUs: without gpu in GresTypes slurmctld does not start."""

_FILE_NAME = re.compile("/[A-Za-z0-9_./-]+")
"""A device that a list of files can name: Slurm reads brackets and commas as lists."""


@frozen
class Gres:
    """A resource of a node, such as `gpu:a100:2`."""

    name: str
    type: str
    count: str

    @property
    def number(self) -> int:
        """How many there are, the suffix counted."""
        match = _NUMBER.fullmatch(self.count)
        return int(match[1]) * 1024 ** _SUFFIXES.index(match[2].upper() or " ") if match else 0


def resources(text: str | None) -> tuple[Gres, ...]:
    """Read what a group says of its resources, as it stands on node lines: name, type, count."""
    found = []
    for item in (text or "").split(","):
        name, *rest = item.strip().split(":")
        parts = [part for part in rest if part != "no_consume"]
        count = parts.pop() if parts and _NUMBER.fullmatch(parts[-1]) else "1"
        if name:
            found.append(Gres(name, ":".join(parts), count))
    return tuple(found)


def groups(cluster: Cluster) -> Mapping[str, WorkerGroup]:
    """Return the groups with resources whose workers Slurm has, in natural order."""
    return {
        name: cluster.workers[name]
        for name in sorted(cluster.workers, key=natural)
        if cluster.workers[name].gres and cluster.workers[name].managed is not False
    }


def types(cluster: Cluster) -> tuple[str, ...]:
    """Return the names of all resources, each once, for GresTypes."""
    found = (gres.name for group in groups(cluster).values() for gres in resources(group.gres))
    return tuple(dict.fromkeys(found))


def devices(group: WorkerGroup, cluster: Cluster) -> tuple[str, ...]:
    """Return the devices of a group's workers as they see them."""
    every = dict.fromkeys([*(cluster.defaults.devices or ()), *(group.devices or ())])
    return tuple(parts[1] if parts[1:] and parts[1] else parts[0] for parts in (one.split(":") for one in every))


def files(gres: str | None, paths: Sequence[str]) -> Sequence[str]:
    """Return the device files of the one resource that needs them, when the node's devices are just as many; else none."""
    needing = [one for one in resources(gres) if one.name in NEED_FILES]
    fit = len(needing) == 1 and needing[0].number == len(set(paths))
    return list(paths) if fit and all(map(_FILE_NAME.fullmatch, paths)) else []


def gres_conf(cluster: ClusterLayout) -> str:
    """Return the records of all groups' resources, one a line."""
    records = []
    for name, group in groups(cluster.declared).items():
        nodes = ",".join(node.short for node in cluster.slurm_workers if node.group == name)
        paths = files(group.gres, devices(group, cluster.declared))
        records += [_record(nodes, one, paths) for one in resources(group.gres) if nodes]
    return "".join(f"{record}\n" for record in records)


def _record(nodes: str, gres: Gres, paths: Sequence[str]) -> str:
    kind = f" Type={gres.type}" if gres.type else ""
    what = f"File={','.join(paths)}" if gres.name in NEED_FILES and paths else f"Count={gres.count}"
    return f"NodeName={nodes} Name={gres.name}{kind} {what}"
