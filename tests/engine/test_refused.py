"""What sindplan refuses on a real engine: in one clear line, with exit status 1, and nothing touched."""

import os
import shutil
import socket
import subprocess
import sys
import threading

import pytest

from tests.real import Ran

pytestmark = pytest.mark.engine


# Things of others in the way


def test_a_volume_in_the_way(lab):
    """Docker would give it out without a word, data and all (FC-35)."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm))
    name = f"{realm}-dev-data"
    lab.docker.create_volume(name)
    holder = _holding(lab, name, f"{realm}-stranger")
    lab.read(holder, "sh", "-c", "echo mine > /mine/file")
    before = lab.objects()

    assert f"A volume named '{name}' exists" in lab.plan(code=1).err
    ran = lab.apply(code=1)

    assert f"A volume named '{name}' exists" in ran.err
    assert "Nothing was changed." in ran.err
    assert lab.objects() == before
    assert lab.read(holder, "cat", "/mine/file") == "mine"


def test_a_container_in_the_way(lab):
    realm = lab.realm()
    lab.declare(lab.cluster(realm))
    name = f"{realm}-dev-worker-0"
    lab.docker.create_container(lab.image, ["sleep", "infinity"], name=name)
    before = lab.objects()

    ran = lab.apply(code=1)

    assert f"A container named '{name}' exists" in ran.err
    assert lab.objects() == before


def test_a_network_in_the_way(lab):
    realm = lab.realm()
    lab.declare(lab.cluster(realm))
    name = f"{realm}-mesh"
    lab.docker.create_network(name, labels={"sind.realm": "another"})
    before = lab.objects()

    ran = lab.apply(code=1)

    assert f"A network named '{name}' exists" in ran.err
    assert lab.objects() == before


def test_everything_in_the_way_is_said_at_once(lab):
    realm = lab.realm()
    lab.declare(lab.cluster(realm))
    lab.docker.create_volume(f"{realm}-ssh-config")
    lab.docker.create_container(lab.image, ["sleep", "infinity"], name=f"{realm}-dns")
    lab.docker.create_container(lab.image, ["sleep", "infinity"], name=f"{realm}-ssh")
    lab.docker.create_network(f"{realm}-dev-net")

    err = lab.apply(code=1).err

    for kind, name in (("volume", "ssh-config"), ("container", "dns"), ("container", "ssh"), ("network", "dev-net")):
        assert f"A {kind} named '{realm}-{name}' exists" in err


def test_a_volume_that_somebody_else_uses_outlives_destroy(lab):
    """The rest goes; what is left is named, and gone once it is free (FC-28)."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm))
    lab.apply()
    holder = _holding(lab, f"{realm}-dev-data", f"{realm}-stranger")

    ran = lab.destroy(code=1)

    assert f"The volume '{realm}-dev-data' is still used by a container that sindplan did not make" in ran.err
    assert holder in lab.containers()
    assert f"{realm}-dev-data" in lab.names()
    assert f"{realm}-dev-worker-0" not in lab.names()
    lab.docker.remove_container(holder, force=True)
    lab.destroy()
    assert lab.names() == set()


def _holding(lab, volume, name):
    """Start somebody else's container that uses a volume."""
    host = lab.docker.create_host_config(binds={volume: {"bind": "/mine"}}, init=True)
    lab.docker.create_container(lab.image, name=name, entrypoint=["sleep", "infinity"], host_config=host)
    lab.docker.start(name)
    return name


# Images


@pytest.mark.parametrize("reference", ["localhost:1/sindplan/none:1", "sindplan-there-is-none:0"])
def test_an_image_that_cannot_be_had(lab, reference):
    """Pulling comes before everything else."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, image=reference))

    assert f"The image '{reference}' is not on the engine" in lab.plan(code=2).err
    ran = lab.apply(code=1)

    assert "Error: " in ran.err
    assert reference in ran.err.partition("Error: ")[2]
    assert lab.names() == set()


def test_more_than_the_host_has(lab):
    realm = lab.realm()
    lab.declare(lab.cluster(realm, workers='count = 1\ncpus = 4000\nmemory = "900t"'))

    err = lab.apply(code=1).err

    assert f"{realm}/dev/node/worker-0 wants 4000 CPUs" in err
    assert f"{realm}/dev/node/worker-0 wants 900t" in err
    assert lab.names() == set()


def test_without_a_yes_nothing_happens(lab):
    """There is no terminal to ask on, and no --auto-approve."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm))

    err = lab.sindplan("apply", "-f", str(lab.file), code=1).err

    assert "--auto-approve" in err
    assert lab.names() == set()


# The engine


def _one_line(ran, *words):
    """Check that an error is one line, or two with its remedy."""
    lines = ran.err.strip().splitlines()
    assert lines[0].startswith("Error: ")
    assert len(lines) <= 2, ran.err
    assert all(word in ran.err for word in words), ran.err
    assert ran.out == ""


@pytest.fixture
def declared(lab):
    lab.declare(lab.cluster(lab.realm()))
    return lab


@pytest.mark.parametrize("command", ["plan", "apply", "destroy"])
def test_no_daemon(declared, command):
    address = f"unix://{declared.folder}/none.sock"

    ran = declared.sindplan(command, "-f", str(declared.file), code=1, DOCKER_HOST=address)

    _one_line(ran, address)


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "nonsense", "unix:///etc/passwd", "http://[", "tcp://host.invalid:2375"]
)
def test_an_address_where_no_daemon_is(declared, address):
    ran = declared.sindplan("plan", "-f", str(declared.file), code=1, seconds=30, DOCKER_HOST=address)

    _one_line(ran)


def test_a_daemon_that_this_user_may_not_use(declared):
    """The socket is there, and closed to whoever asks."""
    path = declared.folder / "closed.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        path.chmod(0)
        ran = _without_powers(declared, "plan", "-f", str(declared.file), DOCKER_HOST=f"unix://{path}")

    assert ran.code == 1
    _one_line(ran, str(path), "Join the group")


def _without_powers(lab, *arguments, **environment):
    """Run sindplan so that file modes hold for it: as root, without root's capability to pass over them."""
    command = [sys.executable, "-m", "sindplan", *arguments]
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv")
        assert setpriv is not None, "setpriv (util-linux) is needed to give up root's powers"
        command = [setpriv, "--inh-caps=-all", "--bounding-set=-all", *command]
    done = subprocess.run(
        command, env=lab.environment(**environment), capture_output=True, text=True, timeout=30, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_a_daemon_that_hangs(declared):
    """It takes the connection and never answers."""
    path = declared.folder / "hung.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        ran = declared.sindplan("apply", "-f", str(declared.file), code=1, seconds=60, DOCKER_HOST=f"unix://{path}")

    _one_line(ran, str(path))
    assert ran.seconds < 30


@pytest.mark.parametrize("answer", [b"", b"not HTTP at all\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]"])
def test_something_that_is_no_daemon(declared, answer):
    path = declared.folder / "other.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        server.settimeout(30)
        threading.Thread(target=_answering, args=(server, answer), daemon=True).start()
        ran = declared.sindplan("plan", "-f", str(declared.file), code=1, seconds=60, DOCKER_HOST=f"unix://{path}")

    _one_line(ran)


def _answering(server, answer):
    try:
        while True:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)
    except OSError:
        return
