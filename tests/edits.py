"""Generated edits of a declaration that this version does in place, and damage that a hand may do to what runs."""

from collections.abc import Callable, Mapping

from attrs import evolve
from hypothesis import strategies as st

from sindplan.kinds import labels
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.declaration import Cluster, Declaration, Realm, Submitter, WorkerGroup
from tests.world import World


@st.composite
def edited(draw: st.DrawFn, declaration: Declaration) -> Declaration:
    """Draw another declaration: workers come and go, sizes of Slurm's lines change, clusters stay."""
    realms: dict[str, Realm] = {}
    for realm, spec in declaration.realms.items():
        clusters = {name: draw(_edited_cluster(cluster)) for name, cluster in spec.clusters.items()}
        realms[realm] = evolve(spec, clusters=clusters)
    return evolve(declaration, realms=realms)


@st.composite
def _edited_cluster(draw: st.DrawFn, cluster: Cluster) -> Cluster:
    workers: dict[str, WorkerGroup] = {}
    for name, group in cluster.workers.items():
        if not draw(st.booleans()):
            # The size of a group of numbered nodes is in its node set.
            workers[name] = group if group.nodes else evolve(group, count=draw(st.integers(0, 3)))
    if draw(st.booleans()):
        workers["added"] = WorkerGroup(count=draw(st.integers(0, 2)))
    submitter = draw(st.sampled_from((cluster.submitter, None, cluster.submitter or Submitter())))
    return evolve(cluster, workers=workers, submitter=submitter, drain_timeout=draw(st.sampled_from((0, 60))))


def _stop(world: World, container: str) -> None:
    world.engine.stop(container)


def _pause(world: World, container: str) -> None:
    world.engine.pause(container)


def _kill(world: World, container: str) -> None:
    world.engine.kill(container)


def _stop_daemons(world: World, container: str) -> None:
    found = world.engine.inspect_container(container)
    assert found is not None
    for unit in ("munge.service", "sshd.service", "slurmd.service", "slurmctld.service"):
        if world.machine.active(found, unit):
            world.slurm.stop_units(container, [unit])


def _remove_worker(world: World, container: str) -> None:
    found = world.engine.inspect_container(container)
    assert found is not None
    if found.labels[labels.ROLE] == "worker":
        world.engine.remove_container(container)


def _edit_configuration(world: World, container: str) -> None:
    found = world.engine.inspect_container(container)
    assert found is not None
    if found.labels[labels.ROLE] == "controller":
        world.engine.write(container, "/etc/slurm/slurm.conf", b"# edited by hand\nClusterName=other\n")


def _leave_the_network(world: World, container: str) -> None:
    found = world.engine.inspect_container(container)
    assert found is not None
    world.engine.disconnect(names.network(found.labels[labels.REALM], found.labels[labels.CLUSTER]), container)


DAMAGE: Mapping[str, Callable[[World, str], None]] = {
    "stop": _stop,
    "pause": _pause,
    "kill": _kill,
    "stop daemons": _stop_daemons,
    "remove a worker": _remove_worker,
    "edit slurm.conf": _edit_configuration,
    "leave the network": _leave_the_network,
}
"""What may happen to a node, by name."""


def _forget_records(world: World, realm: str) -> None:
    world.engine.write(names.dns_container(realm), "/Corefile", b"nonsense\n")


def _forget_hosts(world: World, realm: str) -> None:
    world.engine.write(names.relay_container(realm), "/root/.ssh/known_hosts", b"")


def _stop_dns(world: World, realm: str) -> None:
    world.engine.stop(names.dns_container(realm))


def _stop_relay(world: World, realm: str) -> None:
    world.engine.stop(names.relay_container(realm))


MESH_DAMAGE: Mapping[str, Callable[[World, str], None]] = {
    "break the Corefile": _forget_records,
    "empty known_hosts": _forget_hosts,
    "stop the DNS server": _stop_dns,
    "stop the relay": _stop_relay,
}
"""What may happen to a realm's mesh, by name."""


def nodes_of(world: World, cluster: Address) -> list[str]:
    """Return the containers of a cluster, sorted."""
    return sorted(
        found.name
        for found in world.engine.containers()
        if labels.of_cluster(found.labels, cluster.realm, cluster.cluster) and found.labels.get(labels.ROLE)
    )
