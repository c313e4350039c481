"""What happens during an apply, for programs: events as terraform's `-json` streams them, each one JSON object on a line.

An event says its time, a sentence for people, a `type` and, below a key that the type names, its facts. Readers must pass over types
and keys that they do not know.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sindplan.model.kind import Operation
from sindplan.plan.plan import Action, Change, Plan
from sindplan.render.escape import one_line
from sindplan.render.text import VERDICTS, summary

Event = dict[str, Any]

UI_VERSION = "1.0"
"""Of the events; its first number is raised when a reader of the old ones would understand new ones wrongly."""
MODULE = "sindplan.ui"


def line(event: Event, timestamp: str) -> str:
    """Return an event on a line, in ASCII; `timestamp` is when it was, as RFC 3339 has it."""
    return json.dumps({**event, "@timestamp": timestamp}).replace("\x7f", "\\u007f") + "\n"


def _event(type_: str, message: str, level: str = "info", **facts: object) -> Event:
    return {"@level": level, "@message": one_line(message), "@module": MODULE, "type": type_, **facts}


def version(sindplan: str) -> Event:
    """Return the first event of all."""
    return _event("version", f"sindplan {sindplan}", sindplan=sindplan, ui=UI_VERSION)


def planned_change(change: Change) -> Event:
    """Return what an apply is to do to one resource."""
    return _event(
        "planned_change",
        f"{change.address} {VERDICTS[change.operation]} ({change.reason})",
        change={"resource": _resource(change), "action": change.operation.value, "reason": change.reason},
    )


def planned(plan: Plan, digest: str) -> Event:
    """Return how much a plan does, and its digest."""
    counts = plan.counts
    says = " ".join(summary(counts, plan.left_out)) if plan.changes else "Nothing is to be done."
    return _event("change_summary", says, changes={**counted(counts), "operation": "plan", "digest": digest})


def done(plan: Plan, operation: str) -> Event:
    """Return how much was done; `operation` is `apply` or `destroy`."""
    counts = counted(plan.counts)
    says = f"{counts['add']} added, {counts['change']} changed, {counts['remove']} destroyed."
    return _event("change_summary", says, changes={**counts, "operation": operation})


def counted(counts: Mapping[Operation, int]) -> dict[str, int]:
    """Count as terraform does: what is replaced is added and removed."""
    replaced = counts[Operation.REPLACE]
    return {
        "add": counts[Operation.CREATE] + replaced,
        "change": counts[Operation.UPDATE],
        "remove": counts[Operation.DELETE] + replaced,
        "replace": replaced,
    }


def started(action: Action, *, back: bool) -> Event:
    """Return that an action was started; `back` says that it takes back what was done."""
    return _hook("apply_start", action, "is started", back=back)


def going_on(action: Action, seconds: float, *, back: bool) -> Event:
    """Return that an action goes on, and since when."""
    return _hook("apply_progress", action, f"goes on after {seconds:.0f}s", seconds, back=back)


def finished(action: Action, seconds: float, *, back: bool) -> Event:
    """Return that an action was done, and how long it took."""
    return _hook("apply_complete", action, f"took {seconds:.1f}s", seconds, back=back)


def failed(action: Action, *, back: bool) -> Event:
    """Return that an action failed; a diagnostic says why."""
    return _hook("apply_errored", action, "failed", level="error", back=back)


def _hook(
    type_: str, action: Action, how: str, seconds: float | None = None, *, back: bool, level: str = "info"
) -> Event:
    facts: dict[str, Any] = {
        "id": action.id,
        "step": action.step,
        "says": action.says,
        "scope": str(action.scope),
        "resources": [{**_resource(change), "action": change.operation.value} for change in action.changes],
        "rolling_back": back,
    }
    if seconds is not None:
        facts["elapsed_seconds"] = round(seconds, 3)
    return _event(type_, f"{action.scope}: {action.says} {how}", level, hook=facts)


def taking_back(plan: Plan) -> Event:
    """Return that what was done is taken back from here on."""
    count = len(plan.changes)
    return _event(
        "rollback_start", f"Taking back what was done ({count} resources).", "warn", rollback={"resources": count}
    )


def noted(text: str) -> Event:
    """Return what people would not expect."""
    return _event("log", text)


def diagnostic(*, blocks: bool, summary: str, detail: str = "", addresses: Sequence[str] = (), more: str = "") -> Event:
    """Return what is wrong, or what is warned of.

    Args:
        detail: What can be done about it.
        addresses: The resources that it is about.
        more: What a node said itself: lines of a journal, which may be anything.
    """
    severity = "error" if blocks else "warning"
    facts = {"severity": severity, "summary": summary, "detail": detail, "addresses": [*addresses], "output": more}
    return _event("diagnostic", f"{severity.capitalize()}: {summary}", "error" if blocks else "warn", diagnostic=facts)


def outcome(result: str, status: int, scopes: Mapping[str, Iterable[str]]) -> Event:
    """Return the last event of all.

    Args:
        result: `complete`, `unchanged`, `refused`, `failed` or `interrupted`.
        status: The exit status.
        scopes: Clusters and meshes by how they are left (`done`, `restored`, `kept`), and `leftovers`, a sentence each.
    """
    left = {how: [*scopes.get(how, ())] for how in ("done", "restored", "kept", "leftovers")}
    level = "error" if status else "info"
    return _event("outcome", f"The end: {result}.", level, outcome={"result": result, "exit_status": status, **left})


def _resource(change: Change) -> dict[str, str]:
    return {"addr": str(change.address), "resource_type": change.resource.KIND, "resource_name": change.address.name}
