"""Checks of databases: slurmctld of older Slurm refuses one that comes after it."""

from collections.abc import Iterator

from sindplan.kinds import labels
from sindplan.kinds.node_resource import Node
from sindplan.model import names
from sindplan.model.kind import Operation
from sindplan.preflight.case import Case
from sindplan.preflight.finding import Finding, warning
from sindplan.slurm.versions import release

_REFUSES, _TAKES = (24, 11), (26, 5)
"""The last release that was seen to refuse a database that comes later, and the first that was seen to take it (measured)."""


def check_databases(case: Case) -> Iterator[Finding]:
    """Yield databases that are new to a slurmctld which has been up without one, and so has given itself an id of its own."""
    state = case.observation.observed().state
    for change in case.plan.changes:
        cluster, db = change.address.scope, change.after
        volume = cluster / "volume" / names.DB
        controller = state.get(cluster / "node" / names.CONTROLLER)
        if (
            not isinstance(db, Node)
            or not isinstance(controller, Node)
            or change.address.name != names.DB
            or change.operation is not Operation.CREATE
            or volume in state
            or not controller.made
            or not labels.is_managed(db.labels)
            or not labels.is_managed(controller.labels)
        ):
            continue
        found = release(db.slurm_version)
        what = f"{cluster} has run without its database, and slurmctld"
        fix = "Go to an image with Slurm 26.05 or newer first, or destroy the cluster and apply: with db from the start it works."
        if found is not None and found <= _REFUSES:
            yield Finding(
                "database", f"{what} {db.slurm_version} refuses one that comes later (CLUSTER ID MISMATCH).", fix
            )
        elif found is None or found < _TAKES:
            yield warning(
                "database",
                f"{what} {db.slurm_version or 'of that image'} may refuse one that comes later (CLUSTER ID MISMATCH). The "
                "apply is taken back then.",
                fix,
            )
