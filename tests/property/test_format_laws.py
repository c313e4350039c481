"""Laws of formats, over generated plans: all say the same changes and counts, and what a file holds is shown as a new plan is."""

import json
import re
from typing import Any

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from sindplan.model.kind import Operation
from sindplan.render.document import json_text
from sindplan.render.document_schema import plan_schema
from sindplan.render.reading import document_review, read_document, read_review
from sindplan.render.review import review
from sindplan.render.text import render_text
from sindplan.render.values import SENSITIVE
from sindplan.saved import Options, describe
from sindplan.workflow import clusters_of
from tests.edits import edited, nodes_of
from tests.property.test_plan_laws import Situation, situations
from tests.render.read_back import FORMATS, TALLY, of_json
from tests.strategies import SETTINGS, declarations
from tests.world import new_world

_VALIDATOR = jsonschema.Draft202012Validator(plan_schema())


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


@settings(SETTINGS, max_examples=25)
@given(situations())
def test_a_document_is_as_its_schema_says_and_marks_what_is_unknown_and_what_is_not_shown(situation: Situation) -> None:
    document = documented(situation)

    assert [error.message for error in _VALIDATOR.iter_errors(document)] == []
    addresses = [change["address"] for change in document["resource_changes"]]
    assert [str(address) for address in sorted(map(Address.parse, addresses))] == addresses
    drifted = {change["address"] for change in document["resource_drift"]}
    assert drifted == {one["address"] for one in document["resource_changes"] if one["sindplan"]["cause"] == "drift"}
    for change in document["resource_changes"]:
        sides = change["change"]
        assert (sides["before"] is None) == (sides["actions"] == ["create"])
        assert (sides["after"] is None) == (sides["actions"] == ["delete"])
        assert all(sides["after"][name] is None for name in sides["after_unknown"])
        for side in ("before", "after"):
            hidden = sides[f"{side}_sensitive"]
            shown = {name for name, value in (sides[side] or {}).items() if value == SENSITIVE}
            assert shown == hidden.keys()
        # What must be replaced says by which fields, or that it was asked for.
        assert ("replace_paths" in sides) <= (sides["actions"] == ["delete", "create"])
    acted = [address for action in document["sindplan"]["graph"] for address in action["changes"]]
    assert set(acted) <= set(addresses)


@settings(SETTINGS, max_examples=15)
@given(st.data(), situations())
def test_one_base_and_one_declaration_have_one_plan(data: st.DataObject, situation: Situation) -> None:
    first, again = (documented(situation)["sindplan"] for _ in range(2))
    assert (first["base"], first["desired"], first["digest"]) == (again["base"], again["desired"], again["digest"])

    world = situation.world
    there = [name for cluster in clusters_of(situation.declaration) for name in nodes_of(world, cluster)]
    if there:
        world.engine.remove_container(data.draw(st.sampled_from(there)))
        then = documented(situation)["sindplan"]
        assert then["base"] != first["base"]
        assert then["desired"] == first["desired"]


@settings(SETTINGS, max_examples=10)
@given(declarations(), st.data())
def test_another_declaration_is_another_desire(declaration: Declaration, data: st.DataObject) -> None:
    other = data.draw(edited(declaration))
    world = new_world(seed=1)
    one, two = (documented(Situation(world, each))["sindplan"] for each in (declaration, other))

    if clusters_of(declaration) == clusters_of(other):
        assert one["base"] == two["base"]
    assert (one["desired"] == two["desired"]) == (one["declaration"] == two["declaration"])
