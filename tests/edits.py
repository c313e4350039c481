"""Generated edits of a declaration that this version does in place, and damage that a hand may do to what runs."""

from collections.abc import Callable, Mapping

from attrs import evolve
from hypothesis import strategies as st

from sindplan.engine.records import Entry
from sindplan.kinds import labels
from sindplan.kinds.key import FILES
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.declaration import Api, Cluster, Database, Declaration, Mesh, Realm, Submitter, WorkerGroup
from sindplan.model.layout import is_managed
from sindplan.model.names import ACCOUNTING_CLUSTER_NAME_MAX
from sindplan.slurm.files import CONFIG
from sindplan.slurm.port import PROGRAMS
from tests.strategies import IMAGES
from tests.world import World

_MESHES = (
    Mesh(),
    Mesh(dns_image="dns:1"),
    Mesh(relay_image=IMAGES[0]),
    Mesh(dns_image=IMAGES[0], relay_image=IMAGES[1]),
)


@st.composite
def edited(draw: st.DrawFn, declaration: Declaration) -> Declaration:
    """Draw another declaration: workers and servers come and go, Slurm's lines and texts and images of the mesh change, clusters stay."""
    realms: dict[str, Realm] = {}
    for realm, spec in declaration.realms.items():
        clusters = {
            name: draw(_edited_cluster(cluster, can_account=len(name) <= ACCOUNTING_CLUSTER_NAME_MAX))
            for name, cluster in spec.clusters.items()
        }
        mesh = draw(st.sampled_from((spec.mesh, spec.mesh, *_MESHES)))
        realms[realm] = evolve(spec, clusters=clusters, mesh=mesh)
    return evolve(declaration, realms=realms)


@st.composite
def _edited_cluster(draw: st.DrawFn, cluster: Cluster, *, can_account: bool) -> Cluster:
    workers: dict[str, WorkerGroup] = {}
    for name, group in cluster.workers.items():
        if not draw(st.booleans()):
            # The size of a group of numbered nodes is in its node set.
            power = draw(st.sampled_from((group.power, group.power, "on", "off")))
            resized = group if group.nodes else evolve(group, count=draw(st.integers(0, 3)))
            workers[name] = evolve(resized, power=power)
    if draw(st.booleans()):
        workers["added"] = WorkerGroup(count=draw(st.integers(0, 2)))
    submitter = draw(st.sampled_from((cluster.submitter, None, cluster.submitter or Submitter())))
    # A partition of groups that are gone would be refused.
    left = {name: [one for one in table.workers if one in workers] for name, table in cluster.partitions.items()}
    partitions = {
        name: evolve(cluster.partitions[name], workers=tuple(members)) for name, members in left.items() if members
    }
    changed = evolve(
        cluster,
        workers=workers,
        partitions=partitions,
        submitter=submitter,
        drain_timeout=draw(st.sampled_from((0, 60))),
    )
    if draw(st.booleans()):
        changed = draw(_with_other_servers(changed, can_account=can_account))
    powered = draw(_with_other_power(changed))
    knows_less = cluster.identity == "client_ids" and cluster.submitter is None and powered.submitter is not None
    # With a submitter the controller is no login node any more: a boot adds users and removes none, so it must be on.
    return evolve(powered, power="on") if knows_less else powered


@st.composite
def _with_other_power(draw: st.DrawFn, cluster: Cluster) -> Cluster:
    there = {names.BACKUP: cluster.controller.backup, names.SUBMITTER: cluster.submitter is not None}
    single = [*(short for short, is_there in there.items() if is_there), "worker-[0,2]"]
    off = draw(st.one_of(st.none(), st.sampled_from(single)))
    return evolve(cluster, power=draw(st.sampled_from((cluster.power, "on", "on", "off"))), powered_off=off)


