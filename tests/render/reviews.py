"""Plans in words as somebody hostile would write them: every text may hold what means something to a format."""

from hypothesis import strategies as st

from sindplan.model.address import Address
from sindplan.model.kind import Operation, Phase
from sindplan.render.escape import escaped, one_line
from sindplan.render.review import Entry, Remark, Review, Task, flat

EVIL = (
    "```", "````", "~~~", "`", "``", "@somebody", "@org/team", "#1", "GH-1", "!1", "&1", "~label", "%1", "$1", "$x$", "$$",
    "https://evil.example/x", "www.evil.example", "WWW.evil.example", "mailto:a@evil.example", "a@evil.example", "xmpp:a@b.example",
    "[text](https://evil.example)", "![i](https://evil.example/i.png)", "[a]: https://evil.example", "<https://evil.example>",
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</details>", "<details>", "-->", "<!--", "<!-- sindplan plan", "]]>",
    "<sub>", "&lt;", "&#64;", "&amp;", "\\", "\\`", "*b*", "**b**", "__b__", "_i_", "~~s~~", "|", "| a | b |", "|---|",
    "# heading", "- item", "1. item", "> quote", "> [!CAUTION]", "---", "===", "    code", "/merge", "/approve", ":tada:", "[x]", "[^1]",
    "[vulnerability:1]", "*iteration:1", "^alert#1", "\"]", "\"]; evil [label=\"", "\\l", "\\N", "\\\"", "end", "subgraph", "a --> b",
    "%%{init: {}}%%", "#quot;", "#34;", "<br/>", "click a0 \"https://evil.example\"", "Plan: 0 to add, 0 to change, 0 to destroy.",
    "worker-0", "worker-1", "é", "日本", "\U0001f600", " ", "a", "0", "/", ":", ".", ",",
)  # fmt: skip
_RAW = st.lists(st.sampled_from((*EVIL, "\n", "\r", "\t", "\x1b[31m", "\u202e", "\x00")), max_size=6).map("".join)
LINES = st.one_of(_RAW.map(one_line), st.text(max_size=20).map(one_line))
"""As everything comes that a renderer is given: on one line, without control characters."""
TEXTS = st.one_of(_RAW, st.text(max_size=20)).map(escaped)
_NAMES = st.one_of(st.sampled_from(("worker-0", "worker-1", "worker-2", "config", "db")), LINES.filter(bool))
_KINDS = st.one_of(st.sampled_from(("node", "volume", "file", "record")), LINES)


@st.composite
def _entries(draw: st.DrawFn) -> Entry:
    parts = (
        draw(st.sampled_from(("sind", "lab"))),
        draw(st.sampled_from(("dev", "@mesh"))),
        draw(_KINDS),
        draw(_NAMES),
    )
    return Entry(
        address=flat("/".join(parts)),
        operation=draw(st.sampled_from(tuple(Operation))),
        kind=parts[2],
        reason=draw(LINES),
        body=tuple(draw(st.lists(LINES, max_size=4))),
    )


@st.composite
def reviews(draw: st.DrawFn) -> Review:
    """Draw a plan of a few changes, of which each has at most one action."""
    entries = draw(st.lists(_entries(), max_size=8, unique_by=lambda entry: str(entry.address)))
    tasks: list[Task] = []
    for number, entry in enumerate(entries):
        if draw(st.booleans()):
            needs = draw(st.lists(st.sampled_from(tasks), max_size=2, unique=True)) if tasks else []
            tasks.append(
                Task(
                    id=f"{number} {draw(LINES)}",
                    step=draw(LINES),
                    says=draw(LINES),
                    phase=draw(st.sampled_from(tuple(Phase))),
                    scope=str(entry.address.scope),
                    needs=tuple(task.id for task in needs),
                    addresses=(entry.address,),
                    final=draw(st.booleans()),
                )
            )
    return Review(
        entries=tuple(entries),
        tasks=tuple(tasks),
        name=draw(LINES),
        remarks=tuple(draw(st.lists(st.builds(Remark, LINES, st.booleans(), TEXTS, TEXTS), max_size=3))),
        privileges=tuple(draw(st.lists(LINES, max_size=2))),
        blocked=draw(st.booleans()),
        digest=draw(
            st.sampled_from(("sha256:" + "0f" * 32, "sha256:`", "", "sha256:" + "0f" * 32 + " --auto-approve"))
        ),
        made=draw(LINES),
        version=draw(LINES),
    )


def entry(address: str, operation: Operation, body: tuple[str, ...] = (), kind: str = "") -> Entry:
    """Return a change of which only this matters."""
    place = Address.parse(address)
    return Entry(address=place, operation=operation, kind=kind or place.kind, reason="because", body=body)
