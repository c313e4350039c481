"""What a node should be: image and limits, networks, mounts, labels, privileges, and what its first boot must find.

Layout, mounts and options are sind's (v0.11), with a state volume always and a volume for the database. Nodes that sind itself
made keep to sind's table.
"""

from collections.abc import Iterator

from sindplan.engine.records import Mount
from sindplan.kinds import labels, roles
from sindplan.kinds.database import password_in
from sindplan.kinds.first_boot import FirstBoot
from sindplan.kinds.node_resource import SECURITY, Node
from sindplan.model import names, network
from sindplan.model.address import Address
from sindplan.model.hidden import Hidden
from sindplan.model.layout import ClusterLayout, Layout, NodeLayout
from sindplan.model.people import People
from sindplan.model.privileges import device
from sindplan.model.resource import Resource
from sindplan.model.units import MIB
from sindplan.slurm.affinity import binds_tasks
from sindplan.slurm.files import CONFIG, STATE
from sindplan.slurm.sections import fragments

MARIADB_FOLDER = "/var/lib/mysql"
"""Where MariaDB keeps its data unless its image says otherwise."""
CVMFS = "/cvmfs"


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the nodes that a layout wants."""
    for cluster in layout.clusters:
        for node in cluster.nodes:
            yield cluster.address / "node" / node.short, _wanted(cluster, node)


def _wanted(cluster: ClusterLayout, node: NodeLayout) -> Node:
    marks = {**labels.node(cluster.realm, cluster.name, node.short), **_given(cluster, node)}
    return Node(
        name=names.container(cluster.realm, cluster.name, node.short),
        short=node.short,
        image=node.image,
        power="running" if node.power == "on" else "stopped",
        cpus=node.cpus if cluster.limits else None,
        memory=node.memory if cluster.limits else None,
        tmp_size=node.tmp_size,
        networks={
            names.network(cluster.realm, cluster.name): "" if cluster.by_name else node.address,
            names.mesh_network(cluster.realm): "",
        },
        mounts=node_mounts(cluster, node),
        security_opt=tuple(sorted({*SECURITY, *node.security_opt})),
        cap_add=_added_capabilities(cluster, node),
        cap_drop=tuple(sorted(node.cap_drop)),
        devices=tuple(sorted(map(device, node.devices))),
        labels=labels.said(marks, labels.COMPARED),
        stated={labels.USERS: cluster.people.users_label(), labels.GROUPS: cluster.people.groups_label()},
        hosts=(
            ()
            if cluster.by_name
            else tuple(f"{short}:{network.address(cluster.subnet, short)}" for short in names.FIXED_NODES)
        ),
        declared_mib=node.memory // MIB,
        slurm_version=node.facts.slurm_version if cluster.managed else "",
        units=units_of(cluster, node),
        boot=first_boot(cluster, node),
        after=_starts_after(cluster, node),
        demanded=node.demanded,
        image_id=node.image_id,
        max_unavailable=node.max_unavailable,
    )


def _given(cluster: ClusterLayout, node: NodeLayout) -> dict[str, str]:
    """Return the labels that say what a node was given."""
    storage = cluster.declared.storage
    return {
        labels.MANAGED: "true" if node.managed else "false",
        "sind.data.hostpath": storage.host_path or "",
        "sind.data.mountpath": storage.mount_path,
        labels.CVMFS: cluster.cvmfs,
        labels.IDENTITY: labels.IDENTITIES[cluster.declared.identity],
        labels.GROUP: node.group,
    }


def _added_capabilities(cluster: ClusterLayout, node: NodeLayout) -> tuple[str, ...]:
    """Return the capabilities to add: the user's, and what binding tasks of other users to CPUs takes (sind.md 3.3)."""
    binds = node.role == "worker" and node.managed and binds_tasks(cluster.declared)
    own = {"SYS_NICE"} if binds and not {"SYS_NICE", "ALL"} & set(node.cap_drop) else set()
    return tuple(sorted({*node.cap_add, *own}))


def units_of(cluster: ClusterLayout, node: NodeLayout) -> tuple[str, ...]:
    """Return the systemd units that must be active on a node."""
    # An image for people who install Slurm by hand need not have munge.
    munge = node.managed or "munged" in node.facts.daemons
    return roles.units(node.role, managed=node.managed, identity=cluster.declared.identity, munge=munge)


