"""Which units a node that exists was made for, by its labels."""

import json
from collections.abc import Mapping

from sindplan.kinds import labels
from sindplan.kinds.roles import units
from sindplan.slurm.port import PROGRAMS


def units_said(marks: Mapping[str, str]) -> tuple[str, ...]:
    """Return the units that must run on a node, by its labels: what it was made for, or what its role asks for."""
    try:
        said = json.loads(marks.get(labels.SPEC) or "{}").get("units")
    except (ValueError, AttributeError, RecursionError):
        said = None
    if isinstance(said, list) and all(isinstance(unit, str) and unit in PROGRAMS for unit in said):
        return tuple(said)
    return units(marks.get(labels.ROLE, "worker"), managed=labels.is_managed(marks), identity=labels.identity_of(marks))
