"""Tables as the text of a state file, the way a person writes one."""

import re
from collections.abc import Iterator, Sequence

from sindplan.convert.found import Wrong
from sindplan.convert.tables import Key, Table, TomlValue

_LONGEST_LINE = 110
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
_BASIC_PLANE_END = 0xFFFF


def write_toml(table: Table) -> str:
    """Return the text of a state file."""
    return "\n\n".join("\n".join(block) for block in _blocks(table, (), ())) + "\n"


def _blocks(table: Table, path: Sequence[str], above: Sequence[str]) -> Iterator[list[str]]:
    """Yield paragraphs: a table's header with its values, and below it those of its tables."""
    if table.lists and (rows := _rows(table)) is not None:
        yield [*map(_comment, above), _header(path), *rows]
        return
    values = [key for key in table.keys if not isinstance(key.value, Table)]
    block = [*map(_comment, above), *([_header(path)] if path else [])]
    for key in values:
        if not path and block:
            # The few keys of the whole file stand apart.
            yield block
            block = []
        block += _value(key)
    if values or not table.keys or above or table.below:
        yield block
    if table.below:
        yield [_comment(line) for line in table.below]
    for key in table.keys:
        if isinstance(key.value, Table):
            yield from _blocks(key.value, (*path, key.name), key.above)


def _rows(table: Table) -> list[str] | None:
    """Return the tables in a table as a line each; None when one is too long for that."""
    rows = []
    for key in table.keys:
        assert isinstance(key.value, Table)
        comments = [inner.beside for inner in key.value.keys if inner.beside]
        row = f"{_key(key.name)} = {_inline(key.value)}" + "".join(f"  # {comment}" for comment in comments)
        if len(row) > _LONGEST_LINE:
            return None
        rows.append(row)
    return rows


def _inline(value: TomlValue | Table) -> str:
    if isinstance(value, Table):
        inner = ", ".join(f"{_key(key.name)} = {_inline(key.value)}" for key in value.keys)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, tuple):
        return f"[{', '.join(_inline(_no_map(item.value)) for item in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    assert not isinstance(value, Wrong)
    return _one_line(value) if isinstance(value, str) else str(value)


def _no_map(value: object) -> str:
    assert isinstance(value, str)
    return value


def _value(key: Key) -> list[str]:
    value = key.value
    spelled = _lines(value) if isinstance(value, str) and "\n" in value else _inline(value)
    if isinstance(value, tuple) and len(spelled) > _LONGEST_LINE:
        spelled = "\n".join(["[", *(f"  {_inline(_no_map(item.value))}," for item in value), "]"])
    beside = f"  # {key.beside}" if key.beside else ""
    return [*map(_comment, key.above), f"{_key(key.name)} = {spelled}{beside}"]


def _comment(line: str) -> str:
    return f"# {line}"


def _header(path: Sequence[str]) -> str:
    return f"[{'.'.join(map(_key, path))}]"


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _one_line(name)


def _one_line(text: str) -> str:
    """Spell a text in double quotes, or in single ones where nothing needs an escape then."""
    if ("\\" in text or '"' in text) and "'" not in text and text.isprintable():
        return f"'{text}'"
    return f'"{"".join(map(_escaped, text))}"'


def _lines(text: str) -> str:
    """Spell a text of several lines so that they stand as they are, if nothing in it has to be escaped."""
    if "'''" not in text and not text.endswith("'") and all(map(_stands_as_it_is, text)):
        return f"'''\n{text}'''"
    escaped = "".join(one if one in '\n\t"' else _escaped(one) for one in text)
    # Of quotes in a row, and before the end, each is escaped: three in a row would be the end.
    return '"""\n' + re.sub(r'"(?="|\Z)', r"\"", escaped) + '"""'


def _stands_as_it_is(character: str) -> bool:
    return character.isprintable() or character in "\n\t"


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= _BASIC_PLANE_END else f"\\U{code:08x}"
