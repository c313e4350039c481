"""A plan as text, in terraform's manner: symbols, a reason for each change, diffs of files, terraform's summary line.

Removals and replacements come first. Equal changes of several workers are one block, their names folded as a node set.
"""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import frozen
from ClusterShell.RangeSet import RangeSet

from sindplan.model.address import natural
from sindplan.model.kind import Operation
from sindplan.model.resource import FieldChange, Resource
from sindplan.model.units import spell_memory
from sindplan.plan.plan import Change, Plan
from sindplan.render.values import is_closed

SYMBOLS = {
    Operation.DELETE: "-",
    Operation.REPLACE: "-/+",
    Operation.UPDATE: "~",
    Operation.CREATE: "+",
}
_VERDICTS = {
    Operation.DELETE: "will be destroyed",
    Operation.REPLACE: "must be replaced",
    Operation.UPDATE: "will be updated in-place",
    Operation.CREATE: "will be created",
}
_LEGEND = {
    Operation.DELETE: "destroy",
    Operation.REPLACE: "destroy and then create replacement",
    Operation.UPDATE: "update in-place",
    Operation.CREATE: "create",
}
_NUMBERED = re.compile(r"\bworker-(0|[1-9][0-9]{0,8})\b")
_TOLD = {
    "declaration": "declaration = (what was applied last)",
    "contents": "contents = (what was made in volumes and in Slurm)",
}
"""Fields that say to a reader only that they change."""
_GIVEN = "subnet"
_SHOWN_LINES = 30
"""Lines of a new file that are shown."""
WILL_DO = "sindplan will perform the following actions:"
NO_CHANGES = "No changes. Your clusters match the declaration."


@frozen
class _Block:
    """Changes that read alike."""

    changes: tuple[Change, ...]
    body: tuple[str, ...]


def render_text(plan: Plan, nothing: str = NO_CHANGES, heading: str = WILL_DO) -> str:
    """Return a plan as text with a newline at its end; `nothing` is said of an empty one."""
    if plan.empty:
        return f"{nothing}\n"
    used = [operation for operation in SYMBOLS if plan.counts[operation]]
    lines = [heading, ""]
    lines += [f"{SYMBOLS[operation]:>5} {_LEGEND[operation]}" for operation in reversed(used)]
    for operation in used:
        for block in _blocks([change for change in plan.changes if change.operation is operation]):
            lines += ["", *_block(block, operation)]
    return "\n".join([*lines, "", *summary(plan)]) + "\n"


def summary(plan: Plan) -> list[str]:
    """Return terraform's summary line, and one of our own about replacements."""
    counts = plan.counts
    replaced = counts[Operation.REPLACE]
    added, destroyed = counts[Operation.CREATE] + replaced, counts[Operation.DELETE] + replaced
    lines = [f"Plan: {added} to add, {counts[Operation.UPDATE]} to change, {destroyed} to destroy."]
    if replaced:
        lines.append(f"{replaced} of these {'is a replacement' if replaced == 1 else 'are replacements'}.")
    return lines


def _block(block: _Block, operation: Operation) -> Iterator[str]:
    # Names of records and known hosts come out of files that others write, too.
    *others, last = map(on_one_line, fold(str(change.address) for change in block.changes))
    yield from (f"  # {name}" for name in others)
    count = f" ({len(block.changes)} resources)" if len(block.changes) > 1 else ""
    yield f"  # {last} {_VERDICTS[operation]}{count}"
    yield f"  # ({block.changes[0].reason})"
    kind = block.changes[0].resource.KIND
    yield f"{SYMBOLS[operation]:>3} {kind}"
    yield from (f"      {line}" for line in block.body)


def _blocks(changes: Sequence[Change]) -> list[_Block]:
    groups: dict[tuple[object, ...], list[Change]] = {}
    for change in sorted(changes, key=lambda change: change.address):
        body = tuple(_NUMBERED.sub("worker-N", line) for line in _body(change))
        groups.setdefault((change.resource.KIND, change.address.scope, change.reason, body), []).append(change)
    return [_Block(tuple(group), tuple(_body(group[0]))) for group in groups.values()]


def _body(change: Change) -> Iterator[str]:
    match change.operation:
        case Operation.CREATE:
            yield from _created(change.resource)
        case Operation.DELETE:
            return
        case _:
            for field in change.fields:
                yield from _changed(change, field)


