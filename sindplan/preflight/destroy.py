"""Checks of a destruction: protection, and jobs that would be lost."""

from collections.abc import Collection, Iterator

from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.model import names
from sindplan.model.address import Address
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


def _jobs(cluster: ClusterEvidence) -> str:
    """Say which jobs would be lost; empty when there are none."""
    if not cluster.managed:
        # Its Slurm, if it has one, is somebody's own: what runs there cannot be asked.
        return ""
    if cluster.view is not None:
        jobs = [*cluster.view.running_jobs, *cluster.view.pending_jobs]
        return f"{cluster.address} has the jobs {', '.join(jobs)}; they would be lost." if jobs else ""
    # A worker that does not run has no jobs; what cannot be asked counts as busy.
    alive = [n for n, found in cluster.nodes.items() if names.worker_index(n) is not None and found.state in ALIVE]
    return f"slurmctld of {cluster.address} does not answer: its jobs would be lost, if it has any." if alive else ""
