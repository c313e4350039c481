"""Gathering evidence: four calls for the whole engine, then a few for each cluster that is looked at, all at once."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from attrs import frozen

from sindplan.engine.port import Engine
from sindplan.engine.records import Container, ContainerSummary, Entry
from sindplan.errors import EngineError, EngineRefused, NotFound
from sindplan.kinds import labels
from sindplan.kinds.boot_people import HOMES_FILE, USERS_FILE
from sindplan.kinds.controllers import HEARTBEAT, in_control
from sindplan.kinds.database import SQL_FILE
from sindplan.kinds.dns import COREFILE
from sindplan.kinds.evidence import BootEvidence, ClusterEvidence, Evidence, MeshEvidence
from sindplan.kinds.first_boot import AUTHORIZED, UNITS
from sindplan.kinds.host_key import HOST_KEY
from sindplan.kinds.key import FILES, SHORTEST
from sindplan.kinds.relay import KNOWN_HOSTS, PUBLIC_KEY
from sindplan.kinds.units_said import units_said
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.observe.boots import read_boot
from sindplan.observe.inventory import Found, Inventory
from sindplan.observe.threads import Threads, pool
from sindplan.slurm.accounting import AccountingView
from sindplan.slurm.files import CONFIG
from sindplan.slurm.port import Slurm, SlurmView

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")


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
    engine: Engine,
    slurm: Slurm,
    inventory: Inventory,
    clusters: Collection[Address],
    *,
    probe: bool = True,
    now: Callable[[], float] = time.time,
) -> Evidence:
    """Collect what is known of some clusters and their realms' meshes.

    Args:
        probe: Whether commands may be run in nodes to read daemon and Slurm states.
        now: Returns seconds since 1970.
    """
    found = inventory.clusters()
    with pool() as threads:
        reader = _Reader(engine, slurm, threads, probe, now)
        meshes = [reader.mesh(inventory, realm) for realm in sorted({address.realm for address in clusters})]
        parts = [reader.cluster(address, found[address]) for address in sorted(clusters) if address in found]
        done = tuple(mesh() for mesh in meshes)
        relays = {mesh.realm: mesh.relay for mesh in done}
        return Evidence(asked=tuple(sorted(clusters)), meshes=done, clusters=tuple(part(relays) for part in parts))


@frozen
class _Reader:
    """Starts all reads at once; what it returns waits for them."""

    engine: Engine
    slurm: Slurm
    threads: Threads
    probe: bool
    now: Callable[[], float]

    def mesh(self, inventory: Inventory, realm: str) -> Callable[[], MeshEvidence]:
        servers, relays = inventory.mesh_place(realm, "dns"), inventory.mesh_place(realm, "ssh")
        dns, relay = servers.container, relays.container
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
            dns_aside=servers.aside.id if servers.aside else "",
            dns_half=servers.half.id if servers.half else "",
            relay_aside=relays.aside.id if relays.aside else "",
            relay_half=relays.half.id if relays.half else "",
        )

    def cluster(self, address: Address, found: Found) -> Callable[[Mapping[str, Container | None]], ClusterEvidence]:
        nodes = {short: self.threads.submit(self._inspect, node.id) for short, node in found.nodes.items()}
        running = {short: node for short, node in found.nodes.items() if node.state == "running" and self.probe}
        services = {
            short: self.threads.submit(self._services, node.id, units_said(node.labels))
            for short, node in running.items()
        }
        slurm = self.threads.submit(self._slurm, running)
        # Any node shows the files: all have the volumes.
        reader = found.nodes.get(names.CONTROLLER) or next(iter(found.nodes.values()), None)
        files = self.threads.submit(self.engine.get_files, reader.id, CONFIG) if reader else None
        munge = self.threads.submit(self._munge_key, reader) if reader else None
        # Whatever labels and record say: an apply that fails or is killed leaves more.
        people = {short: self.threads.submit(self._people, node.id) for short, node in found.nodes.items()}
        boots = {
            short: self.threads.submit(self._boot, node.id, units_said(node.labels), node.labels.get(labels.ROLE, ""))
            for short, node in found.nodes.items()
            if node.labels.get(labels.OWNER)
        }
        host_keys = {
            short: self.threads.submit(self._host_key, node.id)
            for short, node in found.nodes.items()
            if node.state != "created" and not node.labels.get(labels.HOST_KEY)
        }
        heartbeat = self.threads.submit(self._heartbeat, found.nodes) if names.BACKUP in found.nodes else None

        def finish(relays: Mapping[str, Container | None]) -> ClusterEvidence:
            network = names.network(address.realm, address.cluster)
            relay = relays.get(address.realm)
            seen = {short: container for short, future in nodes.items() if (container := future.result()) is not None}
            entries = _or_none(files)
            view, accounting = slurm.result()
            return ClusterEvidence(
                realm=address.realm,
                name=address.cluster,
                network=found.network,
                volumes=found.volumes,
                nodes=seen,
                aside={short: container.id for short, container in found.aside.items()},
                halves={short: container.id for short, container in found.halves.items()},
                records=found.records,
                files=(
                    None
                    if entries is None
                    else {path.removeprefix(f"{CONFIG}/"): entry for path, entry in entries.items()}
                ),
                keys=_keys(entries, _or_none(munge)),
                people={short: texts for short, future in people.items() if any(texts := future.result())},
                boots={short: boot for short, future in boots.items() if (boot := _or_none(future)) is not None},
                services={short: state for short, future in services.items() if (state := future.result())},
                view=view,
                accounting=accounting,
                in_control=heartbeat.result() if heartbeat else "",
                host_keys={short: key for short, future in host_keys.items() if (key := future.result())},
                relay_connected=relay is not None and relay.endpoint(network) is not None,
            )

        return finish

    def _slurm(self, running: Mapping[str, ContainerSummary]) -> tuple[SlurmView | None, AccountingView | None]:
        """Ask a controller that answers, the first before its backup; none where Slurm is not sindplan's business."""
        for short in (names.CONTROLLER, names.BACKUP):
            node = running.get(short)
            if node is None or not labels.is_managed(node.labels):
                continue
            view = self.slurm.view(node.id)
            if view is not None:
                db = running.get(names.DB)
                has_db = db is not None and labels.is_managed(db.labels)
                return view, self.slurm.accounting(node.id) if has_db else None
        return None, None

    def _munge_key(self, node: ContainerSummary) -> Mapping[str, Entry]:
        """Return the munge key by its path; nothing when there is none, or none of the cluster's."""
        if labels.identity_of(node.labels) == "client_ids":
            # The image's own may lie there.
            return {}
        try:
            return self.engine.get_files(node.id, FILES["munge"].path)
        except NotFound:
            return {}

    def _host_key(self, node: str) -> str:
        """Return a node's public host key as it lies there, without the comment; empty when there is none."""
        kind, key, *_ = [*(self._text(node, f"{HOST_KEY}.pub") or "").split(), "", ""]
        return f"{kind} {key}" if key else ""

    def _boot(self, node: str, units: Sequence[str], role: str) -> BootEvidence:
        authorized = self._text(node, AUTHORIZED)
        has_statements = role == "db" and self.engine.has_file(node, SQL_FILE)
        entries = self.engine.get_files(node, UNITS)
        return read_boot(entries, units, authorized=authorized, statements=has_statements)

    def _people(self, node: str) -> tuple[str, str]:
        return self._text(node, USERS_FILE) or "", self._text(node, HOMES_FILE) or ""

    def _heartbeat(self, nodes: Mapping[str, ContainerSummary]) -> str:
        """Return the controller of a pair that is in control: it says so in the state volume every few seconds."""
        reader = nodes.get(names.CONTROLLER) or nodes[names.BACKUP]
        path = HEARTBEAT
        try:
            entry = self.engine.get_files(reader.id, path).get(path)
        except EngineRefused:
            return ""
        return in_control(entry.content, self.now()) if entry else ""

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

    def _services(self, container: str, units: Sequence[str]) -> Mapping[str, bool]:
        try:
            found = self.slurm.services(container, units)
        except EngineError:
            # It stopped in between, or hangs: unknown, like a node that does not run.
            return {}
        return {unit.removesuffix(".service"): active for unit, active in found.items()}


def _keys(
    files: Mapping[str, Entry] | None, munge: Mapping[str, Entry] | None
) -> Mapping[str, tuple[int, int, int]] | None:
    """Return mode and owner of the keys that are there; None when no container could show them."""
    if files is None or munge is None:
        return None
    found = {**files, **munge}
    return {
        file.path: (entry.mode, entry.uid, entry.gid)
        for file in FILES.values()
        if (entry := found.get(file.path)) is not None and entry.kind == "file" and len(entry.content) >= SHORTEST
    }


def _or_none(future: "Future[T] | None") -> T | None:
    """Return what was read, or None when the container is gone by now or does not have it."""
    try:
        return future.result() if future is not None else None
    except EngineRefused:
        return None
