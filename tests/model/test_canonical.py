"""The declaration as plain data."""

import json
from typing import Any

from hypothesis import given, settings

from sindplan.model.canonical import canonical
from sindplan.model.declaration import Cluster, Declaration, Storage, WorkerGroup
from tests.strategies import SETTINGS, declarations, declared, documents


def test_what_equals_a_default_is_left_out() -> None:
    assert canonical(Cluster()) == {}
    assert canonical(Cluster(image="x", drain_timeout=600, prevent_destroy=False)) == {"image": "x"}
    # The default group is left out, a group like it is not the same as none.
    assert canonical(Cluster(workers={"default": WorkerGroup()})) == {}
    assert canonical(Cluster(workers={})) == {"workers": {}}


def test_keys_stand_in_a_fixed_order() -> None:
    cluster = Cluster(
        storage=Storage(host_path="/x"), workers={"b": WorkerGroup(count=2), "a": WorkerGroup(nodes="worker-3")}
    )

    assert json.dumps(canonical(cluster)) == (
        '{"storage": {"host_path": "/x"}, "workers": {"a": {"nodes": "worker-3"}, "b": {"count": 2}}}'
    )


@settings(SETTINGS, max_examples=40)
@given(documents())
def test_it_is_json_and_says_everything(document: dict[str, Any]) -> None:
    declaration = declared(document)

    said = json.loads(json.dumps(canonical(declaration)))

    # Read again, it is the same declaration: sizes come back as numbers, so they are compared as such.
    assert said == canonical(declaration)
    assert said["name"] == declaration.name
    for realm, spec in declaration.realms.items():
        for name, cluster in spec.clusters.items():
            assert said["realms"][realm]["clusters"][name] == canonical(cluster)


@settings(SETTINGS, max_examples=40)
@given(declarations(), declarations())
def test_different_declarations_differ(one: Declaration, two: Declaration) -> None:
    assert (canonical(one) == canonical(two)) == (one == two)
