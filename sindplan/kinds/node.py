"""Nodes: systemd containers.

A node is one create call with both networks and one archive, then one start: keys, host keys, machine id and the links of the
units to start lie in it before its first boot.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from attrs import evolve

from sindplan.engine.records import Container
from sindplan.errors import NotFound
from sindplan.kinds import config, labels
from sindplan.kinds.controllers import answering, has_taken_over, is_running
from sindplan.kinds.draining import drained, lift
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.mesh_replacing import is_up
from sindplan.kinds.node_boot import bring_up
from sindplan.kinds.node_creation import create
from sindplan.kinds.node_resource import POWER, Node
from sindplan.kinds.node_wanted import wanted
from sindplan.kinds.registering import registering
from sindplan.kinds.replacing import FORGET, RENAME, REPLACE, RESTORE
from sindplan.kinds.run import Run
from sindplan.kinds.units_said import units_said
from sindplan.model import names, network
from sindplan.model.address import Address
from sindplan.model.kind import After, Depending, Kind, Phase, Step, Steps, Where
from sindplan.model.resource import Resource
from sindplan.plan.plan import Action, Change
from sindplan.slurm.files import CONFIG
from sindplan.slurm.port import OFF_REASON

__all__ = ["JOIN", "KIND", "PERFORM", "seen", "wanted"]

_GRACE = 60
"""Seconds that a node has to shut down: MariaDB writes its pages, slurmctld its state."""

_CREATE = Step(
    "node.create",
    "creating",
    after=(
        After("mesh-network.create", Where.NEEDED),
        After("network.create", Where.NEEDED),
        After("volume.create", Where.NEEDED),
        *is_up("dns", "relay"),
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
        After("node.prove", Where.EARLIER),
        After("service.restart", Where.NEEDED),
    ),
)
_POWER_ON = Step(
    "node.power-on",
    "powering on",
    # Up as they went down: first what others need.
    after=(*_START.after, After("node.start", Where.CLUSTER)),
)
_STOP = Step("node.stop", "powering off", Phase.STOP, last=True)
_STOP_SERVER = Step(
    "node.stop-server",
    "powering off",
    Phase.STOP,
    # Workers first, then the controllers, the backup before the one that it would stand in for, then the db.
    after=(After("node.stop", Where.CLUSTER), After("node.stop-server", Where.NEEDING)),
    last=True,
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
        After("node.restore", Where.CLUSTER),
        After("node.power-on", Where.CLUSTER),
        After("service.start", Where.CLUSTER),
        After("service.reconfigure", Where.CLUSTER),
        # Of records that a new controller lacks, the workers may be replaced meanwhile.
        After("node.prove", Where.NEEDED),
        After("node.prove", Where.EARLIER),
        After("service.restart", Where.CLUSTER),
    ),
    batch=True,
)
"""Waiting until slurmctld can use the workers: one action a cluster, taken by nodes, daemons and Slurm's records alike."""

_SERVERS = ("controller", "db")
"""Roles of the nodes that others need: last to go down, first to come up."""


def _making(_: Node | None, after: Node) -> Steps:
    """Return what makes a node; one that shall be off is started once, so that it is whole, and stopped."""
    is_server = after.labels[labels.ROLE] in _SERVERS
    if after.power == "running":
        return (_CREATE, _START, JOIN)
    if after.short == names.CONTROLLER:
        return (_CREATE, _START, JOIN, _STOP_SERVER)
    return (_CREATE, _START, _STOP_SERVER if is_server else _STOP)


def _powering(before: Node, after: Node) -> Steps:
    """Return what brings a node to a power."""
    is_server = after.labels[labels.ROLE] in _SERVERS
    if not before.made:
        # That it is made includes it.
        return ()
    if after.power == "stopped":
        return (_STOP_SERVER if is_server else _STOP,)
    return (_START if is_server or before.power == "paused" else _POWER_ON, JOIN)


_MAKE = Depending(_making, (_CREATE, _START, JOIN, _STOP, _STOP_SERVER))

