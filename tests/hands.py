"""What hands can do to a cluster: each damage with what sindplan is to see of it.

On the simulated engine and its Slurm; which of these the real ones do alike, the long suite shows (tests/slurm/test_drift.py).
"""

from collections.abc import Callable, Mapping

from attrs import evolve, frozen

from sindplan.engine.records import Container, Entry
from sindplan.kinds import labels
from sindplan.kinds.database import SQL_FILE
from sindplan.kinds.dns import COREFILE
from sindplan.kinds.key import FILES
from sindplan.kinds.relay import KNOWN_HOSTS, PRIVATE_KEY
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.slurm.accounting import AccountChange, AccountingChange, UserChange
from sindplan.slurm.files import CONFIG
from tests.world import World

UNITS = "/etc/systemd/system"
WANTS = f"{UNITS}/multi-user.target.wants"
AUTHORIZED = "/root/.ssh/authorized_keys"


class DoesNotFit(Exception):
    """The damage cannot be done here: what it is done to is not there, or does not run."""


@frozen
class Hand:
    """A hand in a world, at a cluster.

    Attributes:
        cluster: Whose nodes it touches.
    """

    world: World
    cluster: Address

    @property
    def realm(self) -> str:
        """The cluster's realm."""
        return self.cluster.realm

    @property
    def dns(self) -> str:
        """The DNS container."""
        return self.there(names.dns_container(self.realm))

    @property
    def relay(self) -> str:
        """The relay's container."""
        return self.there(names.relay_container(self.realm))

    @property
    def network(self) -> str:
        """The cluster's network."""
        return names.network(*self.cluster.parts)

    def node(self, short: str, *, running: bool = False) -> str:
        """Return the container of a node."""
        return self.there(names.container(*self.cluster.parts, short), running=running)

    def seen(self, short: str) -> Container:
        """Return a node as it is."""
        found = self.world.engine.inspect_container(self.node(short))
        assert found is not None
        return found

    def there(self, name: str, *, running: bool = False) -> str:
        """Return the name of a container, which must be there, and run where that is asked for."""
        found = self.world.engine.inspect_container(name)
        if found is None or (running and found.state != "running"):
            raise DoesNotFit(name)
        return name

    def entry(self, container: str, path: str) -> Entry:
        """Return a file that must be there."""
        if not self.world.engine.has_file(container, path):
            raise DoesNotFit(path)
        found = self.world.engine.get_files(container, path)[path]
        if found.kind == "dir":
            raise DoesNotFit(path)
        return found

    def put(self, container: str, path: str, content: bytes, **more: object) -> None:
        """Write a file."""
        self.world.engine.put_files(container, [evolve(Entry(path=path, content=content), **more)])

    def change(self, container: str, path: str, **more: object) -> None:
        """Change a file that is there."""
        self.world.engine.put_files(container, [evolve(self.entry(container, path), **more)])

    def delete(self, container: str, path: str) -> None:
        """Remove a file that is there."""
        self.entry(container, path)
        self.world.engine.delete(container, path)

    def volume(self, kind: str) -> str:
        """Return the name of a volume that is there."""
        name = names.volume(*self.cluster.parts, kind)
        if name not in {volume.name for volume in self.world.engine.volumes()}:
            raise DoesNotFit(name)
        return name


@frozen(kw_only=True)
class Damage:
    """What a hand does.

    Attributes:
        sees: Addresses of what the plan then changes, below the cluster's; with `@mesh/` below the realm's.
        no_drift: Whether it is somebody's own business, which no plan says a word of.
        removes: Names of the containers that it takes away, as they are called in `sind/dev`.
    """

    do: Callable[[Hand], None]
    sees: tuple[str, ...] = ()
    no_drift: bool = False
    removes: frozenset[str] = frozenset()

    def __call__(self, hand: Hand) -> None:
        """Do it.

        Raises:
            DoesNotFit: It cannot be done here, or was done already. Nothing has changed.
        """
        before = hand.world.snapshot()
        self.do(hand)
        if hand.world.snapshot() == before:
            raise DoesNotFit


def _verb(verb: str, short: str) -> Callable[[Hand], None]:
    return lambda hand: _tell(hand, verb, names.container(*hand.cluster.parts, short))


