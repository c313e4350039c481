"""Addresses: reading, selecting, order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.model.address import Address, below_any, natural


def test_an_address_is_read_and_written() -> None:
    address = Address.parse("sind/dev/service/worker-3/slurmd")

    assert str(address) == "sind/dev/service/worker-3/slurmd"
    assert (address.realm, address.cluster, address.kind, address.name) == ("sind", "dev", "service", "slurmd")
    assert address.scope == Address(("sind", "dev"))
    assert Address(("sind", "dev")) / "service/worker-3" / "slurmd" == address
    assert Address(("sind", "dev")).kind == ""


@pytest.mark.parametrize("text", ["", "/", "sind/", "/dev", "sind//dev"])
def test_an_address_has_no_empty_part(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        Address.parse(text)


@pytest.mark.parametrize(
    ("address", "prefix", "below"),
    [
        ("sind/dev/node/worker-1", "sind/dev", True),
        ("sind/dev", "sind/dev", True),
        ("sind/dev-2", "sind/dev", False),
        ("sind/dev", "sind/dev/node", False),
        ("sind/dev/node/worker-10", "sind/dev/node/worker-1", False),
    ],
)
def test_a_prefix_selects_by_whole_parts(address: str, prefix: str, below: bool) -> None:
    assert Address.parse(address).below(Address.parse(prefix)) is below
    assert below_any(Address.parse(address), [Address.parse("x"), Address.parse(prefix)]) is below


def test_numbers_are_ordered_as_numbers() -> None:
    names = ["worker-10", "worker-9", "controller", "worker-1", "10", "9", "worker", "w-2b", "w-2a", "w-10"]

    assert sorted(names, key=natural) == [
        "9", "10", "controller", "w-2a", "w-2b", "w-10", "worker", "worker-1", "worker-9", "worker-10",
    ]  # fmt: skip


def test_numbers_may_be_of_any_length() -> None:
    names = ["9" * 5000, "1" * 5001, "0" * 9000, "10", "9"]

    assert sorted(names, key=natural) == ["0" * 9000, "9", "10", "9" * 5000, "1" * 5001]


PARTS = st.lists(st.text("a1-0٣²", min_size=1, max_size=4), min_size=1, max_size=4)


@given(PARTS, PARTS, PARTS)
def test_addresses_are_in_one_order(one: list[str], two: list[str], three: list[str]) -> None:
    a, b, c = Address(tuple(one)), Address(tuple(two)), Address(tuple(three))

    # Exactly one of the three, and transitive: with leading zeros and with whatever digits there are in Unicode.
    assert (a < b) + (b < a) + (a == b) == 1
    assert not (a < b < c) or a < c
    assert sorted([a, b, c]) == sorted([c, b, a])