KIND = Kind(
    name="node",
    resource=Node,
    create=_MAKE,
    update={
        "successor": (RESTORE, JOIN),
        "name": (RENAME,),
        "made": _MAKE,
        "power": Depending(_powering, (_START, _POWER_ON, JOIN, _STOP, _STOP_SERVER)),
        "cpus": (Step("node.limit", "setting limits"),),
        "memory": (Step("node.limit", "setting limits"),),
        "networks": (_CONNECT, JOIN),
        "aside": (FORGET,),
    },
    replace={**REPLACE, "anew": _MAKE},
    # From a removal there is no way back: it waits until the mesh is whole, which may fail.
    delete=(Step("node.remove", "removing", Phase.REMOVE, after=is_up("dns", "relay")),),
)


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the nodes that exist."""
    meshes = {mesh.realm: mesh.network for mesh in evidence.meshes}
    for cluster in evidence.clusters:
        networks = {found.name: found.id for found in (cluster.network, meshes.get(cluster.realm)) if found}
        for short, container in cluster.nodes.items():
            yield cluster.address / "node" / short, _seen(cluster, short, container, networks)


def _seen(cluster: ClusterEvidence, short: str, container: Container, networks: Mapping[str, str]) -> Node:
    """Return a node as it is.

    Args:
        networks: Id by name of the networks that it should be on, as far as they are there.
    """
    spec = container.spec
    return Node(
        name=spec.name,
        short=short,
        aside=cluster.aside.get(short, ""),
        half=cluster.halves.get(short, ""),
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
        units=units_said(spec.labels),
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

    is_new = not isinstance(before, Node) or not before.made
    bring_up(run, change.address, node, is_new=is_new)


def stop(run: Run, action: Action) -> None:
    """Stop a node; daemons have time to write down what they know."""
    (change,) = action.changes
    if change.address in run.lifted:
        # It was to stay on, and this is taken back: what began to run on it is waited for.
        drained(run, change.address.scope, change.address.name, OFF_REASON)
    container = run.id(change.address)
    if change.address.name == names.CONTROLLER and is_running(run, container):
        # What was not read yet is read at the next start. Who owes a restart may be on a node that stays on.
        for mark in config.MARKS.values():
            config.settle(run, container, mark)
    run.engine.stop(container, grace=_GRACE)


def _thaw(run: Run, address: Address, node: Node) -> None:
    container = run.id(address)
    # Nobody could ask a frozen node whether its daemons run, nor tell them to start anew.
    run.slurm.start_units(container, node.units, run.wait)
    owed = [f"{name}.service" for name in config.RESTART_MARKS if f"{name}.service" in node.units]
    if owed and any(run.engine.has_file(container, f"{CONFIG}/{mark}") for mark in config.RESTART_MARKS.values()):
        run.slurm.start_units(container, owed, run.wait, restart=True)
    if "slurmctld.service" not in node.units:
        return
    # Its files may have been written while it was frozen.
    with registering(run, address.scope, container):
        run.slurm.reconfigure(container)
    config.settle(run, container)


def join(run: Run, action: Action) -> None:
    """Wait until slurmctld can use the workers that were started, or whose daemons were.

    Those that had been powered off are put back into service. Of what was taken back nothing else is waited for.
    """
    workers = sorted({worker for change in action.changes if (worker := _joins(change)) is not None})
    powered_on = [change.address.name for change in action.changes if _comes_up(change)]
    controller = answering(run, action.scope)
    if controller is None or not is_running(run, controller):
        # Slurm is off; its workers join when it is on.
        return
    db = run.known.ids.get(action.scope / "node" / names.DB)
    if any(_is_made_off(change) for change in action.changes) and db is not None and not is_running(run, db):
        return
    if action.scope in run.going_off and run.slurm.view(controller) is None:
        # Commands that read new files may miss a slurmctld that has not.
        return
    if not run.taking_back:
        _start_again(run, action)
        run.slurm.join(controller, workers, run.wait)
    elif powered_on:
        run.slurm.join(controller, [], run.wait)
    lifted = lift(run, controller, [worker for worker in workers if worker in powered_on], OFF_REASON)
    run.lifted |= {action.scope / "node" / worker for worker in lifted}
    if not run.taking_back:
        _settle_restarts(run, action, controller)


def _settle_restarts(run: Run, action: Action, controller: str) -> None:
    """Take away the marks of restarts that booting brought: whoever else had to be restarted for new files has been by now."""
    booted = {
        unit
        for change in action.changes
        if isinstance(change.after, Node) and change.after.power == "running"
        for unit in change.after.units
    }
    for name in config.RESTART_MARKS:
        if f"{name}.service" in booted:
            config.settle(run, controller, config.RESTART_MARKS[name])


def _start_again(run: Run, action: Action) -> None:
    """Start slurmd anew on nodes that run before slurmctld hears of them: an apply may have been killed in between.

    Started then, it is told that nobody knows it, and gives up a little later.
    """
    for change in action.changes:
        *_, short, name = change.address.parts
        if change.address.kind != "service" or name != "slurmd":
            continue
        found = run.engine.inspect_container(run.id(action.scope / "node" / short))
        place = found.endpoint(names.network(*action.scope.parts)) if found is not None else None
        if found is not None and place is not None and not place.fixed:
            run.slurm.start_units(found.id, [f"{name}.service"], run.wait, restart=True)


def _is_made_off(change: Change) -> bool:
    return isinstance(change.after, Node) and change.after.power == "stopped"


def _comes_up(change: Change) -> bool:
    before, after = change.before, change.after
    return isinstance(before, Node) and isinstance(after, Node) and before.power != after.power == "running"


def _joins(change: Change) -> str | None:
    """Return the worker of Slurm's that a change is about."""
    after = change.after
    if isinstance(after, Node):
        if after.power != "running":
            return None
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


def remove(run: Run, action: Action) -> None:
    """Remove a node, and what a replacement that did not finish has left of it."""
    (change,) = action.changes
    node = change.before
    assert isinstance(node, Node)
    for container in (node.half, node.aside, run.id(change.address)):
        if container:
            with suppress(NotFound):
                run.engine.remove_container(container)


PERFORM = {
    "node.create": create,
    "node.start": start,
    "node.power-on": start,
    "node.stop": stop,
    "node.stop-server": stop,
    "node.join": join,
    "node.limit": limit,
    "node.connect": connect,
    "node.remove": remove,
}