def _tell(hand: Hand, verb: str, container: str) -> None:
    """Stop, kill or pause a container that runs, or remove one whatever it does."""
    getattr(hand.world.engine, verb)(hand.there(container, running=verb != "remove_container"))


def _rename(hand: Hand) -> None:
    if any(found.name == "mine" for found in hand.world.engine.containers()):
        raise DoesNotFit("mine")
    hand.world.engine.rename(hand.node("worker-0"), "mine")


def _limits(hand: Hand) -> None:
    hand.world.engine.update_limits(hand.node("worker-0"), 7, 3 * 1024**3)


def _off_the_cluster(hand: Hand) -> None:
    hand.world.engine.disconnect(hand.network, hand.node("worker-0"))


def _off_the_mesh(hand: Hand) -> None:
    hand.world.engine.disconnect(names.mesh_network(hand.realm), hand.node("worker-0"))


def _other_address(hand: Hand) -> None:
    container = hand.node("worker-0")
    if hand.world.engine.inspect_network(hand.network) is None:
        raise DoesNotFit(hand.network)
    hand.world.engine.disconnect(hand.network, container)
    hand.world.engine.connect(hand.network, container)


def _edit(path: str, text: bytes = b"# by hand\n") -> Callable[[Hand], None]:
    def do(hand: Hand) -> None:
        controller = hand.node("controller")
        found = hand.entry(controller, f"{CONFIG}/{path}")
        hand.put(controller, found.path, found.content + text, mode=found.mode, uid=found.uid, gid=found.gid)

    return do


def _file(path: str, **more: object) -> Callable[[Hand], None]:
    return lambda hand: hand.change(hand.node("controller"), path, **more)


def _gone(path: str, short: str = "controller") -> Callable[[Hand], None]:
    return lambda hand: hand.delete(hand.node(short), path)


def _as_a_link(hand: Hand) -> None:
    controller = hand.node("controller")
    path = f"{CONFIG}/cgroup.conf"
    hand.delete(controller, path)
    hand.world.engine.put_files(controller, [Entry(path=path, kind="link", link="/tmp/other.conf")])


def _own_files(hand: Hand) -> None:
    controller = hand.node("controller")
    for path in ("mine.conf", "slurm.conf.d/99-mine.conf", "slurm.key.old"):
        hand.put(controller, f"{CONFIG}/{path}", b"# mine\n")


def _daemon(short: str, *units: str) -> Callable[[Hand], None]:
    def do(hand: Hand) -> None:
        node = hand.node(short, running=True)
        if not any(hand.world.machine.active(hand.seen(short), unit) for unit in units):
            raise DoesNotFit(units)
        hand.world.slurm.stop_units(node, units)

    return do


def _mask(short: str, unit: str, *, now: bool) -> Callable[[Hand], None]:
    def do(hand: Hand) -> None:
        node = hand.node(short, running=True)
        hand.world.engine.put_files(node, [Entry(path=f"{UNITS}/{unit}", kind="link", link="/dev/null")])
        if now:
            hand.world.slurm.stop_units(node, [unit])

    return do


def _sacctmgr(change: AccountingChange) -> Callable[[Hand], None]:
    def do(hand: Hand) -> None:
        controller = hand.node("controller", running=True)
        view = hand.world.slurm.accounting(controller)
        touched = {*change.accounts, *change.gone, *change.users}
        if view is None or not touched <= {*view.accounts, *view.users}:
            raise DoesNotFit(change)
        hand.world.slurm.change_accounting(controller, change)

    return do


def _scontrol(reason: str) -> Callable[[Hand], None]:
    def do(hand: Hand) -> None:
        controller = hand.node("controller", running=True)
        view = hand.world.slurm.view(controller)
        if view is None or "worker-0" not in view.nodes:
            raise DoesNotFit("worker-0")
        hand.world.slurm.drain(controller, ["worker-0"], reason)

    return do


def _down(hand: Hand) -> None:
    controller = hand.seen("controller")
    view = hand.world.slurm.view(controller.id) if controller.state == "running" else None
    if view is None or "worker-0" not in view.nodes:
        raise DoesNotFit("worker-0")
    hand.world.machine.controller(controller).down.add("worker-0")


