"""Plans as comments on pull requests: whatever stands in them, they say it and do nothing, and what matters is never cut."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sindplan.model.kind import Operation
from sindplan.render.markdown import LIMIT, markdown
from sindplan.render.markdown_escape import code, fence, prose
from sindplan.render.node_sets import fold
from sindplan.render.review import DESTRUCTIVE, ORDER, Remark, Review
from tests.render.reviews import EVIL, LINES, entry, reviews

MARKDOWN = MarkdownIt("gfm-like", {"linkify": False})
LAW = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
BLOCKS = {
    "heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "html_block", "fence",
    "blockquote_open", "blockquote_close", "bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close",
    "table_open", "table_close", "thead_open", "thead_close", "tbody_open", "tbody_close",
    "tr_open", "tr_close", "th_open", "th_close", "td_open", "td_close",
}  # fmt: skip
INLINE = {"text", "code_inline", "softbreak", "strong_open", "strong_close", "html_inline"}
ALERTS = ("[!CAUTION]", "[!WARNING]")
TAGS = {"<sub>", "</sub>"}
HTML = re.compile(
    r'<!-- sindplan plan \{"name": "[^<>@]*", "digest": "(?:sha256:[0-9a-f]{64})?"\} -->\n'
    r"|<details(?: open)?><summary>[A-Z][a-z]+: [0-9]+</summary>\n"
    r"|</details>\n"
)
CALLS = re.compile(r"(?<!\w)[@#!%$~^&][\w\"]|\w@\w|[#!]\d|gh-\d|://|www\.\w|:[\w+-]+:|[\[*]\w+:", re.IGNORECASE)
"""What GitHub and GitLab look for in text: people, issues, addresses of pages and of mail, pictures and references by kind."""


def said(tokens: list[Token]) -> str:
    return "".join(token.content for token in tokens)


@LAW
@given(LINES)
def test_code_says_its_text_and_does_nothing(text: str) -> None:
    before, span = MARKDOWN.parseInline(f"x {code(text)}")[0].children or []

    assert (before.content, span.type) == ("x ", "code_inline")
    assert span.content in (text, f" {text} ")


@LAW
@given(LINES)
def test_prose_says_its_text_and_does_nothing(text: str) -> None:
    tokens = MARKDOWN.parseInline(f"x {prose(text)} x")[0].children or []

    assert {token.type for token in tokens} <= {"text"}
    shown = said(tokens)
    assert shown.replace("\u200b", "") == f"x {text} x"
    assert not CALLS.search(shown)


@pytest.mark.parametrize("text", EVIL)
def test_what_is_known_to_do_something_does_nothing(text: str) -> None:
    test_prose_says_its_text_and_does_nothing.hypothesis.inner_test(text)
    test_code_says_its_text_and_does_nothing.hypothesis.inner_test(text)


@LAW
@given(st.lists(LINES))
def test_nothing_within_a_fence_ends_it(lines: list[str]) -> None:
    before, fenced, after = (
        token for token in MARKDOWN.parse(f"a\n\n{fence(lines, 'diff')}\n\nb\n") if not token.nesting
    )

    assert (before.content, after.content) == ("a", "b")
    assert (fenced.type, fenced.info) == ("fence", "diff")
    assert fenced.content == "".join(f"{line}\n" for line in lines)


def leaves(text: str) -> Iterator[Token]:
    """Yield the tokens of a comment, outer and inner, and demand that none of them is one that data may not make."""
    for token in MARKDOWN.parse(text):
        assert token.type in BLOCKS, token
        if token.type == "html_block":
            assert HTML.fullmatch(token.content), token
        for inner in token.children or ():
            assert inner.type in INLINE, inner
            assert inner.type != "html_inline" or inner.content in TAGS
            if inner.type == "text" and inner.content not in ALERTS:
                assert not CALLS.search(inner.content), inner
            yield inner
        yield token


@settings(LAW, max_examples=120)
@given(reviews())
def test_no_text_of_a_plan_does_anything_in_a_comment(found: Review) -> None:
    text = markdown(found)
    tokens = [*leaves(text)]

    assert len(text.encode()) <= LIMIT
    assert text.startswith("<!-- sindplan plan {")
    assert sum(token.type == "heading_open" for token in tokens) == 1
    html = [token.content for token in tokens if token.type == "html_block"]
    there = [operation for operation in ORDER if found.counts[operation]]
    assert sum("<details" in one for one in html) == sum("</details>" in one for one in html) == len(there)
    fences = [token for token in tokens if token.type == "fence"]
    assert [token.info for token in fences] == ["diff"] * len(there)
    # GitLab has read commands where a line within a fence begins with a slash, and ends where it begins with backticks.
    assert all(line[:1] in "+-#@! " for token in fences for line in token.content.splitlines())
    assert ("sindplan apply --approve sha256:" in text) == (
        len(found.digest) == 71 and bool(found.entries) and not found.blocked
    )


@settings(LAW, max_examples=120)
@given(reviews())
def test_a_comment_has_every_change_its_count_and_what_is_destroyed_before_the_rest(found: Review) -> None:
    text = markdown(found)
    head, _, details = text.partition("\n<details")
    codes = [token.content for token in leaves(head) if token.type == "code_inline"]

    gone = [one for one in found.entries if one.operation in DESTRUCTIVE]
    for operation in DESTRUCTIVE:
        for name in fold(str(one.address) for one in gone if one.operation is operation):
            assert name.strip() in (one.strip() for one in codes)
    assert ("> [!CAUTION]\n" in head) == bool(gone)
    assert ("> [!WARNING]\n" in head) == (found.blocked or any(remark.blocks for remark in found.remarks))
    if found.entries:
        assert f"| {' | '.join(str(found.counts[operation]) for operation in ORDER)} |\n" in head
    told = re.findall(r"<summary>(\w+): (\d+)</summary>\n\n", details)
    assert [int(count) for _, count in told[: len(ORDER)]] == [count for one in ORDER if (count := found.counts[one])]


def many(operation: Operation, count: int, lines: int = 3, kind: str = "file") -> list:
    body = tuple(f"+ {'long ' * 30}{number}" for number in range(lines))
    return [
        entry(f"lab/c{number}/{kind}/f{number}", operation, (*body, f"+ {number}"), kind) for number in range(count)
    ]


@pytest.mark.parametrize("count", [10, 200, 3_000])
def test_the_middle_shrinks_and_never_the_counts_or_the_removals(count: int) -> None:
    gone = [entry(f"lab/dev/volume/v{number}", Operation.DELETE) for number in range(20)]
    found = Review(
        entries=(*many(Operation.CREATE, count), *many(Operation.UPDATE, count), *gone),
        remarks=(Remark("x", True, "No room on the host.", "Make room."),),
    )

    text = markdown(found)

    assert len(text.encode()) <= LIMIT
    [*leaves(text)]
    assert f"| 20 | 0 | {count} | {count} |" in text
    assert f"{count} to add, {count} to change, 20 to destroy" in text
    assert all(f"> - destroyed: `lab/dev/volume/v{number}`" in text for number in range(20))
    assert "No room on the host" in text
    for summary in (f"Changed: {count}", f"Created: {count}", "Destroyed: 20"):
        assert f"<summary>{summary}</summary>" in text
    if count == 3_000:
        # What is left out is counted.
        shown = len(re.findall(r"^[+!] lab/\S+ will be", text, re.MULTILINE))
        left = sum(int(number) for number in re.findall(r"and (\d+) more, for which there is no room here", text))
        assert shown + left == 2 * count
        assert len(text.encode()) > LIMIT * 0.9


def test_removals_that_have_no_room_themselves_are_told_by_kind_but_for_nodes_and_volumes() -> None:
    gone = [
        *(entry(f"lab/dev/known-host/{'h' * 60}{number}", Operation.DELETE) for number in range(2_000)),
        entry("lab/dev/volume/db", Operation.DELETE),
        entry("lab/dev/node/controller", Operation.REPLACE),
    ]

    text = markdown(Review(entries=tuple(gone)))

    assert len(text.encode()) <= LIMIT
    assert "**2002 resources will be destroyed or replaced.**" in text
    assert "> - destroyed: `lab/dev/volume/db`\n> - replaced: `lab/dev/node/controller`\n" in text
    assert "> - destroyed: 2000 of the kind `known-host` in `lab/dev`\n" in text


@pytest.mark.parametrize("text", ["`" * 399, "&" * 5_000, "\U0001f600" * 5_000, "@a " * 2_000, "\\" * 3_000])
@pytest.mark.parametrize("count", [1, 60])
def test_no_text_however_long_makes_a_comment_too_long(text: str, count: int) -> None:
    found = Review(
        entries=tuple(
            entry(f"r/c{number}/{text}/x{number}", operation, (f"+ {text}",) * 5)
            for number in range(count)
            for operation in Operation
        ),
        remarks=(Remark("x", True, text, text),) * count,
        privileges=(text,) * count,
        name=text,
        made=text,
        version=text,
    )

    assert len(markdown(found).encode()) <= LIMIT
    [*leaves(markdown(found))]


def test_the_fences_themselves_have_room() -> None:
    ticks = "`" * 390
    entries = [
        entry(f"r/c/{operation.value}/x{number}", operation, (f"+ {ticks}{number}",))
        for number in range(100)
        for operation in Operation
    ]

    text = markdown(Review(entries=tuple(entries)))

    assert LIMIT * 0.9 < len(text.encode()) <= LIMIT
    [*leaves(text)]


def test_a_whole_comment() -> None:
    found = Review(
        entries=(
            entry("sind/dev/volume/db", Operation.DELETE),
            entry(
                "sind/dev/file/slurm.conf",
                Operation.UPDATE,
                ("@@ -1 +1 @@", "-a=1", "+a=2", "~ mode = 0600 -> 0644", " same"),
            ),
            *(entry(f"sind/dev/node/worker-{number}", Operation.CREATE, ('+ image = "x"',)) for number in range(3)),
        ),
        name="lab",
        remarks=(Remark("jobs", False, "Two jobs run.", "Wait."),),
        privileges=("sind/dev: worker-0: device of the host /dev/fuse",),
        digest="sha256:" + "0f" * 32,
        made="2026-01-01T00:00:00Z",
        version="1.0",
    )

    assert markdown(found) == WHOLE


WHOLE = f"""\
<!-- sindplan plan {{"name": "lab", "digest": "sha256:{"0f" * 32}"}} -->
## sindplan `lab`: 3 to add, 1 to change, 1 to destroy

> [!CAUTION]
> **1 resource will be destroyed or replaced.**
>
> - destroyed: `sind/dev/volume/db`

- Warning: Two jobs run\\. Wait\\.

- Privilege: sind/dev: worker\\-0: device of the host /dev/fuse

| - delete | -/+ replace | ~ update | + create |
|---:|---:|---:|---:|
| 1 | 0 | 1 | 3 |

<details open><summary>Destroyed: 1</summary>

```diff
- sind/dev/volume/db will be destroyed
# (because)
```

</details>

<details><summary>Changed: 1</summary>

```diff
! sind/dev/file/slurm.conf will be updated in-place
# (because)
@@ -1 +1 @@
-a=1
+a=2
! mode = 0600 -> 0644
 same
```

</details>

<details><summary>Created: 3</summary>

```diff
+ sind/dev/node/worker-[0-2] will be created (3 resources)
# (because)
+ image = "x"
```

</details>

To apply exactly this, with the options that it was planned with: `sindplan apply --approve sha256:{"0f" * 32}`

<sub>`sindplan 1.0` · `2026-01-01T00:00:00Z`</sub>
"""
