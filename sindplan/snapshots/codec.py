"""Frozen classes to JSON and back by their annotations, and their JSON Schema: one table of types for all three.

Nothing is coerced. What is wrong is collected with where it stands, so that all of it is told at once.
"""

from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import attrs
from attrs import field, frozen

Schema = dict[str, Any]
T = TypeVar("T")

LARGEST = 2**63 - 1
"""No number that Docker or Slurm says is larger."""
_SHOWN = 40


def encode(value: Any) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """Return a value in JSON's types. Fields that say what they say by default are left out."""
    if attrs.has(type(value)):
        return {
            one.name: encode(found)
            for one in attrs.fields(type(value))
            for found in (getattr(value, one.name),)
            if one.default is attrs.NOTHING or found != _default(one)
        }
    if isinstance(value, Mapping):
        return {key: encode(found) for key, found in value.items()}
    if isinstance(value, tuple):
        return [encode(found) for found in value]
    return value


@frozen
class Fault:
    """What is wrong with a document, and where: such as `containers[3].summary.id`."""

    where: str
    what: str


class DoesNotFit(Exception):
    """A value that is wrong was met; it is told already."""


@frozen
class Decoder:
    """Reads values, and collects what is wrong with them."""

    faults: list[Fault] = field(factory=list)

    def wrong(self, where: str, what: str) -> DoesNotFit:
        """Note what is wrong, and return what to raise."""
        self.faults.append(Fault(where, what))
        return DoesNotFit()

    def read(self, kind: type[T], value: object) -> T:
        """Return a document as a class. Raises DoesNotFit; `faults` say why."""
        found: T = _reader(kind)(self, value, "")
        return found


Reader = Callable[[Decoder, Any, str], Any]


def _reader(kind: Any) -> Reader:  # noqa: ANN401 - types of all kinds
    return _made(kind)


@cache
def _made(kind: Any) -> Reader:  # noqa: ANN401 - types of all kinds
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _SCALARS:
        return _SCALARS[kind]
    if origin is Literal:
        return _one_of(inner)
    if origin is tuple:
        return _list_of(inner[0])
    if origin is not None and _is_mapping(origin):
        return _table_of(inner[1])
    if origin in (Union, UnionType):
        return _or_none(*(member for member in inner if member is not NoneType))
    return _class(kind)


def _is_mapping(origin: object) -> bool:
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _text(decoder: Decoder, value: Any, where: str) -> str:  # noqa: ANN401
    if not isinstance(value, str):
        raise decoder.wrong(where, f"is {_named(value)}, not a text")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise decoder.wrong(where, "is a text with half a character in it")
    return value


def _whole(decoder: Decoder, value: Any, where: str) -> int:  # noqa: ANN401
    if isinstance(value, bool) or not isinstance(value, int):
        raise decoder.wrong(where, f"is {_named(value)}, not a whole number")
    if abs(value) > LARGEST:
        raise decoder.wrong(where, "is a number that is too large")
    return value


def _flag(decoder: Decoder, value: Any, where: str) -> bool:  # noqa: ANN401
    if not isinstance(value, bool):
        raise decoder.wrong(where, f"is {_named(value)}, not true or false")
    return value


_SCALARS: Mapping[Any, Reader] = {str: _text, int: _whole, bool: _flag}


def _one_of(words: tuple[Any, ...]) -> Reader:
    def read(decoder: Decoder, value: Any, where: str) -> Any:  # noqa: ANN401
        if isinstance(value, bool) or not isinstance(value, str | int) or value not in words:
            raise decoder.wrong(where, f"is {_named(value)}, not {' or '.join(map(repr, words))}")
        return value

    return read


def _list_of(kind: Any) -> Reader:  # noqa: ANN401
    inner = _reader(kind)

    def read(decoder: Decoder, value: Any, where: str) -> tuple[Any, ...]:  # noqa: ANN401
        if not isinstance(value, list):
            raise decoder.wrong(where, f"is {_named(value)}, not a list")
        return tuple(_all(decoder, inner, ((found, f"{where}[{at}]") for at, found in enumerate(value))))

    return read


