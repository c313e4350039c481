"""Which container has which place in a cluster: by its name, or by its labels where a hand or a replacement renamed it."""

from collections.abc import Iterable

from attrs import define, evolve, field, frozen

from sindplan.engine.records import ContainerSummary
from sindplan.kinds import labels
from sindplan.model import names
from sindplan.model.address import Address


@define
class Places:
    """The containers of one cluster.

    Attributes:
        nodes: Those that are nodes, by short name; one that was renamed keeps its place while nobody else has it.
        aside: Those whose successor has taken their place, by short name.
        halves: Those that were to take a place and were never started, while the one before is still there; by short name.
        strays: Names of those that are none of its nodes.
    """

    nodes: dict[str, ContainerSummary] = field(factory=dict)
    aside: dict[str, ContainerSummary] = field(factory=dict)
    halves: dict[str, ContainerSummary] = field(factory=dict)
    strays: list[str] = field(factory=list)


@frozen(kw_only=True)
class MeshPlace:
    """The containers of one place in a mesh.

    Attributes:
        container: The one that has the place, if any does.
        aside: The one whose successor has taken it.
        half: The one that was to take it and was never started, while the one before is still there.
    """

    container: ContainerSummary | None = None
    aside: ContainerSummary | None = None
    half: ContainerSummary | None = None


def mesh_place(named: ContainerSummary | None, aside: ContainerSummary | None) -> MeshPlace:
    """Sort the containers of a place: the one with its name, and the one that was set aside."""
    if aside is None or named is None:
        return MeshPlace(container=named or aside)
    if named.state == "created":
        # It may lack its records: the one before is the place's still.
        return MeshPlace(container=aside, half=named)
    return MeshPlace(container=named, aside=aside)


def places(cluster: Address, containers: Iterable[ContainerSummary]) -> Places:
    """Sort the containers that carry a cluster's labels."""
    found = Places()
    others: list[ContainerSummary] = []
    for container in containers:
        short = _by_name(cluster, container)
        if short:
            found.nodes[short] = container
        else:
            others.append(container)
    # What sindplan itself set aside goes before what somebody renamed.
    others.sort(key=lambda container: (not _set_aside(cluster, container), container.name, container.id))
    for container in others:
        _place_other(cluster, container, found)
    found.strays.sort()
    return found


def _by_name(cluster: Address, container: ContainerSummary) -> str:
    realm, name = cluster.parts
    short = container.name.removeprefix(names.container(realm, name, ""))
    fits = container.name == names.container(realm, name, short) and _is_node(short)
    return short if fits and container.labels.get(labels.ROLE) == names.role_of(short) else ""


def _place_other(cluster: Address, container: ContainerSummary, found: Places) -> None:
    short = _set_aside(cluster, container) or _by_labels(cluster, container)
    successor = found.nodes.get(short)
    if not short:
        found.strays.append(container.name)
    elif successor is None:
        found.nodes[short] = container
    elif not _set_aside(cluster, container) or short in found.aside or short in found.halves:
        found.strays.append(container.name)
    elif successor.state == "created":
        # It may lack what its first boot needs: the one before is the node still.
        found.nodes[short], found.halves[short] = container, successor
    else:
        found.aside[short] = container


def _set_aside(cluster: Address, container: ContainerSummary) -> str:
    """Return the place of a container that sindplan set aside, by its name and role; empty for another.

    One that another tool made has no label of sindplan's, and one that stopped may have lost its network.
    """
    stem = container.name.removesuffix(names.ASIDE)
    return _by_name(cluster, evolve(container, name=stem)) if stem != container.name else ""


_DIGITS = 9
"""Of the number of a node; no network has addresses for more."""


def _by_labels(cluster: Address, container: ContainerSummary) -> str:
    """Return the place that a container has by its labels, whatever it is called; empty for none.

    A container of a committed node's image has the labels, too, but not the network.
    """
    marks = container.labels
    if not marks.get(labels.OWNER) or names.network(cluster.realm, cluster.cluster) not in container.networks:
        return ""
    number = marks.get(labels.COMPOSE_NUMBER, "")
    role = marks.get(labels.ROLE, "")
    if not number.isascii() or not number.isdecimal() or len(number) > _DIGITS:
        return ""
    place = int(number)
    if role == "worker":
        return names.worker(place - 1) if place else ""
    if role == names.CONTROLLER:
        return {1: names.CONTROLLER, 2: names.BACKUP}.get(place, "")
    return role if role in names.FIXED_NODES and place == 1 else ""


def _is_node(short: str) -> bool:
    return short in names.FIXED_NODES or names.worker_index(short) is not None
