"""Calls that fail on the real engine: everything is as before, or the next command arrives; nothing twice, no leak."""

import signal

import pytest
from attrs import define

from tests.aimed import (
    ARCHIVE,
    CONNECT,
    DISCONNECT,
    EXEC,
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
    counting,
    remove_volume,
    start,
)
from tests.fault_proxy import fault_proxy
from tests.real import Lab, new_lab, until

pytestmark = pytest.mark.proof

FAULTS = [
    Aim("make", "hang", VOLUME, 1),  # a minute: as long as sindplan waits for an answer
    Aim("make", "late", VOLUME, 2),
    Aim("make", "cut", NETWORK, 3),
    Aim("make", "late", NETWORK, 3),
    Aim("make", "cut", container("dns")),
    Aim("make", "drop", CONNECT),
    Aim("make", "late", container("dev-worker-0")),
    Aim("make", "refuse-done", container("dev-controller")),
    Aim("make", "drop-done", ARCHIVE, 3),
    Aim("make", "cut", EXEC, 1),
    Aim("make", "late", START, 3),
    Aim("make", "drop-done", START, 4),
    Aim("grow", "slow", RUN, 3),
    Aim("grow", "drop-done", container("dev-worker-1")),
    Aim("grow", "cut", RUN, 3),
    Aim("grow", "refuse", START, 1),
    Aim("replace", "late", RENAME, 1),
    Aim("replace", "drop-done", STOP, 1),
    Aim("replace", "late", REMOVE, 1),
    Aim("destroy", "drop-done", REMOVE, 2),
    Aim("destroy", "late", remove_volume("data")),
    Aim("destroy", "cut", DISCONNECT),
    Aim("destroy", "drop", REMOVE_NETWORK, 2),
]
HANGS = [
    Aim("make", "hang", NETWORK, 4),
    Aim("grow", "silence", container("dev-worker-1")),
    Aim("grow", "hang", START, 2),
    Aim("replace", "silence", START, 1),
    Aim("destroy", "silence", REMOVE, 2),
]


@define
class Site:
    """A realm for the cluster `dev`, which has one worker where something is there before."""

    lab: Lab
    realm: str

    def before(self, command: str) -> dict[str, object]:
        """Bring about what the command begins with, and declare what it is to end with; return all there is."""
        self.lab.declare(self.lab.cluster(self.realm))
        if command == "make":
            self.lab.destroy()
            assert self.lab.names() == set()
        else:
            self.lab.apply()
        before = self.seen()
        if command == "grow":
            self.lab.declare(self.lab.cluster(self.realm, workers="count = 2"))
        return before

    def seen(self) -> dict[str, object]:
        """Return all there is, when slurmctld has heard of its nodes again."""
        controller = f"{self.realm}-dev-controller"
        if self.lab.containers().get(controller, {}).get("State") == "running":
            self.lab.wait(controller, "! sinfo -hN -o %t | grep -q '[*]'")
        return self.lab.snapshot()

    def arrives(self, command: str) -> None:
        """Run the command again and see that everything is there, once, or gone."""
        if command == "destroy":
            self.lab.destroy()
            assert self.lab.names() == set()
            return
        self.lab.apply()
        self.arrived(command)

    def arrived(self, command: str) -> None:
        """See that everything is there, once."""
        self.lab.settled()
        workers = ["worker-0", "worker-1"] if command == "grow" else ["worker-0"]
        nodes = [f"dev-{name}" for name in ("controller", *workers)]
        assert set(self.lab.containers()) == {f"{self.realm}-{name}" for name in ("dns", "ssh", *nodes)}
        assert len(self.lab.networks()) == 3
        assert len(self.lab.volumes()) == 5
        hosts = self.lab.read(f"{self.realm}-dev-controller", "srun", f"-N{len(workers)}", "hostname")
        assert sorted(hosts.split()) == workers


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with new_lab(tmp_path_factory.mktemp("faults")) as lab:
        yield Site(lab, lab.realm())


@pytest.mark.parametrize("aim", FAULTS, ids=str)
def test_a_call_fails(site, aim):
    before = site.before(aim.command)

    with fault_proxy(site.lab.address, aim.way, at=[aim.number], counting=counting(aim, site.realm)) as proxy:
        running = start(site.lab, site.realm, aim.command, proxy)
        code = running.wait()

    assert [call.fault for call in proxy.struck] == [aim.way], running.err
    if code == 0:
        site.arrived(aim.command) if aim.command != "destroy" else site.arrives("destroy")
    else:
        assert code == 1, running.err
        if site.seen() == before:
            assert f"{site.realm}/dev is as it was before." in running.err
        else:
            site.arrives(aim.command)


@pytest.mark.parametrize("command", ["make", "grow", "replace", "destroy"])
def test_every_call_is_slow(site, command):
    site.before(command)

    with fault_proxy(site.lab.address, "slow", at=range(1, 10_000), counting="", seconds=0.2) as proxy:
        running = start(site.lab, site.realm, command, proxy)
        assert running.wait() == 0, running.err

    assert len(proxy.struck) == len(proxy.seen) > 20
    if command == "destroy":
        assert site.lab.names() == set()
    else:
        site.arrived(command)


@pytest.mark.parametrize("command", ["make", "grow"])
def test_the_last_worker_does_not_boot(site, command):
    """Three others run already; nothing of them stays, and what was there has its ids."""
    lab, realm = site.lab, site.realm
    before = site.before(command)
    lab.declare(lab.cluster(realm, workers="count = 4"))
    # After the DNS server, the relay, the controller and three workers; after the trial of the configuration and two.
    last = {"make": 7, "grow": 4}[command]

    with fault_proxy(lab.address, "refuse", at=[last], counting=START) as proxy:
        ran = lab.apply(code=1, DOCKER_HOST=proxy.address)

    assert sum(call.what.endswith("/start") for call in proxy.seen if call.number) == last
    assert "the fault proxy refuses POST" in ran.err
    assert f"{realm}/dev is as it was before." in ran.err
    assert site.seen() == before
    assert (lab.names() == set()) is (command == "make")


@pytest.mark.parametrize("aim", HANGS, ids=str)
def test_no_answer_comes_and_whoever_waits_gives_up(site, aim):
    """Ctrl-C twice ends it at once, whatever hangs."""
    site.before(aim.command)

    with fault_proxy(site.lab.address, aim.way, at=[aim.number], counting=counting(aim, site.realm)) as proxy:
        running = start(site.lab, site.realm, aim.command, proxy)
        until(lambda: proxy.struck != ())
        running.process.send_signal(signal.SIGINT)
        running.until("Interrupted")
        assert running.send(signal.SIGINT) == 130

    site.arrives(aim.command)
