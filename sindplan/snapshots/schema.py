"""The JSON Schema of snapshots, made from the classes."""

from typing import Any

from sindplan.snapshots.codec import schema_of
from sindplan.snapshots.snapshot import Snapshot

FILE_NAME = "snapshot.schema.json"


def snapshot_schema() -> dict[str, Any]:
    """Return the JSON Schema of a snapshot."""
    definitions: dict[str, Any] = {}
    schema_of(Snapshot, definitions)
    top = definitions.pop("Snapshot")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sindplan snapshot",
        **top,
        "description": "What `sindplan snapshot` writes: what a plan reads of an engine, without secrets.",
        "required": ["kind", "format", *top["required"]],
        "$defs": dict(sorted(definitions.items())),
    }
