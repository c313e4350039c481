"""Laws of formats, over generated plans: all say the same changes and counts, and what a file holds is shown as a new plan is."""

import json
import re
from typing import Any

from hypothesis import given, settings

from sindplan.model.kind import Operation
from sindplan.render.document import json_text
from sindplan.render.reading import document_review, read_document, read_review
from sindplan.render.review import review
from sindplan.render.text import render_text
from sindplan.saved import Options, describe
from tests.property.test_plan_laws import Situation, situations
from tests.render.read_back import FORMATS, TALLY, of_json
from tests.strategies import SETTINGS


def documented(situation: Situation) -> dict[str, Any]:
    """Return the document of the plan that a situation needs."""
    return describe(situation.prepare(), situation.declaration, Options(), "2026-01-01T00:00:00+00:00")


@settings(SETTINGS, max_examples=25)
@given(situations())
def test_every_format_has_the_same_changes_and_counts(situation: Situation) -> None:
    prepared = situation.prepare()
    document = documented(situation)
    changes = {(change.operation.value, str(change.address)) for change in prepared.plan.changes}
    counts = prepared.plan.counts
    assert len(changes) == len(prepared.plan.changes)

    assert of_json(json_text(document)) == changes
    assert document["sindplan"]["summary"] == {operation.value: counts[operation] for operation in Operation}
    found = document_review(document)
    for form, (render, read) in FORMATS.items():
        text = render(found)
        assert read(text) == changes, form
        if not changes:
            continue
        tally = TALLY.search(text)
        assert tally is not None, form
        added, changed, destroyed = map(int, tally.groups())
        replaced = sum(map(int, re.findall(r"([0-9]+) (?:of these (?:is|are)|replacement)", text)[:1]))
        told = (added - replaced, changed, replaced, destroyed - replaced)
        order = (Operation.CREATE, Operation.UPDATE, Operation.REPLACE, Operation.DELETE)
        assert told == tuple(counts[operation] for operation in order), form


@settings(SETTINGS, max_examples=15)
@given(situations())
def test_a_plan_that_was_saved_reads_as_the_new_one(situation: Situation) -> None:
    plan = situation.prepare().plan
    document = documented(situation)

    again = read_review("a.plan", read_document("a.plan", json.dumps(document).encode()))

    assert again == document_review(document)
    assert (again.entries, again.tasks) == (review(plan).entries, review(plan).tasks)
    assert FORMATS["text"][0](again) == render_text(plan)
