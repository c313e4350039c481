"""A plan as a JSON document in the shape of `terraform show -json` (format 1.2), which policy tools and bots read.

What terraform has no place for stands in an object `sindplan`. `resource_changes` holds what an apply does; of it,
`resource_drift` holds, the other way round, what a hand has done since the last apply.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from sindplan.model.kind import MAKING, Operation
from sindplan.model.resource import Cost, FieldChange, State
from sindplan.plan.plan import Action, Change, Plan
from sindplan.render.body import body
from sindplan.render.values import Values, hashed, values

FORMAT_VERSION = "1.2"
"""Terraform's: readers may know keys that are not here, and must pass over those that they do not know."""
FORMAT = 1
"""Of the object `sindplan`; raised when a reader of the old one would understand it wrongly."""

ACTIONS: Mapping[Operation, tuple[str, ...]] = {
    Operation.CREATE: ("create",),
    Operation.UPDATE: ("update",),
    Operation.REPLACE: ("delete", "create"),
    Operation.DELETE: ("delete",),
}
"""As terraform names what happens to a resource."""
_UNDONE: Mapping[Operation, tuple[str, ...]] = {
    Operation.CREATE: ("delete",),
    Operation.UPDATE: ("update",),
    Operation.REPLACE: ("update",),
    Operation.DELETE: ("create",),
}
"""What a hand did when this is what mends it."""
_GIVEN = frozenset({"aside", "successor"})
"""Fields that hold ids of containers: the same plan has others another time."""


@frozen(kw_only=True)
class Context:
    """What a document says beside the plan.

    Attributes:
        drifted: Says of a change whether a hand has made it needed.
        images: Content hash of images, by reference.
        extra: More of the object `sindplan`, in JSON's types.
    """

    drifted: Callable[[Change], bool]
    images: Mapping[str, str]
    extra: Mapping[str, Any]


def document(plan: Plan, context: Context, *, version: str, timestamp: str, blocked: bool) -> dict[str, Any]:
    """Return a plan in JSON's types.

    Args:
        version: sindplan's own.
        timestamp: When it was made, as RFC 3339 has it.
        blocked: Whether it may not be applied.
    """
    return {
        "format_version": FORMAT_VERSION,
        "timestamp": timestamp,
        "applyable": not blocked and not plan.empty,
        "complete": not plan.left_out,
        "errored": False,
        "resource_changes": [
            with_cause(resource_change(change, context.images), drifted=context.drifted(change))
            for change in plan.changes
        ],
        "resource_drift": [_drifted(change) for change in plan.changes if context.drifted(change)],
        "sindplan": {
            "format": FORMAT,
            "version": version,
            "digest": digest(plan, context.images),
            "left_out": plan.left_out,
            "summary": {operation.value: count for operation, count in plan.counts.items()},
            "graph": [_action(action) for action in plan.actions],
            **context.extra,
        },
    }


def json_text(value: object) -> str:
    """Return JSON on lines, in ASCII and without a control character, so that any terminal and any pipe can take it."""
    # json spells out all but DEL, which stands within strings only.
    return json.dumps(value, indent=2).replace("\x7f", "\\u007f") + "\n"


def digest(plan: Plan, images: Mapping[str, str]) -> str:
    """Return what a reviewer approves: the same for every plan that does the same.

    It holds addresses, operations, the fields that differ with hashes of texts, and the images' ids; no container ids, times or versions.
    """
    return hashed([change_digest(change, images) for change in plan.changes])


def change_digest(change: Change, images: Mapping[str, str]) -> str:
    """Return the digest of one change."""
    before, after = values(change.before), values(change.after)
    differing = {field.name for field in change.fields} - _GIVEN
    image = getattr(change.after, "image", "") if change.operation in MAKING else ""
    return hashed(
        {
            "address": str(change.address),
            "operation": change.operation.value,
            "before": _only(before, differing),
            "after": _without_given(after) if change.operation is Operation.CREATE else _only(after, differing),
            "image": images.get(image, "") if image else "",
        }
    )


def _only(side: Values, names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in (side.compared or {}).items() if name in names}


def _without_given(side: Values) -> dict[str, Any]:
    return {name: value for name, value in (side.compared or {}).items() if name not in _GIVEN}


def resource_change(change: Change, images: Mapping[str, str]) -> dict[str, Any]:
    """Return one change in terraform's shape."""
    before, after = values(change.before), values(change.after)
    reason = _action_reason(change)
    return {
        **_resource(change),
        "change": {
            "actions": list(ACTIONS[change.operation]),
            "before": before.shown,
            "after": after.shown,
            "after_unknown": dict.fromkeys(after.unknown, True),
            "before_sensitive": dict.fromkeys(before.sensitive, True),
            "after_sensitive": dict.fromkeys(after.sensitive, True),
            **({"replace_paths": [[name] for name in _replacing(change)]} if _replacing(change) else {}),
        },
        **({"action_reason": reason} if reason else {}),
        "sindplan": {
            "scope": str(change.resource.scope or change.address.scope),
            "reason": change.reason,
            "fields": [field.name for field in change.fields],
            "text": list(body(change)),
            "digest": change_digest(change, images),
            "id": change.before.identity if change.before is not None else "",
        },
    }


def with_cause(table: dict[str, Any], *, drifted: bool) -> dict[str, Any]:
    """Return a change's table that says, too, who made it needed: whoever edited the declaration, or a hand."""
    return {**table, "sindplan": {"cause": "drift" if drifted else "declaration", **table["sindplan"]}}


def base(observed: State, engine: str, records: Mapping[str, str]) -> str:
    """Return a fingerprint of what was there when a plan was made.

    Args:
        engine: The engine's id.
        records: The id of each cluster's record.
    """
    seen = {str(address): [values(resource).compared, resource.identity] for address, resource in observed.items()}
    return hashed({"engine": engine, "records": records, "observed": seen})


def _drifted(change: Change) -> dict[str, Any]:
    was, is_ = values(change.after), values(change.before)
    return {
        **_resource(change),
        "change": {
            "actions": list(_UNDONE[change.operation]),
            "before": was.shown,
            "after": is_.shown,
            "after_unknown": {},
            "before_sensitive": dict.fromkeys(was.sensitive, True),
            "after_sensitive": dict.fromkeys(is_.sensitive, True),
        },
    }


def _resource(change: Change) -> dict[str, Any]:
    return {
        "address": str(change.address),
        "mode": "managed",
        "type": change.resource.KIND,
        "name": "/".join(change.address.parts[3:]) or change.address.name,
        "provider_name": "sindplan",
    }


def _replacing(change: Change) -> list[str]:
    return [field.name for field in change.fields if field.cost is Cost.REPLACE]


def _action_reason(change: Change) -> str:
    """Return terraform's word for why something is replaced or goes; it has none for the rest."""
    match change.operation:
        case Operation.REPLACE:
            return "replace_by_request" if _is_demanded(change.fields) else "replace_because_cannot_update"
        case Operation.DELETE:
            return "delete_because_no_resource_config"
        case _:
            return ""


def _is_demanded(differing: tuple[FieldChange, ...]) -> bool:
    return any(field.name == "demanded" for field in differing)


def _action(action: Action) -> dict[str, Any]:
    return {
        "id": action.id,
        "step": action.step,
        "says": action.says,
        "phase": action.phase.name.lower(),
        "scope": str(action.scope),
        "final": action.final,
        "needs": list(action.needs),
        "changes": [str(change.address) for change in action.changes],
    }
