"""Ways to an engine, and everything that may answer instead of one."""

import contextlib
import gc
import hashlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
import requests

from sindplan.engine import connect as places
from sindplan.engine import transport
from sindplan.engine.calls import Call
from sindplan.engine.docker_sdk import connect
from sindplan.engine.records import Executed
from sindplan.errors import Conflict, EngineError, EngineRefused, EngineTimeout, EngineUnreachable, NotFound

VERSION = {"ApiVersion": "1.51", "Version": "28.5.2"}
Respond = Callable[[str], bytes | Iterator[bytes] | None]


def answer(body: object, status: str = "200 OK") -> bytes:
    """Return an HTTP answer."""
    data = json.dumps(body).encode()
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def _request(stream: BinaryIO) -> str:
    """Read a request whole, and return its first line: head and body come in two pieces, and are one."""
    first = stream.readline()
    length = 0
    while (line := stream.readline()).strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    stream.read(length)
    return first.decode().strip()


def _handle(link: socket.socket, respond: Respond, done: threading.Event) -> None:
    with link, link.makefile("rb") as stream, contextlib.suppress(OSError):
        while request := _request(stream):
            said = respond(request)
            if said is None:
                return
            if not said:
                done.wait()
                return
            for part in (said,) if isinstance(said, bytes) else said:
                link.sendall(part)
            if not isinstance(said, bytes):
                return


@contextlib.contextmanager
def serving(path: Path, respond: Respond, links: list[socket.socket] | None = None) -> Iterator[str]:
    """Serve on a socket: `respond` gets the request line; None closes the connection, b"" says nothing for ever.

    After an answer in parts it is closed, too. All connections are put into `links`.
    """
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(path))
    server.listen()
    done = threading.Event()

    def accept() -> None:
        with contextlib.suppress(OSError):
            while not done.is_set():
                link, _ = server.accept()
                links.append(link)
                thread = threading.Thread(target=_handle, args=(link, respond, done))
                thread.start()
                threads.append(thread)

    links = [] if links is None else links
    threads = [threading.Thread(target=accept)]
    threads[0].start()
    try:
        yield f"unix://{path}"
    finally:
        done.set()
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        for link in links:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(5)


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """Be nobody for a while, who is root otherwise: root may use any socket."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch, tmp_path):
    """No address, context or certificate from outside."""
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    (tmp_path / "docker").mkdir()
    return tmp_path


def context(folder: Path, name: str, host: str, *, current: bool = False) -> None:
    """Make a docker context, as docker's own command does."""
    place = folder / "docker/contexts/meta" / hashlib.sha256(name.encode()).hexdigest()
    place.mkdir(parents=True)
    meta = {"Name": name, "Metadata": {}, "Endpoints": {"docker": {"Host": host, "SkipTLSVerify": False}}}
    (place / "meta.json").write_text(json.dumps(meta))
    if current:
        (folder / "docker/config.json").write_text(json.dumps({"currentContext": name}))


class TestPlace:
    def test_default(self):
        assert places.find().address == "unix:///var/run/docker.sock"

    def test_order_is_docker_s(self, monkeypatch, bare_environment):
        context(bare_environment, "here", "tcp://192.0.2.1:2375", current=True)
        assert places.find().address == "tcp://192.0.2.1:2375"
        context(bare_environment, "there", "ssh://me@192.0.2.2")
        monkeypatch.setenv("DOCKER_CONTEXT", "there")
        assert places.find().address == "ssh://me@192.0.2.2"
        monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.3:2375")
        assert places.find().address == "tcp://192.0.2.3:2375"
        assert places.find("unix:///x").address == "unix:///x"

    def test_default_context_by_name(self, monkeypatch, bare_environment):
        context(bare_environment, "here", "tcp://192.0.2.1:2375", current=True)
        monkeypatch.setenv("DOCKER_CONTEXT", "default")

        assert places.find().address == "unix:///var/run/docker.sock"

    @pytest.mark.parametrize("variable", [True, False])
    def test_missing_context(self, monkeypatch, bare_environment, variable):
        if variable:
            monkeypatch.setenv("DOCKER_CONTEXT", "gone")
        else:
            (bare_environment / "docker/config.json").write_text('{"currentContext": "gone"}')

        with pytest.raises(EngineUnreachable, match="no docker context of that name") as caught:
            connect()
        assert caught.value.fix

    def test_damaged_context(self, bare_environment):
        context(bare_environment, "here", "tcp://192.0.2.1:2375", current=True)
        next(bare_environment.glob("docker/contexts/meta/*/meta.json")).write_text("{")

        with pytest.raises(EngineUnreachable, match="cannot be read"):
            connect()

    def test_missing_certificates(self, monkeypatch, bare_environment):
        monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.1:2376")
        monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
        monkeypatch.setenv("DOCKER_CERT_PATH", str(bare_environment))

        with pytest.raises(EngineUnreachable, match="certificates cannot be used"):
            connect()


