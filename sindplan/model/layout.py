"""The declaration with everything decided: which nodes there are, what each is given, which images the mesh uses.

Pure. What it needs to know of the world comes in as facts; everything after it (files, labels, resources) only reads it.
"""

from collections.abc import Collection, Mapping
from typing import TypeVar

from attrs import field, frozen
from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet

from sindplan.model import declaration as said
from sindplan.model import names, network
from sindplan.model.address import MESH, Address, below_any, natural
from sindplan.model.declaration import Cluster, Declaration, NodeOptions, Power, WorkerGroup
from sindplan.model.facts import ClusterFacts, Facts, ImageFacts, Member, MeshFacts
from sindplan.model.people import Ids, People, people
from sindplan.model.workers import assign_workers, taken_over

COREDNS = "coredns/coredns:1.14.7"
"""What sind runs as DNS server where nothing else is said (sind v0.11)."""

T = TypeVar("T")


@frozen(kw_only=True)
class NodeLayout:
    """One node.

    Attributes:
        group: Its worker group; empty for other roles.
        memory: Bytes.
        address: An IPv4 address or its symbol.
        managed: Whether sindplan runs Slurm on it.
        knows_users: Whether the cluster's users and groups exist on it.
        worker: What is said of its worker group; None for other roles.
        demanded: Why it is to be replaced though nothing of it differs; empty without such a demand.
        image_id: What its image must be, where a tag is followed or a replacement is demanded; empty where any will do.
        max_unavailable: How many of its group may be replaced at once.
        foreign: Whether another tool made its container, which stays.
        bare: Whether its container holds its data, and no volume does.
        power: Whether it runs.
    """

    short: str
    group: str
    image: str
    facts: ImageFacts
    cpus: int
    memory: int
    tmp_size: str
    address: str
    managed: bool = True
    knows_users: bool = True
    cap_add: tuple[str, ...] = ()
    cap_drop: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    security_opt: tuple[str, ...] = ()
    worker: WorkerGroup | None = None
    demanded: str = ""
    image_id: str = ""
    max_unavailable: int = 1
    foreign: bool = False
    bare: bool = False
    power: Power = "on"

    @property
    def role(self) -> str:
        """Its role, as in `sind.role`."""
        return names.role_of(self.short)


@frozen(kw_only=True)
class ClusterLayout:
    """One cluster.

    Attributes:
        managed: Whether sindplan runs Slurm in it at all.
        by_name: Whether its nodes go by their names alone: another tool made its network, and no address there is fixed.
        guests: Workers that another tool added to it and that stay.
        host_keys: Public SSH host keys that exist, by short name.
        limits, cgroups: What the engine can give nodes (see Facts).
        people: Its users and groups.
        ids: The ids that they, and others before them, were given.
        cvmfs: How nodes mount /cvmfs: `volume`, `hostPath`, or empty for not at all.
        powered_off: Nodes that are off by name, whether there are such nodes or not.
    """

    realm: str
    name: str
    owner: str
    declared: Cluster
    subnet: str
    nodes: tuple[NodeLayout, ...]
    guests: Mapping[str, Member]
    host_keys: Mapping[str, str]
    limits: bool
    cgroups: bool
    managed: bool = True
    by_name: bool = False
    people: People = field(factory=People)
    ids: Ids = field(factory=Ids)
    cvmfs: str = ""
    powered_off: tuple[str, ...] = ()

    @property
    def address(self) -> Address:
        """The cluster's address."""
        return Address((self.realm, self.name))

    def node(self, short: str) -> NodeLayout | None:
        """Return the node of that short name."""
        return next((node for node in self.nodes if node.short == short), None)

    @property
    def controllers(self) -> tuple[NodeLayout, ...]:
        """The controller, and its backup if there is one."""
        return tuple(node for node in self.nodes if node.role == "controller")

    def managed_role(self, role: str) -> bool:
        """Say whether there is a node of a role on which sindplan runs Slurm's daemon."""
        return any(node.role == role and node.managed for node in self.nodes)

    @property
    def controller(self) -> NodeLayout:
        """The controller, which every cluster has."""
        return self.nodes[0]

    @property
    def workers(self) -> tuple[NodeLayout, ...]:
        """The workers by index, those without Slurm included."""
        return tuple(node for node in self.nodes if node.role == "worker")

    @property
    def slurm_workers(self) -> tuple[NodeLayout, ...]:
        """The workers that Slurm has, by index."""
        return tuple(node for node in self.workers if node.managed)


