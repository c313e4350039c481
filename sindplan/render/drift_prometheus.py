"""Drift as metrics, in the text format that the node exporter's textfile collector reads.

Every cluster has its series when nothing differs, too, so that zero and "not looked at" are told apart.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from sindplan.model.address import MESH
from sindplan.model.kind import Operation
from sindplan.render.drift import Report
from sindplan.render.escape import escaped

BEGINNING = "# HELP sindplan_drift_"
HELP: Mapping[str, str] = {
    "sindplan_drift_changes": "Resources that differ from what was applied last, by what an apply would do to them.",
    "sindplan_drift_record_missing": "Whether nothing says what was applied last to a cluster.",
    "sindplan_drift_timestamp_seconds": "When the engine was looked at, in seconds since 1970.",
}
Labels = Mapping[str, str]


def drift_prometheus(report: Report) -> str:
    """Return a report as metrics."""
    series = {
        "sindplan_drift_changes": _changes(report),
        "sindplan_drift_record_missing": _records(report),
        # Files of several realms may lie in one folder: no series may be in two of them.
        "sindplan_drift_timestamp_seconds": (
            ({"realm": realm} if realm else {}, int(report.moment)) for realm in report.realms or ("",)
        ),
    }
    return "\n".join(line for name, samples in series.items() for line in _lines(name, samples)) + "\n"


def _lines(name: str, samples: "Iterator[tuple[Labels, int]]") -> Iterator[str]:
    yield f"# HELP {name} {HELP[name]}"
    yield f"# TYPE {name} gauge"
    for labels, value in samples:
        told = ",".join(f'{key}="{_quoted(text)}"' for key, text in labels.items())
        yield f"{name}{{{told}}} {value}" if told else f"{name} {value}"


def _quoted(text: str) -> str:
    return escaped(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _changes(report: Report) -> Iterator[tuple[Labels, int]]:
    # Two declarations may see the same of a mesh that they share.
    seen = {(change.address, change.operation) for one in report.found for change in one.plan.changes}
    counts = Counter((address.parts[:2], operation) for address, operation in seen)
    clusters = {address.parts for one in report.found for address in one.clusters}
    clusters |= {(parts[0], MESH) for parts in clusters} | {parts for parts, _ in counts}
    for realm, cluster in sorted(clusters):
        for operation in Operation:
            labels = {"realm": realm, "cluster": cluster, "operation": operation.value}
            yield labels, counts[(realm, cluster), operation]


def _records(report: Report) -> Iterator[tuple[Labels, int]]:
    known = {address.parts for one in report.found for address in one.clusters}
    forgotten = {address.parts for address in report.forgotten}
    for realm, cluster in sorted(known | forgotten):
        yield {"realm": realm, "cluster": cluster}, int((realm, cluster) in forgotten)
