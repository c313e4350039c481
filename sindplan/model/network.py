"""Addresses on the networks: which node has which, as a function of the subnet.

Docker's resolver forgets a container the moment it stops, and Slurm then hangs on its name; so nodes have fixed addresses
in the lower half of their cluster's subnet, and Docker gives out the upper half to what other tools add.
"""

import re
from collections.abc import Iterable
from ipaddress import IPv4Network, ip_network

from sindplan.model import names

_FIXED = {short: 10 + place for place, short in enumerate(names.FIXED_NODES)}
_FIRST_WORKER = 20
_SYMBOL = re.compile(f"<address of (worker-(?:0|[1-9][0-9]*)|{'|'.join(_FIXED)})>")
MESH_PINNED_PREFIX = 21
"""The longest mesh prefix whose lower half still holds 1022 endpoints beside the pinned DNS server (sind v0.11)."""


def offset(short: str) -> int:
    """Return how far above the subnet's base a node's address is."""
    index = names.worker_index(short)
    return _FIXED[short] if index is None else _FIRST_WORKER + index


def workers_that_fit(subnet: str) -> int:
    """Return how many workers (indexes from 0) have an address in the lower half of a subnet."""
    return max(0, IPv4Network(subnet).num_addresses // 2 - _FIRST_WORKER)


def is_free(subnet: str, others: Iterable[str]) -> bool:
    """Say whether a subnet is one, and shares no address with others."""
    try:
        own = ip_network(subnet)
        return isinstance(own, IPv4Network) and not any(own.overlaps(IPv4Network(other)) for other in others)
    except ValueError:
        return False


def symbol(short: str) -> str:
    """Return what stands for a node's address while the subnet is not known."""
    return f"<address of {short}>"


def address(subnet: str, short: str) -> str:
    """Return a node's address, or its symbol when `subnet` is empty."""
    if not subnet:
        return symbol(short)
    return str(IPv4Network(subnet).network_address + offset(short))


def resolve(text: str, subnet: str) -> str:
    """Put addresses in the place of all symbols."""
    return _SYMBOL.sub(lambda match: address(subnet, match[1]), text)


def lower_half(subnet: str) -> str:
    """Return the lower half of a subnet, in which Docker allocates on a mesh."""
    return str(next(IPv4Network(subnet).subnets(1)))


def upper_half(subnet: str) -> str:
    """Return the upper half of a subnet, in which Docker allocates on a cluster's network."""
    return str(list(IPv4Network(subnet).subnets(1))[1])


def pinned_dns(subnet: str, gateway: str) -> str:
    """Return the address of a mesh's DNS server, one below broadcast; empty when the mesh is too small to pin one."""
    if not subnet:
        return ""
    network = IPv4Network(subnet)
    if network.prefixlen > MESH_PINNED_PREFIX:
        return ""
    last = str(network.broadcast_address - 1)
    return "" if last == gateway else last
