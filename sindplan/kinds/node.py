"""Nodes: systemd containers.

A node is one create call with both networks and one archive, then one start: keys, host keys, machine id and the links of the
units to start lie in it before its first boot. Layout, mounts and options are sind's (v0.11), with a state volume always.
"""

from collections.abc import Iterator

from attrs import evolve

from sindplan.engine.records import Container, Mount
from sindplan.kinds import config, labels
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.node_creation import create
from sindplan.kinds.node_resource import POWER, SECURITY, Node, units
from sindplan.kinds.removing import remove_container
from sindplan.kinds.run import Run
from sindplan.model import names, network
from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Phase, Step, Where
from sindplan.model.layout import ClusterLayout, Layout, NodeLayout
from sindplan.model.resource import Resource
from sindplan.model.units import MIB
from sindplan.plan.plan import Action
from sindplan.slurm.files import CONFIG, STATE

_CREATE = Step(
    "node.create",
    "creating",
    after=(
        After("mesh-network.create", Where.NEEDED),
        After("network.create", Where.NEEDED),
        After("volume.create", Where.NEEDED),
        After("dns.start", Where.NEEDED),
        After("relay.start", Where.NEEDED),
    ),
)
_START = Step(
    "node.start",
    "starting",
    after=(
        After("node.create", Where.SAME),
        After("file.write", Where.CLUSTER),
        After("key.write", Where.CLUSTER),
        After("service.reconfigure", Where.CLUSTER),
    ),
)
_CONNECT = Step(
    "node.connect",
    "connecting",
    after=(After("mesh-network.create", Where.NEEDED), After("network.create", Where.NEEDED)),
)
JOIN = Step(
    "node.join",
    "joining Slurm",
    after=(
        After("node.connect", Where.CLUSTER),
        After("node.start", Where.CLUSTER),
        After("service.start", Where.CLUSTER),
        After("service.reconfigure", Where.CLUSTER),
    ),
    batch=True,
)
"""Waiting until slurmctld can use the workers: one action a cluster, taken by nodes, daemons and Slurm's records alike."""

