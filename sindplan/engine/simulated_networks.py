"""Addresses of a simulated engine: pools, subnets, and who has which."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from ipaddress import AddressValueError, IPv4Address, IPv4Network, NetmaskValueError

from sindplan.engine.records import NetworkSpec
from sindplan.engine.simulated_store import SimulatedNetwork

# Docker's own: fifteen /16 and sixteen /20. Its default bridge takes the first.
DEFAULT_POOLS = (
    *(f"172.{number}.0.0/16" for number in range(17, 32)),
    *(f"192.168.{number}.0/20" for number in range(0, 256, 16)),
)


class NetworksError(Exception):
    """The engine would refuse, with a status and a message."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


def addresses_for(spec: NetworkSpec, taken: Iterable[str], pools: Sequence[str]) -> tuple[str, str]:
    """Return the subnet and the gateway of a network to be made.

    Raises:
        NetworksError: They are invalid or overlap with `taken` subnets, or no pool is left.
    """
    held = [IPv4Network(subnet) for subnet in taken]
    if spec.subnet:
        subnet = _checked(spec)
        if any(subnet.overlaps(other) for other in held):
            raise NetworksError(403, "invalid pool request: Pool overlaps with other one on this address space")
    else:
        free = (IPv4Network(pool) for pool in pools)
        chosen = next((pool for pool in free if not any(pool.overlaps(other) for other in held)), None)
        if chosen is None:
            raise NetworksError(400, "all predefined address pools have been fully subnetted")
        subnet = chosen
    return str(subnet), spec.gateway or str(subnet[1])


def _checked(spec: NetworkSpec) -> IPv4Network:
    problem = "invalid network config:\n"
    try:
        subnet = IPv4Network(spec.subnet, strict=False)
    except (AddressValueError, NetmaskValueError, ValueError):
        raise NetworksError(400, f"{problem}invalid subnet {spec.subnet}: invalid CIDR block notation") from None
    if str(subnet) != spec.subnet:
        raise NetworksError(400, f"{problem}invalid subnet {spec.subnet}: it should be {subnet}")
    if spec.gateway and IPv4Address(spec.gateway) not in subnet:
        text = f"{problem}invalid gateway {spec.gateway}: parent subnet {subnet} doesn't contain this address"
        raise NetworksError(400, text)
    return subnet


def check_fixed(network: SimulatedNetwork, address: str) -> None:
    """Check a fixed address as Docker does when it is asked for: whether it is free shows only at the start.

    Raises:
        NetworksError: It cannot be one of this network.
    """
    if not address:
        return
    problem = "invalid endpoint settings:\n"
    if not network.pinned:
        text = "user specified IP address is supported only when connecting to networks with user configured subnets"
        raise NetworksError(400, problem + text)
    outside = f"no configured subnet or ip-range contain the IP address {address}"
    try:
        wanted = IPv4Address(address)
    except AddressValueError:
        raise NetworksError(400, f"{problem}* invalid IPv4 address: {address}\n* {outside}") from None
    if wanted not in IPv4Network(network.record.subnet):
        raise NetworksError(400, problem + outside)


def allocate(network: SimulatedNetwork, fixed: str, used: Collection[str]) -> str:
    """Return the address that a starting container gets.

    Raises:
        NetworksError: The fixed one is taken, or none is left.
    """
    record = network.record
    subnet = IPv4Network(record.subnet)
    reserved = {record.gateway, str(subnet.network_address), str(subnet.broadcast_address), *used}
    if fixed:
        if fixed in reserved:
            raise NetworksError(403, "Address already in use")
        return fixed
    for address in _range(subnet, record.ip_range):
        if str(address) not in reserved:
            return str(address)
    text = f"no available IPv4 addresses on this network's address pools: {record.name} ({record.id})"
    raise NetworksError(403, text)


def _range(subnet: IPv4Network, ip_range: str) -> Iterator[IPv4Address]:
    return iter(IPv4Network(ip_range) if ip_range else subnet)
