"""Laws of the comment: whatever a plan's text holds, it is code in it, and it fits."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sindplan_ci.comment import MARKER, MOST, body
from sindplan_ci.review import Review
from tests.strategies import SETTINGS

EVIL = "evil"
HEAD = "a" * 40
PLAIN = Review(f"sha256:{'0' * 64}", {"create": 1, "update": 0, "replace": 2, "delete": 0}, blocked=False)
PIECES = (
    "`", "```", "````text", "\n", "\n\n", "~~~", "@root ", "#1 ", "<!-- ", "-->", MARKER, "<img src=x>", "[a](http://b)", "</details>",
    "</summary>", "\x00", "\u2028", "\r", "\ud800", "\u202e", "é", "    ", "> ", "- ", "| a |",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map(EVIL.join)


@settings(SETTINGS, max_examples=100)
@given(texts, st.lists(texts, max_size=3), st.sampled_from((PLAIN, None)))
def test_the_text_of_others_is_code(text: str, privileges: list[str], review: Review | None) -> None:
    others = () if review is None else privileges
    comment = body(review and replace(review, privileges=tuple(others)), text, "Ours.", HEAD)
    comment.encode()

    assert comment.startswith(f"{MARKER}\n")
    kinds = []
    for token in MarkdownIt("commonmark").enable("table").parse(comment):
        kinds.append(token.type)
        if token.type == "html_block":
            assert token.content.strip() in (MARKER, "<details><summary>What sindplan said</summary>", "</details>")
        assert token.type == "fence" or EVIL not in token.content
        assert all(inner.type in ("text", "code_inline") for inner in token.children or ())
    assert kinds.count("fence") == (2 if others else 1)


def test_of_a_privilege_of_many_nodes_one_sees_what_it_is_and_many_leave_room_for_the_plan() -> None:
    long = f"sind/dev: {', '.join(f'worker-{number}' for number in range(200))}: added capability SYS_ADMIN"

    comment = body(replace(PLAIN, privileges=(long, "a\nb", *[long] * 1_000)), "first\nPlan: last.", "Ours.", HEAD)

    assert len(comment.encode()) <= MOST
    assert "\nsind/dev: worker-0, " in comment
    assert ": added capability SYS_ADMIN\n" in comment
    assert "\na\\nb\n" in comment
    assert comment.count("\n... lines are left out ...\n") == 1
    assert "\nfirst\nPlan: last.\n```" in comment


def test_a_long_text_loses_its_middle() -> None:
    for line in ("é" * 400, "`" * 400, "x" * 20):
        comment = body(PLAIN, "\n".join(["first", *[line] * 4_000, "Plan: last."]), "Ours.", HEAD)

        assert len(comment.encode()) <= MOST
        assert "\nfirst\n" in comment
        assert "\n... lines are left out ...\n" in comment
        assert "\nPlan: last.\n```" in comment
        assert "### sindplan: 1 to create, 2 to replace\n" in comment
