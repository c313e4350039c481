"""Whether Slurm binds tasks to CPUs, which takes a capability on the workers."""

from sindplan.model.declaration import Cluster
from sindplan.slurm.sections import last
from sindplan.slurm.text import listed_in


def binds_tasks(cluster: Cluster) -> bool:
    """Say whether the user's slurm.conf asks for task/affinity; what sindplan generates never does (slurm.conf(5))."""
    return bool({"task/affinity", "affinity"} & listed_in(last(cluster.slurm.main, "TaskPlugin") or ""))
