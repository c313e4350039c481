"""slurm.conf: sind's lines (v0.11), each of which gives way to the user's, with the deviations that containers ask for.

Addresses stand beside names, includes are relative (absolute ones break configless Slurm), and plugins are named only
where image and engine have what they need. Parameters: slurm.conf(5).
"""

from collections.abc import Mapping

from sindplan.model.layout import ClusterLayout
from sindplan.slurm import gres
from sindplan.slurm.generated import CONFIG, JWT_KEY, NODES_FILE, STATE, Setting, assigned, document, unless
from sindplan.slurm.nodes_conf import mib
from sindplan.slurm.sections import embedded, keys
from sindplan.slurm.versions import release

SINCE: Mapping[str, tuple[int, int]] = {"use_jwt_client_ids": (26, 5)}
"""What is written only for a Slurm that knows it, and since when one does. Earlier ones would look up the token's user."""

_CLIENT_IDS = [("AuthType", "auth/slurm"), ("CredType", "cred/slurm"), ("AuthInfo", "use_client_ids")]
"""How daemons trust one another when Slurm carries who the users are."""

_TAKEOVER_TIMEOUT = 20
"""Seconds after which a backup takes over (sind v0.11)."""


def slurm_conf(cluster: ClusterLayout) -> str:
    """Return slurm.conf."""
    main = cluster.declared.slurm.main
    said = keys(main)
    return document(
        assigned(_fixed(cluster, said)),
        assigned(unless(said, _plugins(cluster))),
        assigned(unless(said, _identity(cluster))),
        assigned(unless(said, jwt(cluster) if cluster.managed_role("api") else [])),
        assigned(unless(said, _accounting(cluster))),
        embedded("main", main),
        f"include {NODES_FILE}\n",
    )


def _fixed(cluster: ClusterLayout, said: frozenset[str]) -> list[Setting]:
    return [
        ("ClusterName", cluster.name),
        *(
            ("SlurmctldHost", node.short if cluster.by_name else f"{node.short}({node.address})")
            for node in cluster.controllers
        ),
        *unless(said, [("SlurmctldTimeout", str(_TAKEOVER_TIMEOUT))] if cluster.controllers[1:] else []),
        ("SlurmUser", "slurm"),
        ("StateSaveLocation", STATE),
        *unless(said, [("SlurmdSpoolDir", "/var/spool/slurmd"), ("PlugStackConfig", f"{CONFIG}/plugstack.conf")]),
    ]


def _plugins(cluster: ClusterLayout) -> list[Setting]:
    plugins = cluster.controller.facts.plugins
    types = gres.types(cluster.declared)
    return [
        # slurmd's cgroup plugins do not start in a node that was given no controllers.
        ("ProctrackType", f"proctrack/{'cgroup' if cluster.cgroups else 'linuxproc'}"),
        ("TaskPlugin", f"task/{'cgroup' if cluster.cgroups else 'none'}"),
        ("MpiDefault", "pmix" if "mpi_pmix" in plugins else "none"),
        ("ReturnToService", "2"),
        *_memory_per_cpu(cluster),
        *([("GresTypes", ",".join(types))] if types else []),
    ]


def _memory_per_cpu(cluster: ClusterLayout) -> list[Setting]:
    memory = min((mib(worker) // worker.cpus for worker in cluster.slurm_workers), default=0)
    # The two exclude each other.
    per_node = "defmempernode" in keys(cluster.declared.slurm.main)
    return [("DefMemPerCPU", str(memory))] if memory and not per_node else []


def _identity(cluster: ClusterLayout) -> list[Setting]:
    if cluster.declared.identity == "local":
        return []
    # Without libnss_slurm on workers, steps see numbers where names would be; nothing else is lost.
    has_nss = any(worker.facts.nss_slurm for worker in cluster.slurm_workers)
    nss = [("LaunchParameters", "enable_nss_slurm")] if has_nss else []
    return [*(_CLIENT_IDS if cluster.declared.identity == "client_ids" else []), *nss]


def jwt(cluster: ClusterLayout) -> list[Setting]:
    """Return what slurmctld and slurmdbd need to know tokens."""
    carries_ids = cluster.declared.identity == "client_ids" and knows(cluster, "use_jwt_client_ids")
    parameters = [f"jwt_key={JWT_KEY}", *(["use_jwt_client_ids"] if carries_ids else [])]
    return [("AuthAltTypes", "auth/jwt"), ("AuthAltParameters", ",".join(parameters))]


def knows(cluster: ClusterLayout, feature: str) -> bool:
    """Say whether the controller's Slurm is new enough for a feature of the table; one that was not probed is not."""
    found = release(cluster.controller.facts.slurm_version)
    return found is not None and found >= SINCE[feature]


def _accounting(cluster: ClusterLayout) -> list[Setting]:
    db = cluster.node("db")
    if db is None or not db.managed:
        return []
    return [
        ("AccountingStorageType", "accounting_storage/slurmdbd"),
        # By address: every look-up of a name that does not run takes ten seconds.
        ("AccountingStorageHost", db.short if cluster.by_name else db.address),
        ("JobAcctGatherType", f"jobacct_gather/{'cgroup' if cluster.cgroups else 'linux'}"),
    ]
