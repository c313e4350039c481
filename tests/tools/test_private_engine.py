"""tools/engine: a private engine of its own, killed and started again, with a cluster on it. Needs root."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import docker
import docker.errors
import pytest

from sindplan.engine.docker_sdk import connect
from tests.fake_volume_plugin import volume_plugin
from tests.real import Running

REPO = Path(__file__).parents[2]
NAME = "restart-test"
OPTIONS = ("--private", "--name", NAME)

pytestmark = pytest.mark.proof


def _tool(*words: str, code: int = 0) -> str:
    done = subprocess.run(
        [REPO / "tools" / words[0], *words[1:], *OPTIONS], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == code, done
    return done.stdout


def _sindplan(address: str, *words: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "sindplan", *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "DOCKER_HOST": address},
    )
    assert done.returncode == code, done
    return done.stdout


def _client(address: str) -> docker.APIClient:
    return docker.APIClient(base_url=address, version="1.48")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Start an engine of our own and return its DOCKER_HOST.

    Everything of it is removed afterwards, and beforehand what a run that was killed has left.
    """
    _tool("engine", "remove")
    _tool("engine", "start")
    try:
        yield _tool("engine", "env").strip().removeprefix("export DOCKER_HOST=").strip("'\"")
    finally:
        _tool("engine", "remove")


@pytest.fixture(scope="module")
def tag(address: str) -> str:
    """Return the node image on that engine."""
    return _tool("image").strip().splitlines()[-1]


@pytest.fixture
def file(tag: str, tmp_path: Path) -> Path:
    """Return a state file with a cluster of two workers."""
    found = tmp_path / "sindplan.toml"
    text = f'version = 1\nname = "again"\n[realms.again.clusters.dev]\nimage = "{tag}"\nworkers.cpu.count = 2\n'
    found.write_text(text, encoding="utf-8")
    return found


def _dockerd(address: str) -> int:
    """Return the pid of the engine behind a socket."""
    socket = address.removeprefix("unix://")
    state = Path(socket).parents[1]
    return int(re.findall(r"[0-9]+", (state / "pid").read_text())[0])


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_the_machine_keeps_its_mounts_and_interfaces() -> None:
    def look() -> tuple[list[str], list[str]]:
        interfaces = sorted(path.name for path in Path("/sys/class/net").iterdir())
        return interfaces, sorted(line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines())

    _tool("engine", "remove")
    before = look()
    _tool("engine", "start")
    try:
        assert look() == before
    finally:
        _tool("engine", "remove")
    assert look() == before
    assert _tool("engine", "status", code=3)


def _left(client: docker.APIClient) -> dict[str, int]:
    """Return how many things an engine holds, by sort."""
    return {
        "containers": len(client.containers(all=True)),
        "networks": len(client.networks()),
        "volumes": len(client.volumes()["Volumes"] or []),
        "plugins": len(client.plugins()),
        "images": len(client.images()),
    }


def test_what_a_killed_run_left_is_cleared_away(address: str, tag: str) -> None:
    """A running container on a network with a volume, and a volume whose plugin is gone; images stay."""
    client = _client(address)
    before = _left(client)
    client.create_network("left")
    node = client.create_container(tag, name="left", volumes=["/data"])["Id"]
    client.connect_container_to_network(node, "left")
    client.start(node)
    # The plugin itself is cleared away, and then not found at the end of its block.
    with contextlib.suppress(docker.errors.NotFound), volume_plugin(address, "left:latest", {}):
        client.create_volume("left", driver="left:latest")
        held = _left(client)
        _tool("engine", "clear")
    assert {sort: held[sort] - count for sort, count in before.items()} == {
        "containers": 1,
        "networks": 1,
        "volumes": 2,
        "plugins": 1,
        "images": 0,
    }
    assert _left(client) == before


def test_starting_twice_is_starting_once(address: str) -> None:
    before = _dockerd(address)

    _tool("engine", "start")

    assert _dockerd(address) == before
    assert "running" in _tool("engine", "status")


def test_the_socket_is_its_owners_alone(address: str) -> None:
    folder = Path(address.removeprefix("unix://")).parent

    assert folder.stat().st_mode & 0o777 == 0o700


def _kill(address: str) -> None:
    pid = _dockerd(address)
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while not _gone(pid):
        assert time.monotonic() < deadline


def _works(address: str) -> None:
    engine = connect(address)
    hosts = engine.execute("again-dev-controller", ["srun", "-N2", "hostname"]).out
    engine.close()
    assert sorted(hosts.split()) == ["worker-0", "worker-1"]


def _names(address: str) -> set[str]:
    client = _client(address)
    containers = {name.removeprefix("/") for row in client.containers(all=True) for name in row["Names"]}
    networks = {row["Name"].removesuffix("-next") for row in client.networks()} - {"bridge", "host", "none"}
    return {*containers, *networks, *(row["Name"] for row in client.volumes()["Volumes"] or ())}


def test_a_cluster_outlives_its_engine(address: str, file: Path) -> None:
    """A killed engine comes up again; the plan then starts every node as it was, and jobs run."""
    _sindplan(address, "apply", "-f", str(file), "--auto-approve")
    before = {row["Names"][0]: row["Id"] for row in _client(address).containers(all=True)}

    _kill(address)
    _tool("engine", "start")

    _sindplan(address, "plan", "-f", str(file), "--detailed-exitcode", code=2)
    _sindplan(address, "apply", "-f", str(file), "--auto-approve")
    _sindplan(address, "plan", "-f", str(file), "--detailed-exitcode", code=0)
    client = _client(address)
    assert {row["Names"][0]: row["Id"] for row in client.containers(all=True)} == before
    _works(address)
    _sindplan(address, "destroy", "-f", str(file), "--auto-approve")
    assert client.containers(all=True) == []


@pytest.mark.parametrize(
    ("way", "line"),
    [
        # Not killed there: an engine that is killed while it makes a volume may come back with one that has no labels.
        ("restart", "/dev/volume/"),
        ("kill", "/dev/node/controller: creating"),
        ("restart", "/dev/node/worker-0: starting"),
    ],
)
def test_an_engine_that_restarts_in_the_middle_of_an_apply(address: str, file: Path, way: str, line: str) -> None:
    """It fails and says so, or succeeds; the next apply arrives."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sindplan", "apply", "-f", str(file), "--auto-approve"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "DOCKER_HOST": address},
    )
    running = Running(process)
    running.until(line)
    if way == "kill":
        _kill(address)
    _tool("engine", "start" if way == "kill" else "restart")

    code = running.wait()

    assert code in (0, 1)
    assert code == 0 or "\nError: " in running.err
    _sindplan(address, "apply", "-f", str(file), "--auto-approve")
    _sindplan(address, "plan", "-f", str(file), "--detailed-exitcode", code=0)
    _works(address)
    nodes = {f"again-dev-{name}" for name in ("controller", "worker-0", "worker-1")}
    volumes = {f"again-dev-{kind}" for kind in ("config", "data", "munge", "state")}
    mesh = {f"again-{name}" for name in ("dns", "ssh", "mesh", "ssh-config")}
    assert _names(address) == nodes | volumes | mesh | {"again-dev-net", "again-dev-record"}
    _sindplan(address, "destroy", "-f", str(file), "--auto-approve")
    assert _names(address) == set()
