"""All kinds: the one list that knows them."""

from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType

from sindplan.kinds import (
    account,
    boot,
    cluster_record,
    config,
    dns,
    key,
    known_host,
    mesh_network,
    network,
    node,
    node_joining,
    node_keeping,
    node_networks,
    node_power,
    node_replacement,
    people,
    record,
    relay,
    service,
    slurm_node,
    slurm_user,
    volume,
)
from sindplan.kinds.evidence import Evidence
from sindplan.kinds.run import Perform
from sindplan.model.address import Address
from sindplan.model.kind import Kind
from sindplan.model.layout import Layout
from sindplan.model.resource import Resource, State

MODULES: tuple[ModuleType, ...] = (
    mesh_network,
    network,
    volume,
    dns,
    relay,
    record,
    known_host,
    config,
    key,
    node,
    boot,
    people,
    service,
    slurm_node,
    account,
    slurm_user,
    cluster_record,
)

KINDS: Mapping[str, Kind] = {module.KIND.name: module.KIND for module in MODULES}
_OF_NODES: tuple[ModuleType, ...] = (node_joining, node_keeping, node_networks, node_power, node_replacement)
PERFORM: Mapping[str, Perform] = {
    step: perform for module in (*MODULES, *_OF_NODES) for step, perform in module.PERFORM.items()
}


def desired(layout: Layout) -> State:
    """Return everything that a layout wants, by address."""
    return _collect(module.wanted(layout) for module in MODULES)


def seen(evidence: Evidence) -> State:
    """Return everything that the evidence shows, by address."""
    return _collect(module.seen(evidence) for module in MODULES)


def _collect(parts: Iterable[Iterator[tuple[Address, Resource]]]) -> State:
    return {address: resource for part in parts for address, resource in part}
