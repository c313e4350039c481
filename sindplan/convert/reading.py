"""A walk through a document: what was refused on the way, and how much of it there may be."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from yaml import MappingNode, Node, ScalarNode, SequenceNode

from sindplan.convert.compose import DEEPEST, is_null
from sindplan.convert.found import WRONG, Found, Place
from sindplan.errors import DeclarationInvalid, Problem
from sindplan.statefile.wording import key_path, listed, quoted

MOST_VALUES = 200_000
"""Values that are read of one file. Aliases let a small file say much; sind's largest say thousands."""
_MOST_ADVICE = 50
"""Words that get advice: it takes milliseconds each, and a file may be full of nonsense."""
_LONGEST_WORD = 40

_MERGE = "tag:yaml.org,2002:merge"

Form = Callable[["Reading", Node, Place], Found | None]
"""How a value must look: makes what was found of a node, or refuses it; None when it says nothing."""

Pair = tuple[str, Node, Node]
"""A key of a map as text and as a node, and the node of its value."""


class Reading:
    """Reads the values of one file and collects every problem."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self._values = 0
        self._advised = 0
        self._pairs: dict[int, list[Pair]] = {}
        self._merging: list[Node] = []

    def refuse(self, place: Place, what: str, fix: str = "") -> Found:
        """Note a problem, and return what stands for the value from now on."""
        self.problems.append(Problem(self.file, place.line, key_path(place.path), what, fix))
        return Found(place, WRONG)

    def read(self, form: Form, node: Node, place: Place) -> Found | None:
        """Read a value. Null says nothing, as in sind: a key whose value was commented out."""
        self._count(1, place)
        return None if is_null(node) else form(self, node, place)

    def _count(self, values: int, place: Place) -> None:
        self._values += values
        if self._values > MOST_VALUES:
            what = f"The file says more than {MOST_VALUES} things; an alias counts as often as it is used."
            raise DeclarationInvalid((*self.problems, Problem(self.file, place.line, key_path(place.path), what)))

    def pairs(self, node: MappingNode, place: Place) -> list[Pair]:
        """Return the keys of a map with their values, merged ones (`<<`) last; a key that is none is refused."""
        if id(node) in self._pairs:
            self._count(len(self._pairs[id(node)]), place)
            return self._pairs[id(node)]
        own: dict[str, Pair] = {}
        merged: dict[str, Pair] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                self.refuse(place.key("?", line_of(key)), f"A key must be text, not {kind_of(key)}.")
            elif key.tag == _MERGE:
                for pair in self._merged(node, value, place.key("<<", line_of(key))):
                    merged.setdefault(pair[0], pair)
            elif key.value in own:
                what = f"The key stands on line {line_of(own[key.value][1])} already."
                self.refuse(place.key(key.value, line_of(key)), what, "Keep one of the two.")
            else:
                own[key.value] = (key.value, key, value)
        self._pairs[id(node)] = list({**merged, **own}.values()) if merged else list(own.values())
        self._count(len(self._pairs[id(node)]), place)
        return self._pairs[id(node)]

    def _merged(self, around: Node, value: Node, place: Place) -> list[Pair]:
        self._merging.append(around)
        found: list[Pair] = []
        for one in value.value if isinstance(value, SequenceNode) else [value]:
            if not isinstance(one, MappingNode):
                self.refuse(place, f"`<<` takes the keys of another map, not {kind_of(one)}.")
            elif one in self._merging or len(self._merging) > DEEPEST:
                self.refuse(place, "`<<` leads in a circle here, or through too many maps.")
            else:
                found += self.pairs(one, place)
        self._merging.pop()
        return found

    def advice(self, key: str, known: Iterable[str]) -> str:
        """Return what to write instead of an unknown key: the nearest of those known, or all."""
        names = list(known)
        return self.nearest(key, names) or f"The keys here are {listed(f'`{name}`' for name in names)}."

    def nearest(self, word: str, known: Sequence[str]) -> str:
        """Return the known word that was probably meant, as a question; empty for none."""
        self._advised += 1
        if self._advised > _MOST_ADVICE or len(word) > _LONGEST_WORD:
            return ""
        near = difflib.get_close_matches(word, known, n=1)
        return f"Did you mean `{near[0]}`?" if near else ""


def line_of(node: Node) -> int:
    """Return the line of a node, counted from 1."""
    return int(node.start_mark.line) + 1


def kind_of(node: Node) -> str:
    """Return what a node is, for a sentence."""
    if isinstance(node, MappingNode):
        return "a map"
    if isinstance(node, SequenceNode):
        return "a list"
    return "nothing" if is_null(node) else quoted(node.value)
