"""What a change is, line by line: what comes, and of what differs the old and the new; of files a unified diff.

A line begins with its sign: `+` and `-` for what comes and goes, `~` for a field that changes, `#` for a remark, `@@` and a
space for places in a file. No line holds a secret, a control character or a line end.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from attrs import fields

from sindplan.model.kind import Operation
from sindplan.model.resource import Cost, EngineObject, FieldChange, Resource
from sindplan.model.units import spell_memory
from sindplan.plan.plan import Change
from sindplan.render.escape import escaped, one_line
from sindplan.render.node_sets import NUMBERED, fold_lists
from sindplan.render.values import SENSITIVE, UNKNOWN_YET, is_closed, is_unknown

KNOWN_LATER = "(known after apply)"
_TOLD = {
    "declaration": "declaration = (what was applied last)",
    "contents": "contents = (what was made in volumes and in Slurm)",
}
"""Fields that say to a reader only that they change."""
_SHOWN_LINES = 30
"""Lines of a new file that are shown."""
_ALIKE = 4
"""So many lines after one another that differ by a worker and its address are shown by the first and the last."""
_ADDRESS_KEY = "NodeAddr="


def body(change: Change) -> tuple[str, ...]:
    """Return the lines that say what a change does to its resource."""
    match change.operation:
        case Operation.CREATE:
            return tuple(_created(change.resource))
        case Operation.DELETE:
            return ()
        case _:
            return tuple(_differing(change))


def _created(resource: Resource) -> Iterator[str]:
    if (content := getattr(resource, "content", None)) is not None:
        if is_closed(resource):
            yield from (f"+ {key} = {SENSITIVE}" for key in _keys(content))
            return
        lines = [f"+ {fold_lists(line)}" for line in escaped(content).splitlines()]
        shown = [*_shortened(lines)]
        yield from shown[:_SHOWN_LINES]
        if len(shown) > _SHOWN_LINES:
            yield f"+ ({len(shown) - _SHOWN_LINES} more lines)"
        return
    said = [(name, getattr(resource, name)) for name in resource.SHOWN]
    # What the engine decides is empty until it has.
    said = [(name, value) for name, value in said if value not in (None, (), {}) and (value or name in UNKNOWN_YET)]
    width = max((len(name) for name, _ in said), default=0)
    for name, value in said:
        yield f"+ {name:<{width}} = {_value(name, value) if value else KNOWN_LATER}"


def _differing(change: Change) -> Iterator[str]:
    before = change.before
    if change.operation is Operation.REPLACE and isinstance(before, EngineObject) and before.id:
        yield f"~ id = {KNOWN_LATER}"
    for field in change.fields:
        mark = "  # forces replacement" if field.cost is Cost.REPLACE else ""
        yield from (f"{line}{mark}" for line in _changed(change, field))
    if unchanged := _unchanged(change):
        yield f"# ({unchanged} unchanged field{'s' if unchanged > 1 else ''} hidden)"


def _unchanged(change: Change) -> int:
    """Return how many fields are compared and do not differ."""
    compared = sum(field.metadata["cost"] is not Cost.IGNORED for field in fields(type(change.resource)))
    return compared - len(change.fields)


def _changed(change: Change, field: FieldChange) -> Iterator[str]:
    if field.name == "content" and is_closed(change.resource):
        touched = difflib.unified_diff(str(field.before).splitlines(), str(field.after).splitlines(), lineterm="", n=0)
        lines = "\n".join(line[1:] for line in [*touched][2:] if line[:1] in "+-")
        yield from (f"~ {key} = {SENSITIVE}" for key in _keys(lines))
    elif field.name == "content":
        yield from diff(str(field.before), str(field.after))
    elif field.name in _TOLD:
        yield f"~ {_TOLD[field.name]}"
    elif field.name == "read_at_start":
        yield from _restarted(field)
    elif field.name == "config" and any(other.name == "read_at_start" for other in change.fields):
        # A restart is told with what it is for.
        return
    elif field.name == "config":
        how = "scontrol reconfigure" if change.address.name == "slurmctld" else "restart"
        yield f"~ configuration changed: {how}"
    elif isinstance(field.before, Mapping) and isinstance(field.after, Mapping):
        for key in sorted({*field.before, *field.after}, key=str):
            before, after = field.before.get(key), field.after.get(key)
            if before != after:
                yield f"~ {field.name}.{one_line(str(key))} = {_value('', before)} -> {_value('', after)}"
    else:
        yield f"~ {field.name} = {_value(field.name, field.before)} -> {_value(field.name, field.after)}"


def _keys(content: str) -> list[str]:
    """Return the keys of the parameters in a file, each once, in order; an inclusion is one by itself."""
    lines = [line.strip() for line in escaped(content).splitlines() if not line.lstrip().startswith("#")]
    keys = [line if line.startswith("include ") else line.partition("=")[0].strip() for line in lines if line]
    return [*dict.fromkeys(keys)]


def _restarted(field: FieldChange) -> Iterator[str]:
    before, after = (side if isinstance(side, Mapping) else {} for side in (field.before, field.after))
    if "restart" in (*before, *after):
        yield "~ not restarted yet since its configuration changed: restart"
        return
    for key in sorted({*before, *after}):
        if before.get(key) != after.get(key):
            yield f"~ {one_line(str(key))} = {_value('', before.get(key))} -> {_value('', after.get(key))}: restart"


def diff(before: str, after: str) -> Iterator[str]:
    """Yield a unified diff of two texts, without the file names, which the block's heading says."""
    lines = difflib.unified_diff(escaped(before).splitlines(), escaped(after).splitlines(), lineterm="", n=2)
    yield from _shortened(_with_lists_folded([*lines][2:]))


def _with_lists_folded(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a diff with long lists of workers folded, but where nothing would seem to differ then."""
    folded = [fold_lists(line) for line in lines]
    gone, new = ({line[1:] for line in folded if line[:1] == sign} for sign in "-+")
    for line, short in zip(lines, folded, strict=True):
        yield line if short[1:] in gone & new else short


def _shortened(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines; of many after one another that differ by a worker and its address alone the first and the last."""
    for _, alike in groupby(lines, key=_pattern):
        run = [*alike]
        if len(run) <= _ALIKE:
            yield from run
            continue
        sign = run[0][: len(run[0]) - len(run[0].lstrip(" +-"))]
        yield run[0]
        yield f"{sign}({len(run) - 2} more lines like this one, up to)"
        yield run[-1]


def _pattern(line: str) -> str:
    words = NUMBERED.sub("worker-N", line).split(" ")
    return " ".join(_ADDRESS_KEY if word.startswith(_ADDRESS_KEY) else word for word in words)


def _value(name: str, value: object) -> str:
    if isinstance(value, str) and is_unknown(value):
        return KNOWN_LATER
    text = f'"{one_line(str(value))}"'
    match value:
        case None:
            text = "null"
        case bool():
            text = "true" if value else "false"
        case int() if name == "memory":
            text = f'"{spell_memory(value)}"'
        case int() if name == "mode":
            text = f"{value:04o}"
        case int():
            text = str(value)
        case Mapping():
            pairs = [f"{one_line(str(key))} = {_value('', inner)}" for key, inner in value.items()]
            text = f"{{ {', '.join(pairs)} }}"
        case tuple():
            text = f"[{', '.join(_value('', item) for item in value)}]"
    return text
