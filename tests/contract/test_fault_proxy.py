"""The fault proxy itself: what passes it as it is, and each fault at the call that was asked for."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import docker
import pytest

from sindplan.engine.docker_sdk import connect
from sindplan.engine.records import Entry
from sindplan.errors import EngineError, EngineRefused, EngineTimeout, NotFound
from tests.contract.stage import Stage, real
from tests.fault_proxy import FAULTS, READS, READS_AND_COMMANDS, Fault, fault_proxy

pytestmark = pytest.mark.engine

MIB = 2**20
CREATES = "POST /networks/create"


@pytest.fixture(scope="module")
def address():
    """The real engine's address."""
    with_engine = real()
    next(with_engine)
    yield os.environ["SINDPLAN_TEST_ENGINE"]
    next(with_engine, None)


@pytest.fixture
def direct(address):
    """A place on the real engine, not through a proxy."""
    engine = connect(address)
    stage = Stage(engine)
    yield stage
    stage.clean()
    engine.close()


def names(stage):
    """Return the short names of this test's networks."""
    prefix = stage.name("")
    found = (network.name for network in stage.engine.networks())
    return {name.removeprefix(prefix) for name in found if name.startswith(prefix)}


def behind(stage, proxy):
    """Return the same place behind a proxy."""
    return Stage(connect(proxy.address), run=stage.run)


def test_commands_archives_and_output_pass(address, direct):
    with fault_proxy(address) as proxy:
        stage = behind(direct, proxy)
        one, two = stage.running("one"), stage.running("two")
        done = stage.engine.execute(one, ["sh", "-c", "head -c 5000000 /dev/zero; echo said >&2; exit 3"])
        assert (len(done.out), done.err, done.code) == (5_000_000, "said\n", 3)
        large = Entry(path="/srv/large", content=os.urandom(3 * MIB))
        stage.engine.put_files(one, [large])
        # One archive runs into another container, in chunks.
        stage.engine.copy_files(one, two, "/srv/large")
        assert stage.engine.get_files(two, "/srv/large")["/srv/large"].content == large.content
        assert stage.engine.has_file(two, "/srv/large")
        assert not stage.engine.has_file(two, "/srv/small")
        # Refused before all of it is sent.
        with pytest.raises(NotFound):
            stage.engine.put_files(stage.name("none"), [large])
        with pytest.raises(NotFound):
            stage.engine.copy_files(one, stage.name("none"), "/etc")
        stage.engine.close()

        assert proxy.struck == ()
        assert sum(call.what.startswith("POST /exec/") for call in proxy.seen) == 1
        assert [call.number for call in proxy.seen if call.what.startswith(("GET", "HEAD"))].count(0) >= 3


def test_a_connection_that_is_taken_over_passes_both_ways(address, direct):
    """As `docker exec -i` does: what is written comes back, and the end of the input is an end."""
    container = direct.running()
    with fault_proxy(address) as proxy:
        client = docker.APIClient(base_url=proxy.address, version="auto")
        made = client.exec_create(container, ["sh", "-c", "cat; echo end"], stdin=True)
        taken = client.exec_start(made["Id"], socket=True)
        sock = taken._sock
        sock.sendall(b"there and back\n")
        heard = b""
        while b"there and back\n" not in heard:
            heard += sock.recv(1000)
        sock.shutdown(1)
        while part := sock.recv(1000):
            heard += part
        assert heard.endswith(b"end\n")
        taken._response.close()
        taken.close()
        client.close()


def test_events_pass_as_they_come_and_end_when_nobody_listens(address, direct):
    with fault_proxy(address) as proxy:
        client = docker.APIClient(base_url=proxy.address, version="auto")
        events = client.events(decode=True, filters={"type": "network"})
        network = direct.network()
        assert any(event["Actor"]["ID"] == network for event in events)
        events.close()
        client.close()


@pytest.mark.parametrize(
    ("fault", "error", "done"),
    [
        ("refuse", EngineRefused, False),
        ("drop", EngineTimeout, False),
        ("refuse-done", EngineRefused, True),
        ("drop-done", EngineTimeout, True),
        ("cut", EngineError, True),
        ("late", EngineTimeout, False),
        ("slow", None, True),
    ],
)
def test_the_nth_call_fails(address, direct, fault, error, done):
    with fault_proxy(address, fault, at=[2], counting=CREATES, later=2, seconds=0.1) as proxy:
        stage = behind(direct, proxy)
        stage.network("one")
        if error is None:
            stage.network("two")
        else:
            with pytest.raises(error):
                stage.network("two")
        assert ("two" in names(direct)) is done
        stage.network("three")
        stage.network("four")
        stage.engine.close()

        assert {"one", "three", "four"} <= names(direct)
        assert ("two" in names(direct)) is (done or fault == "late")
        assert [(call.number, call.fault) for call in proxy.struck] == [(2, fault)]
        assert proxy.count == 4


