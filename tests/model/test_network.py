"""Addresses as a function of the subnet."""

from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.model import network


@pytest.mark.parametrize(
    ("short", "address"),
    [
        ("controller", "10.42.0.10"),
        ("controller-backup", "10.42.0.11"),
        ("db", "10.42.0.12"),
        ("api", "10.42.0.13"),
        ("submitter", "10.42.0.14"),
        ("worker-0", "10.42.0.20"),
        ("worker-235", "10.42.0.255"),
        ("worker-236", "10.42.1.0"),
    ],
)
def test_nodes_have_fixed_places(short: str, address: str) -> None:
    assert network.address("10.42.0.0/16", short) == address
    assert network.address("", short) == f"<address of {short}>"


@given(st.integers(16, 26), st.integers(0, 2**16 - 1), st.data())
def test_workers_that_fit_are_in_the_lower_half_and_apart(prefix: int, number: int, data: st.DataObject) -> None:
    subnet = str(IPv4Network((number << 16, prefix), strict=False))
    fit = network.workers_that_fit(subnet)
    lower, upper = IPv4Network(network.lower_half(subnet)), IPv4Network(network.upper_half(subnet))
    assert not lower.overlaps(upper)
    assert lower.num_addresses == upper.num_addresses == IPv4Network(subnet).num_addresses // 2
    if fit:
        indexes = data.draw(st.sets(st.integers(0, fit - 1), min_size=1, max_size=5))
        shorts = [*network._FIXED, *(f"worker-{index}" for index in indexes)]
        addresses = [IPv4Address(network.address(subnet, short)) for short in shorts]
        assert len(set(addresses)) == len(shorts)
        assert all(address in lower for address in addresses)
        assert lower.network_address + 1 not in addresses  # the gateway
    assert IPv4Address(network.address(subnet, f"worker-{fit}")) not in lower or fit == 0


@pytest.mark.parametrize(
    ("subnet", "fit"), [("10.0.0.0/16", 32748), ("10.0.0.0/24", 108), ("10.0.0.0/26", 12), ("10.0.0.0/27", 0)]
)
def test_how_many_workers_fit(subnet: str, fit: int) -> None:
    assert network.workers_that_fit(subnet) == fit


def test_symbols_are_resolved_and_nothing_else() -> None:
    text = "a <address of controller>,<address of worker-12>! <address of Somebody> <address of worker-> <address of worker-01> <address>"

    assert network.resolve(text, "10.0.0.0/24") == (
        "a 10.0.0.10,10.0.0.32! <address of Somebody> <address of worker-> <address of worker-01> <address>"
    )


@pytest.mark.parametrize(
    ("subnet", "gateway", "address"),
    [
        ("172.18.0.0/16", "172.18.0.1", "172.18.255.254"),
        ("192.168.0.0/20", "192.168.0.1", "192.168.15.254"),
        ("10.0.0.0/21", "10.0.0.1", "10.0.7.254"),
        # Too small to spare half of it, or the place is taken.
        ("10.0.0.0/22", "10.0.0.1", ""),
        ("172.18.0.0/16", "172.18.255.254", ""),
        ("", "", ""),
    ],
)
def test_where_the_dns_server_is(subnet: str, gateway: str, address: str) -> None:
    assert network.pinned_dns(subnet, gateway) == address
