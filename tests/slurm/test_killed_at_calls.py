"""Thirty times kill -9, each at another call, in apply, replace and destroy: the next apply arrives, and no data is lost.

The calls of a first run, which nobody kills, are what the others are aimed at: one in so many, before the engine has it, while it
is at it, or when it is done.
"""

import hashlib
import io
import re
import signal
import tarfile
from operator import attrgetter

import docker
import pytest
from attrs import frozen

from tests.fault_proxy import fault_proxy
from tests.real import Lab, new_lab

pytestmark = pytest.mark.proof

WORKERS = [f"worker-{number}" for number in range(4)]
AIMS = 10
"""How many calls of each command are aimed at."""
WAYS = ("kill", "kill-under-way", "kill-done")
KEPT = {"munge": "munge.key", "data": "mine"}
"""A file in each volume that must not be lost."""
_ID = re.compile(r"\b[0-9a-f]{64}\b")


@frozen
class Aim:
    """A call: the so-maniest of its kind, which it is in every run, though others may come before it in another order."""

    kind: str
    number: int


@frozen
class Target:
    """A cluster of four workers, and what each command calls for when nobody kills it.

    Attributes:
        names: All there is when it stands.
        aims: What is aimed at, by command.
    """

    lab: Lab
    realm: str
    names: frozenset[str]
    aims: dict[str, list[Aim]]

    def arrives(self, before: dict[str, str]) -> None:
        """Apply once more and see that everything is there, once, and what was kept is as it was."""
        self.lab.apply()
        self.lab.settled()
        assert self.lab.names() == self.names
        assert self.lab.states(self.realm) == dict.fromkeys(WORKERS, "idle")
        hosts = self.lab.read(f"{self.realm}-dev-controller", "srun", "-N4", "hostname")
        assert sorted(hosts.split()) == WORKERS
        after = contents(self.lab, self.realm)
        assert {name: after[name] for name in before} == before


COMMANDS = {
    "apply": ("apply", ()),
    "replace": ("apply", ("--replace", "REALM/dev")),
    "destroy": ("destroy", ()),
}


def run(lab, realm, command, proxy):
    """Run a command behind a proxy; return its exit status."""
    name, options = COMMANDS[command]
    options = [option.replace("REALM", realm) for option in options]
    return lab.start(name, *options, DOCKER_HOST=proxy.address).wait()


def contents(lab, realm):
    """Return digests of what must not be lost, of the volumes that are there; no node need run for it."""
    found = {}
    for volume, name in KEPT.items():
        if f"{realm}-dev-{volume}" not in lab.volumes():
            continue
        mount = docker.types.Mount("/kept", f"{realm}-dev-{volume}", no_copy=True)
        config = lab.docker.create_host_config(mounts=[mount])
        reader = lab.docker.create_container(lab.image, host_config=config, name=f"{realm}-reader")["Id"]
        try:
            parts, _ = lab.docker.get_archive(reader, f"/kept/{name}")
            with tarfile.open(fileobj=io.BytesIO(b"".join(parts))) as tar:
                found[volume] = hashlib.sha256(tar.extractfile(name).read()).hexdigest()
        except docker.errors.NotFound:
            pass  # nothing was written yet
        finally:
            lab.docker.remove_container(reader)
    return found


def kind_of(call):
    """Return a pattern of a call and its like: ids are other ones in each run."""
    return _ID.sub("[0-9a-f]{64}", re.escape(call.what)) + "$"


def aims(seen):
    """Choose calls, evenly over a run."""
    changes = sorted((call for call in seen if call.number), key=attrgetter("number"))
    kinds = [kind_of(call) for call in changes]
    chosen = [round(at * (len(changes) - 1) / (AIMS - 1)) for at in range(AIMS)]
    return [Aim(kinds[at], kinds[: at + 1].count(kinds[at])) for at in chosen]


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    with new_lab(tmp_path_factory.mktemp("aimed")) as lab:
        realm = lab.realm()
        lab.declare(lab.cluster(realm, workers="count = 4"))
        found = {}
        names = frozenset()
        for command in COMMANDS:
            with fault_proxy(lab.address) as proxy:
                assert run(lab, realm, command, proxy) == 0
            found[command] = aims(proxy.seen)
            names = names or frozenset(lab.names())
        assert lab.names() == set()
        yield Target(lab, realm, names, found)


def strike(target, command, at):
    """Kill a command at one of its calls; return what was there of what must not be lost."""
    aim = target.aims[command][at]
    way = WAYS[at % len(WAYS)]
    with fault_proxy(target.lab.address, way, at=[aim.number], counting=aim.kind) as proxy:
        code = run(target.lab, target.realm, command, proxy)
        assert [call.fault for call in proxy.struck] == [way], f"{aim} did not come; exit status {code}"
    assert code == -signal.SIGKILL
    return contents(target.lab, target.realm)


@pytest.mark.parametrize("at", range(AIMS))
@pytest.mark.parametrize("command", COMMANDS)
def test_killed(target, command, at):
    lab, realm = target.lab, target.realm
    if command == "apply":
        lab.destroy()
        before = {}
    else:
        lab.apply()
        lab.read(f"{realm}-dev-controller", "sh", "-c", "[ -e /data/mine ] || head -c 64 /dev/urandom > /data/mine")
        before = contents(lab, realm)
        assert set(before) == set(KEPT)

    kept = strike(target, command, at)

    # What is gone was reached by a destroy, whole; a key that an apply wrote stays the one.
    assert before == {} or kept.items() <= before.items()
    assert command == "destroy" or kept.keys() >= before.keys()
    target.arrives(kept)