@frozen(kw_only=True)
class MeshLayout:
    """A realm's mesh. Images that the user does not name stay what they are once the containers exist.

    Attributes:
        demanded: Which of `dns` and `relay` are to be replaced though nothing of them differs.
    """

    realm: str
    relay_image: str
    dns_image: str
    dnsmasq: bool
    facts: MeshFacts
    demanded: frozenset[str] = frozenset()

    @property
    def address(self) -> Address:
        """The mesh's address."""
        return Address((self.realm, MESH))


@frozen(kw_only=True)
class Layout:
    """Everything that is declared."""

    owner: str
    clusters: tuple[ClusterLayout, ...]
    meshes: tuple[MeshLayout, ...]


def lay_out(declaration: Declaration, facts: Facts, replace: Collection[Address] = ()) -> Layout:
    """Decide everything that a declaration leaves open.

    Args:
        replace: Addresses (or prefixes) of nodes and containers of the mesh that are to be replaced on demand.
    """
    clusters = tuple(
        _cluster(declaration.name, realm, name, cluster, facts, replace)
        for realm, spec in sorted(declaration.realms.items(), key=lambda item: natural(item[0]))
        for name, cluster in sorted(spec.clusters.items(), key=lambda item: natural(item[0]))
    )
    meshes = tuple(
        _mesh(realm, spec.mesh, next(c for c in clusters if c.realm == realm).controller.image, facts, replace)
        for realm, spec in sorted(declaration.realms.items())
        if spec.clusters
    )
    return Layout(owner=declaration.name, clusters=clusters, meshes=meshes)


def images_of(declaration: Declaration) -> tuple[str, ...]:
    """Return every image that the declaration names, for looking them up."""
    servers = {realm.mesh.dns_image for realm in declaration.realms.values() if realm.mesh.dns_image}
    return tuple(sorted({*node_images(declaration), *servers}))


def node_images(declaration: Declaration) -> tuple[str, ...]:
    """Return the images that the declaration names for nodes and relays: what they have must be known."""
    clusters = [cluster for realm in declaration.realms.values() for cluster in realm.clusters.values()]
    relays = {realm.mesh.relay_image for realm in declaration.realms.values() if realm.mesh.relay_image}
    return tuple(sorted({image for one in clusters for image in _images(one)} | relays))


def images_to_pull(declaration: Declaration) -> tuple[str, ...]:
    """Return the images of nodes that every apply pulls; an id says no registry."""
    clusters = [cluster for realm in declaration.realms.values() for cluster in realm.clusters.values()]
    named = {image for one in clusters if one.pull for image in _images(one)}
    return tuple(sorted(image for image in named if not image.startswith("sha256:")))


def is_pinned(image: str) -> bool:
    """Say whether a reference means one image for ever, so that it need not be pulled twice."""
    return "@sha256:" in image


def _images(cluster: Cluster) -> set[str]:
    return {_image(cluster, options) for options in _all_options(cluster)}


def _all_options(cluster: Cluster) -> tuple[NodeOptions, ...]:
    single = (cluster.controller, cluster.db, cluster.api, cluster.submitter)
    return (*(options for options in single if options is not None), *cluster.workers.values())


def _image(cluster: Cluster, options: NodeOptions) -> str:
    # The reader has refused clusters in which a node has no image.
    return options.image or cluster.defaults.image or cluster.image or ""


def _first(*values: T | None) -> T:
    return next(value for value in values if value is not None)


