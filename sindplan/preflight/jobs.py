"""Jobs that a plan would end or begin anew: what a change of the configuration does to those that run."""

from collections.abc import Iterator, Mapping

from sindplan.kinds.config import File
from sindplan.kinds.evidence import ClusterEvidence
from sindplan.kinds.slurm_node import SlurmNode, empties
from sindplan.model.address import Address
from sindplan.model.declaration import DRAIN_TIMEOUT, OnTimeout
from sindplan.model.units import spell_duration
from sindplan.plan.plan import Change
from sindplan.preflight.case import Case
from sindplan.preflight.finding import Finding, Severity, warning
from sindplan.slurm.effective import Texts, nodes, partitions
from sindplan.slurm.parameters import NEEDS_NEW_CPUS

_FIX = "Wait for them, or say --allow-job-loss."


def check_jobs(case: Case) -> Iterator[Finding]:
    """Yield the jobs that a plan does not let be."""
    for cluster in case.observation.evidence.clusters:
        before, after = _texts(case, cluster)
        if cluster.view is None or before == after:
            # What cannot be asked is another check's business.
            continue
        severity = Severity.WARNS if case.allowed.jobs else Severity.BLOCKS
        for what in (*_requeued(cluster, before, after), *_killed(case, cluster, before, after)):
            yield Finding("jobs", what, "" if case.allowed.jobs else _FIX, severity)


def _texts(case: Case, cluster: ClusterEvidence) -> tuple[Texts, Texts]:
    """Return what slurmctld has read, and what it is to read."""
    before = {
        path: entry.content.decode("utf-8", "replace")
        for path, entry in (cluster.files or {}).items()
        if entry.kind == "file"
    }
    after = dict(before)
    for change in case.plan.changes:
        if change.address.scope == cluster.address and isinstance(change.resource, File):
            path = "/".join(change.address.parts[3:])
            if isinstance(change.after, File):
                after[path] = change.after.content
            else:
                after.pop(path, None)
    return before, after


def _requeued(cluster: ClusterEvidence, before: Texts, after: Texts) -> Iterator[str]:
    """Yield the jobs on nodes with other CPUs: slurmctld requeues them (proved on 24.11 and 26.05)."""
    assert cluster.view is not None
    old, new = nodes(before), nodes(after)
    for name, node in sorted(cluster.view.nodes.items()):
        if name in old and name in new and node.jobs:
            changed = [key for key in NEEDS_NEW_CPUS if old[name].get(key.lower()) != new[name].get(key.lower())]
            if changed:
                was = ", ".join(f"{key} {_said(old[name], key)} -> {_said(new[name], key)}" for key in changed)
                yield (
                    f"{cluster.address}: {name} gets other CPUs ({was}), and Slurm begins the jobs "
                    f"{', '.join(node.jobs)} that run there anew."
                )


def _said(attributes: Mapping[str, str], key: str) -> str:
    return attributes.get(key.lower(), "unset")


def _killed(case: Case, cluster: ClusterEvidence, before: Texts, after: Texts) -> Iterator[str]:
    """Yield the jobs of nodes and partitions that go: slurmctld fails them (proved on 24.11 and 26.05)."""
    assert cluster.view is not None
    drained = {change.address.name for change in case.plan.changes if _is_drained(change, cluster.address)}
    gone = nodes(before).keys() - nodes(after).keys() - drained
    lost = sorted({job for name in gone if name in cluster.view.nodes for job in cluster.view.nodes[name].jobs})
    if lost:
        yield (
            f"{cluster.address}: {', '.join(sorted(gone))} would leave Slurm's configuration, and the jobs "
            f"{', '.join(lost)} that run there would be lost."
        )
    # A drain waits for these.
    ending = {job for name in drained if name in cluster.view.nodes for job in cluster.view.nodes[name].jobs}
    for name in sorted(partitions(before) - partitions(after)):
        jobs = [job for job in cluster.view.partitions.get(name, ()) if job not in ending]
        if jobs:
            yield (
                f"{cluster.address}: the partition {name} would go, and Slurm fails the jobs {', '.join(jobs)} that run "
                "or wait in it."
            )


def _is_drained(change: Change, cluster: Address) -> bool:
    """Say whether a worker leaves by being drained, which waits for its jobs."""
    return change.address.scope == cluster and change.resource.KIND == "slurm" and change.after is None


def check_departures(case: Case) -> Iterator[Finding]:
    """Yield running jobs that an apply will put an end to if they do not end by themselves in time."""
    drains = {change.address: change for change in case.plan.changes if isinstance(change.resource, SlurmNode)}
    for cluster in case.observation.evidence.clusters:
        if cluster.address in case.pruned:
            continue
        for short, state in (cluster.view.nodes if cluster.view else {}).items():
            change = drains.get(cluster.address / "slurm/node" / short)
            then = case.on_timeouts.get(cluster.address / "node" / short, "fail")
            if change is None or not state.jobs or then == "fail" or not empties(change):
                continue
            within = spell_duration(case.drain_timeouts.get(cluster.address / "node" / short, DRAIN_TIMEOUT))
            yield warning(
                "drain",
                f"{cluster.address}/node/{short} runs the jobs {', '.join(state.jobs)}; those that do not end within "
                f"{within} are {_ENDS[then]}.",
            )


_ENDS: Mapping[OnTimeout, str] = {
    "requeue": "put back into the queue, or cancelled where Slurm cannot",
    "cancel": "cancelled",
}
