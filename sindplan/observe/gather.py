"""Gathering evidence: four calls for the whole engine, then a few for each cluster that is looked at, all at once."""

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from attrs import frozen

from sindplan.engine.port import Engine
from sindplan.engine.records import Container
from sindplan.errors import EngineError, EngineRefused, NotFound
from sindplan.kinds.dns import COREFILE
from sindplan.kinds.evidence import ClusterEvidence, Evidence, MeshEvidence
from sindplan.kinds.key import MUNGE
from sindplan.kinds.node_resource import units
from sindplan.kinds.relay import KNOWN_HOSTS, PUBLIC_KEY
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.observe.inventory import Found, Inventory
from sindplan.slurm.files import CONFIG
from sindplan.slurm.port import Slurm

PARALLEL = 16
"""Calls in flight at once, as sind has it."""

T = TypeVar("T")


@contextmanager
def pool() -> Iterator[ThreadPoolExecutor]:
    """Yield a thread pool whose waiting work is dropped when an error ends it."""
    executor = ThreadPoolExecutor(PARALLEL, thread_name_prefix="observe")
    try:
        yield executor
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def take_inventory(engine: Engine) -> Inventory:
    """List everything the engine has."""
    with pool() as threads:
        info = threads.submit(engine.info)
        containers, networks, volumes = (
            threads.submit(engine.containers),
            threads.submit(engine.networks),
            threads.submit(engine.volumes),
        )
        return Inventory(
            engine=info.result(),
            containers=containers.result(),
            networks=networks.result(),
            volumes=volumes.result(),
        )


def gather(
    engine: Engine, slurm: Slurm, inventory: Inventory, clusters: Collection[Address], *, probe: bool = True
) -> Evidence:
    """Collect what is known of some clusters and their realms' meshes.

    Args:
        probe: Whether commands may be run in nodes to read daemon and Slurm states.
    """
    found = inventory.clusters()
    with pool() as threads:
        reader = _Reader(engine, slurm, threads, probe)
        meshes = [reader.mesh(inventory, realm) for realm in sorted({address.realm for address in clusters})]
        parts = [reader.cluster(address, found[address]) for address in sorted(clusters) if address in found]
        done = tuple(mesh() for mesh in meshes)
        relays = {mesh.realm: mesh.relay for mesh in done}
        return Evidence(meshes=done, clusters=tuple(part(relays) for part in parts))


@frozen
class _Reader:
    """Starts all reads at once; what it returns waits for them."""

    engine: Engine
    slurm: Slurm
    threads: ThreadPoolExecutor
    probe: bool

    def mesh(self, inventory: Inventory, realm: str) -> Callable[[], MeshEvidence]:
        dns = inventory.mesh_container(realm, "dns")
        relay = inventory.mesh_container(realm, "ssh")
        dns_seen = self.threads.submit(self._inspect, dns.id if dns else "")
        relay_seen = self.threads.submit(self._inspect, relay.id if relay else "")
        corefile = self.threads.submit(self._text, dns.id if dns else "", COREFILE)
        known_hosts = self.threads.submit(self._text, relay.id if relay else "", KNOWN_HOSTS)
        key = self.threads.submit(self._text, relay.id if relay else "", PUBLIC_KEY)
        return lambda: MeshEvidence(
            realm=realm,
            network=inventory.mesh_network(realm),
            volume=inventory.ssh_volume(realm),
            dns=dns_seen.result(),
            relay=relay_seen.result(),
            corefile=corefile.result(),
            known_hosts=known_hosts.result(),
            relay_key=key.result(),
        )

    def cluster(self, address: Address, found: Found) -> Callable[[Mapping[str, Container | None]], ClusterEvidence]:
        nodes = {short: self.threads.submit(self._inspect, node.id) for short, node in found.nodes.items()}
        running = {short: node.id for short, node in found.nodes.items() if node.state == "running" and self.probe}
        services = {
            short: self.threads.submit(self._services, container, names.role_of(short))
            for short, container in running.items()
        }
        controller = found.nodes.get(names.CONTROLLER)
        view = self.threads.submit(self.slurm.view, running[names.CONTROLLER]) if names.CONTROLLER in running else None
        # Any node shows the files: all have the volumes.
        reader = controller or next(iter(found.nodes.values()), None)
        files = self.threads.submit(self.engine.get_files, reader.id, CONFIG) if reader else None
        key = self.threads.submit(self.engine.has_file, reader.id, MUNGE) if reader else None

        def finish(relays: Mapping[str, Container | None]) -> ClusterEvidence:
            network = names.network(address.realm, address.cluster)
            relay = relays.get(address.realm)
            seen = {short: container for short, future in nodes.items() if (container := future.result()) is not None}
            entries = _or_none(files)
            return ClusterEvidence(
                realm=address.realm,
                name=address.cluster,
                network=found.network,
                volumes=found.volumes,
                nodes=seen,
                records=found.records,
                files=(
                    None
                    if entries is None
                    else {path.removeprefix(f"{CONFIG}/"): entry for path, entry in entries.items()}
                ),
                munge_key=_or_none(key),
                services={short: state for short, future in services.items() if (state := future.result())},
                view=view.result() if view else None,
                relay_connected=relay is not None and relay.endpoint(network) is not None,
            )

        return finish

    def _inspect(self, container: str) -> Container | None:
        return self.engine.inspect_container(container) if container else None

    def _text(self, container: str, path: str) -> str | None:
        if not container:
            return None
        try:
            entry = self.engine.get_files(container, path).get(path)
        except NotFound:
            return None
        return entry.content.decode("utf-8", "replace") if entry is not None else None

    def _services(self, container: str, role: str) -> Mapping[str, bool]:
        try:
            found = self.slurm.services(container, units(role))
        except EngineError:
            # It stopped in between, or hangs: unknown, like a node that does not run.
            return {}
        return {unit.removesuffix(".service"): active for unit, active in found.items()}


def _or_none(future: "Future[T] | None") -> T | None:
    """Return what was read, or None when the container is gone by now or does not have it."""
    try:
        return future.result() if future is not None else None
    except EngineRefused:
        return None
