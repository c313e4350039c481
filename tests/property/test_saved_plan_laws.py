"""Laws of plan documents: they say what the plan says, their declaration is the declaration, and a digest is a plan's alone."""

import json
from pathlib import Path

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.execute.apply import Settings
from sindplan.render.document import ACTIONS
from sindplan.render.document_schema import plan_schema
from sindplan.reviewed import Reviewed
from sindplan.saved import Options, check_savable, describe, digest_of, read_plan
from sindplan.statefile.secrets import plain_secrets
from tests.edits import edited
from tests.strategies import SETTINGS, declarations
from tests.world import new_world

LAW = settings(SETTINGS, max_examples=25)
VALIDATOR = jsonschema.Draft202012Validator(plan_schema())


@LAW
@given(st.data())
def test_a_document_says_what_the_plan_says_and_reads_back(data: st.DataObject) -> None:
    first = data.draw(declarations().filter(lambda found: not plain_secrets(found)))
    world = new_world(seed=1)
    declaration = first
    if data.draw(st.booleans()):
        world.apply(first)
        declaration = data.draw(edited(first).filter(lambda found: not plain_secrets(found)))
    prepared = world.prepare(declaration)
    check_savable(declaration)

    text = json.dumps(describe(prepared, declaration, Options(), "2026-01-01T00:00:00+00:00"))
    content = json.loads(text)
    saved = read_plan(Path("a.plan"), text.encode())

    assert [error.message for error in VALIDATOR.iter_errors(content)] == []
    assert {change["address"]: change["change"]["actions"] for change in content["resource_changes"]} == {
        str(change.address): list(ACTIONS[change.operation]) for change in prepared.plan.changes
    }
    assert content["sindplan"]["summary"] == {op.value: count for op, count in prepared.plan.counts.items()}
    assert saved.declaration == declaration
    # Planned again from what the file carries, it is the same plan.
    again = world.prepare(saved.declaration)
    assert digest_of(again) == saved.digest
    Reviewed(saved.digest, saved).check(again)


@LAW
@given(st.data())
def test_the_same_plan_has_the_same_digest_on_another_day(data: st.DataObject) -> None:
    """No ids of containers, tokens or times are in it."""
    first = data.draw(declarations())
    second = data.draw(edited(first))
    digests = set()
    for seed in (1, 2):
        world = new_world(seed=seed)
        # One after the other: which network asks first decides which subnet the engine gives it.
        world.apply(first, settings=Settings(parallelism=1))
        digests.add(digest_of(world.prepare(second)))

    assert len(digests) == 1


@LAW
@given(st.data())
def test_another_plan_has_another_digest(data: st.DataObject) -> None:
    first = data.draw(declarations())
    world = new_world(seed=1)
    world.apply(first)
    one, other = data.draw(edited(first)), data.draw(edited(first))
    plans = [world.prepare(declaration).plan for declaration in (one, other)]

    told = [[(change.address, change.operation, change.fields) for change in plan.changes] for plan in plans]
    digests = [digest_of(world.prepare(declaration)) for declaration in (one, other)]

    assert (told[0] == told[1]) == (digests[0] == digests[1])
