"""Checks of a destruction: protection, and jobs that would be lost."""

from collections.abc import Collection, Iterator

from sindplan.kinds import labels
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.last_applied import last_applied
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.observe.observation import Observation
from sindplan.preflight.finding import Finding, warning

ALIVE = ("running", "paused")


def check_destroy(evidence: Evidence, protected: Collection[Address], *, allow_job_loss: bool) -> Iterator[Finding]:
    """Yield what speaks against destroying the clusters of the evidence.

    Args:
        protected: Clusters with prevent_destroy, by declaration or by record.
        allow_job_loss: Whether running jobs may be lost.
    """
    for address in sorted(protected):
        yield Finding(
            "prevent_destroy",
            f"{address} is protected by prevent_destroy.",
            "Set prevent_destroy = false and apply, then destroy.",
        )
    for cluster in evidence.clusters:
        text = _jobs(cluster)
        if text:
            wait = "Wait for them, or say --allow-job-loss."
            yield warning("jobs", text) if allow_job_loss else Finding("jobs", text, wait)


def check_prune(observation: Observation, pruned: Collection[Address], *, allow_job_loss: bool) -> Iterator[Finding]:
    """Yield what speaks against destroying clusters that are no longer declared: what holds for any, and what only records know.

    prevent_destroy holds though the block that said it is gone: the record has kept it.
    """
    found = observation.inventory.clusters()
    for address in sorted(pruned):
        records = found[address].records if address in found else ()
        if records and records[0].labels.get(labels.PROTECTED) == "true":
            yield Finding(
                "prevent_destroy",
                f"{address} is protected by prevent_destroy, though it is no longer declared.",
                "Declare it again with prevent_destroy = false and apply; then take it out.",
            )
        if not records:
            yield Finding(
                "prevent_destroy",
                f"{address} has no record, so nobody can say whether it is protected.",
                f"Destroy it by name: sindplan destroy {address}",
            )
    orphans = Evidence(clusters=tuple(c for c in observation.evidence.clusters if c.address in pruned))
    yield from check_destroy(orphans, (), allow_job_loss=allow_job_loss)


def _jobs(cluster: ClusterEvidence) -> str:
    """Say which jobs would be lost; empty when there are none."""
    if not cluster.managed:
        # Its Slurm, if it has one, is somebody's own: what runs there cannot be asked.
        return ""
    if cluster.view is not None:
        jobs = [*cluster.view.running_jobs, *cluster.view.pending_jobs]
        return f"{cluster.address} has the jobs {', '.join(jobs)}; they would be lost." if jobs else ""
    if last_applied(cluster).get("power") == "off":
        return f"{cluster.address} is off, so nobody can say which jobs wait in its queue: they would be lost, if there are any."
    # A worker that does not run has no jobs; what cannot be asked counts as busy.
    alive = [n for n, found in cluster.nodes.items() if names.worker_index(n) is not None and found.state in ALIVE]
    return f"slurmctld of {cluster.address} does not answer: its jobs would be lost, if it has any." if alive else ""
