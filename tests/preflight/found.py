"""What the tests of single checks share: images as they come, and what is found of one cluster."""

import json
from typing import Any

from sindplan.model.declaration import Declaration
from sindplan.model.facts import IMAGE_LABEL
from sindplan.preflight.finding import Severity
from tests.strategies import declared
from tests.world import IMAGE, IMAGE_FACTS, World, new_world

OTHER = "other:1"


def declaration(**cluster: Any) -> Declaration:
    clusters = {"dev": {"image": IMAGE, **cluster}}
    return declared({"version": 1, "name": "lab", "realms": {"sind": {"clusters": clusters}}})


def world_with(reference: str = OTHER, **facts: Any) -> World:
    """Return a world with one more image, which differs from the usual one."""
    world = new_world()
    world.engine.add_image(reference, labels={IMAGE_LABEL: json.dumps({**IMAGE_FACTS, **facts})})
    return world


def found(world: World, wanted: Declaration) -> list[tuple[str, str]]:
    """Return check and what of each finding; a warning's check begins with `~`, and all that block say how to mend it."""
    findings = world.prepare(wanted).findings
    assert all(one.fix for one in findings if one.severity is Severity.BLOCKS)
    return [(f"{'~' if one.severity is Severity.WARNS else ''}{one.check}", one.what) for one in findings]


def without(key: str, *names: str) -> list[str]:
    """Return a list of the usual image's facts without some names."""
    return [name for name in IMAGE_FACTS[key] if name not in names]
