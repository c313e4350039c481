"""A plan of 2,000 nodes is read on a screen or two, and fits a comment."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sindplan.model.declaration import Declaration
from sindplan.render.reading import document_review
from sindplan.render.review import Review
from sindplan.saved import Options, describe
from tests.render.read_back import FORMATS
from tests.strategies import declared
from tests.world import new_world

REALMS = ("sind", "lab")
"""A bridge takes 1,023 containers: 2,000 nodes are in two realms."""
LAST = 2
"""The number of the worker that stands for the rest."""
NODES = 1_000
_LAST = re.compile(rf"worker-{LAST}\b")


def small(**workers: object) -> Declaration:
    cluster = {"image": "sindplan-node:26.05", "workers": {"cpu": {"count": LAST + 1, **workers}}}
    return declared({"version": 1, "name": "lab", "realms": {realm: {"clusters": {"c": cluster}} for realm in REALMS}})


def grown(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a plan for three workers a realm as it were for a thousand: what the last one has, the rest have too."""
    inner = document["sindplan"]
    return {
        **document,
        "resource_changes": [more for change in document["resource_changes"] for more in _repeated(change, "address")],
        "sindplan": {**inner, "graph": [more for action in inner["graph"] for more in _repeated(action, "id")]},
    }


def _repeated(value: Mapping[str, Any], name: str) -> Iterator[Any]:
    if not _LAST.search(value[name]):
        # What is about all workers names each of them.
        yield {
            key: [more for one in inner for more in _renamed(one)] if key in ("needs", "changes") else inner
            for key, inner in value.items()
        }
        return
    text = json.dumps(value)
    for number in range(LAST, NODES):
        yield json.loads(_LAST.sub(f"worker-{number}", text))


def _renamed(name: str) -> list[str]:
    return [_LAST.sub(f"worker-{number}", name) for number in range(LAST, NODES if _LAST.search(name) else LAST + 1)]


@pytest.fixture(scope="module", params=["created", "limits", "images", "replaced"])
def case(request: pytest.FixtureRequest) -> tuple[str, Review, set[tuple[str, str]]]:
    world = new_world(seed=1)
    declaration = small(memory="512m")
    if request.param != "created":
        world.apply(declaration)
        declaration = {
            "limits": small(memory="1g"),
            "images": small(memory="512m", image="sindplan-node:25.11"),
            "replaced": small(memory="512m", tmp_size="64m"),
        }[request.param]
    document = grown(describe(world.prepare(declaration), declaration, Options(), "2026-01-01T00:00:00+00:00"))
    found = document_review(document)
    changes = {(entry.operation.value, str(entry.address)) for entry in found.entries}
    operation = {"created": "create", "limits": "update"}.get(request.param, "replace")
    assert (operation, f"lab/c/node/worker-{NODES - 1}") in changes
    return request.param, found, changes


def test_two_thousand_nodes_that_change_alike_are_read_on_a_screen_or_two(
    case: tuple[str, Review, set[tuple[str, str]]],
) -> None:
    name, found, changes = case
    render, read = FORMATS["text"]

    text = render(found)

    assert read(text) == changes
    if name != "created":
        assert len(text.splitlines()) < 80


@pytest.mark.parametrize("form", ["markdown", "dot", "mermaid", "html"])
def test_two_thousand_nodes_are_all_told_and_fit_a_comment(
    case: tuple[str, Review, set[tuple[str, str]]], form: str
) -> None:
    _, found, changes = case
    render, read = FORMATS[form]

    text = render(found)

    assert read(text) == changes
    if form != "html":
        assert len(text.encode()) < 60_000
    if form == "markdown":
        fences = re.findall(r"^`{3,}(.*)$", text, re.MULTILINE)
        assert fences == ["diff", ""] * (len(fences) // 2)
    elif form == "mermaid":
        # GitHub draws no more than so much text and so many arrows (maxTextSize, maxEdges).
        assert len(text) < 50_000
        assert text.count("-->") < 500
