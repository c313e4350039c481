"""Laws of drift's reports: metrics that the official library reads, markdown in which others' text does nothing, the same in all."""

import json
from collections.abc import Mapping

import jsonschema
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from prometheus_client.parser import text_string_to_metric_families

from sindplan.model.address import Address
from sindplan.plan.plan import Plan
from sindplan.render.document_schema import plan_schema
from sindplan.render.drift import Drifted, Report, Told, drift_json, drift_text
from sindplan.render.drift_markdown import MARKER, MOST, drift_markdown, shortened
from sindplan.render.drift_prometheus import drift_prometheus
from tests.strategies import SETTINGS, declared
from tests.world import IMAGE, new_world

LAW = settings(SETTINGS, max_examples=60)
EVIL = "evil"
"""In every text that somebody else may have written."""
PIECES = (
    "`", "``", "```", "\n", "\n\n", "~~~", "@root ", "#1 ", "<!-- ", "-->", MARKER,
    "<img src=x>", "[a](http://b)", "![", "*", "_", "|", '"',
    "\\", "{", "}", ",", "=", "\ud800", "\x1b[31m", "\u202e", "é", " ", "</details>", "$x$", "http://b", "    ", "> ", "- ",
)  # fmt: skip
hostile = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=8).map(
    lambda pieces: EVIL.join(["", *pieces, ""])
)
parts = hostile.map(lambda text: text.replace("/", "") or EVIL)


def _planned() -> Plan:
    cluster = {"image": IMAGE, "workers": {"cpu": {"count": 2}}}
    return new_world(seed=1).plan(
        declared({"version": 1, "name": "lab", "realms": {"sind": {"clusters": {"dev": cluster}}}})
    )


PLAN = _planned()

CHANGE = jsonschema.Draft202012Validator({**plan_schema()["$defs"]["change"], "$defs": plan_schema()["$defs"]})


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """Draw a report in which every text is hostile."""
    told = st.builds(Told, hostile, hostile | st.just(""))
    found = []
    for _ in range(draw(st.integers(0, 3))):
        picked = draw(st.lists(st.sampled_from(PLAN.changes), max_size=4, unique_by=lambda change: change.address))
        changes = tuple(
            evolve(change, reason=draw(hostile), address=Address((draw(parts), draw(parts), *change.address.parts[2:])))
            for change in picked
        )
        found.append(
            Drifted(
                owner=draw(hostile),
                clusters=tuple(Address((draw(parts), draw(parts))) for _ in range(draw(st.integers(0, 2)))),
                plan=Plan(changes=changes, actions=()),
                blocks=tuple(draw(st.lists(told, max_size=2))),
                images={},
            )
        )
    forgotten = draw(st.dictionaries(st.builds(lambda a, b: Address((a, b)), parts, parts), told, max_size=2))
    return Report(version="1", moment=draw(st.integers(0, 2**33)), realms=(), found=tuple(found), forgotten=forgotten)


def _metrics(text: str) -> Mapping[tuple[str, tuple[tuple[str, str], ...]], float]:
    samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
    found = {(one.name, tuple(sorted(one.labels.items()))): one.value for one in samples}
    # The collector refuses a file in which a series stands twice.
    assert len(found) == len(samples)
    return found


@LAW
@given(reports())
def test_the_official_library_reads_the_metrics_and_they_are_the_changes(report: Report) -> None:
    text = drift_prometheus(report)
    drift_text(report).encode()

    found = _metrics(text)

    changes = {(change.address, change.operation) for one in report.found for change in one.plan.changes}
    assert sum(value for (name, _), value in found.items() if name == "sindplan_drift_changes") == len(changes)
    forgotten = sum(value for (name, _), value in found.items() if name == "sindplan_drift_record_missing")
    assert forgotten == len(report.forgotten)
    assert found["sindplan_drift_timestamp_seconds", ()] == report.moment


@LAW
@given(reports())
def test_in_markdown_the_text_of_others_is_code(report: Report) -> None:
    text = drift_markdown(report)
    text.encode()

    assert (text == "") == report.quiet == (drift_text(report) == "")
    assert len(text.encode()) <= MOST
    assert not text or text.startswith(MARKER)
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "html_block":
            assert token.content.strip() == MARKER
        elif token.type == "inline":
            for inner in token.children or ():
                assert inner.type in ("text", "code_inline", "strong_open", "strong_close", "softbreak")
                assert inner.type == "code_inline" or EVIL not in inner.content
        else:
            assert token.type == "fence" or EVIL not in token.content
            assert token.type.removesuffix("_open").removesuffix("_close") in (
                "heading", "paragraph", "bullet_list", "list_item", "fence",
            )  # fmt: skip


@LAW
@given(reports())
def test_json_has_them_all(report: Report) -> None:
    content = json.loads(drift_json(report))

    assert content["drifted"] is not report.quiet
    changes = [change["address"] for one in content["declarations"] for change in one["resource_changes"]]
    assert changes == [str(change.address) for one in report.found for change in one.plan.changes]
    assert [one["cluster"] for one in content["without_record"]] == [str(address) for address in report.forgotten]
    for one in content["declarations"]:
        assert sum(one["summary"].values()) == len(one["resource_changes"])
        for change in one["resource_changes"]:
            assert [error.message for error in CHANGE.iter_errors(change)] == []


def _large(declarations: int, changes: int) -> Report:
    first = PLAN.changes[0]
    plan = Plan(
        changes=tuple(evolve(first, address=Address(("sind", "dev", "x", f"{EVIL}{n}é"))) for n in range(changes)),
        actions=(),
    )
    one = Drifted(owner="lab", clusters=(), plan=plan, blocks=(), images={})
    return Report(version="1", moment=1, realms=(), found=(one,) * declarations, forgotten={})


def test_long_reports_keep_their_counts() -> None:
    long, longer = drift_markdown(_large(1, 5000)), drift_markdown(_large(900, 20))

    assert len(long.encode()) <= MOST
    assert "lines are left out" in long
    assert "\nPlan: 5000 to add, 0 to change, 0 to destroy.\n```\n" in long
    assert len(longer.encode()) <= MOST
    assert "### Drift: 18000 resources changed" in longer


def test_short_plans_are_whole() -> None:
    lines = [str(number) for number in range(30)]

    assert shortened(lines, 30) == lines
    assert shortened(lines, 12) == [*lines[:8], "... 18 lines are left out ...", *lines[-4:]]
