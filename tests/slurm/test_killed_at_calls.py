"""Thirty times kill -9, each at another call or event, in apply, replace and destroy: the next apply arrives, no data is lost."""

import signal

import pytest
from attrs import Factory, define

from tests.aimed import (
    ARCHIVE,
    CONNECT,
    DISCONNECT,
    EXEC,
    KEPT,
    KILL,
    NETWORK,
    REMOVE,
    REMOVE_NETWORK,
    RENAME,
    RUN,
    START,
    STOP,
    VOLUME,
    Aim,
    container,
    contents,
    counting,
    remove_volume,
    start,
)
from tests.fault_proxy import fault_proxy
from tests.real import Lab, new_lab

pytestmark = pytest.mark.proof

WORKERS = [f"worker-{number}" for number in range(4)]
BEFORE, MIDST, DONE = "kill", "kill-under-way", "kill-done"
FILL = "head -c 64 /dev/urandom >/data/mine"

CALLS = [
    # the lock of the realm; the networks that find free addresses; those of the mesh and the cluster
    Aim("make", DONE, NETWORK, 1),
    Aim("make", DONE, VOLUME, 3),
    Aim("make", BEFORE, REMOVE_NETWORK, 2),
    Aim("make", MIDST, NETWORK, 4),
    Aim("make", DONE, container("ssh")),
    Aim("make", BEFORE, CONNECT),
    Aim("make", MIDST, container("dev-worker-3")),
    Aim("make", MIDST, ARCHIVE, 4),
    Aim("make", DONE, KILL),
    Aim("make", DONE, ARCHIVE, 7),
    Aim("make", BEFORE, START, 5),
    Aim("make", MIDST, RUN, 5),
    # the container in which a configuration is tried; the file itself
    Aim("change", MIDST, START, 1),
    Aim("change", DONE, ARCHIVE, 2),
    Aim("replace", BEFORE, EXEC, 2),
    Aim("replace", DONE, RENAME, 1),
    Aim("replace", MIDST, container("dev-controller")),
    Aim("replace", DONE, STOP, 1),
    Aim("replace", BEFORE, REMOVE, 1),
    Aim("replace", MIDST, RENAME, 2),
    Aim("replace", DONE, START, 2),
    Aim("destroy", DONE, RUN, 2),
    Aim("destroy", MIDST, REMOVE, 3),
    Aim("destroy", DONE, remove_volume("munge")),
    Aim("destroy", BEFORE, remove_volume("data")),
    Aim("destroy", BEFORE, DISCONNECT),
    Aim("destroy", DONE, REMOVE_NETWORK, 1),
]
EVENTS = [
    ("make", "container", "start", "REALM-dev-worker-2"),
    ("replace", "container", "die", "REALM-dev-worker-0-replaced"),
    ("destroy", "volume", "destroy", "REALM-dev-state"),
]
"""What is done, and what the engine says of which object when it is killed."""
LOOK = f"[ -e /data/mine ] || {FILL}; scontrol show config | grep MaxJobCount >&2; srun -N4 hostname"


@define
class Target:
    """A cluster of four workers, and the names of all there is when it stands."""

    lab: Lab
    realm: str
    names: list[str] = Factory(list)
    jobs: int = 1000

    def declare(self) -> None:
        """Declare it, with `jobs` as MaxJobCount."""
        more = f'[CLUSTER.slurm]\nmain = "MaxJobCount={self.jobs}"'
        self.lab.declare(self.lab.cluster(self.realm, workers="count = 4", more=more))

    def before(self, command: str) -> dict[str, str]:
        """Bring about what the command begins with; return what must not be lost."""
        if command == "make":
            self.lab.destroy()
            return {}
        if command == "change":
            self.jobs += 1
            self.declare()
        kept = contents(self.lab, self.realm)
        assert set(kept) == set(KEPT)
        return kept

    def arrives(self, command: str, before: dict[str, str]) -> None:
        """Apply once more and see that everything is there, once, and that what was kept is as it was."""
        kept = contents(self.lab, self.realm)
        # What is gone was reached by a destroy, whole; a key that an apply wrote stays the one.
        assert before == {} or kept.items() <= before.items()
        assert command == "destroy" or kept.keys() >= before.keys()

        self.lab.apply()

        self.lab.settled()
        assert names(self.lab) == self.names
        controller = f"{self.realm}-dev-controller"
        done = self.lab.execute(controller, "sh", "-c", LOOK)
        assert (sorted(done.out.split()), done.err.split()[-1]) == (WORKERS, str(self.jobs)), done
        after = contents(self.lab, self.realm)
        assert {name: after[name] for name in kept} == kept


def names(lab):
    """Return the names of all there is; the record of what was applied has two by turns."""
    return sorted(name.removesuffix("-next") for name in lab.names())


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    with new_lab(tmp_path_factory.mktemp("aimed")) as lab:
        target = Target(lab, lab.realm())
        target.declare()
        lab.apply()
        target.names = names(lab)
        lab.read(f"{target.realm}-dev-controller", "sh", "-c", FILL)
        yield target


@pytest.mark.parametrize("aim", CALLS, ids=str)
def test_killed_at_a_call(target, aim):
    before = target.before(aim.command)

    with fault_proxy(target.lab.address, aim.way, at=[aim.number], counting=counting(aim, target.realm)) as proxy:
        running = start(target.lab, target.realm, aim.command, proxy)
        code = running.wait()
    assert [call.fault for call in proxy.struck] == [aim.way], running.err
    assert code == -signal.SIGKILL

    target.arrives(aim.command, before)


@pytest.mark.parametrize(("command", "kind", "action", "name"), EVENTS)
def test_killed_at_an_event(target, command, kind, action, name):
    lab, realm = target.lab, target.realm
    before = target.before(command)
    since, wanted = lab.now(), name.replace("REALM", realm)

    running = start(lab, realm, command)
    for event in lab.events(since):
        named = event["Actor"]["Attributes"].get("name", event["Actor"]["ID"])
        if (event["Type"], event["Action"], named) == (kind, action, wanted):
            break
    assert running.send(signal.SIGKILL) == -signal.SIGKILL, running.err

    target.arrives(command, before)


def test_there_are_thirty_of_every_kind():
    aims = {(aim.command, aim.call, aim.number) for aim in CALLS}
    assert len(aims) + len(set(EVENTS)) == len(CALLS) + len(EVENTS) == 30
