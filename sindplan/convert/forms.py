"""Forms that values of sind's YAML have: text, numbers, lists, maps, and the short forms of maps.

A value's form is what its key takes, as in Go: `name: 1001` is text and `count: "4"` is no number, whatever YAML would
make of them by itself.
"""

import re
from collections.abc import Mapping

from yaml import MappingNode, Node, ScalarNode, SequenceNode

from sindplan.convert.compose import is_null
from sindplan.convert.found import Found, Place
from sindplan.convert.reading import Form, Reading, kind_of, line_of
from sindplan.statefile.wording import listed, quoted

_TAG = "tag:yaml.org,2002:"
_SCALARS = {f"{_TAG}{name}" for name in ("str", "int", "float", "bool", "null", "timestamp", "merge", "value")}
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,18})")
_TRUE = ("true", "yes", "on", "y")
_FALSE = ("false", "no", "off", "n")


def scalar(reading: Reading, node: Node, place: Place, phrase: str) -> str | Found:
    """Return the text of a scalar, or what stands for it once it was refused; `phrase` says what it should be."""
    if not isinstance(node, ScalarNode):
        return reading.refuse(place, f"This must be {phrase}, not {kind_of(node)}.")
    if node.tag not in _SCALARS:
        return _refuse_tag(reading, node, place)
    if not _is_unicode(node.value):
        return reading.refuse(place, "There is half a character in it: an escape from \\ud800 to \\udfff.")
    return str(node.value)


def _refuse_tag(reading: Reading, node: Node, place: Place) -> Found:
    return reading.refuse(place, f"The tag {quoted(node.tag.removeprefix(_TAG))} means nothing here.", "Remove it.")


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def text(reading: Reading, node: Node, place: Place) -> Found | None:
    """Read text; none is what an empty one says, as in sind."""
    value = scalar(reading, node, place, "text")
    if isinstance(value, Found):
        return value
    return Found(place, value) if value else None


def content(reading: Reading, node: Node, place: Place) -> Found:
    """Read text in which nothing is something, too."""
    value = scalar(reading, node, place, "text")
    return value if isinstance(value, Found) else Found(place, value)


def whole(reading: Reading, node: Node, place: Place) -> Found:
    """Read a whole number."""
    value = scalar(reading, node, place, "a whole number")
    if isinstance(value, Found):
        return value
    if _is_quoted(node) or _WHOLE.fullmatch(value) is None:
        said = f"the text {quoted(value)}" if _is_quoted(node) else quoted(value)
        return reading.refuse(place, f"This must be a whole number, not {said}.", "Write digits, without quotes.")
    return Found(place, int(value))


def flag(reading: Reading, node: Node, place: Place) -> Found:
    """Read true or false."""
    value = scalar(reading, node, place, "true or false")
    if isinstance(value, Found):
        return value
    word = value.lower()
    if _is_quoted(node) or word not in (*_TRUE, *_FALSE):
        return reading.refuse(place, f"This must be true or false, not {quoted(value)}.")
    return Found(place, word in _TRUE)


def _is_quoted(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.style is not None


def choice(*options: str) -> Form:
    """Return the form of a text that is one of a few."""

    def form(reading: Reading, node: Node, place: Place) -> Found | None:
        found = text(reading, node, place)
        if found is None or found.is_wrong or found.value in options:
            return found
        what = f"This must be {listed(map(quoted, options), 'or')}, not {quoted(str(found.value))}."
        return reading.refuse(place, what, reading.nearest(str(found.value), options))

    return form


def many(item: Form) -> Form:
    """Return the form of a list; an empty one says nothing."""

    def form(reading: Reading, node: Node, place: Place) -> Found | None:
        if not isinstance(node, SequenceNode):
            return reading.refuse(place, f"This must be a list, not {kind_of(node)}.", "Write it in brackets: [ … ].")
        if node.tag != f"{_TAG}seq":
            return _refuse_tag(reading, node, place)
        items = []
        for index, one in enumerate(node.value):
            here = place.key(index, line_of(one))
            items.append(reading.read(item, one, here) or reading.refuse(here, "The item is empty.", "Remove it."))
        return Found(place, tuple(items)) if items else None

    return form


def table(keys: Mapping[str, Form], *required: str) -> Form:
    """Return the form of a map with known keys."""

    def form(reading: Reading, node: Node, place: Place) -> Found:
        if not isinstance(node, MappingNode):
            return reading.refuse(place, f"This must be a map of keys, not {kind_of(node)}.")
        if node.tag != f"{_TAG}map":
            return _refuse_tag(reading, node, place)
        found: dict[str, Found] = {}
        for name, key, value in reading.pairs(node, place):
            here = place.key(name, line_of(key))
            if name not in keys:
                reading.refuse(here, "There is no such key here.", reading.advice(name, keys))
                continue
            one = reading.read(keys[name], value, here)
            if one is not None:
                found[name] = one
        for name in required:
            if name not in found:
                found[name] = reading.refuse(place.key(name, place.line), "This key is required and missing.")
        return Found(place, found)

    return form


def named(value: Form) -> Form:
    """Return the form of a map from names of the user's own."""

    def form(reading: Reading, node: Node, place: Place) -> Found | None:
        if not isinstance(node, MappingNode):
            return reading.refuse(place, f"This must be a map of names, not {kind_of(node)}.")
        if node.tag != f"{_TAG}map":
            return _refuse_tag(reading, node, place)
        found: dict[str, Found] = {}
        for name, key, inner in reading.pairs(node, place):
            here = place.key(name, line_of(key))
            if not _is_unicode(name):
                reading.refuse(here, "This is not a name.")
            elif is_null(inner):
                found[name] = reading.refuse(here, "It has no value.", "Write one, or remove the name.")
            else:
                found[name] = reading.read(value, inner, here) or reading.refuse(here, "The value is empty.")
        return Found(place, found) if found else None

    return form


def short(key: str, of_key: Form, full: Form) -> Form:
    """Return the form of a map that may be written as the value of one of its keys alone."""

    def form(reading: Reading, node: Node, place: Place) -> Found | None:
        if not isinstance(node, ScalarNode):
            return full(reading, node, place)
        found = of_key(reading, node, place)
        return Found(place, {key: found}) if found is not None else None

    return form
