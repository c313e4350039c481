"""The graph of a plan for Graphviz: `sindplan graph | dot -Tsvg`."""

from collections.abc import Iterator

from sindplan.model.kind import Operation
from sindplan.render.picture import Box, picture
from sindplan.render.review import ORDER, Review
from sindplan.render.text import SYMBOLS, headline

_COLOURS = {
    Operation.DELETE: "#c62828",
    Operation.REPLACE: "#c62828",
    Operation.UPDATE: "#b26a00",
    Operation.CREATE: "#2e7d32",
}
_PLAIN = "#607d8b"


def dot(found: Review, *, whole: bool = False) -> str:
    """Return a plan's graph in the language of Graphviz; `whole` keeps every action apart."""
    drawn = picture(found, whole=whole)
    title = headline(found)
    lines = [
        "digraph sindplan {",
        f"  label={_quoted(title)}; labelloc=t; rankdir=LR; fontname=monospace;",
        "  node [shape=box, fontname=monospace, fontsize=10];",
    ]
    for number, (scope, boxes) in enumerate(drawn.scopes.items()):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(scope)}; color={_quoted(_PLAIN)};"]
        lines += [f"    {line}" for box in boxes for line in _box(box)]
        lines += ["  }"]
    lines += [f"  {one} -> {other};" for one, other in drawn.arrows]
    return "\n".join([*lines, "}", ""])


def _box(box: Box) -> Iterator[str]:
    colour = next((_COLOURS[operation] for operation in ORDER if operation in box.operations), _PLAIN)
    names = (f"{SYMBOLS[operation]} {name}" for operation, name in box.names)
    label = "".join(f"{_escaped(line)}\\l" for line in (box.says, *names))
    style = "" if box.tasks else ", style=dashed"
    width = ", penwidth=3" if box.final else ""
    yield f'{box.id} [label="{label}", color="{colour}"{style}{width}];'


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    # A backslash would begin an escape such as \N, the node's name (Graphviz, escString).
    return text.replace("\\", "\\\\").replace('"', '\\"')
