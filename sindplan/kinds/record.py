"""DNS records of nodes: lines of the Corefile, one write for all of a cluster."""

from collections.abc import Iterator
from typing import ClassVar

from attrs import field, frozen

from sindplan.engine.records import Entry
from sindplan.errors import SindplanError
from sindplan.kinds.dns import COREFILE, RESOLVED_WITHIN
from sindplan.kinds.evidence import Evidence
from sindplan.kinds.mesh_replacing import is_up
from sindplan.kinds.named import by_node
from sindplan.kinds.run import Run
from sindplan.model import names, network
from sindplan.model.address import MESH, Address
from sindplan.model.corefile import corefile, records_of, with_records
from sindplan.model.kind import After, Kind, Phase, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import IGNORED, IN_PLACE, Resource
from sindplan.plan.plan import Action


@frozen(kw_only=True)
class Record(Resource):
    """One DNS name and its address (or the address's symbol).

    Attributes:
        node: The node whose address the engine chooses at each start; None where addresses are fixed.
    """

    KIND: ClassVar[str] = "record"

    cluster: Address = field(metadata=IGNORED)
    name: str = field(metadata=IGNORED)
    target: str = field(metadata=IN_PLACE)
    node: Address | None = field(default=None, metadata=IGNORED)

    @property
    def needs(self) -> frozenset[Address]:
        """The server, the relay that asks it, and the network whose subnet, or the node whose start, says the address."""
        mesh = Address((self.cluster.realm, MESH))
        node = {self.node} if self.node is not None else set()
        return frozenset({mesh / "dns", mesh / "relay", self.cluster / "network", *node})

    @property
    def host(self) -> Address | None:
        """The server: when it goes, so do its records."""
        return Address((self.cluster.realm, MESH, "dns"))

    @property
    def scope(self) -> Address | None:
        """The node's cluster."""
        return self.cluster


_WRITE = Step(
    "record.write",
    "writing DNS records",
    after=(
        *is_up("dns", "relay"),
        After("network.create", Where.NEEDED),
        After("node.start", Where.NEEDED),
        After("node.power-on", Where.NEEDED),
        After("node.connect", Where.NEEDED),
        # A successor has an address of its own where none is fixed.
        After("node.swap", Where.NEEDED),
        After("node.upgrade", Where.NEEDED),
    ),
    batch=True,
)

KIND = Kind(
    name="record",
    resource=Record,
    create=(_WRITE,),
    update={"target": (_WRITE,)},
    delete=(Step("record.remove", "removing DNS records", Phase.REMOVE, after=is_up("dns"), batch=True),),
)


def address_of(cluster: Address, short: str) -> Address:
    """Return the address of a node's record."""
    return Address((cluster.realm, MESH, "record", f"{short}.{cluster.cluster}"))


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the records that a layout wants."""
    for cluster in layout.clusters:
        for node in cluster.nodes:
            yield (
                address_of(cluster.address, node.short),
                Record(
                    cluster=cluster.address,
                    name=names.fqdn(cluster.realm, cluster.name, node.short),
                    target=node.address,
                    node=cluster.address / "node" / node.short if cluster.by_name else None,
                ),
            )


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the records of the clusters that are looked at; those of others are theirs."""
    for mesh in evidence.meshes:
        for cluster, short, name, target in by_node(evidence, mesh.realm, records_of(mesh.corefile or "")):
            yield address_of(cluster, short), Record(cluster=cluster, name=name, target=target)


def write(run: Run, action: Action) -> None:
    """Write the records of a cluster and wait until they are answered."""
    realm = action.scope.realm
    added = {
        record.name: _target(run, record) for change in action.changes if isinstance(record := change.after, Record)
    }
    _edit(run, realm, added, frozenset())
    relay = run.known.ids.get(Address((realm, MESH, "relay")))
    if relay is not None and not run.taking_back:
        run.slurm.wait_resolved(relay, added, RESOLVED_WITHIN)


def _target(run: Run, record: Record) -> str:
    if record.node is None:
        return network.resolve(record.target, run.known.subnets.get(record.cluster, ""))
    container = run.engine.inspect_container(run.id(record.node))
    endpoint = container.endpoint(names.network(*record.cluster.parts)) if container else None
    if endpoint is None or not endpoint.address:
        raise SindplanError(
            f"{record.node} has no address on its cluster's network: it stopped, or was taken off.",
            "Apply again, which mends it.",
        )
    return endpoint.address


def remove(run: Run, action: Action) -> None:
    """Take records of a cluster out."""
    gone = frozenset(record.name for c in action.changes if isinstance(record := c.before, Record))
    _edit(run, action.scope.realm, {}, gone)


def _edit(run: Run, realm: str, added: dict[str, str], removed: frozenset[str]) -> None:
    dns = run.id(Address((realm, MESH, "dns")))
    with run.alone(f"dns of {realm}"):
        entry = run.engine.get_files(dns, COREFILE).get(COREFILE)
        before = entry.content.decode("utf-8", "replace") if entry else corefile(realm, {})
        after = with_records(realm, before, added, removed)
        if after == before:
            return
        run.engine.put_files(dns, [Entry(path=COREFILE, content=after.encode())])
        container = run.engine.inspect_container(dns)
        if container is not None and container.state == "running":
            run.engine.kill(dns, "USR1")


PERFORM = {"record.write": write, "record.remove": remove}
