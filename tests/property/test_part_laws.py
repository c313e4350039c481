"""Laws of `--target` and `--exclude`: a part is closed, says that it is one, and leads to the whole when that is applied after it."""

import json
from pathlib import Path

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.execute.apply import Settings
from sindplan.kinds.registry import KINDS
from sindplan.model.address import Address, below_any
from sindplan.model.kind import scope_of
from sindplan.plan.graph import BARRIER, dependencies
from sindplan.plan.part import ALL, Part, part_of
from sindplan.render.text import render_text
from sindplan.saved import Options, describe, digest_of, prepare_with, read_plan
from sindplan.statefile.secrets import plain_secrets
from sindplan.workflow import Prepared
from tests.property.test_plan_laws import Situation
from tests.property.test_plan_laws import situations as any_situations
from tests.strategies import SETTINGS

LAW = settings(SETTINGS, max_examples=15)
ARRIVES = settings(SETTINGS, max_examples=30)


def situations() -> st.SearchStrategy[Situation]:
    """Situations to plan in; a destroy takes whole clusters (tests/cli/test_part.py)."""
    return any_situations().map(lambda found: evolve(found, destroy=False))


def partly(situation: Situation, part: Part) -> Prepared:
    world = situation.world
    return prepare_with(
        world.engine,
        world.slurm,
        situation.declaration,
        Options(part=part),
    )


@st.composite
def named(draw: st.DrawFn, whole: Prepared) -> tuple[Address, ...]:
    """Draw addresses of a plan, or prefixes of some, short ones seldom."""
    address = st.sampled_from([change.address for change in whole.plan.changes] or [Address(("none",))])
    found = draw(st.lists(address, min_size=1, max_size=3, unique=True))
    return tuple(Address(one.parts[: draw(st.sampled_from((2, 3, 4, 9)))]) for one in found)


@LAW
@given(st.data(), situations())
def test_a_part_is_closed_and_its_actions_are_of_the_whole(data: st.DataObject, situation: Situation) -> None:
    whole = situation.prepare()
    if whole.plan.empty:
        return
    part = Part(
        targets=data.draw(st.one_of(st.just(()), named(whole))),
        excluded=data.draw(st.one_of(st.just(()), named(whole))),
    )

    plan = partly(situation, part).plan

    kept = {change.address for change in plan.changes}
    needs = dependencies(whole.plan.changes, KINDS)
    assert [change for change in whole.plan.changes if change.address in kept] == [*plan.changes]
    assert all(needs[address] <= kept for address in kept)
    assert plan.left_out == len(whole.plan.changes) - len(kept)
    assert not any(below_any(address, part.excluded) for address in kept)
    actions = {action.id: action for action in whole.plan.actions}
    for action in plan.actions:
        assert action.id in actions
        assert {change.address for change in action.changes} <= kept
        of_whole = {name for name in actions[action.id].needs if not name.startswith(BARRIER)}
        # What it waits for is what it waits for in the whole, as far as that is in the part; turns may differ.
        here = {one.id for one in plan.actions}
        if action.changes[:1] == actions[action.id].changes[:1] and not action.step.startswith("node.replace"):
            assert of_whole & here <= set(action.needs) | {action.id}


@LAW
@given(st.data(), situations())
def test_what_is_excluded_is_left_out_with_what_needs_it_and_nothing_else(
    data: st.DataObject, situation: Situation
) -> None:
    whole = situation.prepare()
    if whole.plan.empty:
        return
    excluded = data.draw(named(whole))
    needs = dependencies(whole.plan.changes, KINDS)

    kept = {change.address for change in part_of(whole.plan.changes, KINDS, Part(excluded=excluded))}

    left_out = needs.keys() - kept
    scopes = {change.address: scope_of(change.address, change.resource) for change in whole.plan.changes}
    for address in left_out:
        reached, left = set(), [address]
        while left:
            one = left.pop()
            if one not in reached:
                reached.add(one)
                left += needs[one]
        assert any(below_any(one, excluded) or below_any(scopes[one], excluded) for one in reached), address
    assert part_of(whole.plan.changes, KINDS, ALL) == whole.plan.changes
    everything = Part(targets=tuple({scope_of(change.address, change.resource) for change in whole.plan.changes}))
    assert part_of(whole.plan.changes, KINDS, everything) == whole.plan.changes


@ARRIVES
@given(st.data(), situations())
def test_a_part_and_then_the_whole_arrives(data: st.DataObject, situation: Situation) -> None:
    world = situation.world
    whole = situation.prepare()
    if whole.plan.empty or whole.blocked:
        return
    names = data.draw(named(whole))
    prepared = partly(situation, data.draw(st.sampled_from((Part(targets=names), Part(excluded=names)))))
    if prepared.blocked:
        return
    settings_ = Settings(parallelism=1, drain_timeouts=prepared.drain_timeouts, on_timeouts=prepared.on_timeouts)

    done = world.run(prepared, situation.declaration, settings=settings_)

    assert done.outcome.complete, [(action.id, error.summary) for action, error in done.outcome.failed]
    again = partly(situation, Part())
    assert not again.blocked, again.findings
    assert world.run(again, situation.declaration).outcome.complete
    assert situation.prepare().plan.changes == ()


@LAW
@given(st.data(), situations().filter(lambda found: not plain_secrets(found.declaration)))
def test_a_part_says_that_it_is_one(data: st.DataObject, situation: Situation) -> None:
    whole = situation.prepare()
    if whole.plan.empty:
        return
    options = Options(part=Part(targets=data.draw(named(whole))))
    prepared = partly(situation, options.part)

    content = describe(prepared, situation.declaration, options, "")
    saved = read_plan(Path("a.plan"), json.dumps(content).encode())

    left_out = len(whole.plan.changes) - len(prepared.plan.changes)
    assert content["complete"] == (left_out == 0)
    assert content["sindplan"]["left_out"] == left_out
    assert ("This is a part of the plan: " in render_text(prepared.plan)) == (left_out > 0)
    assert saved.options == options
    again = prepare_with(situation.world.engine, situation.world.slurm, saved.declaration, saved.options)
    assert digest_of(again) == saved.digest
    assert (digest_of(whole) == saved.digest) == (left_out == 0)
