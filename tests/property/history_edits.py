"""What random histories do to a state file: a table of edits, and what a file declares that the reader would take."""

from collections.abc import Mapping
from typing import Any

from sindplan.model.declaration import Declaration
from sindplan.statefile.clusters import faults_of_cluster
from sindplan.statefile.context import Context
from sindplan.statefile.fields import faults_of_fields
from sindplan.statefile.structure import structure
from tests.world import IMAGE

Tables = Mapping[str, Any]
"""The clusters of a state file, as TOML has them."""
OTHER = "other:1"
"""An image with the same Slurm."""
NEWER = "newer:1"
"""One with a newer Slurm: there is no way back from it."""

_TWO = {"image": IMAGE, "workers": {"cpu": {"count": 1}}}
_SCIENCE = {"physics": {"limits": {"MaxJobs": 5}}, "chemistry": {}}

# What an edit may set, by where among the clusters; None takes it away.
EDITS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("dev.workers.cpu", ({"count": 0}, {"count": 1}, {"count": 2}, {"count": 3}, {"count": 2, "memory": "1g"}, None)),
    ("dev.workers.gpu", ({"count": 1}, {"nodes": "worker-[5,7]"}, {"count": 1, "cpus": 2, "features": ["gpu"]}, None)),
    ("dev.workers.cpu.power", ("off", None)),
    ("dev.workers.cpu.image", (OTHER, None)),
    ("dev.workers.cpu.tmp_size", ("64m", None)),
    ("dev.workers.cpu.on_timeout", ("requeue", "cancel", None)),
    ("dev.workers.cpu.partition", ("MaxTime=30", None)),
    ("dev.controller", ({}, {"backup": True}, {"memory": "1g"}, {"image": OTHER}, None)),
    ("dev.submitter", ({}, {"cpus": 2}, {"cap_add": ["SYS_PTRACE"]}, None)),
    ("dev.api", ({}, None)),
    ("dev.db", ({}, {"storage_password": {"env": "SINDPLAN_SECRET_DB"}}, {"image": OTHER}, None)),
    ("dev.image", (IMAGE, OTHER, NEWER)),
    ("dev.storage", ({"mount_path": "/scratch"}, {"cvmfs": True}, {"host_path": "/srv/data"}, None)),
    ("dev.slurm.main", ("MaxJobCount=7\n", {"10-a": "# a\n", "20-b": "MaxJobCount=8\n"}, "SlurmctldPort=7000\n", None)),
    ("dev.slurm.slurmdbd", ("PurgeJobAfter=1month\n", None)),
    ("dev.slurm.cgroup", ("ConstrainCores=yes\n", None)),
    ("dev.users", ({"alice": {}}, {"alice": {}, "bob": {}}, {"alice": {"uid": 3000}}, None)),
    ("dev.users.alice.accounts", (["physics"], ["chemistry", "physics"], None)),
    ("dev.users.alice.groups", (["hpc"], None)),
    ("dev.groups", ({"hpc": {}}, None)),
    ("dev.accounts", (_SCIENCE, {"physics": {}, "chemistry": {"parent": "physics"}}, {"chemistry": {}}, None)),
    ("dev.partitions", ({"batch": {"workers": ["cpu"]}}, None)),
    ("dev.power", ("off", "on", None)),
    ("dev.powered_off", ("worker-0", "worker-[0-1]", "submitter", "backup", None)),
    ("dev.drain_timeout", ("0s", "60s", None)),
    ("dev.max_unavailable", (2, None)),
    ("dev.prevent_destroy", (True, None)),
    ("dev.identity", ("nss_slurm", None)),
    ("two", (_TWO, {**_TWO, "workers": {}}, {**_TWO, "power": "off"}, None)),
)


def edited(tables: Tables, where: str, value: Any) -> Tables:
    """Return tables with one thing set or taken away."""
    key, _, rest = where.partition(".")
    changed = dict(tables)
    if rest:
        inner = edited(changed.get(key) or {}, rest, value)
        # Of workers an empty table says that there are none.
        if inner or key == "workers":
            changed[key] = inner
        else:
            changed.pop(key, None)
    elif value is None:
        changed.pop(key, None)
    else:
        changed[key] = value
    return changed


def declaration_of(tables: Tables) -> Declaration | None:
    """Return what the clusters' tables declare; None where the reader would refuse the file."""
    structured = structure({"version": 1, "name": "lab", "realms": {"sind": {"clusters": tables}}})
    faults = [*structured.faults, *faults_of_fields(structured.declaration)]
    for name, cluster in structured.declaration.realms["sind"].clusters.items():
        said = frozenset(tables[name]) if name in tables else frozenset()
        faults += faults_of_cluster(Context(name, cluster, ("realms", "sind", "clusters", name), frozenset(), said))
    return None if faults else structured.declaration