def first_boot(cluster: ClusterLayout, node: NodeLayout) -> FirstBoot:
    """Return what a node's first boot must find."""
    identity = cluster.declared.identity
    first = node.short == names.CONTROLLER
    return FirstBoot(
        daemons=roles.daemons(node.role, managed=node.managed, identity=identity),
        first=first,
        controls=node.role == "controller",
        munge=identity != "client_ids",
        holds_key=first and not cluster.by_name and identity != "client_ids",
        owners={user: node.facts.owner(user) for user in ("slurm", "munge", "mysql", "slurmrestd")},
        people=cluster.people if node.knows_users else People(),
        homes=cluster.people if first else People(),
        nss_slurm=identity != "local" and node.role == "worker" and node.managed and node.facts.nss_slurm,
        password=_password(cluster) if node.role == "db" else None,
        db_password=node.role == "db"
        and cluster.declared.db is not None
        and bool(cluster.declared.db.storage_password),
    )


def _password(cluster: ClusterLayout) -> Hidden | None:
    """Return the password that the user's text for slurmdbd.conf says, as sind has it."""
    found = password_in(*fragments(cluster.declared.slurm.slurmdbd).values())
    return Hidden(found) if found else None


def _starts_after(cluster: ClusterLayout, node: NodeLayout) -> frozenset[Address]:
    """Return the node that must run first, with its daemons, and the daemons that must have heard of the node."""
    if node.role == "worker" and node.managed:
        return frozenset({cluster.address / "service" / names.CONTROLLER / "slurmctld"})
    first = {names.BACKUP: names.CONTROLLER, names.CONTROLLER: names.DB}.get(node.short)
    found = cluster.node(first) if first else None
    if found is None or not found.managed:
        return frozenset()
    services = {
        cluster.address / "service" / found.short / unit.removesuffix(".service") for unit in units_of(cluster, found)
    }
    if node.short == names.BACKUP:
        # It reads its files while slurmdbd answers, not while that is restarted, nor before it is there again: a first
        # controller that runs on meanwhile is nobody to wait for.
        services |= {cluster.address / "service" / names.DB / "slurmdbd", cluster.address / "node" / names.DB}
    return frozenset({cluster.address / "node" / found.short, *services})


def node_mounts(cluster: ClusterLayout, node: NodeLayout) -> tuple[Mount, ...]:
    """Return the mounts of a node: sind's table (sind.md 3.2), with a volume for the state always and for the database."""
    storage = cluster.declared.storage
    controls = node.role == "controller"
    first = node.short == names.CONTROLLER
    has_pair = cluster.declared.controller.backup

    def volume(kind: str, target: str, *, read_only: bool = False) -> Mount:
        return Mount(
            target=target,
            kind="volume",
            source=names.volume(cluster.realm, cluster.name, kind),
            read_only=read_only,
        )

    # In sind's order; what only some nodes or clusters have comes with its condition.
    table: tuple[tuple[bool, Mount], ...] = (
        (True, volume("config", CONFIG, read_only=not controls)),
        # The key is written through the first controller; with sind, nodes can only read it.
        (
            cluster.declared.identity != "client_ids",
            volume("munge", "/etc/munge", read_only=not first or cluster.by_name),
        ),
        (storage.host_path is None, volume("data", storage.mount_path)),
        (
            storage.host_path is not None,
            Mount(target=storage.mount_path, kind="bind", source=storage.host_path or ""),
        ),
        (controls and (has_pair or not node.bare), volume("state", STATE)),
        (bool(cluster.people.users), volume("home", "/home")),
        (node.role == "db" and node.managed and not node.bare, volume("db", node.facts.db_dir or MARIADB_FOLDER)),
        (
            cluster.cvmfs == "volume",
            Mount(target=CVMFS, kind="volume", source="cvmfs", driver="cvmfs", read_only=True),
        ),
        (
            cluster.cvmfs == "hostPath",
            Mount(target=CVMFS, kind="bind", source=CVMFS, read_only=True, propagation="rslave"),
        ),
    )
    return tuple(sorted(mount for there, mount in table if there))
