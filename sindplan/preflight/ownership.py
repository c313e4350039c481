"""Whose clusters are: those of others are left alone, and left out of plans."""

from collections.abc import Collection, Iterator, Mapping

from sindplan.model.address import Address
from sindplan.observe.inventory import Inventory
from sindplan.preflight.finding import Finding
from sindplan.preflight.leftovers import left, remedy


def foreign_owners(
    inventory: Inventory, clusters: Collection[Address], owner: str, *, adopting: Collection[Address] = ()
) -> Mapping[Address, str]:
    """Return the clusters that are somebody else's, and whose; an empty name stands for what another tool made.

    Args:
        owner: Name of the declaration that they should belong to; empty to take any declaration's for ours.
        adopting: Clusters that may be taken over from another tool. Of one without any node there is nothing to take over.
    """
    found = inventory.clusters()
    owners = {address: found[address].owners for address in clusters if address in found}
    others = {address: names - {owner} if owner else names & {""} for address, names in owners.items()}
    return {
        address: min(names)
        for address, names in others.items()
        if names and not (names == {""} and address in taken_over(inventory, adopting))
    }


def taken_over(inventory: Inventory, adopting: Collection[Address]) -> frozenset[Address]:
    """Return the clusters, of those that may be, that are taken over: another tool made them, and nobody has them yet."""
    found = inventory.clusters()
    return frozenset(one for one in adopting if one in found and found[one].owners == {""} and found[one].nodes)


def check_ownership(foreign: Mapping[Address, str], inventory: Inventory) -> Iterator[Finding]:
    """Yield a finding for every cluster that is somebody else's."""
    clusters = inventory.clusters()
    for address, other in sorted(foreign.items()):
        if other:
            yield Finding(
                "ownership",
                f"{address} exists and belongs to the declaration named {other!r}; it is left alone.",
                "Give the cluster another name, or use the declaration it belongs to.",
            )
        elif not clusters[address].nodes:
            yield Finding(
                "leftover",
                f"{address} was not made by sindplan, and only {left(clusters[address])} is left of it; it is left alone.",
                f"Give the cluster another name, or remove what is left: {remedy(clusters[address])}",
            )
        else:
            yield Finding(
                "ownership",
                f"{address} exists and was not made by sindplan; it is left alone.",
                f"Give the cluster another name, or take it over: sindplan import {address} writes it down.",
            )
