"""cattrs, told to be exact: each key takes its own TOML type and nothing that could be turned into it.

Left alone cattrs makes 4 of "4", 2 of 2.9, True of "no", and a list of letters of a string.
"""

from collections.abc import Callable, Mapping
from functools import cache
from types import GenericAlias, NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, cast, get_args, get_origin

import attrs

from sindplan.model.declaration import SecretReference
from sindplan.model.units import Bytes, Seconds, TmpfsSize, parse_duration, parse_memory, parse_tmpfs_size
from sindplan.statefile.spellings import DURATION, MEMORY, TMP_SIZE, UNIT_MAX, Spelling
from sindplan.statefile.wording import listed, quoted, sentence, shown

if TYPE_CHECKING:
    from cattrs import Converter

Target = Any
"""A type of the grammar as cattrs hands it to a hook: a class, a union, a NewType, …"""

Hook = Callable[[Any, Target], Any]
"""What cattrs calls to make a value of a type: with the value as TOML has it, and the type."""

T = TypeVar("T")

_PHRASES: Mapping[type, str] = {
    str: "a string",
    int: "a whole number",
    bool: "true or false",
    dict: "a table",
    list: "an array of strings",
}

_UNITS: Mapping[Any, tuple[Callable[[str], Any], str, Spelling]] = {
    Bytes: (parse_memory, "a size in quotes", MEMORY),
    TmpfsSize: (parse_tmpfs_size, "a size in quotes", TMP_SIZE),
    Seconds: (parse_duration, "a duration in quotes", DURATION),
}

_LARGEST_INTEGER = 2**63 - 1


class Mismatch(ValueError):
    """A value is not what its key takes: what is wrong, as a sentence, and what would be right."""

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.fix = fix


@cache
def exact_converter() -> "Converter":
    """Return the converter from TOML's tables to the grammar's classes."""
    # Most commands read no state file: only those that do pay for cattrs.
    from cattrs import Converter
    from cattrs.cols import mapping_structure_factory
    from cattrs.gen import make_dict_structure_fn

    converter = Converter(forbid_extra_keys=True, detailed_validation=True)

    def mapping(target: Target) -> Hook:
        return _guarded(dict, mapping_structure_factory(target, converter))

    def table(target: Target) -> Hook:
        return _guarded(dict, make_dict_structure_fn(target, converter))

    def items(target: Target) -> Hook:
        item: Any = GenericAlias(list, get_args(target)[:1])
        return _guarded(list, lambda value, _: tuple(converter.structure(value, item)))

    def union(target: Target) -> Hook:
        # By the value's TOML type. TOML has no null, so None is never a value.
        members = {_toml_type(member): member for member in get_args(target) if member is not NoneType}
        if len(members) == 1:
            (only,) = members.values()
            return lambda value, _: converter.structure(value, only)
        phrase = listed((_PHRASES[kind] for kind in members), "or")
        is_secret = SecretReference in members.values()

        def hook(value: object, _: Target) -> object:
            if type(value) not in members:
                # A password that lacks its quotes is a number to TOML.
                raise Mismatch(f"This must be {phrase}{'' if is_secret else f', not {shown(value)}'}.")
            return converter.structure(value, members[type(value)])

        return hook

    converter.register_structure_hook_factory(attrs.has, table)
    converter.register_structure_hook_factory(_made_from(Mapping), mapping)
    converter.register_structure_hook_factory(_made_from(tuple), items)
    converter.register_structure_hook_factory(_made_from(Literal), lambda _: _choice)
    converter.register_structure_hook_factory(_made_from(Union, UnionType), union)
    for scalar in (str, int, bool):
        converter.register_structure_hook(scalar, _scalar)
    converter.register_structure_hook_func(lambda target: target in _UNITS, _unit)
    return converter


def _made_from(*origins: object) -> Callable[[Target], bool]:
    return lambda target: get_origin(target) in origins


def _toml_type(target: Target) -> type:
    """Return the Python type that `tomllib` gives values of a type of the grammar."""
    if target in (str, int, bool):
        return cast("type", target)
    if attrs.has(target) or _made_from(Mapping)(target):
        return dict
    return list if _made_from(tuple)(target) else str


def _demand(value: object, kind: type[T], phrase: str, fix: str = "") -> T:
    # Not isinstance alone: True is an int to Python, and no number to anybody else.
    if isinstance(value, kind) and type(value) is kind:
        return value
    raise Mismatch(f"This must be {phrase}, not {shown(value)}.", fix)


def _guarded(kind: type, inner: Hook) -> Hook:
    """Return a hook that demands one of TOML's own types before cattrs looks inside."""

    def hook(value: object, target: Target) -> object:
        return inner(_demand(value, kind, _PHRASES[kind]), target)

    return hook


def _scalar(value: object, target: Target) -> object:
    _demand(value, target, _PHRASES[target])
    if isinstance(value, int) and not -_LARGEST_INTEGER <= value <= _LARGEST_INTEGER:
        raise Mismatch(f"This must be a whole number, not {shown(value)}.")
    return value


def _unit(value: object, target: Target) -> object:
    parse, phrase, spelling = _UNITS[target]
    text = _demand(value, str, phrase, spelling.rule)
    if len(text) > UNIT_MAX:
        raise Mismatch(f"{quoted(text)} is too long for {phrase}.", spelling.rule)
    try:
        return parse(text)
    except ValueError as error:
        raise Mismatch(sentence(str(error)), spelling.rule) from error


def _choice(value: object, target: Target) -> object:
    options = get_args(target)
    if any(type(value) is type(option) and value == option for option in options):
        return value
    raise Mismatch(f"This must be {listed(map(_spelled, options), 'or')}, not {shown(value)}.")


def _spelled(option: str | int) -> str:
    return quoted(option) if isinstance(option, str) else str(option)
