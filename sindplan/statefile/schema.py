"""The JSON Schema of the state file, for editors: made from the grammar's classes, never written by hand.

It says what can be said of each value alone. What holds between values, `sindplan validate` alone knows.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import attrs

from sindplan.model.declaration import Declaration, SecretReference, WorkerGroup
from sindplan.model.units import Bytes, Seconds, TmpfsSize
from sindplan.statefile.bounds import CHOICES, ITEMS, NAMES, RANGES, SPELLINGS, at
from sindplan.statefile.spellings import DURATION, MEMORY, TMP_SIZE, UNIT_MAX, Spelling

Schema = dict[str, Any]

FILE_NAME = "state.schema.json"

_ALSO: Mapping[type, Schema] = {
    WorkerGroup: {"not": {"required": ["count", "nodes"]}},
    SecretReference: {"minProperties": 1, "maxProperties": 1},
}
"""What holds between keys and JSON Schema says in a line."""


def state_schema() -> Schema:
    """Return the JSON Schema of a state file."""
    classes: dict[str, type] = {}
    top = _table(Declaration, classes)
    definitions: Schema = {choice.noun: {"enum": list(choice.words)} for choice in CHOICES.values()}
    # Making one definition can name further classes.
    while missing := sorted(classes.keys() - definitions.keys()):
        definitions |= {name: _table(classes[name], classes) for name in missing}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sindplan state file",
        **top,
        "$defs": dict(sorted(definitions.items())),
    }


def write_schemas(folder: Path) -> None:
    """Write the schemas of this package into a folder."""
    text = json.dumps(state_schema(), indent=2, ensure_ascii=False)
    (folder / FILE_NAME).write_text(f"{text}\n", encoding="utf-8")


def _table(owner: type, classes: dict[str, type]) -> Schema:
    fields = attrs.fields(owner)
    schema: Schema = {
        "type": "object",
        "description": (owner.__doc__ or "").split("\n\n")[0],
        "properties": {field.name: _property(owner, field, classes) for field in fields},
        "additionalProperties": False,
        **_ALSO.get(owner, {}),
    }
    required = [field.name for field in fields if field.default is attrs.NOTHING]
    return {**schema, "required": required} if required else schema


def _property(owner: type, field: "attrs.Attribute[Any]", classes: dict[str, type]) -> Schema:
    schema = {"description": field.metadata["about"], **_value(field.type, classes)}
    names = NAMES.get((owner, field.name))
    spelling, items = at(SPELLINGS, owner, field.name), at(ITEMS, owner, field.name)
    bounds, choices = at(RANGES, owner, field.name), at(CHOICES, owner, field.name)
    if names is not None:
        schema["propertyNames"] = {"pattern": _whole(names.pattern)}
    if spelling is not None:
        schema |= _spelled(spelling)
    if items is not None:
        # Of an array its items, of a table by name its values.
        inner = "items" if schema["type"] == "array" else "additionalProperties"
        schema[inner] = {**schema[inner], **_spelled(items)}
    if choices is not None:
        schema["items"] = {"$ref": f"#/$defs/{choices.noun}"}
    if bounds is not None:
        schema |= {"minimum": bounds.low, "maximum": bounds.high}
    if bounds is not None and bounds.never:
        schema["not"] = {"enum": list(bounds.never)}
    return schema


def _spelled(spelling: Spelling) -> Schema:
    longest = {} if spelling.longest is None else {"maxLength": spelling.longest}
    return {"pattern": _whole(spelling.pattern), **longest}


def _value(kind: object, classes: dict[str, type]) -> Schema:
    """Return the schema of a field's type."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _SCALARS:
        return dict(_SCALARS[kind])
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is tuple:
        return {"type": "array", "items": _value(inner[0], classes)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _value(inner[1], classes)}
    if origin in (Union, UnionType):
        return _any_of([_value(member, classes) for member in inner if member is not NoneType])
    if not isinstance(kind, type):
        raise TypeError(kind)
    classes[kind.__name__] = kind
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _any_of(schemas: Iterable[Schema]) -> Schema:
    first, *others = schemas
    return {"anyOf": [first, *others]} if others else first


def _whole(pattern: str) -> str:
    return f"^(?:{pattern})$"


def _unit(spelling: Spelling) -> Schema:
    return {"type": "string", "pattern": _whole(spelling.pattern), "maxLength": UNIT_MAX}


_SCALARS: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    Bytes: _unit(MEMORY),
    TmpfsSize: _unit(TMP_SIZE),
    Seconds: _unit(DURATION),
}