def _corefile(edit: Callable[[str], str]) -> Callable[[Hand], None]:
    def do(hand: Hand) -> None:
        found = hand.entry(hand.dns, COREFILE)
        hand.put(hand.dns, COREFILE, edit(found.content.decode()).encode())

    return do


def _without_line(word: str) -> Callable[[str], str]:
    return lambda text: "".join(line for line in text.splitlines(keepends=True) if word not in line)


def _other_record(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(f"        10.9.9.9 {line.split()[1]}\n" if " worker-0." in line else line for line in lines)


def _more_records(hand: Hand) -> None:
    name = names.fqdn(*hand.cluster.parts, "worker-77")
    _corefile(lambda text: text.replace("        fallthrough", f"        10.9.9.9 {name}\n        fallthrough"))(hand)


def _records_elsewhere(hand: Hand) -> None:
    _corefile(lambda text: text.replace("        fallthrough", "        10.9.9.9 mine.sind\n        fallthrough"))(hand)


def _known_hosts(edit: Callable[[str], str]) -> Callable[[Hand], None]:
    def do(hand: Hand) -> None:
        found = hand.entry(hand.relay, KNOWN_HOSTS)
        hand.put(hand.relay, KNOWN_HOSTS, edit(found.content.decode()).encode())

    return do


def _other_key(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(f"{line.split()[0]} ssh-ed25519 AAAA\n" if line.startswith("worker-0.") else line for line in lines)


def _mesh(verb: str, service: str) -> Callable[[Hand], None]:
    return lambda hand: _tell(hand, verb, getattr(hand, service))


def _relay_with_its_key(hand: Hand) -> None:
    hand.world.engine.remove_container(hand.relay)
    hand.world.engine.remove_volume(names.ssh_volume(hand.realm))


def _relay_off(network: str) -> Callable[[Hand], None]:
    def do(hand: Hand) -> None:
        which = hand.network if network == "cluster" else names.mesh_network(hand.realm)
        hand.world.engine.disconnect(which, hand.relay)

    return do


def nodes_of(hand: Hand) -> list[str]:
    """Return the cluster's containers, sorted."""
    return sorted(
        found.name
        for found in hand.world.engine.containers()
        if labels.of_cluster(found.labels, *hand.cluster.parts) and found.labels.get(labels.ROLE)
    )


def _remove_network(hand: Hand) -> None:
    found = hand.world.engine.inspect_network(hand.network)
    if found is None:
        raise DoesNotFit(hand.network)
    relay = hand.relay
    for name in nodes_of(hand):
        hand.world.engine.stop(name)
    # Docker lets containers that stopped keep an endpoint of what is gone.
    hand.world.engine.disconnect(hand.network, relay)
    hand.world.engine.remove_network(found.id)


def _remove_record(hand: Hand) -> None:
    for network in hand.world.engine.networks():
        if (network.labels.get(labels.RECORD_REALM), network.labels.get(labels.RECORD_CLUSTER)) == hand.cluster.parts:
            hand.world.engine.remove_network(network.id)


KEY = FILES["munge"].path
LIMIT = AccountChange(parent="root", limits={"MaxJobs": "9"})
MOVED = AccountChange(parent="physics", limits={})

DAMAGE: Mapping[str, Damage] = {
    # Containers
    "stop a worker": Damage(do=_verb("stop", "worker-0"), sees=("node/worker-0",)),
    "kill a worker": Damage(do=_verb("kill", "worker-0"), sees=("node/worker-0",)),
    "pause a worker": Damage(do=_verb("pause", "worker-0"), sees=("node/worker-0",)),
    "remove a worker": Damage(
        do=_verb("remove_container", "worker-0"),
        sees=("node/worker-0", "@mesh/known-host/worker-0"),
        removes=frozenset({"sind-dev-worker-0"}),
    ),
    "stop the controller": Damage(do=_verb("stop", "controller"), sees=("node/controller",)),
    "pause the controller": Damage(do=_verb("pause", "controller"), sees=("node/controller",)),
    "remove the controller": Damage(
        do=_verb("remove_container", "controller"),
        sees=("node/controller",),
        removes=frozenset({"sind-dev-controller"}),
    ),
    "stop the database": Damage(do=_verb("stop", "db"), sees=("node/db",)),
    "remove the database's node": Damage(
        do=_verb("remove_container", "db"), sees=("node/db",), removes=frozenset({"sind-dev-db"})
    ),
    "remove the submitter": Damage(
        do=_verb("remove_container", "submitter"), sees=("node/submitter",), removes=frozenset({"sind-dev-submitter"})
    ),
    "restart the engine": Damage(
        do=lambda hand: hand.world.engine.restart_daemon(),
        sees=("node/controller", "node/db", "node/worker-0", "node/worker-1", "@mesh/dns", "@mesh/relay"),
    ),
    "rename a worker": Damage(do=_rename, sees=("node/worker-0",)),
    "docker update": Damage(do=_limits, sees=("node/worker-0",)),
    "off the cluster's network": Damage(do=_off_the_cluster, sees=("node/worker-0",)),
    "off the mesh": Damage(do=_off_the_mesh, sees=("node/worker-0",)),
    "another address": Damage(do=_other_address, sees=("node/worker-0",)),
    # Files
    "edit slurm.conf": Damage(do=_edit("slurm.conf"), sees=("file/slurm.conf", "service/controller/slurmctld")),
    "edit the nodes' file": Damage(do=_edit("sind-nodes.conf"), sees=("file/sind-nodes.conf",)),
    "edit slurmdbd.conf": Damage(do=_edit("slurmdbd.conf"), sees=("file/slurmdbd.conf", "service/db/slurmdbd")),
    "remove cgroup.conf": Damage(do=_gone(f"{CONFIG}/cgroup.conf"), sees=("file/cgroup.conf",)),
    "remove slurm.conf": Damage(do=_gone(f"{CONFIG}/slurm.conf"), sees=("file/slurm.conf",)),
    "remove a fragment": Damage(do=_gone(f"{CONFIG}/slurm.conf.d/10-a.conf"), sees=("file/slurm.conf.d/10-a.conf",)),
    "a file's mode": Damage(do=_file(f"{CONFIG}/slurm.conf", mode=0o600), sees=("file/slurm.conf",)),
    "a file's owner": Damage(do=_file(f"{CONFIG}/slurm.conf", uid=1234, gid=99), sees=("file/slurm.conf",)),
    "slurmdbd.conf for all": Damage(do=_file(f"{CONFIG}/slurmdbd.conf", mode=0o644), sees=("file/slurmdbd.conf",)),
    "a link in a file's place": Damage(do=_as_a_link, sees=("file/cgroup.conf",)),
    "files of one's own": Damage(do=_own_files, no_drift=True),
    # Keys
    "remove the munge key": Damage(do=_gone(KEY), sees=("key/munge",)),
    "open the munge key": Damage(do=_file(KEY, mode=0o644), sees=("key/munge",)),
    "give the munge key to root": Damage(do=_file(KEY, uid=0, gid=0), sees=("key/munge",)),
    "remove the jwt key": Damage(do=_gone(FILES["jwt"].path), sees=("key/jwt",)),
    "open the jwt key": Damage(do=_file(FILES["jwt"].path, mode=0o644), sees=("key/jwt",)),
    "empty the munge key": Damage(do=_file(KEY, content=b""), sees=("key/munge",)),
    # Daemons
    "stop slurmd": Damage(do=_daemon("worker-0", "slurmd.service"), sees=("service/worker-0/slurmd",)),
    "stop munge": Damage(
        do=_daemon("worker-0", "slurmd.service", "munge.service"),
        sees=("service/worker-0/munge", "service/worker-0/slurmd"),
    ),
    "stop slurmctld": Damage(do=_daemon("controller", "slurmctld.service"), sees=("service/controller/slurmctld",)),
    "stop sshd": Damage(do=_daemon("worker-0", "sshd.service"), sees=("service/worker-0/sshd",)),
    "stop the database's daemons": Damage(
        do=_daemon("db", "slurmdbd.service", "mariadb.service"), sees=("service/db/mariadb", "service/db/slurmdbd")
    ),
    "mask slurmd": Damage(do=_mask("worker-0", "slurmd.service", now=False), sees=("boot/worker-0",)),
    "mask and stop slurmd": Damage(
        do=_mask("worker-0", "slurmd.service", now=True), sees=("boot/worker-0", "service/worker-0/slurmd")
    ),
    "mask sshd": Damage(do=_mask("submitter", "sshd.service", now=False), sees=("boot/submitter",)),
    "disable slurmd": Damage(do=_gone(f"{WANTS}/slurmd.service", "worker-0"), sees=("boot/worker-0",)),
    "disable slurmctld": Damage(do=_gone(f"{WANTS}/slurmctld.service"), sees=("boot/controller",)),
    "remove a drop-in": Damage(do=_gone(f"{UNITS}/slurmdbd.service.d/sindplan.conf", "db"), sees=("boot/db",)),
    "take the relay's key away": Damage(do=_gone(AUTHORIZED, "worker-0"), sees=("boot/worker-0",)),
    "add a key of one's own": Damage(
        do=lambda hand: hand.put(
            hand.node("worker-0"),
            AUTHORIZED,
            hand.entry(hand.node("worker-0"), AUTHORIZED).content + b"ssh-ed25519 AAAA me\n",
        ),
        no_drift=True,
    ),
    # DNS and known hosts
    "change a record": Damage(do=_corefile(_other_record), sees=("@mesh/record/worker-0",)),
    "remove a record": Damage(do=_corefile(_without_line(" worker-0.")), sees=("@mesh/record/worker-0",)),
    "add a record": Damage(do=_more_records, sees=("@mesh/record/worker-77",)),
    "records of others": Damage(do=_records_elsewhere, no_drift=True),
    "break the Corefile": Damage(do=_corefile(lambda _: "nonsense\n"), sees=("@mesh/record/controller",)),
    "change a known host": Damage(do=_known_hosts(_other_key), sees=("@mesh/known-host/worker-0",)),
    "empty known_hosts": Damage(do=_known_hosts(lambda _: ""), sees=("@mesh/known-host/worker-0",)),
    "remove known_hosts": Damage(
        do=lambda hand: hand.delete(hand.relay, KNOWN_HOSTS), sees=("@mesh/known-host/worker-0",)
    ),
    "known hosts of others": Damage(do=_known_hosts(lambda text: f"other ssh-rsa AAAA\n{text}"), no_drift=True),
    "stop the DNS server": Damage(do=_mesh("stop", "dns"), sees=("@mesh/dns",)),
    "pause the DNS server": Damage(do=_mesh("pause", "dns"), sees=("@mesh/dns",)),
    "remove the DNS server": Damage(
        do=_mesh("remove_container", "dns"), sees=("@mesh/dns",), removes=frozenset({"sind-dns"})
    ),
    "stop the relay": Damage(do=_mesh("stop", "relay"), sees=("@mesh/relay",)),
    "remove the relay": Damage(
        do=_mesh("remove_container", "relay"), sees=("@mesh/relay",), removes=frozenset({"sind-ssh"})
    ),
    "remove the relay and its key": Damage(
        do=_relay_with_its_key, sees=("@mesh/relay", "boot/worker-0"), removes=frozenset({"sind-ssh"})
    ),
    "relay off the cluster's network": Damage(do=_relay_off("cluster"), sees=("network",)),
    "relay off the mesh": Damage(do=_relay_off("mesh"), sees=("@mesh/relay",)),
    "remove the relay's public key": Damage(
        do=lambda hand: hand.delete(hand.relay, f"{PRIVATE_KEY}.pub"), sees=("@mesh/relay",)
    ),
    # Networks
    "remove the network": Damage(do=_remove_network, sees=("network", "node/worker-0")),
    "remove the record": Damage(do=_remove_record, sees=("record",)),
    # Slurm
    "drain a node": Damage(do=_scontrol("maintenance"), no_drift=True),
    "set a node down": Damage(do=_down, sees=("slurm/node/worker-0",)),
    "change a limit": Damage(
        do=_sacctmgr(AccountingChange(accounts={"physics": LIMIT})), sees=("slurm/account/physics",)
    ),
    "move an account": Damage(
        do=_sacctmgr(AccountingChange(accounts={"chemistry": MOVED})), sees=("slurm/account/chemistry",)
    ),
    "remove a user of accounts": Damage(
        do=_sacctmgr(AccountingChange(users={"alice": UserChange(left=("physics",))})), sees=("slurm/user/alice",)
    ),
    "remove the database's statements": Damage(do=_gone(SQL_FILE, "db"), sees=("boot/db",)),
}
"""By name."""