@st.composite
def _with_other_servers(draw: st.DrawFn, cluster: Cluster, *, can_account: bool) -> Cluster:
    controller = evolve(cluster.controller, backup=draw(st.booleans()))
    api = draw(st.sampled_from((cluster.api, None, cluster.api or Api())))
    db, slurm = cluster.db, cluster.slurm
    if is_managed(cluster):
        if can_account and draw(st.booleans()):
            db = db or Database()
        slurm = evolve(slurm, main=draw(st.sampled_from((slurm.main, "MaxJobCount=7\n", "SlurmctldPort=7000\n"))))
        if db is not None and db.managed is not False:
            slurm = evolve(slurm, slurmdbd=draw(st.sampled_from((slurm.slurmdbd, None, "PurgeJobAfter=1month\n"))))
    return evolve(cluster, controller=controller, api=api, db=db, slurm=slurm)


def _stop(world: World, container: str) -> None:
    world.engine.stop(container)


def _pause(world: World, container: str) -> None:
    _if_running(world, container, world.engine.pause)


def _kill(world: World, container: str) -> None:
    _if_running(world, container, world.engine.kill)


def _if_running(world: World, container: str, do: Callable[[str], None]) -> None:
    """Do something to a node that runs; one that is off is started by the same hand."""
    found = world.engine.inspect_container(container)
    assert found is not None
    (do if found.state == "running" else world.engine.start)(container)


def _stop_daemons(world: World, container: str) -> None:
    found = world.engine.inspect_container(container)
    assert found is not None
    for unit in PROGRAMS:
        if world.machine.active(found, unit):
            world.slurm.stop_units(container, [unit])


def _stop_last_daemon(world: World, container: str) -> None:
    """Stop the daemon that a node is there for: slurmdbd and not MariaDB, slurmctld and not munge."""
    found = world.engine.inspect_container(container)
    assert found is not None
    running = [unit for unit in PROGRAMS if world.machine.active(found, unit)]
    if running:
        world.slurm.stop_units(container, running[-1:])


def _remove_worker(world: World, container: str) -> None:
    found = world.engine.inspect_container(container)
    assert found is not None
    if found.labels[labels.ROLE] == "worker":
        world.engine.remove_container(container)


def _remove(world: World, container: str) -> None:
    world.engine.remove_container(container)


def _edit_configuration(world: World, container: str) -> None:
    found = world.engine.inspect_container(container)
    assert found is not None
    if found.labels[labels.ROLE] == "controller":
        world.engine.write(container, "/etc/slurm/slurm.conf", b"# edited by hand\nClusterName=other\n")


def _edit_database_configuration(world: World, container: str) -> None:
    found = world.engine.inspect_container(container)
    assert found is not None
    path = f"{CONFIG}/slurmdbd.conf"
    if found.labels[labels.ROLE] == "controller" and world.engine.has_file(container, path):
        # As an editor leaves it that writes files anew.
        edited_ = Entry(path=path, content=b"# edited by hand\nStoragePass=by-hand\nDebugLevel=debug\n", mode=0o644)
        world.engine.put_files(container, [edited_])


def _open_a_key(world: World, container: str) -> None:
    found = world.engine.inspect_container(container)
    assert found is not None
    if found.spec.hostname == names.CONTROLLER:
        for file in FILES.values():
            for entry in world.engine.get_files(container, file.path).values():
                world.engine.put_files(container, [evolve(entry, mode=0o644, uid=0, gid=0)])


def _put_a_file(world: World, container: str) -> None:
    found = world.engine.inspect_container(container)
    assert found is not None
    if found.labels[labels.ROLE] == "controller":
        world.engine.put_files(container, [Entry(path=f"{CONFIG}/slurm.conf.d/mine.conf", content=b"# mine\n")])


def _leave_the_network(world: World, container: str) -> None:
    found = world.engine.inspect_container(container)
    assert found is not None
    world.engine.disconnect(names.network(found.labels[labels.REALM], found.labels[labels.CLUSTER]), container)


DAMAGE: Mapping[str, Callable[[World, str], None]] = {
    "stop": _stop,
    "pause": _pause,
    "kill": _kill,
    "stop daemons": _stop_daemons,
    "stop the last daemon": _stop_last_daemon,
    "remove": _remove,
    "remove a worker": _remove_worker,
    "edit slurm.conf": _edit_configuration,
    "edit slurmdbd.conf": _edit_database_configuration,
    "open a key": _open_a_key,
    "put a file of one's own": _put_a_file,
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
