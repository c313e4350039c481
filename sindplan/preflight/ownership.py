"""Whose clusters are: those of others are left alone, and left out of plans."""

from collections.abc import Collection, Iterator, Mapping

from sindplan.model.address import Address
from sindplan.observe.inventory import Inventory
from sindplan.preflight.finding import Finding


def foreign_owners(inventory: Inventory, clusters: Collection[Address], owner: str) -> Mapping[Address, str]:
    """Return the clusters that are somebody else's, and whose; an empty name stands for what another tool made.

    Args:
        owner: Name of the declaration that they should belong to; empty to take any declaration's for ours.
    """
    found = inventory.clusters()
    owners = {address: found[address].owners for address in clusters if address in found}
    others = {address: names - {owner} if owner else names & {""} for address, names in owners.items()}
    return {address: min(names) for address, names in others.items() if names}


def check_ownership(foreign: Mapping[Address, str]) -> Iterator[Finding]:
    """Yield a finding for every cluster that is somebody else's."""
    for address, other in sorted(foreign.items()):
        whose = f"belongs to the declaration named {other!r}" if other else "was not made by sindplan"
        yield Finding(
            "ownership",
            f"{address} exists and {whose}; it is left alone.",
            "Give the cluster another name, or use the declaration it belongs to.",
        )
