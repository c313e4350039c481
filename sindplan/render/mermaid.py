"""The graph of a plan for mermaid, which GitHub and GitLab draw within markdown."""

import re
from collections.abc import Iterator

from sindplan.model.kind import Operation
from sindplan.render.picture import Box, picture
from sindplan.render.review import ORDER, Review
from sindplan.render.text import headline

_CLASSES = {
    Operation.DELETE: "gone",
    Operation.REPLACE: "gone",
    Operation.UPDATE: "changed",
    Operation.CREATE: "new",
}
_STYLES = (
    "classDef gone stroke:#c62828,stroke-width:2px",
    "classDef changed stroke:#b26a00,stroke-width:2px",
    "classDef new stroke:#2e7d32,stroke-width:2px",
    "classDef along stroke-dasharray:4",
)
_MEANS_SOMETHING = re.compile(r"[^A-Za-z0-9 ,./\[\]-]")


def mermaid(found: Review, *, whole: bool = False) -> str:
    """Return a plan's graph in mermaid's language; `whole` keeps every action apart."""
    drawn = picture(found, whole=whole)
    title = headline(found)
    lines = ["---", f'title: "{title}"', "---", "flowchart LR"]
    for number, (scope, boxes) in enumerate(drawn.scopes.items()):
        lines += [f'  subgraph s{number}["{_escaped(scope)}"]']
        lines += [f"    {line}" for box in boxes for line in _box(box)]
        lines += ["  end"]
    lines += [f"  {one} --> {other}" for one, other in drawn.arrows]
    return "\n".join([*lines, *(f"  {style}" for style in _STYLES), ""])


def _box(box: Box) -> Iterator[str]:
    # Words, since mermaid takes a line that begins with a sign for a list.
    names = (f"{operation.value} {name}" for operation, name in box.names)
    label = "<br/>".join(map(_escaped, (box.says, *names)))
    yield f'{box.id}["{label}"]'
    if worst := next((_CLASSES[operation] for operation in ORDER if operation in box.operations), ""):
        yield f"class {box.id} {worst}"
    if not box.tasks:
        yield f"class {box.id} along"


def _escaped(text: str) -> str:
    """Spell out what could mean something to mermaid, to HTML or to markdown around it: `#34;` is a quotation mark."""
    return _MEANS_SOMETHING.sub(lambda found: f"#{ord(found[0])};", text)
