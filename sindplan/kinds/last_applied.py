"""What a cluster's record says of its last apply."""

import json
from typing import Any

from sindplan.kinds import labels
from sindplan.kinds.evidence import ClusterEvidence
from sindplan.model import names


def last_applied(cluster: ClusterEvidence) -> dict[str, Any]:
    """Return the last applied declaration of a cluster as plain data; empty when the record does not tell."""
    text = cluster.records[0].labels.get(labels.DECLARATION, "") if cluster.records else ""
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def stayed_off(cluster: ClusterEvidence) -> bool:
    """Say whether a cluster was off when it was applied last, and no controller runs.

    What a hand has started of it since has no jobs: its processes had ended, and no slurmctld has begun others.
    """
    alive = [
        short
        for short, node in cluster.nodes.items()
        if names.role_of(short) == "controller" and node.state in ("running", "paused")
    ]
    return not alive and last_applied(cluster).get("power") == "off"
