"""The relay's known hosts: one line a node, one write for all of a cluster."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from attrs import field, frozen

from sindplan.engine.records import Entry
from sindplan.kinds.evidence import Evidence
from sindplan.kinds.mesh_replacing import is_up
from sindplan.kinds.named import by_node
from sindplan.kinds.relay import KNOWN_HOSTS
from sindplan.kinds.run import Run
from sindplan.kinds.volume import SSH
from sindplan.model import names
from sindplan.model.address import MESH, Address
from sindplan.model.kind import After, Kind, Phase, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import IGNORED, IN_PLACE, Resource
from sindplan.plan.plan import Action


@frozen(kw_only=True)
class KnownHost(Resource):
    """A node's DNS name and public host key, or the key's symbol while the node is not there."""

    KIND: ClassVar[str] = "known-host"

    cluster: Address = field(metadata=IGNORED)
    name: str = field(metadata=IGNORED)
    key: str = field(metadata=IN_PLACE)

    @property
    def node(self) -> Address:
        """The node's address."""
        return self.cluster / "node" / self.name.partition(".")[0]

    @property
    def needs(self) -> frozenset[Address]:
        """The relay, through which the file is written, and the node whose key it is."""
        return frozenset({Address((self.cluster.realm, MESH, "relay")), self.node})

    @property
    def host(self) -> Address | None:
        """The volume: when it goes, so does the file."""
        return Address((self.cluster.realm, MESH, "volume", SSH))

    @property
    def scope(self) -> Address | None:
        """The node's cluster."""
        return self.cluster


_WRITE = Step(
    "known-host.write",
    "writing known hosts",
    after=(*is_up("relay"), After("node.create", Where.BESIDE)),
    batch=True,
)

KIND = Kind(
    name="known-host",
    resource=KnownHost,
    create=(_WRITE,),
    update={"key": (_WRITE,)},
    delete=(Step("known-host.remove", "removing known hosts", Phase.REMOVE, after=is_up("relay"), batch=True),),
)


UNREAD = "<not read>"
"""Stands for the key in a line that could not be read."""


def symbol(short: str) -> str:
    """Return what stands for a node's host key before there is one."""
    return f"<host key of {short}>"


def address_of(cluster: Address, short: str) -> Address:
    """Return the address of a node's line."""
    return Address((cluster.realm, MESH, "known-host", f"{short}.{cluster.cluster}"))


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the lines that a layout wants."""
    for cluster in layout.clusters:
        for node in cluster.nodes:
            key = cluster.host_keys.get(node.short, symbol(node.short))
            # The key of a node that another tool made may not be to be had: then there is no line.
            if key:
                name = names.fqdn(cluster.realm, cluster.name, node.short)
                yield (
                    address_of(cluster.address, node.short),
                    KnownHost(cluster=cluster.address, name=name, key=key),
                )


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the lines of the clusters that are looked at."""
    for mesh in evidence.meshes:
        if mesh.relay is None and mesh.volume is not None:
            # Its lines are on the volume, and nobody is there to show them.
            for found in evidence.clusters:
                for short in found.nodes if found.realm == mesh.realm else ():
                    name = names.fqdn(found.realm, found.name, short)
                    yield address_of(found.address, short), KnownHost(cluster=found.address, name=name, key=UNREAD)
        for cluster, short, name, key in by_node(evidence, mesh.realm, lines_of(mesh.known_hosts or "")):
            yield address_of(cluster, short), KnownHost(cluster=cluster, name=name, key=key)


def lines_of(text: str) -> dict[str, str]:
    """Return host name to key of a known_hosts file (sshd(8)); of two lines for a host the later one counts."""
    pairs = [line.partition(" ") for line in text.splitlines() if line and not line.startswith("#")]
    return {host: key.strip() for host, _, key in pairs}


def edited(text: str, added: Mapping[str, str], removed: frozenset[str]) -> str:
    """Return a known_hosts file with lines added, or changed in their place, and others removed; the rest is kept as it is."""
    left = dict(added)
    lines: list[str] = []
    for line in text.splitlines():
        host = line.partition(" ")[0]
        if host in left:
            lines.append(f"{host} {left.pop(host)}")
        elif host not in added and host not in removed:
            lines.append(line)
    return "".join(f"{line}\n" for line in [*lines, *(f"{host} {key}" for host, key in left.items())])


def write(run: Run, action: Action) -> None:
    """Write the lines of a cluster."""
    added: dict[str, str] = {}
    for change in action.changes:
        if isinstance(line := change.after, KnownHost) and line.key != UNREAD:
            short = line.node.name
            added[line.name] = run.known.host_keys[line.node] if line.key == symbol(short) else line.key
    _edit(run, action.scope.realm, added, frozenset())


def remove(run: Run, action: Action) -> None:
    """Take lines of a cluster out."""
    gone = frozenset(line.name for c in action.changes if isinstance(line := c.before, KnownHost))
    if Address((action.scope.realm, MESH, "relay")) not in run.known.ids:
        # Only through it can they be written; what is destroyed goes all the same.
        run.say(
            f"{action.scope}: its known hosts stay on the relay's volume, since there is no relay of {action.scope.realm}"
        )
        return
    _edit(run, action.scope.realm, {}, gone)


def _edit(run: Run, realm: str, added: Mapping[str, str], removed: frozenset[str]) -> None:
    relay = run.id(Address((realm, MESH, "relay")))
    with run.alone(f"known hosts of {realm}"):
        entry = run.engine.get_files(relay, KNOWN_HOSTS).get(KNOWN_HOSTS)
        before = entry.content.decode("utf-8", "surrogateescape") if entry else ""
        after = edited(before, added, removed)
        if after == before:
            return
        new = Entry(path=KNOWN_HOSTS, content=after.encode("utf-8", "surrogateescape"))
        container = run.engine.inspect_container(relay)
        if container is not None and container.state == "running":
            run.slurm.install(relay, [new])
        else:
            run.engine.put_files(relay, [new])


PERFORM = {"known-host.write": write, "known-host.remove": remove}
