"""Nodes: systemd containers.

A node is one create call with both networks and one archive, then one start: keys, host keys, machine id and the links of the
units to start lie in it before its first boot.
"""

from collections.abc import Iterator, Mapping

from attrs import evolve

from sindplan.engine.records import Container
from sindplan.kinds import config, labels
from sindplan.kinds.controllers import answering, has_taken_over, with_failback
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.node_creation import create
from sindplan.kinds.node_resource import POWER, Node
from sindplan.kinds.node_wanted import wanted
from sindplan.kinds.removing import remove_container
from sindplan.kinds.run import Run
from sindplan.model import names, network
from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Phase, Step, Where
from sindplan.model.resource import Resource
from sindplan.plan.plan import Action, Change

__all__ = ["JOIN", "KIND", "PERFORM", "seen", "wanted"]

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
        After("boot.set", Where.NEEDING),
        After("node.start", Where.NEEDED),
        After("service.start", Where.NEEDED),
        After("file.write", Where.CLUSTER),
        After("file.remove", Where.CLUSTER),
        After("key.write", Where.CLUSTER),
        # A worker of which slurmctld has not heard gives up; other nodes may come first, and some must.
        After("service.reconfigure", Where.NEEDED),
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


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the nodes that exist."""
    meshes = {mesh.realm: mesh.network for mesh in evidence.meshes}
    for cluster in evidence.clusters:
        networks = {found.name: found.id for found in (cluster.network, meshes.get(cluster.realm)) if found}
        for short, container in cluster.nodes.items():
            yield cluster.address / "node" / short, _seen(cluster, container, networks)


def _seen(cluster: ClusterEvidence, container: Container, networks: Mapping[str, str]) -> Node:
    """Return a node as it is.

    Args:
        networks: Id by name of the networks that it should be on, as far as they are there.
    """
    spec = container.spec
    return Node(
        name=spec.name,
        image=spec.image,
        made=container.state != "created",
        # One that was never started is made anew and started with that.
        power="running" if container.state == "created" else POWER[container.state],
        cpus=spec.cpus,
        memory=spec.memory,
        tmp_size=_option(spec.tmpfs.get("/tmp", ""), "size"),  # noqa: S108 - a mount point in the node
        # One that stopped holds on to a network that was removed, and would not start (proved on the engine).
        networks={
            endpoint.network: endpoint.fixed
            for endpoint in spec.endpoints
            if endpoint.network_id in ("", networks.get(endpoint.network, endpoint.network_id))
            and not (container.state == "exited" and endpoint.network_id and endpoint.network not in networks)
        },
        mounts=tuple(sorted(evolve(mount, no_copy=False) for mount in spec.mounts)),
        security_opt=tuple(sorted(spec.security_opt)),
        cap_add=tuple(sorted(spec.cap_add)),
        cap_drop=tuple(sorted(spec.cap_drop)),
        devices=tuple(sorted(spec.devices)),
        # What the cluster is, its evidence knows, even of a node whose labels lack it.
        labels={
            **labels.said(spec.labels, labels.COMPARED),
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
    is_first = change.address.name == names.CONTROLLER
    if isinstance(before, Node) and before.power == "paused" and is_first and has_taken_over(run, change.address.scope):
        # What it would save when it wakes is older than what its backup has saved since.
        run.engine.kill(container)
    elif isinstance(before, Node) and before.power == "paused":
        run.engine.unpause(container)
        if node.power == "running":
            _thaw(run, change.address, node)
            return
    if node.power == "paused":
        run.engine.pause(container)
        return

    def boot() -> None:
        run.engine.start(container)
        run.slurm.boot(container, node.units, run.wait)

    if is_first:
        with_failback(run, change.address.scope, boot)
    else:
        boot()
    _settle(run, change.address, node)


def _settle(run: Run, address: Address, node: Node) -> None:
    """Take away the marks of the daemons that have read their files with this start."""
    for daemon in config.MARKS:
        if f"{daemon}.service" not in node.units:
            continue
        controller = run.known.ids.get(address.scope / "node" / names.CONTROLLER, "")
        through = run.id(address) if daemon == "slurmctld" else controller
        container = run.engine.inspect_container(through)
        if container is not None and container.state == "running":
            config.settle(run, through, daemon)


def _thaw(run: Run, address: Address, node: Node) -> None:
    container = run.id(address)
    # Nobody could ask a frozen node whether its daemons run.
    run.slurm.start_units(container, node.units, run.wait)
    if "slurmctld.service" not in node.units:
        return
    # Its files may have been written while it was frozen.
    run.slurm.reconfigure(container)
    config.settle(run, container)


def join(run: Run, action: Action) -> None:
    """Wait until slurmctld can use the workers that were started, or whose daemons were."""
    workers = sorted({worker for change in action.changes if (worker := _joins(change)) is not None})
    stopped = any(isinstance(change.after, Node) and change.after.power != "running" for change in action.changes)
    controller = answering(run, action.scope)
    if controller is not None and not stopped and not run.taking_back:
        run.slurm.join(controller, workers, run.wait)


def _joins(change: Change) -> str | None:
    """Return the worker of Slurm's that a change is about."""
    after = change.after
    if isinstance(after, Node):
        is_slurms = names.worker_index(change.address.name) is not None and labels.is_managed(after.labels)
        return change.address.name if is_slurms else None
    *_, short, name = change.address.parts
    # Of a worker's daemons only slurmd, and Slurm's record of it.
    found = short if name == "slurmd" else name
    return found if names.worker_index(found) is not None else None


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
    for name in {**before.networks, **after.networks}:
        # Also one that it only seems to be on: what it holds on to is in the way of another of that name.
        if before.networks.get(name) != after.networks.get(name):
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