KIND = Kind(
    name="node",
    resource=Node,
    create=(_CREATE, _START, JOIN),
    update={
        "made": (_CREATE, _START, JOIN),
        "power": (_START, JOIN),
        "cpus": (Step("node.limit", "setting limits"),),
        "memory": (Step("node.limit", "setting limits"),),
        "networks": (_CONNECT, JOIN),
    },
    delete=(Step("node.remove", "removing", Phase.REMOVE),),
)


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the nodes that a layout wants."""
    for cluster in layout.clusters:
        for node in cluster.nodes:
            yield cluster.address / "node" / node.short, _wanted(cluster, node)


def _wanted(cluster: ClusterLayout, node: NodeLayout) -> Node:
    storage = cluster.declared.storage
    sinds = labels.node(
        cluster.realm,
        cluster.name,
        node.short,
        host_path=storage.host_path or "",
        mount_path=storage.mount_path,
    )
    return Node(
        name=names.container(cluster.realm, cluster.name, node.short),
        image=node.image,
        power="running",
        cpus=node.cpus if cluster.limits else None,
        memory=node.memory if cluster.limits else None,
        tmp_size=node.tmp_size,
        networks={
            names.network(cluster.realm, cluster.name): node.address,
            names.mesh_network(cluster.realm): "",
        },
        mounts=_mounts(cluster, node),
        security_opt=SECURITY,
        labels=labels.said({**sinds, labels.GROUP: node.group}, [*sinds, labels.GROUP]),
        hosts=tuple(f"{short}:{network.address(cluster.subnet, short)}" for short in names.FIXED_NODES),
        declared_mib=node.memory // MIB,
        slurm_version=node.facts.slurm_version,
        units=units(node.role),
        owners={user: node.facts.owner(user) for user in ("slurm", "munge")},
    )


def _mounts(cluster: ClusterLayout, node: NodeLayout) -> tuple[Mount, ...]:
    """Return the mounts of a node: sind's table, with the state volume always and munge written by the controller."""
    storage = cluster.declared.storage
    controls = node.role == "controller"

    def volume(kind: str, target: str, *, read_only: bool = False) -> Mount:
        return Mount(
            target=target,
            kind="volume",
            source=names.volume(cluster.realm, cluster.name, kind),
            read_only=read_only,
        )

    data = (
        volume("data", storage.mount_path)
        if storage.host_path is None
        else Mount(target=storage.mount_path, kind="bind", source=storage.host_path)
    )
    mounts = [
        volume("config", CONFIG, read_only=not controls),
        volume("munge", "/etc/munge", read_only=not controls),
        data,
        *([volume("state", STATE)] if controls else []),
    ]
    return tuple(sorted(mounts))


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the nodes that exist."""
    for cluster in evidence.clusters:
        for short, container in cluster.nodes.items():
            yield cluster.address / "node" / short, _seen(cluster, container)


def _seen(cluster: ClusterEvidence, container: Container) -> Node:
    spec = container.spec
    keys = [*labels.node("", "", "", host_path="", mount_path=""), labels.GROUP]
    return Node(
        name=spec.name,
        image=spec.image,
        made=container.state != "created",
        # One that was never started is made anew and started with that.
        power="running" if container.state == "created" else POWER[container.state],
        cpus=spec.cpus,
        memory=spec.memory,
        tmp_size=_option(spec.tmpfs.get("/tmp", ""), "size"),  # noqa: S108 - a mount point in the node
        networks={endpoint.network: endpoint.fixed for endpoint in spec.endpoints},
        mounts=tuple(sorted(evolve(mount, no_copy=False) for mount in spec.mounts)),
        security_opt=tuple(sorted(spec.security_opt)),
        # What the cluster is, its evidence knows, even of a node whose labels lack it.
        labels={
            **labels.said(spec.labels, keys),
            labels.REALM: cluster.realm,
            labels.CLUSTER: cluster.name,
        },
        slurm_version=spec.labels.get(labels.SLURM_VERSION, ""),
        image_id=container.image_id,
        id=container.id,
        run=spec.labels.get(labels.RUN, ""),
    )


def _option(options: str, name: str) -> str:
    pairs = dict(option.partition("=")[::2] for option in options.split(","))
    return pairs.get(name, "")


def start(run: Run, action: Action) -> None:
    """Bring a node to the power that is wanted, and wait until what must run on it does."""
    (change,) = action.changes
    node = change.after
    assert isinstance(node, Node)
    container = run.id(change.address)
    if node.power == "stopped":
        run.engine.stop(container)
        return
    before = change.before
    if isinstance(before, Node) and before.power == "paused":
        run.engine.unpause(container)
        if node.power == "running":
            # Nobody could ask a frozen node whether its daemons run.
            run.slurm.start_units(container, node.units, run.wait)
            if "slurmctld.service" in node.units:
                # Its files may have been written while it was frozen.
                run.slurm.reconfigure(container)
                config.settle(run, container)
            return
    if node.power == "paused":
        run.engine.pause(container)
        return
    run.engine.start(container)
    run.slurm.boot(container, node.units, run.wait)
    if "slurmctld.service" in node.units:
        config.settle(run, container)


def join(run: Run, action: Action) -> None:
    """Wait until slurmctld can use the workers that were started, or whose daemons were."""
    parts = {part for change in action.changes for part in change.address.parts[3:]}
    workers = sorted(part for part in parts if names.worker_index(part) is not None)
    stopped = any(isinstance(change.after, Node) and change.after.power != "running" for change in action.changes)
    controller = run.known.ids.get(action.scope / "node/controller")
    if controller is not None and not stopped and not run.taking_back:
        run.slurm.join(controller, workers, run.wait)


def limit(run: Run, action: Action) -> None:
    """Set the limits of a container."""
    (change,) = action.changes
    assert isinstance(change.after, Node)
    run.engine.update_limits(run.id(change.address), change.after.cpus, change.after.memory)


def connect(run: Run, action: Action) -> None:
    """Put a node on the networks, at the addresses, that it should have."""
    (change,) = action.changes
    before, after = change.before, change.after
    assert isinstance(before, Node)
    assert isinstance(after, Node)
    container = run.id(change.address)
    for name in before.networks:
        if before.networks[name] != after.networks.get(name):
            run.engine.disconnect(name, container)
    for name, address in after.networks.items():
        if before.networks.get(name) != address:
            own = name == names.network(after.cluster.realm, after.cluster.cluster)
            resolved = network.resolve(address, run.known.subnets.get(after.cluster, ""))
            run.engine.connect(name, container, resolved, gw_priority=1 if own else 0)


PERFORM = {
    "node.create": create,
    "node.start": start,
    "node.join": join,
    "node.limit": limit,
    "node.connect": connect,
    "node.remove": remove_container,
}
