"""Layouts of one cluster, for the text of its files."""

from typing import Any

from attrs import evolve

from sindplan.engine.simulated import DEFAULT_INFO
from sindplan.model.address import Address
from sindplan.model.declaration import Cluster, Declaration, Realm, Slurm, WorkerGroup
from sindplan.model.facts import ClusterFacts, Facts, ImageFacts, Member
from sindplan.model.layout import ClusterLayout, lay_out
from sindplan.model.units import MIB, Bytes

PLUGINS = frozenset({"task_cgroup", "mpi_pmix"})
CPU = WorkerGroup(count=2, cpus=2, memory=Bytes(2048 * MIB))
BIG = WorkerGroup(nodes="worker-[8-9]", cpus=4, memory=Bytes(2048 * MIB + 1023))


def laid_out(
    cluster: Cluster,
    *,
    subnet: str = "10.42.0.0/16",
    cgroups: bool = True,
    members: dict[str, Member] | None = None,
    **image: Any,
) -> ClusterLayout:
    """Return the layout of a cluster whose nodes have one image, of which `image` says more."""
    facts = Facts(
        engine=evolve(DEFAULT_INFO, memory_limit=cgroups, cpu_limit=cgroups, cpuset=cgroups),
        images={"node:1": ImageFacts(**{"id": "x", "plugins": PLUGINS, "probed": True} | image)},
        clusters={Address(("sind", "dev")): ClusterFacts(subnet=subnet, members=members or {})},
    )
    declaration = Declaration(version=1, name="lab", realms={"sind": Realm(clusters={"dev": cluster})})
    return lay_out(declaration, facts).clusters[0]


def cluster(workers: dict[str, WorkerGroup] | None = None, *, main: Any = None, **said: Any) -> Cluster:
    """Return a cluster with a group `cpu` of two workers unless other groups are said."""
    if "slurm" not in said:
        said["slurm"] = Slurm(main=main)
    return Cluster(image="node:1", workers={"cpu": CPU} if workers is None else workers, **said)
