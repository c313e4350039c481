"""State files in one layout: keys and tables in the order of the grammar, one spelling of blanks and empty lines.

Nothing is respelt but blanks: values stay as they are written, names stay in their order, and comments go where what they
belong to goes. Not by tomlkit: with it a comment above a table belongs to the table before, and stays behind when tables move.
"""

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from attrs import evolve

from sindplan.errors import SindplanError
from sindplan.model.declaration import NodeOptions
from sindplan.statefile.schema import state_schema
from sindplan.statefile.written import (
    Array,
    Inline,
    Item,
    Lines,
    Pair,
    Path,
    Scalar,
    Section,
    Value,
    Written,
    take_apart,
)

_INDENT = "    "


def formatted(text: str) -> str:
    """Return the text of a state file in the one layout.

    Args:
        text: Of a document that `tomllib` reads, whether it makes a valid declaration or not.

    Raises:
        SindplanError: It would not mean the same, or lose a comment; nobody has seen that.
    """
    written = take_apart(text)
    done = "".join(f"{line}\n" for line in _document(_ordered(written, _grammar())))
    again = take_apart(done)
    if not _same(tomllib.loads(text), tomllib.loads(done)) or _comments(written) != _comments(again):
        raise SindplanError("sindplan has a fault: the file would not say the same any more.", "Please report it.")
    return done


def _comments(written: Written) -> Counter[str]:
    return Counter(line for line in _lines(written) if line)


def _lines(written: Written) -> Iterator[str]:
    for section in written.sections:
        yield from (*section.above, section.beside, *section.below)
        for pair in section.pairs:
            yield from (*pair.above, pair.beside)
            yield from _lines_in(pair.value)
    yield from (*written.head, *written.foot)


def _lines_in(value: Value) -> Iterator[str]:
    match value:
        case Array(items, below, _):
            for item in items:
                yield from (*item.above, item.beside, *_lines_in(item.value))
            yield from below
        case Inline(pairs):
            for pair in pairs:
                yield from _lines_in(pair.value)


def _same(one: object, other: object) -> bool:
    """Say whether two values of TOML are the same, and of the same type (1 is not 1.0, nan is nan)."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


# Order


class _Order:
    """The order of the grammar: where a key stands among others of its table."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._common = frozenset(schema["$defs"][NodeOptions.__name__]["properties"])

    def ranks(self, path: Path) -> list[int | None]:
        """Return the place of each part of a path by the grammar; None of what it has no place for."""
        found: list[int | None] = []
        here: Mapping[str, Any] | None = self._schema
        for part in path:
            known = self._table(here)
            names = self._keys(known)
            found.append(names.index(part) if part in names else None)
            here = known["properties"][part] if part in names else known.get("additionalProperties")
        return found

    def _keys(self, table: Mapping[str, Any]) -> list[str]:
        names = [*table.get("properties", ())]
        # What only this node has comes before what every node has.
        return sorted(names, key=self._common.__contains__) if self._common.issubset(names) else names

    def _table(self, schema: object) -> Mapping[str, Any]:
        """Return the schema of a table that a schema allows; an empty one when it allows none."""
        if not isinstance(schema, Mapping):
            return {}
        if "$ref" in schema:
            return self._table(self._schema["$defs"][schema["$ref"].rpartition("/")[2]])
        if "anyOf" in schema:
            return next((table for one in schema["anyOf"] if (table := self._table(one))), {})
        return schema if schema.get("type") == "object" else {}

    def sort(self, paths: Sequence[Path], above: Path = ()) -> list[int]:
        """Return in which order what stands at the paths comes, by index.

        What the grammar has no place for, names among it, keeps the order of its first appearance, after what it has one for.
        """
        appeared: dict[Path, int] = {}
        for path in paths:
            for depth in range(1, len(path) + 1):
                appeared.setdefault(path[:depth], len(appeared))

        def key(path: Path) -> list[tuple[bool, int]]:
            ranks = self.ranks((*above, *path))[len(above) :]
            return [
                (rank is None, appeared[path[: depth + 1]] if rank is None else rank)
                for depth, rank in enumerate(ranks)
            ]

        return sorted(range(len(paths)), key=lambda index: key(paths[index]))