class TestNobody:
    @pytest.mark.parametrize(
        "address",
        [
            "unix:///no/such.sock",
            "/no/such.sock",
            "unix:///etc/passwd",
            "unix:///etc/passwd/x",
            "tcp://127.0.0.1:1",
            "tcp://",
            "tcp://127.0.0.1:port",
            "tcp://no-such-host.invalid:2375",
            "http://[",
            "foo://bar",
            "garbage::x y",
            "\x00",
            "ä",
            "ssh://",
            "ssh://me@host:2222",
            "unix://" + "x" * 200,
        ],
    )
    def test_is_one_sentence_and_a_remedy(self, address):
        with pytest.raises(EngineUnreachable) as caught:
            connect(address)

        assert caught.value.summary.endswith(".")
        assert "\n" not in caught.value.summary
        assert caught.value.fix

    def test_only_a_missing_daemon_tells_of_the_private_engine(self):
        with pytest.raises(EngineUnreachable) as missing:
            connect("unix:///no/such.sock")
        with pytest.raises(EngineUnreachable) as garbage:
            connect("foo://bar")

        assert 'eval "$(tools/engine env)"' in missing.value.fix
        assert "tools/engine" not in garbage.value.fix

    def test_no_permission(self):
        place = places.Place(address="unix:///x", origin="DOCKER_HOST")
        inner = requests.exceptions.ConnectionError(("Connection aborted.", PermissionError(13, "Permission denied")))
        inner.__context__ = PermissionError(13, "Permission denied")

        with (
            pytest.raises(EngineUnreachable, match="may not use the Docker socket") as caught,
            transport.translated(place, Call(verb="info", name="", method="GET", path="/info")),
        ):
            raise inner
        assert "group" in caught.value.fix

    def test_a_socket_of_somebody_else(self, tmp_path):
        """Nothing is tried to get around what the socket's mode says."""
        with serving(tmp_path / "s", lambda _: answer(VERSION)) as address:
            (tmp_path / "s").chmod(0)
            with unprivileged(), pytest.raises(EngineUnreachable, match="may not use the Docker socket") as caught:
                connect(address)
        assert "group" in caught.value.fix


class TestStrangers:
    @pytest.mark.parametrize(
        "said",
        [
            b"SSH-2.0-OpenSSH_10.0\r\n",
            b"\x00\x01\x02\x03\r\n\r\n",
            answer({"hello": "world"}),
            answer([1, 2]),
            answer("x"),
            answer({"ApiVersion": 7}),
            answer({"message": "page not found"}, "404 Not Found"),
            answer({"message": "Client sent an HTTP request to an HTTPS server."}, "400 Bad Request"),
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n<htm>",
            b"HTTP/1.1 301 Moved\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
        ],
    )
    def test_are_no_docker_engine(self, tmp_path, said):
        with serving(tmp_path / "s", lambda _: said) as address:
            with pytest.raises(EngineUnreachable, match="no Docker Engine") as caught:
                connect(address)
            assert caught.value.fix

    def test_one_that_hangs_up(self, tmp_path):
        with (
            serving(tmp_path / "s", lambda _: None) as address,
            pytest.raises(EngineUnreachable, match="broke"),
        ):
            connect(address)

    def test_one_that_hangs(self, tmp_path, monkeypatch):
        monkeypatch.setattr(transport, "FIRST", 0.3)
        started = time.monotonic()
        with serving(tmp_path / "s", lambda _: b"") as address, pytest.raises(EngineUnreachable, match="it hangs"):
            connect(address)

        assert time.monotonic() - started < 3