def _created(resource: Resource) -> Iterator[str]:
    if (content := getattr(resource, "content", None)) is not None:
        if is_closed(resource):
            yield from (f"+ {key} = (not shown)" for key in _keys(content))
            return
        lines = escaped(content).splitlines()
        left_out = len(lines) - _SHOWN_LINES
        yield from (f"+ {line}" for line in lines[:_SHOWN_LINES])
        if left_out > 0:
            yield f"+ ({left_out} more lines)"
        return
    shown = [(name, getattr(resource, name)) for name in resource.SHOWN]
    # What the engine decides is empty until it has.
    said = [(name, value) for name, value in shown if value not in (None, (), {}) and (value or name == _GIVEN)]
    width = max((len(name) for name, _ in said), default=0)
    for name, value in said:
        yield f"+ {name:<{width}} = {_value(name, value) if value else '(known after apply)'}"


def _keys(content: str) -> list[str]:
    """Return the keys of the parameters in a file, each once, in order; an inclusion is one by itself."""
    lines = [line.strip() for line in escaped(content).splitlines() if not line.lstrip().startswith("#")]
    keys = [line if line.startswith("include ") else line.partition("=")[0].strip() for line in lines if line]
    return [*dict.fromkeys(keys)]


def _changed(change: Change, field: FieldChange) -> Iterator[str]:
    if field.name == "content" and is_closed(change.resource):
        lines = difflib.ndiff(str(field.before).splitlines(), str(field.after).splitlines())
        touched = "\n".join(line[2:] for line in lines if line[:1] in "+-")
        yield from (f"~ {key} = (not shown)" for key in _keys(touched))
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
                yield f"~ {field.name}.{on_one_line(str(key))} = {_value('', before)} -> {_value('', after)}"
    else:
        yield f"~ {field.name} = {_value(field.name, field.before)} -> {_value(field.name, field.after)}"


def _restarted(field: FieldChange) -> Iterator[str]:
    before, after = (side if isinstance(side, Mapping) else {} for side in (field.before, field.after))
    if "restart" in (*before, *after):
        yield "~ not restarted yet since its configuration changed: restart"
        return
    for key in sorted({*before, *after}):
        if before.get(key) != after.get(key):
            yield f"~ {on_one_line(str(key))} = {_value('', before.get(key))} -> {_value('', after.get(key))}: restart"


def diff(before: str, after: str) -> Iterator[str]:
    """Yield a unified diff of two texts, without the file names, which the block's heading says."""
    lines = difflib.unified_diff(escaped(before).splitlines(), escaped(after).splitlines(), lineterm="", n=2)
    for number, line in enumerate(lines):
        if number > 1:
            yield line


def _value(name: str, value: object) -> str:
    text = f'"{on_one_line(str(value))}"'
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
            pairs = [f"{on_one_line(str(key))} = {_value('', inner)}" for key, inner in value.items()]
            text = f"{{ {', '.join(pairs)} }}"
        case tuple():
            text = f"[{', '.join(_value('', item) for item in value)}]"
    return text


def escaped(text: str) -> str:
    """Return text whose control characters and direction marks are spelt out; line ends and tabs stay."""
    return "".join(
        char if char in "\n\t" or char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


def on_one_line(text: str) -> str:
    """Return text escaped, with its line ends spelt out as well: a name cannot say a line of its own."""
    return escaped(text).replace("\n", "\\n").replace("\t", "\\t")


def fold(names: Iterable[str]) -> list[str]:
    """Fold names that differ by a worker's number only: `sind/dev/node/worker-[0-2]`."""
    patterns: dict[str, list[int]] = {}
    plain: list[str] = []
    for name in names:
        found = _NUMBERED.search(name)
        if found:
            patterns.setdefault(name[: found.start(1)] + "\0" + name[found.end(1) :], []).append(int(found[1]))
        else:
            plain.append(name)
    folded = [pattern.replace("\0", _range(numbers)) for pattern, numbers in patterns.items()]
    return sorted([*plain, *folded], key=natural)


def _range(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return str(numbers[0])
    return f"[{RangeSet.fromlist(map(str, numbers))}]"