@cache
def _grammar() -> _Order:
    return _Order(state_schema())


def _ordered(written: Written, order: _Order) -> Written:
    sections = [evolve(one, pairs=_in_order(one.pairs, one.path, order)) for one in written.sections]
    where = order.sort([section.path for section in sections])
    return evolve(written, sections=tuple(sections[index] for index in where))


def _in_order(pairs: Sequence[Pair], path: Path, order: _Order) -> tuple[Pair, ...]:
    inner = [evolve(pair, value=_value_in_order(pair.value, (*path, *pair.names), order)) for pair in pairs]
    return tuple(inner[index] for index in order.sort([pair.names for pair in pairs], path))


def _value_in_order(value: Value, path: Path, order: _Order) -> Value:
    match value:
        case Inline(pairs):
            return Inline(_in_order(pairs, path, order))
        case Array(items, _, _):
            # What stands in arrays has no path in the grammar: its tables keep their order.
            inner = (evolve(item, value=_value_in_order(item.value, (*path, 0), order)) for item in items)
            return evolve(value, items=tuple(inner))
    return value


# Layout


def _document(written: Written) -> Iterator[str]:
    yield from written.head
    for number, section in enumerate(written.sections):
        if number:
            yield ""
        yield from _section(section)
    if written.foot:
        yield ""
    yield from written.foot


def _section(section: Section) -> Iterator[str]:
    if section.header:
        yield from section.above
        yield _beside(section.header, section.beside)
    yield from _pairs(section.pairs)
    yield from section.below


def _pairs(pairs: Sequence[Pair]) -> Iterator[str]:
    texts = [f"{pair.key} = {_value(pair.value, '')}" for pair in pairs]
    for number, (pair, text, width) in enumerate(zip(pairs, texts, _widths(pairs, texts), strict=True)):
        yield from pair.above if number or pair.above[:1] != ("",) else pair.above[1:]
        yield _beside(text, pair.beside, width)


def _widths(pairs: Sequence[Pair], texts: Sequence[str]) -> Iterator[int]:
    """Yield how wide each text is made before what stands beside it: lines that follow each other are aligned."""
    runs: list[list[int]] = []
    for index, pair in enumerate(pairs):
        before = index - 1
        if not index or pair.above or not pairs[before].beside or "\n" in texts[before] + texts[index]:
            runs.append([])
        runs[-1].append(index)
    for run in runs:
        widest = max((len(texts[index]) for index in run if pairs[index].beside), default=0)
        yield from (widest for _ in run)


def _beside(text: str, comment: str, width: int = 0) -> str:
    if not comment:
        return text
    return f"{text:<{width}}  {comment}" if "\n" not in text else f"{text}  {comment}"


def _value(value: Value, indent: str) -> str:
    match value:
        case Scalar(text):
            return text
        case Inline(pairs):
            inner = ", ".join(f"{pair.key} = {_value(pair.value, indent)}" for pair in pairs)
            return f"{{ {inner} }}" if inner else "{}"
        case Array(items, below, spread):
            if not spread:
                return f"[{', '.join(_value(item.value, indent) for item in items)}]"
            deeper = indent + _INDENT
            rows = [f"{deeper}{row}" for item in items for row in _item(item, deeper)]
            return "\n".join(["[", *rows, *_indented(below, deeper), f"{indent}]"])


def _item(item: Item, indent: str) -> Iterable[str]:
    return (*item.above, _beside(f"{_value(item.value, indent)},", item.beside))


def _indented(lines: Lines, indent: str) -> Iterable[str]:
    return (f"{indent}{line}" for line in lines)
