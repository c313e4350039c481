"""The JSON Schema of the events of an apply, one a line: see render.events."""

from typing import Any

from sindplan.model.kind import Operation
from sindplan.render.events import MODULE

Schema = dict[str, Any]

FILE_NAME = "events.schema.json"

_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_OPERATION: Schema = {"enum": [operation.value for operation in Operation]}


def _table(optional: dict[str, Schema] | None = None, **properties: Schema) -> Schema:
    return {"type": "object", "properties": {**properties, **(optional or {})}, "required": [*properties]}


_RESOURCE = {"addr": _TEXT, "resource_type": _TEXT, "resource_name": _TEXT}
_COUNTS = {"add": _COUNT, "change": _COUNT, "remove": _COUNT, "replace": _COUNT}
_HOOK = _table(
    {"elapsed_seconds": {"type": "number", "minimum": 0}},
    id=_TEXT,
    step=_TEXT,
    says=_TEXT,
    scope=_TEXT,
    resources={"type": "array", "items": _table(**_RESOURCE, action=_OPERATION)},
    rolling_back={**_FLAG, "description": "Whether it takes back what was done."},
)
_FACTS: dict[str, dict[str, Schema]] = {
    "version": {"sindplan": _TEXT, "ui": {"type": "string", "pattern": "^1\\."}},
    "planned_change": {"change": _table(resource=_table(**_RESOURCE), action=_OPERATION, reason=_TEXT)},
    "change_summary": {
        "changes": _table({"digest": _TEXT}, **_COUNTS, operation={"enum": ["plan", "apply", "destroy"]}),
    },
    "apply_start": {"hook": _HOOK},
    "apply_progress": {"hook": _HOOK},
    "apply_complete": {"hook": _HOOK},
    "apply_errored": {"hook": _HOOK},
    "rollback_start": {"rollback": _table(resources=_COUNT)},
    "log": {},
    "diagnostic": {
        "diagnostic": _table(
            severity={"enum": ["error", "warning"]}, summary=_TEXT, detail=_TEXT, addresses=_TEXTS, output=_TEXT
        )
    },
    "outcome": {
        "outcome": _table(
            result={"enum": ["complete", "unchanged", "refused", "failed", "interrupted"]},
            exit_status={"type": "integer"},
            done=_TEXTS,
            restored={**_TEXTS, "description": "Clusters and meshes that are as they were before."},
            kept={**_TEXTS, "description": "Those that are left half way, or done but for what failed."},
            leftovers=_TEXTS,
        )
    },
}
"""What an event has of its own, by type."""


def events_schema() -> Schema:
    """Return the JSON Schema of one event."""
    common = {
        "@level": {"enum": ["info", "warn", "error"]},
        "@message": _TEXT,
        "@module": {"const": MODULE},
        "@timestamp": {"type": "string", "description": "RFC 3339."},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sindplan event",
        "description": "A line of `sindplan apply --json`, in the manner of terraform's.",
        "oneOf": [_table(**common, type={"const": type_}, **facts) for type_, facts in _FACTS.items()],
    }