def _table_of(kind: Any) -> Reader:  # noqa: ANN401
    inner = _reader(kind)

    def read(decoder: Decoder, value: Any, where: str) -> Mapping[str, Any]:  # noqa: ANN401
        if not isinstance(value, dict):
            raise decoder.wrong(where, f"is {_named(value)}, not a table")
        for key in value:
            _text(decoder, key, f"a key of {where}")
        places = ((found, f"{where}[{_short(key)}]") for key, found in value.items())
        return dict(zip(value, _all(decoder, inner, places), strict=True))

    return read


def _or_none(kind: Any) -> Reader:  # noqa: ANN401
    inner = _reader(kind)
    return lambda decoder, value, where: None if value is None else inner(decoder, value, where)


def _class(kind: Any) -> Reader:  # noqa: ANN401
    fields = {one.name: (one, _reader(one.type)) for one in attrs.fields(kind)}
    required = [one.name for one, _ in fields.values() if one.default is attrs.NOTHING]

    def read(decoder: Decoder, value: Any, where: str) -> Any:  # noqa: ANN401
        if not isinstance(value, dict):
            raise decoder.wrong(where, f"is {_named(value)}, not a table")
        before = len(decoder.faults)
        for name in required:
            if name not in value:
                decoder.wrong(_joined(where, name), "is missing")
        for name in value.keys() - fields.keys():
            decoder.wrong(_joined(where, _short(name)), "is no field of this version's")
        known = [name for name in value if name in fields]
        places = ((fields[name][1], value[name], _joined(where, name)) for name in known)
        found = list(_attempts(decoder, places))
        if len(decoder.faults) > before:
            raise DoesNotFit
        return kind(**dict(zip(known, found, strict=True)))

    return read


def _all(decoder: Decoder, inner: Reader, places: Any) -> list[Any]:  # noqa: ANN401
    before = len(decoder.faults)
    found = list(_attempts(decoder, ((inner, value, where) for value, where in places)))
    if len(decoder.faults) > before:
        raise DoesNotFit
    return found


def _attempts(decoder: Decoder, places: Any) -> Any:  # noqa: ANN401
    """Read values one after the other; of one that is wrong the next is read all the same."""
    for inner, value, where in places:
        try:
            yield inner(decoder, value, where)
        except DoesNotFit:
            yield None


def _default(one: "attrs.Attribute[Any]") -> object:
    made: Any = one.default
    return made.factory() if isinstance(made, attrs.Factory) else made  # type: ignore[arg-type]


def _joined(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _short(key: str) -> str:
    return repr(key if len(key) <= _SHOWN else f"{key[:_SHOWN]}…").strip("'")


def _named(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case str():
            return f"the text {_short(value)!r}" if len(value) <= _SHOWN else "a text"
        case list():
            return "a list"
    return "a table"


# The same as a schema.


def schema_of(kind: Any, definitions: Schema) -> Schema:  # noqa: ANN401
    """Return the JSON Schema of a class's documents; classes in it are put among `definitions`."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _NAMES:
        return {"type": _NAMES[kind]}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is tuple:
        return {"type": "array", "items": schema_of(inner[0], definitions)}
    if origin is not None and _is_mapping(origin):
        return {"type": "object", "additionalProperties": schema_of(inner[1], definitions)}
    if origin in (Union, UnionType):
        members = [schema_of(member, definitions) for member in inner if member is not NoneType]
        return {"anyOf": [*members, {"type": "null"}]}
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}
        definitions[kind.__name__] = _table(kind, definitions)
    return {"$ref": f"#/$defs/{kind.__name__}"}


_NAMES: Mapping[Any, str] = {str: "string", int: "integer", bool: "boolean"}


def _table(kind: type, definitions: Schema) -> Schema:
    fields = attrs.fields(kind)
    return {
        "type": "object",
        "description": (kind.__doc__ or "").split("\n\n")[0],
        "properties": {one.name: schema_of(one.type, definitions) for one in fields},
        "additionalProperties": False,
        "required": [one.name for one in fields if one.default is attrs.NOTHING],
    }