def test_what_is_late_is_done_in_the_end(address, direct):
    with fault_proxy(address, "late", at=[1], counting=CREATES) as proxy:
        stage = behind(direct, proxy)
        with pytest.raises(EngineTimeout):
            stage.network("one")
        stage.engine.close()
        assert "one" not in names(direct)
    assert "one" in names(direct)


@pytest.mark.parametrize(("fault", "done"), [("hang", False), ("silence", True)])
def test_no_answer_comes_until_the_client_leaves(address, direct, fault, done):
    with fault_proxy(address, fault, at=[1], counting=CREATES) as proxy:
        client = docker.APIClient(base_url=proxy.address, version="1.48", timeout=1)
        with pytest.raises(Exception, match="timed out"):
            client.create_network(direct.name("one"), labels=direct.labels)
        client.close()
        assert [call.fault for call in proxy.struck] == [fault]
    assert ("one" in names(direct)) is done


@pytest.mark.parametrize(("fault", "done"), [("kill", False), ("kill-under-way", None), ("kill-done", True)])
def test_whoever_calls_is_killed(address, direct, fault, done):
    script = (
        "import docker, sys\n"
        "client = docker.APIClient(base_url=sys.argv[1], version='1.48')\n"
        "client.create_network(sys.argv[2], labels={sys.argv[3]: sys.argv[4]})\n"
        "print('alive')\n"
    )
    ((label, value),) = direct.labels.items()
    with fault_proxy(address, fault, at=[1], counting=CREATES) as proxy:
        arguments = [sys.executable, "-c", script, proxy.address, direct.name("one"), label, value]
        ran = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == -signal.SIGKILL
    assert ran.stdout == ""
    if done is not None:
        assert ("one" in names(direct)) is done


@pytest.mark.parametrize(("passing", "commands"), [(READS, False), (READS_AND_COMMANDS, True)])
def test_only_what_may_pass_does(address, direct, passing, commands):
    container = direct.running()
    with fault_proxy(address, passing=passing) as proxy:
        stage = behind(direct, proxy)
        assert stage.engine.inspect_container(container).state == "running"
        assert stage.engine.get_files(container, "/etc/hostname")
        if commands:
            assert stage.engine.execute(container, ["true"]).code == 0
        for call in (stage.network, lambda: stage.engine.stop(container)):
            with pytest.raises(EngineRefused) as caught:
                call()
            assert caught.value.status == 403
        stage.engine.close()
    assert direct.engine.inspect_container(container).state == "running"


def test_many_at_once(address, direct):
    """Numbers are given once each, and one fault strikes one call."""
    failed = []
    with fault_proxy(address, "refuse", at=[7], counting=CREATES) as proxy:
        stage = behind(direct, proxy)

        def create(number):
            try:
                stage.network(f"n{number}", internal=True)
            except EngineRefused:
                failed.append(number)

        threads = [threading.Thread(target=create, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        stage.engine.close()
        assert sorted(call.number for call in proxy.seen if call.number) == list(range(1, 13))
    assert len(failed) == 1
    assert {f"n{number}" for number in range(12)} - names(direct) == {f"n{failed[0]}"}


def test_the_socket_is_its_owner_s_alone_and_goes(address):
    with fault_proxy(address) as proxy:
        folder = Path(proxy.socket).parent
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()
    with pytest.raises(ValueError, match="is no socket"), fault_proxy("tcp://127.0.0.1:2375"):
        pass


def test_every_fault_is_described():
    assert set(FAULTS) == set(Fault.__args__)


def test_a_command_runs_behind_it_and_its_calls_are_listed(address, direct):
    """As `tools/fault-proxy` runs it; the exit status is the command's."""
    script = (
        "import docker, sys\n"
        "client = docker.APIClient(**docker.utils.kwargs_from_env(), version='1.48')\n"
        "client.create_network(sys.argv[1], labels={sys.argv[2]: sys.argv[3]})\n"
    )
    ((label, value),) = direct.labels.items()

    def run(*options):
        arguments = [sys.executable, "-m", "tests.fault_proxy_command", "--engine", address, *options]
        command = [sys.executable, "-c", script, direct.name("one"), label, value]
        return subprocess.run([*arguments, *command], capture_output=True, text=True, check=False, timeout=60)

    killed = run("--fault", "kill", "--at", "1")
    assert killed.returncode == 128 + signal.SIGKILL
    assert killed.stderr == "    1       POST /networks/create  (kill)\n"
    ran = run("--every-call")
    assert (ran.returncode, ran.stderr) == (0, "    1  201  POST /networks/create\n")
    assert names(direct) == {"one"}
    refused = run("--pass", "reads")
    assert refused.stderr.endswith("    1  403  POST /networks/create  (refused)\n")
    usage = run("--engine", "tcp://127.0.0.1:2375")
    assert usage.returncode == 2
    assert "only an engine of this machine" in usage.stderr


def test_without_a_command_it_is_there_until_its_input_ends(address):
    arguments = [sys.executable, "-m", "tests.fault_proxy_command", "--engine", address]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        client = docker.APIClient(base_url=running.stdout.readline().strip(), version="1.48")
        assert client.ping()
        client.close()
        running.stdin.close()
        assert running.wait(30) == 0
