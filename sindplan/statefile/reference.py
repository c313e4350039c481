"""The page docs/state-file.md, made from the classes of the declaration, so that it cannot lag behind them."""

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from attrs import NOTHING, fields, has

from sindplan.model import declaration
from sindplan.model.declaration import Declaration, NodeOptions
from sindplan.model.units import Bytes, Seconds, TmpfsSize

_HEAD = """\
# The state file

`sindplan.toml`, or what `-f` names: a file, or a folder whose `*.toml` files make one declaration. Editors
complete and check the file with the JSON Schema in [schemas/state.schema.json](../schemas/state.schema.json) (`#:schema` in the first
line), or `sindplan schema`.

Memory is spelt as Docker spells it (`512m`, `1.5g`, powers of 1024), durations as `90s`, `10m`, `1h30m`.

This page is generated from `sindplan/model/declaration.py`.
"""

# Where each class stands in the file, in the order of the page.
_TABLES: tuple[tuple[str, type], ...] = (
    ("The file", Declaration),
    ("`[realms.NAME]`", declaration.Realm),
    ("`[realms.NAME.mesh]`", declaration.Mesh),
    ("`[realms.NAME.clusters.NAME]`", declaration.Cluster),
    ("`….defaults`, and keys of every node", NodeOptions),
    ("`[….controller]`", declaration.Controller),
    ("`[….submitter]`", declaration.Submitter),
    ("`[….workers.NAME]`", declaration.WorkerGroup),
    ("`[….storage]`", declaration.Storage),
    ("`[….partitions.NAME]`", declaration.Partition),
    ("`[….users.NAME]`", declaration.User),
    ("`[….groups.NAME]`", declaration.Group),
    ("`[….accounts.NAME]`", declaration.Account),
    ("`[….db]`", declaration.Database),
    ("`….db.storage_password`", declaration.SecretReference),
    ("`[….api]`", declaration.Api),
    ("`[….slurm]`", declaration.Slurm),
)
_WORDS = {
    Bytes: "memory",
    TmpfsSize: "size, such as 256m or 10%",
    Seconds: "duration",
    str: "text",
    int: "whole number",
    bool: "true or false",
}


def reference() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *(line for title, table in _TABLES for line in _table(title, table))])


def _table(title: str, table: type) -> Iterator[str]:
    hints = get_type_hints(table)
    common = {field.name for field in fields(NodeOptions)} if table is not NodeOptions else set[str]()
    own = [field for field in fields(table) if field.name not in common or not issubclass(table, NodeOptions)]
    yield f"## {title}"
    yield ""
    yield f"{(table.__doc__ or '').splitlines()[0]}"
    if issubclass(table, NodeOptions) and table is not NodeOptions:
        yield "Has the keys of every node, too."
    yield ""
    if own:
        yield "| key | value | meaning |"
        yield "|---|---|---|"
        for field in own:
            required = " **Required.**" if field.default is NOTHING else ""
            yield f"| `{field.name}` | {_value(hints[field.name])} | {field.metadata['about']}{required} |"
        yield ""


def _value(hint: Any) -> str:  # noqa: ANN401 - type hints have no type of their own
    if hint in _WORDS:
        return _WORDS[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return " or ".join(f"`{argument!r}`".replace("'", '"') for argument in arguments)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_value(argument) for argument in arguments if argument is not NoneType))
    if origin is tuple:
        return f"list of {_value(arguments[0])}"
    if has(hint):
        return "table"
    return "table by name" if has(arguments[-1]) else f"table of {_value(arguments[-1])} by name"
