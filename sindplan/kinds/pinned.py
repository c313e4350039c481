"""Creating a network whose subnet is pinned, so that addresses on it can be fixed.

Docker gives fixed addresses only on networks whose subnet was asked for, and picks a free subnet only when none was: so the
network is created, looked at, removed, and created again with what Docker itself had picked.
"""

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Literal

from attrs import evolve

from sindplan.engine.records import Network, NetworkSpec
from sindplan.errors import EngineRefused, SindplanError
from sindplan.kinds import labels
from sindplan.kinds.run import Run
from sindplan.model import network

Pin = Literal["lower", "upper"]
"""The half of the subnet that Docker gives out; the other is for fixed addresses."""

ATTEMPTS = 5
"""How often a subnet is tried that somebody else takes in between (sind v0.11)."""
_OVERLAP = ("overlap", "already in use")


def create_pinned(run: Run, name: str, marks: Mapping[str, str], *, subnet: str, pin: Pin) -> Network:
    """Create a network and return it.

    Args:
        marks: Its labels, without sindplan's own.
        subnet: The subnet to have; empty for Docker's choice.
    """
    spec = NetworkSpec(name=name, labels={**marks, **labels.own(run.owner, run.token)})
    for attempt in range(ATTEMPTS):
        if subnet:
            spec = evolve(spec, subnet=subnet, gateway=str(IPv4Network(subnet).network_address + 1))
        else:
            chosen = _made(run, run.engine.create_network(spec))
            run.engine.remove_network(chosen.id)
            spec = evolve(spec, subnet=chosen.subnet, gateway=chosen.gateway)
        try:
            return _made(run, run.engine.create_network(_pinned(spec, pin)))
        except EngineRefused as refused:
            # A name that is taken is a Conflict too; only the text tells it from an address that is.
            lost_race = not subnet and any(text in refused.text for text in _OVERLAP)
            if not lost_race or attempt == ATTEMPTS - 1:
                raise
            spec = evolve(spec, subnet="", gateway="")
    raise AssertionError("the last attempt returns or raises")


def _pinned(spec: NetworkSpec, pin: Pin) -> NetworkSpec:
    if pin == "upper":
        return evolve(spec, ip_range=network.upper_half(spec.subnet))
    dns = network.pinned_dns(spec.subnet, spec.gateway)
    if not dns:
        # Too small to spare half of it; sind leaves such a mesh unpinned too.
        return spec
    return evolve(spec, ip_range=network.lower_half(spec.subnet), labels={**spec.labels, labels.DNS_ADDRESS: dns})


def _made(run: Run, network_id: str) -> Network:
    made = run.engine.inspect_network(network_id)
    if made is None:
        raise SindplanError(
            "A network vanished right after it was created: somebody else removes networks on this engine.",
            "Find out who, and apply again.",
        )
    return made
