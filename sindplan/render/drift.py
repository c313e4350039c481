"""What drift found, as nouns, and its report as text and as JSON."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from attrs import frozen

from sindplan.model.address import Address
from sindplan.model.kind import Operation
from sindplan.plan.plan import Plan
from sindplan.render.document import resource_change, with_cause
from sindplan.render.escape import escaped
from sindplan.render.text import render_text

KIND = "sindplan drift"
FORMAT = 1
"""Raised when a reader of the old one would understand it wrongly."""


@frozen
class Told:
    """One sentence about what stands in the way, and how to mend it."""

    what: str
    fix: str


@frozen(kw_only=True)
class Drifted:
    """The clusters of one declaration against what was applied to them last.

    Attributes:
        owner: The declaration's name.
        plan: What an apply of it would do; empty when nothing differs.
        blocks: Why such an apply would be refused.
        images: Content hash of images, by reference.
    """

    owner: str
    clusters: tuple[Address, ...]
    plan: Plan
    blocks: tuple[Told, ...]
    images: Mapping[str, str]


@frozen(kw_only=True)
class Report:
    """What drift found on an engine.

    Attributes:
        version: sindplan's own.
        moment: When the engine was looked at, in seconds since 1970.
        realms: Those that were looked at; empty for all.
        found: By declaration.
        forgotten: Clusters of which nothing says what was applied last.
    """

    version: str
    moment: float
    realms: tuple[str, ...]
    found: tuple[Drifted, ...]
    forgotten: Mapping[Address, Told]

    @property
    def drifted(self) -> tuple[Drifted, ...]:
        """Declarations of which something differs."""
        return tuple(one for one in self.found if not one.plan.empty)

    @property
    def quiet(self) -> bool:
        """Whether there is nothing to report."""
        return not self.drifted and not self.forgotten

    @property
    def timestamp(self) -> str:
        """The moment, as RFC 3339 has it."""
        return datetime.fromtimestamp(self.moment, UTC).isoformat(timespec="seconds")


def drift_plan(one: Drifted) -> str:
    """Return what differs of one declaration as text."""
    return escaped(render_text(one.plan, heading=heading(one)))


def heading(one: Drifted) -> str:
    """Return the line over it."""
    return f"Clusters of {one.owner!r} drifted; an apply would do this:"


def drift_text(report: Report) -> str:
    """Return a report as text; empty when there is nothing to report."""
    if report.quiet:
        return ""
    parts = [f"{KIND}, {report.timestamp}\n"]
    for one in report.drifted:
        parts += [drift_plan(one), *(_sentence("Blocked", told) for told in one.blocks)]
    parts += [_sentence("Warning", told) for told in report.forgotten.values()]
    return "\n".join(parts)


def _sentence(word: str, told: Told) -> str:
    fix = f"  {escaped(told.fix)}\n" if told.fix else ""
    return f"{word}: {escaped(told.what)}\n{fix}"


def drift_json(report: Report) -> str:
    """Return a report as JSON, one when there is nothing to report, too."""
    return f"{json.dumps(_document(report), indent=2)}\n"


def _document(report: Report) -> dict[str, Any]:
    return {
        "kind": KIND,
        "format": FORMAT,
        "version": report.version,
        "timestamp": report.timestamp,
        "realms": list(report.realms),
        "drifted": not report.quiet,
        "declarations": [
            {
                "name": one.owner,
                "clusters": [str(address) for address in one.clusters],
                "summary": {operation.value: one.plan.counts[operation] for operation in Operation},
                "resource_changes": [
                    with_cause(resource_change(change, one.images), drifted=True) for change in one.plan.changes
                ],
                "blocks": [{"what": told.what, "fix": told.fix} for told in one.blocks],
            }
            for one in report.found
        ],
        "without_record": [
            {"cluster": str(address), "what": told.what, "fix": told.fix} for address, told in report.forgotten.items()
        ],
    }
