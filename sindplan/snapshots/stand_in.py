"""What stands in for an image of a registry in a rehearsal: the node image of sindplan's own, in the release that its tag says."""

import json
import re
from collections.abc import Mapping

from sindplan.kinds import labels
from sindplan.model.facts import IMAGE_LABEL

RELEASE = "26.05.5"
_RELEASE = re.compile(r":[^/]*?\b([0-9]{2}\.(?:02|05|08|11)(?:\.[0-9]+)?)\b")
_PLUGINS = """\
accounting_storage_slurmdbd auth_jwt auth_munge auth_slurm burst_buffer_lua cgroup_v2 cli_filter_lua cred_munge gres_gpu gres_mps
gres_shard hash_k12 job_submit_all_partitions job_submit_lua job_submit_require_timelimit job_submit_throttle jobacct_gather_cgroup
jobacct_gather_linux jobcomp_filetxt jobcomp_script mpi_pmi2 mpi_pmix namespace_tmpfs node_features_helpers preempt_partition_prio
preempt_qos prep_script priority_basic priority_multifactor proctrack_cgroup proctrack_linuxproc proctrack_pgid sched_backfill
sched_builtin select_cons_tres select_linear serializer_json task_affinity task_cgroup task_none tls_none topology_block
topology_flat topology_tree
"""
_SYSTEM = {"slurm": 64030, "munge": 901, "mysql": 902, "slurmrestd": 903}
_FACTS = {
    "v": 1,
    "plugins": _PLUGINS.split(),
    "uids": {name: [number, number] for name, number in _SYSTEM.items()},
    "users": {"root": 0, "nobody": 65534, **_SYSTEM},
    "groups": {"root": 0, "users": 100, "nogroup": 65534, **_SYSTEM},
    "tools": ["dnsmasq", "ssh", "ssh-keygen"],
    "daemons": ["mariadbd", "munged", "sackd", "slurmctld", "slurmd", "slurmdbd", "slurmrestd", "sshd"],
    "nss_slurm": True,
    "db_dir": "/var/lib/mysql",
}


def labels_of(reference: str) -> Mapping[str, str]:
    """Return what the image that a reference means would say of itself."""
    release = release_of(reference)
    return {labels.SLURM_VERSION: release, IMAGE_LABEL: json.dumps({**_FACTS, "slurm_version": release})}


def release_of(reference: str) -> str:
    """Return the release of Slurm that a tag speaks of, such as `26.05.0`; a recent one when it speaks of none."""
    found = _RELEASE.search(reference)
    if found is None:
        return RELEASE
    return found[1] if found[1].count(".") > 1 else f"{found[1]}.{RELEASE.rpartition('.')[2]}"
