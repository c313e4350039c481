"""Nodes: systemd containers.

A node is one create call with both networks and one archive, then one start: keys, host keys, machine id and the links of the
units to start lie in it before its first boot.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from attrs import evolve

from sindplan.engine.records import Container
from sindplan.errors import NotFound
from sindplan.kinds import labels
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.last_applied import stayed_off
from sindplan.kinds.mesh_replacing import is_up
from sindplan.kinds.node_creation import create
from sindplan.kinds.node_resource import POWER, Node
from sindplan.kinds.node_wanted import wanted
from sindplan.kinds.powering import JOIN, MAKE, POWERING
from sindplan.kinds.replacing import FORGET, RENAME, REPLACE, RESTORE
from sindplan.kinds.run import Run
from sindplan.kinds.units_said import units_said
from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Phase, Step, Where
from sindplan.model.resource import Resource
from sindplan.plan.plan import Action

__all__ = ["KIND", "PERFORM", "seen", "wanted"]

_CONNECT = Step(
    "node.connect",
    "connecting",
    after=(After("mesh-network.create", Where.NEEDED), After("network.create", Where.NEEDED)),
)
KIND = Kind(
    name="node",
    resource=Node,
    create=MAKE,
    update={
        "successor": (RESTORE, JOIN),
        "name": (RENAME,),
        "made": MAKE,
        "power": POWERING,
        "cpus": (Step("node.limit", "setting limits"),),
        "memory": (Step("node.limit", "setting limits"),),
        "networks": (_CONNECT, JOIN),
        "aside": (FORGET,),
    },
    replace={**REPLACE, "anew": MAKE},
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
        idle=stayed_off(cluster),
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


def limit(run: Run, action: Action) -> None:
    """Set the limits of a container."""
    (change,) = action.changes
    assert isinstance(change.after, Node)
    run.engine.update_limits(run.id(change.address), change.after.cpus, change.after.memory)


def remove(run: Run, action: Action) -> None:
    """Remove a node, and what a replacement that did not finish has left of it."""
    (change,) = action.changes
    node = change.before
    assert isinstance(node, Node)
    for container in (node.half, node.aside, run.id(change.address)):
        if container:
            with suppress(NotFound):
                run.engine.remove_container(container)


PERFORM = {"node.create": create, "node.limit": limit, "node.remove": remove}