class TestEngines:
    def test_an_old_one_still_tells_what_it_is(self, tmp_path):
        asked: list[str] = []

        def respond(line: str) -> bytes:
            asked.append(line)
            if "version" in line:
                return answer({"ApiVersion": "1.41", "Version": "20.10.24"})
            if "plugins" in line:
                return answer({"message": "Forbidden"}, "403 Forbidden")
            info = {"ID": "x", "NCPU": 2, "CgroupVersion": "1", "ServerVersion": "20.10.24"}
            return answer(info, "200 OK\r\nApi-Version: 1.41")

        with serving(tmp_path / "s", respond) as address:
            engine = connect(address)
            info = engine.info()
            engine.close()

        assert (info.version, info.api_version, info.cgroup_version) == ("20.10.24", "1.41", "1")
        assert info.volume_plugins == ("local",)
        assert "GET /v1.41/info HTTP/1.1" in asked

    def test_a_new_one_is_spoken_to_in_the_known_version(self, tmp_path):
        asked: list[str] = []

        def respond(line: str) -> bytes:
            asked.append(line)
            return answer({"ApiVersion": "1.60"} if "version" in line else [])

        with serving(tmp_path / "s", respond) as address:
            engine = connect(address)
            assert engine.containers() == ()
            engine.close()

        assert asked[-1].startswith(f"GET /v{transport.NEWEST_API}/containers/json")

    def test_a_change_that_breaks_off_has_an_unknown_outcome(self, tmp_path):
        with serving(tmp_path / "s", lambda line: answer(VERSION) if "version" in line else None) as address:
            engine = connect(address)
            with pytest.raises(EngineTimeout, match="its outcome is unknown"):
                engine.start("c")
            with pytest.raises(EngineUnreachable):
                engine.containers()
            engine.close()

    def test_a_change_without_an_answer_has_an_unknown_outcome(self, tmp_path):
        call = Call(verb="start", name="c", method="POST", path="/containers/c/start", timeout=0.3)
        with serving(tmp_path / "s", lambda line: answer(VERSION) if "version" in line else b"") as address:
            found = transport.negotiate(places.find(address))
            with pytest.raises(EngineTimeout, match=r"start 'c' within 0\.3 seconds; its outcome is unknown"):
                found.send(call)
            found.close()

    def test_a_body_that_stops_half_way(self, tmp_path):
        half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[1,"
        call = Call(verb="containers", name="", method="GET", path="/containers/json", timeout=0.3)
        with serving(tmp_path / "s", lambda line: answer(VERSION) if "version" in line else half) as address:
            found = transport.negotiate(places.find(address))
            with pytest.raises(EngineTimeout):
                found.ask(call, list)
            with pytest.raises(EngineTimeout), found.open(call) as opened:
                list(opened.parts(0.2))
            found.close()

    @pytest.mark.parametrize(
        ("status", "body", "text"),
        [
            ("500 Internal Server Error", {"message": "boom\n"}, "boom"),
            ("500 Internal Server Error", {"other": 1}, "other"),
            ("503 Service Unavailable", ["x"], "x"),
        ],
    )
    def test_refusals_keep_the_engine_s_words(self, tmp_path, status, body, text):
        with serving(
            tmp_path / "s", lambda line: answer(VERSION) if "version" in line else answer(body, status)
        ) as address:
            engine = connect(address)
            with pytest.raises(EngineRefused, match=text) as caught:
                engine.pause("c")
            engine.close()

        assert (caught.value.verb, caught.value.name, caught.value.status) == ("pause", "c", int(status[:3]))

    @pytest.mark.parametrize(
        ("body", "status", "kind"),
        [
            ({"message": "pull access denied for x, repository does not exist"}, "404 Not Found", NotFound),
            ({"error": "pull access denied for x, repository does not exist"}, "200 OK", NotFound),
            ({"error": "manifest for x:1 not found: manifest unknown: manifest unknown"}, "200 OK", NotFound),
            ({"message": "Get https://x/v2/: dial tcp: no such host"}, "500 Internal Server Error", EngineRefused),
            ({"error": "unauthorized: authentication required"}, "200 OK", EngineRefused),
        ],
    )
    def test_what_no_registry_has_is_told_from_what_cannot_be_pulled_now(self, tmp_path, body, status, kind):
        """Docker says the first with a status, or in the stream of an answer that began with 200."""
        with serving(
            tmp_path / "s", lambda line: answer(VERSION) if "version" in line else answer(body, status)
        ) as address:
            engine = connect(address)
            with pytest.raises(EngineRefused) as caught:
                engine.pull("x:1")
            engine.close()

        assert type(caught.value) is kind

    def test_engine_that_goes_away_and_comes_back(self, tmp_path):
        with serving(tmp_path / "s", lambda line: answer(VERSION if "version" in line else [])) as address:
            engine = connect(address)
            assert engine.networks() == ()
        with pytest.raises(EngineError):
            engine.networks()
        (tmp_path / "s").unlink()
        with serving(tmp_path / "s", lambda _: answer([])):
            assert engine.networks() == ()
        engine.close()

    def test_nothing_stays_open(self, tmp_path):
        """An unclosed socket would be a warning, which is an error here."""
        for _ in range(20):
            with pytest.raises(EngineUnreachable):
                connect(f"unix://{tmp_path}/none")
        gc.collect()


class TestLateBookkeeping:
    """Docker is asked again where it is known to lag, and only there."""

    @staticmethod
    def engine(answers: dict[str, list[bytes]], asked: list[str]) -> Respond:
        """Answer each request by the next of its answers, the last one for ever."""

        def respond(line: str) -> bytes:
            asked.append(line)
            for part, queue in answers.items():
                if part in line:
                    return queue.pop(0) if len(queue) > 1 else queue[0]
            return answer(VERSION)

        return respond

    IN_USE = answer({"message": "remove v: volume is in use - [0123]"}, "409 Conflict")
    DONE = b"HTTP/1.1 204 No Content\r\n\r\n"

    def test_a_volume_that_nobody_has_is_tried_again(self, tmp_path):
        asked: list[str] = []
        answers = {"/volumes/v": [self.IN_USE, self.IN_USE, self.DONE], "/containers/json": [answer([])]}
        with serving(tmp_path / "s", self.engine(answers, asked)) as address:
            engine = connect(address)
            engine.remove_volume("v")
            engine.close()

        assert sum("DELETE" in line for line in asked) == 3

    def test_a_volume_that_someone_has_is_not(self, tmp_path):
        asked: list[str] = []
        answers = {"/volumes/v": [self.IN_USE], "/containers/json": [answer([{"Id": "stranger"}])]}
        with serving(tmp_path / "s", self.engine(answers, asked)) as address:
            engine = connect(address)
            with pytest.raises(Conflict, match="in use"):
                engine.remove_volume("v")
            engine.close()

        assert sum("DELETE" in line for line in asked) == 1

    def test_trying_has_an_end(self, tmp_path, monkeypatch):
        pauses: list[float] = []
        monkeypatch.setattr("time.sleep", pauses.append)
        answers = {"/volumes/v": [self.IN_USE], "/containers/json": [answer([])]}
        with serving(tmp_path / "s", self.engine(answers, [])) as address:
            engine = connect(address)
            with pytest.raises(Conflict):
                engine.remove_volume("v")
            engine.close()

        assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6]

    def test_a_removal_under_way_is_awaited(self, tmp_path):
        asked: list[str] = []
        busy = answer({"message": "removal of container c is already in progress"}, "409 Conflict")
        there = (Path(__file__).parent / "data/sind-worker.json").read_text()
        gone = answer({"message": "No such container: c"}, "404 Not Found")
        answers = {"DELETE": [busy], "/containers/c/json": [answer(json.loads(there)), gone]}
        with serving(tmp_path / "s", self.engine(answers, asked)) as address:
            engine = connect(address)
            engine.remove_container("c")
            engine.close()

        assert sum("DELETE" in line for line in asked) == 1
        assert sum("/containers/c/json" in line for line in asked) == 2

    def test_an_exit_code_that_is_not_noted_yet(self, tmp_path):
        notes = [{"Running": True, "ExitCode": None}, {"Running": False, "ExitCode": None}]
        answers = {
            "/exec/e/json": [answer(note) for note in (*notes, {"Running": False, "ExitCode": 3})],
            "/exec/e/start": [b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n\x01\0\0\0\0\0\0\x03out"],
            "/containers/c/exec": [answer({"Id": "e"}, "201 Created")],
        }
        with serving(tmp_path / "s", self.engine(answers, [])) as address:
            engine = connect(address)
            assert engine.execute("c", ["true"]) == Executed(code=3, out="out", err="")
            engine.close()
