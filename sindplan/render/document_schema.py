"""The JSON Schema of plans, for whoever reads them: see render.document."""

from typing import Any

from sindplan.model.kind import Operation, Phase
from sindplan.render.document import ACTIONS, FORMAT, FORMAT_VERSION

Schema = dict[str, Any]

FILE_NAME = "plan.schema.json"

_DIGEST: Schema = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_MARKS: Schema = {"type": "object", "additionalProperties": {"const": True}}


def plan_schema() -> Schema:
    """Return the JSON Schema of a plan."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sindplan plan",
        "description": "What `sindplan plan --format json` prints and `--out` saves: terraform's plan, and an object `sindplan`.",
        **_table(
            format_version={"const": FORMAT_VERSION},
            timestamp={"type": "string", "description": "RFC 3339."},
            applyable=_FLAG,
            complete=_FLAG,
            errored=_FLAG,
            resource_changes=_list({"$ref": "#/$defs/change"}),
            resource_drift=_list({"$ref": "#/$defs/drift"}),
            sindplan={"$ref": "#/$defs/sindplan"},
        ),
        "$defs": {
            "change": _table(
                **_RESOURCE,
                change={
                    **_table(**_SIDES),
                    "properties": {**_SIDES, "replace_paths": _list(_list(_TEXT))},
                },
                sindplan=_table(
                    cause={
                        "enum": ["declaration", "drift"],
                        "description": "Whether an edit or a hand made it needed.",
                    },
                    scope=_TEXT,
                    reason=_TEXT,
                    fields=_list(_TEXT),
                    text={**_list(_TEXT), "description": "What differs, as people read it, a line each."},
                    digest=_DIGEST,
                    id=_TEXT,
                ),
            ),
            "drift": _table(**_RESOURCE, change=_table(**_SIDES)),
            "sindplan": _table(
                format={"const": FORMAT},
                version=_TEXT,
                digest={**_DIGEST, "description": "What `apply --approve` takes."},
                base={**_DIGEST, "description": "Of all that was found, of the engine and of the records."},
                desired={**_DIGEST, "description": "Of the declaration, secrets left out."},
                left_out={
                    "type": "integer",
                    "minimum": 0,
                    "description": "Changes that the whole plan has beside these, of which this is a part.",
                },
                summary=_table(**{operation.value: {"type": "integer", "minimum": 0} for operation in Operation}),
                graph=_list({"$ref": "#/$defs/action"}),
                blocked=_FLAG,
                findings=_list(_table(check=_TEXT, severity={"enum": ["blocks", "warns"]}, what=_TEXT, fix=_TEXT)),
                privileges=_list(_TEXT),
                engine=_TEXT,
                records={"type": "object", "additionalProperties": _TEXT},
                declaration={"type": "object", "description": "As in state.schema.json, without secrets."},
                options=_table(
                    replace=_list(_TEXT),
                    target=_list(_TEXT),
                    exclude=_list(_TEXT),
                    destroy=_FLAG,
                    allow_job_loss=_FLAG,
                    allow_data_loss=_list(_TEXT),
                    prune=_FLAG,
                ),
            ),
            "action": _table(
                id=_TEXT,
                step=_TEXT,
                says=_TEXT,
                phase={"enum": [phase.name.lower() for phase in Phase]},
                scope=_TEXT,
                final=_FLAG,
                needs=_list(_TEXT),
                changes=_list(_TEXT),
            ),
        },
    }


def _table(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": [*properties]}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_SIDE: Schema = {"type": ["object", "null"]}
_SIDES: dict[str, Schema] = {
    "actions": {"enum": [list(actions) for actions in ACTIONS.values()]},
    "before": _SIDE,
    "after": _SIDE,
    "after_unknown": _MARKS,
    "before_sensitive": _MARKS,
    "after_sensitive": _MARKS,
}
_RESOURCE: dict[str, Schema] = {
    "address": _TEXT,
    "mode": {"const": "managed"},
    "type": _TEXT,
    "name": _TEXT,
    "provider_name": {"const": "sindplan"},
}
