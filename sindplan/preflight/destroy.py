"""Checks of a destruction: protection, and jobs that would be lost."""

from collections.abc import Collection, Iterator

from sindplan.kinds.evidence import Evidence
from sindplan.model.address import Address
from sindplan.preflight.finding import Finding, warning


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
        if cluster.view is None and any(node.state == "running" for node in cluster.nodes.values()):
            yield warning("jobs", f"slurmctld of {cluster.address} does not answer: whether jobs run is not known.")
        jobs = cluster.view.running_jobs if cluster.view else ()
        if jobs:
            text = f"{cluster.address} runs the jobs {', '.join(jobs)}; they would be lost."
            wait = "Wait for them, or say --allow-job-loss."
            yield warning("jobs", text) if allow_job_loss else Finding("jobs", text, wait)
