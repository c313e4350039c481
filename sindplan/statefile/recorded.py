"""The last applied declaration, back from the records that hold it (see kinds.cluster_record)."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from sindplan.errors import SindplanError
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from sindplan.statefile.structure import structure

_SPELLED: Mapping[str, Callable[[int], str]] = {"memory": str, "drain_timeout": "{}s".format}
"""Keys that are numbers in a record and have a unit in a state file: bytes, seconds."""


def recorded_declaration(owner: str, texts: Mapping[Address, str]) -> Declaration:
    """Return what was applied last for an owner's clusters.

    Args:
        texts: Canonical JSON of each cluster's declaration, by address.

    Raises:
        SindplanError: A record makes no sense to this version.
    """
    realms: dict[str, Any] = {}
    for address, text in texts.items():
        try:
            cluster = spelled(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise _unreadable(address) from error
        realms.setdefault(address.realm, {"clusters": {}})["clusters"][address.cluster] = cluster
    structured = structure({"version": 1, "name": owner, "realms": realms})
    if structured.faults:
        _, realm, _, name, *_ = (*structured.faults[0].path, *("",) * 4)
        raise _unreadable(Address((str(realm) or "?", str(name) or "?")))
    return structured.declaration


def spelled(data: Any) -> Any:  # noqa: ANN401 - JSON has no narrower type
    """Return canonical data of a declaration as a state file spells it."""
    if isinstance(data, dict):
        return {
            key: _SPELLED[key](value) if key in _SPELLED and isinstance(value, int) else spelled(value)
            for key, value in data.items()
        }
    return [spelled(item) for item in data] if isinstance(data, list) else data


def _unreadable(address: Address) -> SindplanError:
    return SindplanError(
        f"The record of {address} makes no sense to this sindplan: it was edited, or written by a newer one.",
        "Apply the cluster's state file once with this version, which writes the record anew.",
    )
