"""From bytes to one YAML document as a graph of nodes with lines, or to the one thing that keeps it from being read.

Nothing is made of the nodes here: no tag is obeyed, and an alias stays a reference, so no file is larger than it is.
"""

from pathlib import Path

from yaml import MarkedYAMLError, Node, ScalarNode, YAMLError
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import Resolver
from yaml.scanner import Scanner

from sindplan.errors import DeclarationInvalid, Problem
from sindplan.statefile.wording import plain

LARGEST_FILE = 256 * 1024
"""Bytes. sind's files have hundreds; PyYAML needs seconds for this many."""
DEEPEST = 32
"""How deep something may be nested; sind's grammar needs 6."""

_BYTE_ORDER_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def compose(data: bytes, file: Path) -> Node:
    """Return the root node of the document in a file. Raises DeclarationInvalid with one problem."""
    text = _decoded(data, file)
    loader = None
    try:
        loader = _Loader(text)
        return _single(loader, file)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        context = f" ({error.context})" if error.context else ""
        raise _not_yaml(file, mark.line + 1 if mark else 0, f"{error.problem}{context}", text) from error
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _not_yaml(file, line, f"a control character, {_code(error.character)}", text) from error
    except _TooDeep as error:
        raise _not_yaml(file, error.line, f"something is nested more than {DEEPEST} deep", text) from error
    except (ValueError, OverflowError) as error:
        # PyYAML hands what it scanned to chr() and int(), which say no to "\UFFFFFFFF" in their own way.
        line = loader.get_mark().line + 1 if loader else 0
        raise _not_yaml(file, line, "an escape or a number that means nothing", text) from error


def _code(character: object) -> str:
    return f"U+{character:04X}" if isinstance(character, int) else "which YAML does not have"


def _decoded(data: bytes, file: Path) -> str:
    if len(data) > LARGEST_FILE:
        raise _unreadable(
            file, 0, f"It is larger than {LARGEST_FILE // 1024} KiB.", "A cluster of sind's is much less."
        )
    for mark, name in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            raise _unreadable(file, 1, f"The file is {name}.", "Save it as UTF-8.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"The file is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}."
        raise _unreadable(file, line, what, "Save it as UTF-8.") from error


def is_null(node: Node) -> bool:
    """Say whether a node is YAML's null: nothing, or `~`."""
    return isinstance(node, ScalarNode) and node.tag == "tag:yaml.org,2002:null"


class _TooDeep(YAMLError):
    """Something is nested deeper than `DEEPEST`; holds the line."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


class _Loader(Reader, Scanner, Parser, Composer, Resolver):
    """PyYAML up to the graph of nodes, and never deeper than Python recurses."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        Resolver.__init__(self)
        self.depth = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        """Compose a node and count how deep it is."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise _TooDeep(self.get_mark().line + 1)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _single(loader: _Loader, file: Path) -> Node:
    root = loader.get_node() if loader.check_node() else None
    if root is None or is_null(root):
        raise _unreadable(file, 0, "The file is empty.", "A cluster file of sind's says at least `kind: Cluster`.")
    if loader.check_node():
        another = loader.get_mark()
        fix = "Convert each by itself, into files of their own."
        raise _unreadable(file, another.line + 1, "Another document begins here.", fix)
    return root


_HINTS = {
    "\\t": "YAML is indented with spaces, never with tabs.",
    "duplicate anchor": "Give each anchor a name of its own.",
    "mapping values are not allowed": "Text with a colon stands in quotes; keys of one map stand in one column.",
    "expected <block end>": "Keys of one map, and items of one list, stand in one column.",
}


def _not_yaml(file: Path, line: int, why: str, text: str) -> DeclarationInvalid:
    fix = next((fix for sign, fix in _HINTS.items() if sign in why), "")
    last = text.removesuffix("\n").count("\n") + 1
    return _unreadable(file, min(line, last), f"Not YAML: {plain(why)}.", fix)


def _unreadable(file: Path, line: int, what: str, fix: str = "") -> DeclarationInvalid:
    return DeclarationInvalid((Problem(file, line, "", what, fix),))
