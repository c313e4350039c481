"""Plans in which everything that can be text is markup."""

from attrs import evolve
from hypothesis import strategies as st

from sindplan.model.address import Address
from sindplan.model.kind import Operation, Phase
from sindplan.render.escape import escaped, one_line
from sindplan.render.review import Entry, Remark, Review, Task

MARKUP = "<>&\"'`="
_INSTEAD = "\u2039\u203a\u203b\u201f\u201b\u2035\u2248"
_HARMLESS = str.maketrans(MARKUP, _INSTEAD)
# Signs of markup, also in words that would do something, beside any other text but what stands for them.
_TEXTS = st.one_of(
    st.lists(
        st.sampled_from(
            [
                *MARKUP,
                *("</pre>", "</script>", "</style>", "</title>", "<script>alert(1)</script>", "<!--", "-->", "]]>"),
                *("<img src=x onerror=alert(1)>", '" onclick="alert(1)', "' x='", "&lt;", "&#60;", "javascript:", "{}"),
                *("worker-1", "worker-2", "+ ", "- ", "~ ", "@@", "#", " ", "a", "\x00", "\r", "\u202e", "\ud800"),
            ]
        ),
        max_size=6,
    ).map("".join),
    st.text(st.characters(exclude_characters=_INSTEAD), max_size=20),
)
_LINES = _TEXTS.map(one_line)
_PARTS = _LINES.map(lambda text: text.replace("/", "") or "x")


@st.composite
def reviews(draw: st.DrawFn) -> Review:
    """Draw a plan in which everything that can be text is hostile."""
    scopes = draw(st.lists(st.tuples(_PARTS, _PARTS), min_size=1, max_size=2, unique=True))
    addresses = draw(st.lists(st.tuples(st.sampled_from(scopes), _PARTS, _PARTS), max_size=6, unique=True))
    entries = tuple(
        Entry(
            address=Address((*scope, kind, name)),
            operation=draw(st.sampled_from(Operation)),
            kind=draw(_LINES),
            reason=draw(_LINES),
            body=tuple(draw(st.lists(_LINES, max_size=3))),
        )
        for scope, kind, name in addresses
    )
    tasks: list[Task] = []
    for number, entry in enumerate(entries[: draw(st.integers(0, len(entries)))]):
        needs = draw(st.lists(st.sampled_from([task.id for task in tasks]), unique=True)) if tasks else []
        tasks.append(
            Task(
                id=f"{draw(_LINES)} {number}",
                step=draw(_LINES),
                says=draw(_LINES),
                phase=Phase.BUILD,
                scope="/".join(entry.address.parts[:2]),
                needs=tuple(needs),
                addresses=(entry.address,),
                final=draw(st.booleans()),
            )
        )
    remarks = st.builds(Remark, _LINES, st.booleans(), _TEXTS.map(escaped), _TEXTS.map(escaped))
    return Review(
        entries=tuple(sorted(entries, key=lambda entry: entry.address)),
        tasks=tuple(tasks),
        name=draw(_LINES),
        remarks=tuple(draw(st.lists(remarks, max_size=2))),
        privileges=tuple(draw(st.lists(_LINES, max_size=2))),
        blocked=draw(st.booleans()),
        digest=draw(_LINES),
        made=draw(_LINES),
        version=draw(_LINES),
    )


def harmless(found: Review) -> Review:
    """Return the same plan with other signs in the place of markup."""

    def line(text: str) -> str:
        return text.translate(_HARMLESS)

    def address(of: Address) -> Address:
        return Address(tuple(map(line, of.parts)))

    return evolve(
        found,
        entries=tuple(
            evolve(
                entry,
                address=address(entry.address),
                kind=line(entry.kind),
                reason=line(entry.reason),
                body=tuple(map(line, entry.body)),
            )
            for entry in found.entries
        ),
        tasks=tuple(
            evolve(
                task,
                id=line(task.id),
                step=line(task.step),
                says=line(task.says),
                scope=line(task.scope),
                needs=tuple(map(line, task.needs)),
                addresses=tuple(map(address, task.addresses)),
            )
            for task in found.tasks
        ),
        name=line(found.name),
        remarks=tuple(evolve(one, what=line(one.what), fix=line(one.fix)) for one in found.remarks),
        privileges=tuple(map(line, found.privileges)),
        digest=line(found.digest),
        made=line(found.made),
        version=line(found.version),
    )


_EVIL = """"'><img src=x onerror="window.pwned=1"><script>window.pwned=1</script><a href='javascript:window.pwned=1'>&lt;&#60;`"""
_CHANGES = Review(
    entries=tuple(
        Entry(
            address=Address(
                (_EVIL.replace("/", ""), where + _EVIL.replace("/", ""), "file", f"{_EVIL.replace('/', '')} {number}")
            ),
            operation=operation,
            kind=_EVIL,
            reason=_EVIL,
            body=tuple(f"{sign}{_EVIL}" for sign in ("+ ", "- ", "~ ", "# ", "@@ ", " ", "")),
        )
        for where in ("a", "b")
        for number, operation in enumerate(Operation)
    ),
    name=_EVIL,
    remarks=(Remark(_EVIL, True, _EVIL, _EVIL), Remark(_EVIL, False, _EVIL)),
    privileges=(_EVIL,),
    digest=_EVIL,
    made=_EVIL,
    version=_EVIL,
)
EVIL = evolve(
    _CHANGES,
    tasks=tuple(
        Task(
            id=f"{_EVIL} {number}",
            step=_EVIL,
            says=_EVIL,
            phase=Phase.BUILD,
            scope=str(entry.address.scope),
            needs=(f"{_EVIL} {number - 1}",) if number else (),
            addresses=(entry.address,),
        )
        for number, entry in enumerate(_CHANGES.entries[:-2])
    ),
)
"""A plan in which every text would do something in a browser if it were not text."""
