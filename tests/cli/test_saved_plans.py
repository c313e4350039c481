"""Plans that are saved, reviewed and applied: exactly what was reviewed is done, once, or nothing."""

import copy
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from sindplan.errors import SindplanError
from sindplan.execute.apply import Settings
from sindplan.model.address import Address
from sindplan.render.document_schema import plan_schema
from sindplan.reviewed import Reviewed
from sindplan.saved import Options, describe, read_plan
from sindplan.statefile import read
from tests.cli.conftest import Call, write_state
from tests.faults import MUTATING, FaultyEngine, Mode
from tests.world import World, new_world

WORKER = "sind-dev-worker-0"


@pytest.fixture
def saved(world: World, state: Path, call: Call) -> Path:
    """The plan of a first apply."""
    assert call("plan", "--out", "a.plan").status == 0
    return state.parent / "a.plan"


def put(world: World, engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sindplan.cli.options.connected", lambda: (engine, world.slurm))


def test_a_plan_is_saved_for_its_owner_alone(world: World, state: Path, call: Call) -> None:
    before = world.snapshot()
    said = call("plan", "--out", "a.plan")

    assert said.err == "Saved to a.plan. To do exactly this: sindplan apply a.plan\n"
    assert oct(Path("a.plan").stat().st_mode & 0o777) == "0o600"
    assert sorted(path.name for path in state.parent.iterdir()) == ["a.plan", "sindplan.toml"]
    assert world.snapshot() == before


def test_a_saved_plan_is_applied_without_a_question(world: World, saved: Path, call: Call) -> None:
    said = call("apply", "a.plan")

    assert said.status == 0
    assert "Apply complete!" in said.out
    assert world.plan(read([saved.parent / "sindplan.toml"])).empty


def test_what_is_applied_is_what_was_saved_and_not_what_the_file_says_now(
    world: World, saved: Path, call: Call
) -> None:
    write_state(saved.parent, 3)

    assert call("apply", "a.plan").status == 0

    assert world.engine.inspect_container("sind-dev-worker-1") is None


def test_applied_twice_it_does_nothing_the_second_time(world: World, saved: Path, call: Call) -> None:
    call("apply", "a.plan")
    before = world.snapshot()

    said = call("apply", "a.plan")

    assert (said.status, said.out) == (0, "No changes. Your clusters match the declaration.\n")
    assert world.snapshot() == before


def test_a_plan_that_was_applied_is_spent_even_when_what_it_mended_breaks_again(
    world: World, state: Path, call: Call
) -> None:
    world.apply(read([state]))
    world.engine.stop(WORKER)
    call("plan", "--out", "mend.plan")
    assert call("apply", "mend.plan").status == 0
    world.engine.stop(WORKER)
    before = world.snapshot()

    said = call("apply", "mend.plan")

    assert said.status == 1
    assert "sind/dev: another apply has been made since, this plan's own or somebody else's." in said.err
    assert world.snapshot() == before
    # Renewed for that, the record is one, and as good as before.
    assert call("drift").status == 2
    assert call("apply", "--auto-approve").status == 0
    assert call("drift").status == 0


def test_a_plan_is_refused_when_a_hand_was_there_and_says_what_has_moved(
    world: World, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known failures of others: a stale plan is applied (terraform#8790), or refused without a word why (kapp#471)."""
    write_state(folder, 1)
    world.apply(read([folder / "sindplan.toml"]))
    write_state(folder, 2)
    call("plan", "--out", "grow.plan")
    world.engine.remove_container(WORKER)
    engine = FaultyEngine(world.engine, verbs=MUTATING - {"execute"})
    put(world, engine, monkeypatch)

    said = call("apply", "grow.plan")

    assert said.status == 1
    assert "sind/dev/node/worker-0: would be changed (create) by a plan made now, and is not in this one." in said.err
    assert "Make and review a new plan" in said.err
    # What would be done instead is not announced.
    assert said.out == ""
    assert engine.calls == []


def test_a_plan_that_shows_something_else_than_it_does_is_refused(world: World, folder: Path, call: Call) -> None:
    """Whoever reviews a plan file that is somebody else's sees what is done, or nothing is done."""
    world.apply(read([write_state(folder, 1)]))
    call("plan", "--destroy", "--out", "end.plan")
    file = folder / "end.plan"
    honest = json.loads(file.read_text())
    for forge in (
        lambda change: change["change"].update(actions=["update"]),
        lambda change: change["sindplan"].update(text=["~ harmless"]),
    ):
        forged = copy.deepcopy(honest)
        forge(next(one for one in forged["resource_changes"] if one["address"] == "sind/dev/volume/data"))
        file.write_text(json.dumps(forged))

        said = call("apply", "end.plan")

        assert said.status == 1
        assert "sind/dev/volume/data: what the file shows of it is not what it does." in said.err
    assert world.engine.inspect_container(WORKER) is not None
    forged = {**honest, "sindplan": {**honest["sindplan"], "digest": f"sha256:{'0' * 64}"}}
    file.write_text(json.dumps(forged))
    assert call("apply", "end.plan").status == 1
    file.write_text(json.dumps(honest))
    assert call("apply", "end.plan").status == 0


@pytest.mark.parametrize("line", ["JobCompParams=password=x", "JobCompLoc=http://u:x@h:9200/db"])
def test_what_is_hidden_in_a_text_could_not_be_written_from_a_plan(
    world: World, folder: Path, call: Call, line: str
) -> None:
    """What stands for a secret in the file would be written in its place."""
    state = write_state(folder, 1)
    world.apply(read([state]))
    state.write_text(f"{state.read_text()}[realms.sind.clusters.dev.slurm]\nmain = '{line}'\n")

    said = call("plan", "--out", "a.plan")

    assert said.status == 1
    assert "A plan file holds no secrets" in said.err
    assert not (folder / "a.plan").exists()


def test_the_fields_that_have_moved_are_named(world: World, folder: Path, call: Call) -> None:
    state = write_state(folder, 1)
    limited = 'workers.cpu.memory = "{}"\n'
    text = state.read_text()
    state.write_text(text + limited.format("512m"))
    world.apply(read([state]))
    state.write_text(text + limited.format("1g"))
    call("plan", "--out", "more.plan")
    world.engine.update_limits(WORKER, None, 768 * 2**20)

    said = call("apply", "more.plan")

    assert said.status == 1
    assert "sind/dev/node/worker-0: memory, as it is: 536870912 -> 805306368" in said.err


def test_an_object_that_was_made_anew_is_not_the_one_that_was_reviewed(world: World, folder: Path, call: Call) -> None:
    world.apply(read([write_state(folder, 2)]))
    write_state(folder, 1)
    call("plan", "--out", "shrink.plan")
    write_state(folder, 2)
    world.engine.remove_container("sind-dev-worker-1")
    world.apply(read([folder / "sindplan.toml"]))
    write_state(folder, 1)

    said = call("apply", "shrink.plan")

    assert said.status == 1
    assert "sind/dev/node/worker-1: it is another object than it was, made anew since." in said.err


@given(at=st.integers(1, 75), mode=st.sampled_from(["before", "after", "timeout", "dead"]))
@example(at=40, mode="dead")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_an_apply_left_that_was_killed_is_done_by_the_same_plan(
    tmp_path_factory: Any, at: int, mode: Mode
) -> None:
    """The engine has given addresses by then, and what was begun is there; nothing but what was reviewed is done."""
    world = new_world(seed=1)
    declaration = read([write_state(tmp_path_factory.mktemp("saved"), 2)])
    first = world.prepare(declaration)
    plan = read_plan(Path("a.plan"), json.dumps(describe(first, declaration, Options(), "")).encode())
    assert plan.declaration == declaration
    engine = FaultyEngine(world.engine, fail_at=at, mode=mode)
    world.run(first, declaration, engine=engine, settings=Settings(on_failure="stop"))
    left = world.prepare(declaration)

    Reviewed(plan.digest, plan).check(left)

    reviewed = {str(change.address) for change in first.plan.changes}
    assert {str(change.address) for change in left.plan.changes} <= reviewed
    world.run(left, declaration)
    assert world.plan(declaration).empty


@given(at=st.integers(20, 75))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_a_hand_wrote_into_what_a_killed_apply_left_was_not_reviewed(tmp_path_factory: Any, at: int) -> None:
    world = new_world(seed=1)
    declaration = read([write_state(tmp_path_factory.mktemp("saved"), 2)])
    first = world.prepare(declaration)
    plan = read_plan(Path("a.plan"), json.dumps(describe(first, declaration, Options(), "")).encode())
    engine = FaultyEngine(world.engine, fail_at=at, mode="dead")
    world.run(first, declaration, engine=engine, settings=Settings(on_failure="stop"))
    assume(Address.parse("sind/dev/file/slurm.conf") not in {one.address for one in world.plan(declaration).changes})
    world.engine.write("sind-dev-controller", "/etc/slurm/slurm.conf", b"MaxJobCount=7\n")

    with pytest.raises(SindplanError, match=r"file/slurm\.conf: create -> update"):
        Reviewed(plan.digest, plan).check(world.prepare(declaration))


def test_a_plan_for_another_engine_is_refused(world: World, saved: Path, call: Call) -> None:
    text = saved.read_text()
    saved.write_text(text.replace(world.engine.info().engine_id, "another"))

    said = call("apply", "a.plan")

    assert said.status == 1
    assert "a.plan was made for another Docker Engine than the one at sim:." in said.err
    assert world.engine.containers() == ()


def test_an_approved_digest_is_applied_and_no_other(world: World, state: Path, call: Call) -> None:
    digest = json.loads(call("plan", "--format", "json").out)["sindplan"]["digest"]

    refused = call("apply", "--approve", "sha256:" + 64 * "0")
    assert refused.status == 1
    assert f"The plan is {digest} now, not sha256:0000" in refused.err
    assert world.engine.containers() == ()
    assert call("apply", "--approve", digest).status == 0
    assert world.plan(read([state])).empty

    # A pipeline that runs once more: nothing is done that was not approved.
    before = world.snapshot()
    again = call("apply", "--approve", digest)
    assert again.status == 0
    assert again.out == "No changes. Your clusters match the declaration.\n"
    assert world.snapshot() == before


def test_privileges_need_a_word_of_their_own(world: World, folder: Path, call: Call) -> None:
    """A plan file may come from anybody."""
    state = write_state(folder, 1)
    state.write_text(state.read_text() + 'controller.cap_add = ["SYS_ADMIN"]\n')
    call("plan", "--out", "a.plan")

    refused = call("apply", "a.plan")

    assert refused.status == 1
    assert "say --allow-privileged" in refused.err
    assert world.engine.containers() == ()
    assert call("apply", "a.plan", "--allow-privileged").status == 0


def test_what_a_plan_says_itself_is_not_said_again(saved: Path, call: Call) -> None:
    for more in (["-f", "sindplan.toml"], ["--prune"], ["--replace", "sind/dev"], ["--approve", "sha256:" + 64 * "0"]):
        assert call("apply", "a.plan", *more).status == 64
    assert call("apply", "--approve", "sha256:12").status == 64


def test_nothing_but_a_plan_is_written_over(state: Path, call: Call, world: World) -> None:
    before = state.read_text()
    Path("link").symlink_to("nowhere")

    for name in ("sindplan.toml", ".", "link"):
        said = call("plan", "--out", name)
        assert said.status == 1
        assert "was left as it is" in said.err

    assert state.read_text() == before
    assert call("plan", "--out", "a.plan").status == 0
    assert call("plan", "--out", "a.plan").status == 0
    assert call("plan", "--out", "no/such/folder/a.plan").status == 1


def test_a_plan_without_its_secrets_is_not_saved(world: World, folder: Path, call: Call) -> None:
    state = write_state(folder, 1)
    state.write_text(state.read_text() + 'db.storage_password = "c0rrect-horse"\n')

    said = call("plan", "--out", "a.plan")

    assert said.status == 1
    assert "sind/dev: db.storage_password" in said.err
    assert not Path("a.plan").exists()
    shown = call("plan", "--format", "json")
    assert shown.status == 0
    assert "c0rrect-horse" not in shown.out + shown.err + said.out + said.err


DAMAGED = [
    b"",
    b"{}",
    b"[]",
    b"null",
    b'{"sindplan": 1}',
    b'{"sindplan": {"format": 1}}',
    b'{"sindplan": {"format": 2, "version": "9.9"}}',
    b"[" * 100_000,
    b"\xff\xfe",
    b'{"a": 1e999999}',
]


@pytest.mark.parametrize("data", DAMAGED)
def test_what_is_no_plan_is_said_to_be_none(world: World, folder: Path, call: Call, data: bytes) -> None:
    Path("a.plan").write_bytes(data)

    said = call("apply", "a.plan")

    assert said.status == 1
    assert said.err.startswith("Error: a.plan is ")
    assert "fault" not in said.err


def test_no_file_is_said_too(world: World, folder: Path, call: Call) -> None:
    os.mkfifo("pipe")
    for name in ("none", "pipe", "."):
        said = call("apply", name)
        assert said.status == 1
        assert "cannot be read" in said.err


def _paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(path for key, child in inner for path in _paths(child, (*here, key)))]


JUNK = st.sampled_from([None, 0, -1, 1.5, True, "", "x" * 200, "\x1b[31m", [], {}, [[]], {"": {}}, "../../etc/passwd"])


@given(data=st.data())
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_a_plan_with_anything_in_any_place_is_read_or_refused(saved: Path, data: st.DataObject) -> None:
    """No traceback, whatever somebody has made of it."""
    content = json.loads(saved.read_bytes())
    path = data.draw(st.sampled_from(_paths(content)).filter(bool))
    place = content
    for key in path[:-1]:
        place = place[key]
    if data.draw(st.booleans()):
        place[path[-1]] = data.draw(JUNK)
    else:
        del place[path[-1]]
    with suppress(SindplanError):
        read_plan(saved, json.dumps(content).encode())


def test_the_document_has_the_shape_that_its_schema_says(world: World, state: Path, call: Call) -> None:
    validator = jsonschema.Draft202012Validator(plan_schema())
    first = json.loads(call("plan", "--format", "json").out)
    world.apply(read([state]))
    world.engine.stop(WORKER)
    then = json.loads(call("plan", "--format", "json").out)

    for document in (first, then):
        assert [error.message for error in validator.iter_errors(document)] == []
    assert {change["change"]["actions"][0] for change in first["resource_changes"]} == {"create"}
    assert first["resource_drift"] == []
    (node,) = [change for change in then["resource_drift"] if change["address"] == "sind/dev/node/worker-0"]
    assert (node["change"]["before"]["power"], node["change"]["after"]["power"]) == ("running", "stopped")
