"""The simulated engine's networks and volumes."""

from collections.abc import Mapping

from sindplan.engine.records import NetworkSpec, Volume
from sindplan.engine.refusals import refusal
from sindplan.engine.simulated_networks import check_fixed
from sindplan.engine.simulated_store import SimulatedPlace
from sindplan.engine.simulated_world import PREDEFINED, World, locked


class Objects(World):
    """Networks, who is on them, and volumes."""

    @locked
    def create_network(self, spec: NetworkSpec) -> str:
        """Create a network and return its id."""
        if any(network.record.name == spec.name for network in self._networks.values()):
            raise refusal("create_network", spec.name, 409, f"network with name {spec.name} already exists")
        return self._add_network(spec, "null" if spec.config_only else "bridge")

    @locked
    def remove_network(self, network: str) -> None:
        """Remove a network. Containers that do not run do not keep it."""
        found = self._network("remove_network", network)
        name = found.record.name
        if name in PREDEFINED:
            text = f"{name} is a pre-defined network and cannot be removed"
            raise refusal("remove_network", network, 403, text)
        if joined := list(self._joined(found.record.id)):
            who = ", ".join(f'name:"{one.name}" id:"{one.id[:12]}"' for one, _ in joined)
            text = f"error while removing network: network {name} has active endpoints ({who})"
            raise refusal("remove_network", network, 403, text)
        del self._networks[found.record.id]

    @locked
    def connect(self, network: str, container: str, address: str = "", gw_priority: int = 0) -> None:
        """Put a container on a network."""
        found = self._container("connect", container)
        there = self._network("connect", network)
        name = there.record.name
        if found.mode == "none":
            text = "container cannot be connected to multiple networks with one of the networks in private (none) mode"
            raise refusal("connect", network, 400, text)
        with self._networking("connect", network):
            check_fixed(there, address)
        old = found.places.get(name)
        if old is not None and (not found.alive or old.network_id):
            text = f"endpoint with name {found.name} already exists in network {name}"
            raise refusal("connect", network, 403, text)
        place = SimulatedPlace(network=name, fixed=address, gw_priority=gw_priority)
        # Docker keeps what was asked for even if it fails below: the next start would fail by it.
        found.places[name] = place
        if found.alive:
            with self._networking("connect", network):
                self._join(place)

    @locked
    def disconnect(self, network: str, container: str) -> None:
        """Take a container off a network."""
        there = self._find_network("disconnect", network)
        found = self._container("disconnect", container)
        found.places.pop(network if there is None else there.record.name, None)

    @locked
    def create_volume(self, name: str, labels: Mapping[str, str], driver: str = "local") -> Volume:
        """Create a volume, or return the one there is."""
        return self._volume("create_volume", name, name, labels, driver).record

    @locked
    def remove_volume(self, name: str) -> None:
        """Remove a volume."""
        if name not in self._volumes:
            raise refusal("remove_volume", name, 404, f"get {name}: no such volume")
        users = [
            found.id
            for found in self._containers.values()
            if any(mount.kind == "volume" and mount.source == name for mount in found.spec.mounts)
        ]
        if users:
            raise refusal("remove_volume", name, 409, f"remove {name}: volume is in use - [{', '.join(users)}]")
        del self._volumes[name]
