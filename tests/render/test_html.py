"""The page of a plan, without a browser: what it holds, and what it cannot hold. In a browser: test_html_in_a_browser."""

import base64
import hashlib
import re

import pytest
from hypothesis import example, given, settings

from sindplan.plan.plan import Plan
from sindplan.render import html as module
from sindplan.render.html import html
from sindplan.render.report_script import SCRIPT
from sindplan.render.report_style import STYLE
from sindplan.render.review import Review, review
from sindplan.render.text import NO_CHANGES, summary
from tests.property.test_plan_laws import Situation, situations
from tests.render.hostile import EVIL, harmless, reviews
from tests.render.large import grown, new_clusters
from tests.render.pages import Element, parsed, shape
from tests.strategies import SETTINGS

_FOLDED = re.compile(r"worker-\[([0-9,-]+)\]")


def unfolded(name: str) -> list[str]:
    """Return the names that a folded one stands for."""
    found = _FOLDED.search(name)
    if not found:
        return [name]
    ranges = [part.partition("-") for part in found[1].split(",")]
    numbers = [number for low, _, high in ranges for number in range(int(low), int(high or low) + 1)]
    return [f"{name[: found.start()]}worker-{number}{name[found.end() :]}" for number in numbers]


def told(page: Element) -> list[tuple[str, str]]:
    """Return what a page's list says that happens to which resource."""
    return sorted(
        (name, block.attributes["data-operation"])
        for block in page.one("ol", id="actions").all("div", class_="block")
        for code in block.all("p")[0].all("code")
        for name in unfolded(code.text)
    )


def planned(plan: Plan) -> list[tuple[str, str]]:
    return sorted((str(change.address), change.operation.value) for change in plan.changes)


@settings(SETTINGS, max_examples=15)
@given(situations())
def test_a_page_has_the_changes_and_counts_of_its_plan(situation: Situation) -> None:
    plan = situation.prepare().plan
    text = html(review(plan))
    page = parsed(text)

    assert page.one("p", id="summary").text == (" ".join(summary(plan.counts)) if plan.changes else NO_CHANGES)
    # A password that some of the declarations hold in plain text.
    assert "pl4in!" not in text
    if plan.changes:
        assert told(page) == planned(plan)
        _check_counts(page, plan)
        _check_links(page)


def _check_counts(page: Element, plan: Plan) -> None:
    marks = {mark.all("input")[0].attributes["value"]: mark.text for mark in page.all("label")}
    counts = {operation.value: count for operation, count in plan.counts.items() if count}
    assert {operation: int(text.split()[-1]) for operation, text in marks.items()} == counts
    items = page.one("ol", id="actions").all("li")
    along = [box for box in page.one("svg").all("a") if "along" in box.attributes["class"].split()]
    actions = 0
    for item in items:
        times = re.search(r"\xd7(\d+)", item.all("summary")[0].text)
        actions += int(times[1]) if times else 1
    assert actions == len(plan.actions) + len(along)
    assert len(items) == len(page.one("svg").all("a"))


def _check_links(page: Element) -> None:
    ids = [element.attributes["id"] for element in page.all() if "id" in element.attributes]
    assert len(ids) == len({*ids})
    for link in page.all("a"):
        assert link.attributes["href"].removeprefix("#") in ids
    for element in page.all():
        if "aria-labelledby" in element.attributes:
            assert element.attributes["aria-labelledby"] in ids


@settings(SETTINGS, max_examples=80)
@example(EVIL)
@given(reviews())
def test_whatever_a_plan_says_is_text(found: Review) -> None:
    page = parsed(html(found))

    assert shape(page) == shape(parsed(html(harmless(found))))
    assert {reason.text for reason in page.all("p", class_="reason")} == {entry.reason for entry in found.entries}
    bodies = {"".join(f"{line}\n" for line in entry.body) for entry in found.entries if entry.body}
    assert {pre.text for pre in page.all("pre")} <= bodies
    if found.entries:
        assert told(page) == sorted((str(one.address), one.operation.value) for one in found.entries)
    assert page.one("h1").text == (f"sindplan {found.name}" if found.name else "sindplan")
    for remark in found.remarks:
        text = "\n".join(filter(None, (remark.what, remark.fix)))
        assert any(note.text.endswith(f": {text}") for note in page.all("div"))


@given(reviews())
@settings(SETTINGS, max_examples=20)
def test_a_page_loads_nothing_and_runs_only_its_own(found: Review) -> None:
    page = parsed(html(found))
    policy = page.one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))

    style = page.one("style").text
    assert rules == {
        "default-src": "'none'",
        "style-src": f"'{_hash(style)}'",
        "script-src": f"'{_hash(SCRIPT)}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert style == STYLE
    assert [script.text for script in page.all("script")] == ([SCRIPT] if found.entries else [])
    for element in page.all():
        assert not {"src", "style", "srcset", "action", "data", "poster", "background"} & {*element.attributes}
        assert not [name for name in element.attributes if name.startswith("on")]
        assert element.attributes.get("href", "#").startswith("#")
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@pytest.mark.parametrize(("blocked", "says"), [(False, NO_CHANGES), (True, "Blocked.")])
def test_a_plan_without_changes_is_a_page_that_says_so(blocked: bool, says: str) -> None:
    page = parsed(html(Review(entries=(), blocked=blocked)))

    assert page.one("p", id="summary").text == says
    assert not page.all("svg")
    assert not page.all("script")


def test_equal_changes_of_2000_nodes_are_one_entry_of_a_small_page() -> None:
    small = new_clusters(1)
    found = grown(small, 2_000)
    text = html(found)
    page = parsed(text)

    assert len(text.encode()) < 60_000
    assert len(page.all("li")) == len(parsed(html(grown(small, 100))).all("li"))
    assert len(found.tasks) > 4_000
    assert told(page) == sorted((str(entry.address), entry.operation.value) for entry in found.entries)
    assert "creating \xd72000 + sind/c0/node/worker-[0-1999]" in page.text


def test_a_graph_with_too_many_boxes_is_left_to_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DRAWN", 20)
    page = parsed(html(new_clusters(1)))

    assert not page.all("svg")
    assert "sindplan graph" in page.text
    assert len(page.all("li")) > 20
