"""`show` and `graph`: a saved plan is shown as the new one was, without an engine, and a file of anybody's does no harm."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sindplan.cli import options
from sindplan.cli.formats import FORMATS, GRAPHS
from sindplan.errors import SindplanError
from sindplan.render.reading import read_document, read_review
from sindplan.statefile import read
from tests.cli.conftest import Call, write_state
from tests.cli.test_saved_plans import JUNK, _paths
from tests.render import read_back
from tests.world import World

MADE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")


@pytest.fixture
def saved(world: World, folder: Path, call: Call) -> Path:
    """A plan that makes, changes, replaces and removes something, and is warned of."""
    file = write_state(folder, 3)
    world.apply(read([file]))
    world.engine.stop("sind-dev-worker-0")
    write_state(folder, 2)
    file.write_text(
        file.read_text() + 'db.storage_password = { env = "SINDPLAN_SECRET_DB" }\nworkers.cpu.tmp_size = "64m"\n'
        'workers.gpu = { count = 1, devices = ["/dev/fuse"] }\n'
    )
    assert call("plan", "--out", "a.plan").status == 0
    counts = json.loads((folder / "a.plan").read_bytes())["sindplan"]["summary"]
    assert all(counts.values()), counts
    return folder / "a.plan"


def no_engine() -> Any:
    raise AssertionError("no engine is needed")


@pytest.mark.parametrize("form", FORMATS)
def test_a_saved_plan_is_shown_as_the_new_one_was(
    world: World, saved: Path, call: Call, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    new = call("plan", "--format", form)
    monkeypatch.setattr(options, "connected", no_engine)

    shown = call("show", "a.plan", "--format", form)

    assert (new.status, shown.status) == (0, 0)
    assert MADE.sub("", shown.out) == MADE.sub("", new.out)
    if form == "text":
        assert shown.err == new.err
        assert shown.out.startswith("! sind/dev: ")
    else:
        assert shown.err == ""


@pytest.mark.parametrize("form", GRAPHS)
def test_a_graph_of_a_saved_plan_is_that_of_the_new_one(
    world: World, saved: Path, call: Call, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    new, whole = call("graph", "--format", form), call("graph", "--all", "--format", form)
    of_plan = call("plan", "--format", form)
    monkeypatch.setattr(options, "connected", no_engine)

    assert call("graph", "a.plan", "--format", form).out == new.out == of_plan.out
    assert call("graph", "a.plan", "--all", "--format", form).out == whole.out
    _, read_graph = {"dot": (0, read_back.dot_graph), "mermaid": (0, read_back.mermaid_graph)}[form]
    assert len(read_graph(whole.out)[0]) >= len(read_graph(new.out)[0])


def test_json_that_was_printed_is_shown_like_a_plan_that_was_saved(saved: Path, call: Call) -> None:
    Path("printed.json").write_text(call("plan", "--format", "json").out)

    assert call("show", "printed.json").out == call("show", "a.plan").out


def test_a_blocked_plan_is_shown_as_one(world: World, folder: Path, call: Call) -> None:
    file = write_state(folder, 1)
    world.apply(read([file]))
    file.write_text(file.read_text().replace('"lab"', '"other"'))
    new = call("plan", "--format", "json")
    Path("printed.json").write_text(new.out)

    shown = call("show", "printed.json")

    assert (new.status, shown.status) == (1, 0)
    assert "No changes" not in shown.out
    assert "Blocked: " in shown.err
    assert "Digest: " not in shown.err
    for form in ("markdown", "html"):
        assert "No changes" not in call("show", "printed.json", "--format", form).out


@given(data=st.data())
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_a_plan_with_anything_in_any_place_is_shown_or_refused(saved: Path, data: st.DataObject) -> None:
    """No traceback and no control character, whatever somebody has made of it."""
    content = json.loads(saved.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(_paths(content)).filter(bool))
        place = content
        for key in path[:-1]:
            place = place[key]
        if data.draw(st.booleans()):
            place[path[-1]] = data.draw(JUNK)
        else:
            del place[path[-1]]
    try:
        found = read_review(saved, read_document(saved, json.dumps(content).encode()))
    except SindplanError:
        return
    for render, _ in read_back.FORMATS.values():
        text = render(found)
        assert all(char in "\n\t" or char.isprintable() for char in text)


def _spoilt(value: Any, key: str = "") -> Any:
    """Return a document each of whose texts has more in it, but for words that it is read by."""
    if isinstance(value, dict):
        return {name: _spoilt(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_spoilt(inner, key) for inner in value]
    return f"{value}\x1b[2J\x7f\u202e\r" if isinstance(value, str) and key not in ("actions", "phase") else value


def test_no_text_of_a_file_commands_a_terminal(saved: Path, call: Call) -> None:
    saved.write_text(json.dumps(_spoilt(json.loads(saved.read_bytes()))))

    for form in FORMATS:
        said = call("show", "a.plan", "--format", form)

        assert said.status == 0
        assert all(char in "\n\t" or char.isprintable() for char in said.out + said.err), form
        assert form == "json" or "\\x1b[2J" in said.out or "#92;x1b[2J" in said.out, form
