"""What each format says of a plan, read back from it: what happens to which resource. No renderer's code is used but for symbols."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import unescape

from ClusterShell.RangeSet import RangeSet
from markdown_it import MarkdownIt

from sindplan.render.dot import dot
from sindplan.render.html import html
from sindplan.render.markdown import markdown
from sindplan.render.mermaid import mermaid
from sindplan.render.review import Review
from sindplan.render.text import review_text

Said = set[tuple[str, str]]
"""What happens, as in an operation's value, and to which address."""
SIGNS = {"-": "delete", "-/+": "replace", "~": "update", "+": "create"}
VERDICTS = {
    "will be destroyed": "delete",
    "must be replaced": "replace",
    "will be updated in-place": "update",
    "will be created": "create",
}
_VERDICT = re.compile(rf"(.*) ({'|'.join(VERDICTS)})(?: \(([0-9]+) resources\))?")
_FOLDED = re.compile(r"\bworker-\[([0-9,-]+)\]")
TALLY = re.compile(r"([0-9]+) to add, ([0-9]+) to change, ([0-9]+) to destroy")


def unfolded(name: str) -> Iterator[str]:
    found = _FOLDED.search(name)
    if found is None:
        yield name
    else:
        yield from (f"{name[: found.start()]}worker-{one}{name[found.end() :]}" for one in RangeSet(found[1]))


def _headings(lines: Iterable[str], prefix: re.Pattern[str]) -> Said:
    """Read the headings of blocks: names, a line each, and after the last what happens to them, and to how many."""
    said: Said = set()
    waiting: list[str] = []
    for line in lines:
        start = prefix.match(line)
        if start is None:
            waiting = []
            continue
        rest = line[start.end() :]
        found = _VERDICT.fullmatch(rest)
        if found is None:
            waiting.append(rest)
            continue
        names = [name for one in (*waiting, found[1]) for name in unfolded(one)]
        assert len(names) == int(found[3] or 1), line
        said |= {(VERDICTS[found[2]], name) for name in names}
        waiting = []
    return said


def of_text(text: str) -> Said:
    return _headings(text.splitlines(), re.compile(r"  # "))


def of_markdown(text: str) -> Said:
    fences = (
        token.content for token in MarkdownIt("gfm-like", {"linkify": False}).parse(text) if token.type == "fence"
    )
    return {one for fence in fences for one in _headings(fence.splitlines(), re.compile(r"[-!+] "))}


_DOT_LINE = re.compile(
    r"""digraph\ sindplan\ \{ | \}
    | \ \ label="(?:[^"\\]|\\.)*";\ labelloc=t;\ rankdir=LR;\ fontname=monospace;
    | \ \ node\ \[shape=box,\ fontname=monospace,\ fontsize=10\];
    | \ \ subgraph\ cluster_[0-9]+\ \{ | \ \ \}
    | \ \ \ \ label="(?:[^"\\]|\\.)*";\ color="\#[0-9a-f]{6}";
    | \ \ \ \ (?P<box>[ac][0-9]+)\ \[label="(?P<label>(?:[^"\\]|\\.)*)",\ color="\#[0-9a-f]{6}"(?:,\ style=dashed)?(?:,\ penwidth=3)?\];
    | \ \ (?P<one>[ac][0-9]+)\ ->\ (?P<other>[ac][0-9]+);
    """,
    re.VERBOSE,
)
_MERMAID_LINE = re.compile(
    r"""--- | title:\ "[^"]*" | flowchart\ LR
    | \ \ subgraph\ s[0-9]+\["[^"`]*"\] | \ \ end
    | \ \ \ \ (?P<box>[ac][0-9]+)\["(?P<label>[^"`]*)"\]
    | \ \ \ \ class\ [ac][0-9]+\ (?:gone|changed|new|along)
    | \ \ (?P<one>[ac][0-9]+)\ -->\ (?P<other>[ac][0-9]+)
    | \ \ classDef\ [a-z]+\ [a-z0-9:,\#-]+
    """,
    re.VERBOSE,
)
_DOT_PIECE = re.compile(r"\\(.)|([^\\])", re.DOTALL)


def dot_graph(text: str) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
    """Return the lines of each box, and the arrows. Every line must be one that the grammar knows."""
    return _graph(text, _DOT_LINE, _dot_lines)


def _dot_lines(label: str) -> list[str]:
    shown = "".join("\n" if found[1] == "l" else found[1] or found[2] for found in _DOT_PIECE.finditer(label))
    return shown.removesuffix("\n").split("\n")


def mermaid_graph(text: str) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
    """Return the lines of each box, and the arrows, likewise."""
    return _graph(text, _MERMAID_LINE, _mermaid_lines)


def _mermaid_lines(label: str) -> list[str]:
    return [re.sub(r"#([0-9]+);", lambda found: chr(int(found[1])), line) for line in label.split("<br/>")]


def _graph(
    text: str, grammar: re.Pattern[str], lines_of: Callable[[str], list[str]]
) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
    boxes: dict[str, list[str]] = {}
    arrows = []
    for line in text.removesuffix("\n").split("\n"):
        found = grammar.fullmatch(line)
        assert found is not None, line
        if found["box"]:
            assert found["box"] not in boxes
            boxes[found["box"]] = lines_of(found["label"])
        elif found["one"]:
            arrows.append((found["one"], found["other"]))
    assert {end for arrow in arrows for end in arrow} <= boxes.keys()
    return boxes, arrows


def of_dot(text: str) -> Said:
    boxes, _ = dot_graph(text)
    lines = (line.split(" ", 1) for _, *lines in boxes.values() for line in lines)
    return {(SIGNS[sign], name) for sign, folded in lines for name in unfolded(folded)}


def of_mermaid(text: str) -> Said:
    boxes, _ = mermaid_graph(text)
    lines = (line.split(" ", 1) for _, *lines in boxes.values() for line in lines)
    return {(operation, name) for operation, folded in lines for name in unfolded(folded)}


def of_html(text: str) -> Said:
    found = re.findall(r'<code class="[a-z]+">(\S+) ([^<]*)</code>', text.replace("&#x27;", "'"))
    return {(SIGNS[sign], name) for sign, folded in found for name in unfolded(unescape(folded))}


def of_json(text: str) -> Said:
    names = {("create",): "create", ("update",): "update", ("delete", "create"): "replace", ("delete",): "delete"}
    return {(names[tuple(one["change"]["actions"])], one["address"]) for one in json.loads(text)["resource_changes"]}


FORMATS: Mapping[str, tuple[Callable[[Review], str], Callable[[str], Said]]] = {
    "text": (review_text, of_text),
    "markdown": (markdown, of_markdown),
    "dot": (dot, of_dot),
    "mermaid": (mermaid, of_mermaid),
    "html": (html, of_html),
}
"""Each format for people: what makes it, and what reads it back."""
