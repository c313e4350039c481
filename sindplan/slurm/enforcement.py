"""Whether Slurm enforces what its accounts say."""

from sindplan.model.declaration import Cluster
from sindplan.slurm.sections import last
from sindplan.slurm.text import listed_in

_ENFORCING = frozenset({"limits", "safe", "all"})
_LIMITS_BIT = 2


def enforces_limits(cluster: Cluster) -> bool:
    """Say whether the user's slurm.conf has limits enforced (slurm.conf(5), AccountingStorageEnforce)."""
    said = listed_in(last(cluster.slurm.main, "AccountingStorageEnforce") or "")
    # It may be written as a number of bits.
    bits = any(
        item.isdigit() and int(item) & _LIMITS_BIT for item in said if item.isascii() and len(item) < len("1000")
    )
    return bits or bool(_ENFORCING & said)
