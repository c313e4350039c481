"""Laws of the comment: whatever a plan's text holds, it is code in it, and it fits."""

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sindplan_ci.comment import MARKER, MOST, body
from sindplan_ci.review import Review
from tests.strategies import SETTINGS

EVIL = "evil"
HEAD = "a" * 40
REVIEW = Review(f"sha256:{'0' * 64}", {"create": 1, "update": 0, "replace": 2, "delete": 0}, blocked=False)
PIECES = (
    "`", "```", "````text", "\n", "\n\n", "~~~", "@root ", "#1 ", "<!-- ", "-->", MARKER, "<img src=x>", "[a](http://b)", "</details>",
    "</summary>", "\x00", "\u2028", "\r", "\ud800", "\u202e", "é", "    ", "> ", "- ", "| a |",
)  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map(EVIL.join)


@settings(SETTINGS, max_examples=100)
@given(texts, st.sampled_from((REVIEW, None)))
def test_the_text_of_others_is_code(text: str, review: Review | None) -> None:
    comment = body(review, text, "Ours.", HEAD)
    comment.encode()

    assert comment.startswith(f"{MARKER}\n")
    kinds = []
    for token in MarkdownIt("commonmark").enable("table").parse(comment):
        kinds.append(token.type)
        if token.type == "html_block":
            assert token.content.strip() in (MARKER, "<details><summary>What sindplan said</summary>", "</details>")
        assert token.type == "fence" or EVIL not in token.content
        assert all(inner.type in ("text", "code_inline") for inner in token.children or ())
    assert kinds.count("fence") == 1


def test_a_long_text_loses_its_middle() -> None:
    for line in ("é" * 400, "`" * 400, "x" * 20):
        comment = body(REVIEW, "\n".join(["first", *[line] * 4_000, "Plan: last."]), "Ours.", HEAD)

        assert len(comment.encode()) <= MOST
        assert "\nfirst\n" in comment
        assert "\n... lines are left out ...\n" in comment
        assert "\nPlan: last.\n```" in comment
        assert "### sindplan: 1 to create, 2 to replace\n" in comment