def _cluster(
    owner: str, realm: str, name: str, cluster: Cluster, facts: Facts, replace: Collection[Address]
) -> ClusterLayout:
    seen = facts.clusters.get(Address((realm, name)), ClusterFacts())
    subnet = seen.subnet or cluster.subnet or ""
    managed = is_managed(cluster)
    off = frozenset(NodeSet(cluster.powered_off, resolver=RESOLVER_NOGROUP)) if cluster.powered_off else frozenset()

    def node(short: str, group: str, options: NodeOptions) -> NodeLayout:
        image = _image(cluster, options)
        own = managed and getattr(options, "managed", None) is not False
        demanded = short in seen.references and below_any(Address((realm, name, "node", short)), replace)
        now = facts.images.get(image, ImageFacts())
        asked = now.id if cluster.follow_tag or demanded else ""
        worker = options if isinstance(options, WorkerGroup) else None
        return NodeLayout(
            short=short,
            group=group,
            image=image,
            facts=_made_from(seen, short, image, now, asked),
            cpus=_first(options.cpus, cluster.defaults.cpus, said.CPUS),
            memory=_first(options.memory, cluster.defaults.memory, said.MEMORY),
            tmp_size=_first(options.tmp_size, cluster.defaults.tmp_size, said.TMP_SIZE),
            address=(
                seen.addresses.get(short) or network.symbol(short) if seen.by_name else network.address(subnet, short)
            ),
            foreign=short in seen.foreign,
            bare=short in seen.bare,
            managed=own,
            knows_users=_knows_users(cluster, names.role_of(short), managed=own),
            worker=worker,
            demanded="on demand" if demanded else "",
            image_id=asked,
            max_unavailable=_first(worker.max_unavailable if worker else None, cluster.max_unavailable),
            power="off" if "off" in (cluster.power, getattr(options, "power", None)) or short in off else "on",
            **{privilege: _merged(cluster.defaults, options, privilege) for privilege in _PRIVILEGES},
        )

    single: list[tuple[str, NodeOptions | None]] = [
        (names.CONTROLLER, cluster.controller),
        (names.BACKUP, cluster.controller if cluster.controller.backup else None),
        (names.DB, cluster.db),
        (names.API, cluster.api),
        (names.SUBMITTER, cluster.submitter),
    ]
    nodes = [node(short, "", options) for short, options in single if options is not None]
    # Who belongs to a cluster that was taken over, its record says from then on.
    members = taken_over(cluster.workers, seen.members) if cluster.adopt and not seen.recorded else seen.members
    groups = assign_workers(cluster.workers, members)
    nodes += [node(names.worker(index), group, cluster.workers[group]) for index, group in sorted(groups.items())]
    return ClusterLayout(
        realm=realm,
        name=name,
        owner=owner,
        declared=cluster,
        subnet=subnet,
        nodes=tuple(nodes),
        guests={
            short: member
            for short, member in sorted(members.items(), key=lambda item: natural(item[0]))
            if not member.ours and names.worker_index(short) not in groups
        },
        host_keys=seen.host_keys,
        limits=facts.limits,
        cgroups=facts.cgroups,
        managed=managed,
        by_name=seen.by_name,
        people=people(cluster.users, cluster.groups, seen.people, nodes[0].facts.people),
        ids=seen.people,
        powered_off=tuple(sorted(off, key=natural)),
        # What its nodes have mounted stays what it is: another backend would mean other containers.
        cvmfs=(seen.cvmfs or facts.cvmfs) if cluster.storage.cvmfs else "",
    )


def _made_from(seen: ClusterFacts, short: str, image: str, now: ImageFacts, asked: str) -> ImageFacts:
    """Return what is known of the image that a node is, or will be, made from: a tag that moved changes no running node."""
    present = seen.images.get(short)
    if present is None or seen.references.get(short) != image or asked not in ("", present.id):
        return now
    return present


_PRIVILEGES = ("cap_add", "cap_drop", "devices", "security_opt")


def _merged(defaults: NodeOptions, options: NodeOptions, privilege: str) -> tuple[str, ...]:
    """Return a list of privileges: the cluster's, then the node's, each once (sind v0.11)."""
    return tuple(dict.fromkeys([*(getattr(defaults, privilege) or ()), *(getattr(options, privilege) or ())]))


def is_managed(cluster: Cluster) -> bool:
    """Say whether sindplan runs Slurm in a cluster: said of the cluster, or of its controller, as in sind."""
    return cluster.managed and cluster.controller.managed is not False


def _knows_users(cluster: Cluster, role: str, *, managed: bool) -> bool:
    """Say whether users exist on a node; elsewhere Slurm carries who they are (sind.md 6.4)."""
    if not managed or cluster.identity == "local":
        return True
    if cluster.identity == "nss_slurm":
        return role != "worker"
    on_controllers = cluster.controller_users or cluster.submitter is None
    return role == "submitter" or (role == "controller" and on_controllers)


def _mesh(realm: str, mesh: said.Mesh, node_image: str, facts: Facts, replace: Collection[Address]) -> MeshLayout:
    seen = facts.meshes.get(realm, MeshFacts())
    relay = mesh.relay_image or seen.relay_image or node_image
    carries_dnsmasq = "dnsmasq" in facts.images.get(relay, ImageFacts()).tools
    dns = mesh.dns_image or seen.dns_image or (relay if carries_dnsmasq else COREDNS)
    return MeshLayout(
        realm=realm,
        relay_image=relay,
        dns_image=dns,
        dnsmasq="dnsmasq" in facts.images.get(dns, ImageFacts()).tools,
        facts=seen,
        demanded=frozenset(
            name
            for name, is_there in (("dns", seen.dns_image), ("relay", seen.relay_image))
            if is_there and below_any(Address((realm, MESH, name)), replace)
        ),
    )
