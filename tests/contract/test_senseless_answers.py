"""Whatever an engine answers, a call gives a sensible record or an `EngineError`, soon: answers may be damaged, or another's."""

import contextlib
import copy
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from attrs import define, field, has
from hypothesis import example, given
from hypothesis import strategies as st

from sindplan.engine import answers, inspection, transport
from sindplan.engine.calls import Call
from sindplan.engine.connect import Place
from sindplan.engine.docker_sdk import DockerEngine, connect
from sindplan.engine.streams import MULTIPLEXED, Lines
from sindplan.engine.typed import well_typed
from sindplan.errors import EngineError, EngineTimeout, EngineUnreachable
from tests.contract.test_connections import VERSION, answer, serving
from tests.strategies import SETTINGS

if TYPE_CHECKING:
    import socket

HERE = Path(__file__).parent
RECORDED = HERE.parent / "importing/recorded"
WORKER = json.loads((HERE / "data/sind-worker.json").read_text(encoding="utf-8"))
NETWORKS = json.loads((RECORDED / "networks.json").read_text(encoding="utf-8"))
VOLUMES = json.loads((RECORDED / "volumes.json").read_text(encoding="utf-8"))
LINE = {
    "Id": "1",
    "Names": ["/n"],
    "Image": "i",
    "ImageID": "sha256:2",
    "Labels": {"sind.realm": "sind"},
    "State": "running",
    "NetworkSettings": {"Networks": {"sind-mesh": {"NetworkID": "3"}, "none": None}},
}
INFO = {
    "ID": "x",
    "NCPU": 2,
    "MemTotal": 2**33,
    "CgroupVersion": "2",
    "ServerVersion": "28.5.2",
    "SecurityOptions": ["name=seccomp,profile=builtin"],
    "DefaultAddressPools": [{"Base": "10.0.0.0/8", "Size": 24}, {"Base": "fd00::/64", "Size": 80}],
    "Plugins": {"Volume": ["local"]},
}
HOST = {
    **WORKER["HostConfig"],
    "Binds": ["/srv/a:/a:ro", "v:/b"],
    "Devices": [{"PathOnHost": "/dev/a", "PathInContainer": "/dev/b", "CgroupPermissions": "rwm"}],
    "DeviceRequests": [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=all"]}],
    "CpuQuota": 100_000,
    "Memory": 2**30,
}
Ask = Callable[[DockerEngine], Any]
# What is asked, the path of it that is answered as the engine would not, and how it would.
ASKED: tuple[tuple[Ask, str, Any], ...] = (
    (DockerEngine.info, "/info", INFO),
    (DockerEngine.info, "/plugins", [{"Name": "cvmfs:latest", "Enabled": True}]),
    (DockerEngine.containers, "/containers/json", [LINE]),
    (DockerEngine.networks, "/networks", NETWORKS[:1]),
    (DockerEngine.volumes, "/volumes", {"Volumes": VOLUMES[:1], "Warnings": None}),
    (lambda engine: engine.inspect_container("c"), "/containers/c/json", {**WORKER, "HostConfig": HOST}),
    (lambda engine: engine.inspect_network("n"), "/networks/n", NETWORKS[0]),
    (lambda engine: engine.image("i"), "/images/i/json", {"Id": "sha256:1", "Config": {"Labels": {"a": "b"}}}),
    (lambda engine: engine.processes("c"), "/top", {"Titles": ["PID", "COMMAND"], "Processes": [["1", "systemd"]]}),
    (lambda engine: engine.create_volume("v", {}), "/volumes/create", VOLUMES[0]),
    (lambda engine: engine.wait_exit("c", 5), "/wait", {"StatusCode": 0}),
    (lambda engine: engine.execute("c", ["true"]), "/containers/c/exec", {"Id": "e"}),
    (lambda engine: engine.wait_output("c", "x", 5), "/containers/c/json", WORKER),
    (lambda engine: engine.connect("n", "c"), "/containers/c/json", WORKER),
)
REST = {
    "/exec/e/json": {"Running": False, "ExitCode": 0},
    "/containers/c/exec": {"Id": "e"},
    "/info": INFO,
    "/plugins": [],
}


@define
class Engine:
    """An engine of which each answer can be set: what the path ends with, and the bytes. All else is as it should be."""

    said: dict[str, bytes] = field(factory=dict)

    def respond(self, line: str) -> bytes:
        path = line.split(" ")[1].partition("?")[0]
        found = next((said for part, said in self.said.items() if path.endswith(part)), None)
        if found is not None:
            return found
        if path.endswith(("/start", "/logs")):
            return b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
        return answer(next((said for part, said in REST.items() if path.endswith(part)), VERSION))


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, DockerEngine]]:
    """An engine that says what it is told to, and a connection to it."""
    served = Engine()
    with serving(tmp_path_factory.mktemp("senseless") / "s", served.respond) as address:
        engine = connect(address)
        yield served, engine
        engine.close()


def asked(engine: DockerEngine, ask: Ask) -> None:
    """Ask; what comes back is as it should be, or an error of the engine's."""
    began = time.monotonic()
    with contextlib.suppress(EngineError):
        found = ask(engine)
        for record in found if isinstance(found, tuple) else (found,):
            assert not has(type(record)) or well_typed(record)
    # None of them waits for more.
    assert time.monotonic() - began < 5


TEXTS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(("\0", "\ud800", "a\nb", "\x1b[2J", "10.0.0.0/8", "10.0.0.1", "::1/64", "2026-01-01T00:00:00Z")),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.sampled_from((10**30, -1)), st.floats(), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything in a document, itself included."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


@st.composite
def damaged(draw: st.DrawFn, document: Any) -> Any:
    """Draw a document with another value, or none, in one of its places."""
    path = draw(st.sampled_from([*places(document)]))
    if not path:
        return draw(VALUES)
    found = copy.deepcopy(document)
    around = found
    for key in path[:-1]:
        around = around[key]
    if isinstance(around, dict) and draw(st.booleans()):
        del around[path[-1]]
    else:
        around[path[-1]] = draw(VALUES)
    return found


@pytest.mark.parametrize(("ask", "path", "right"), ASKED, ids=[path for _, path, _ in ASKED])
def test_a_value_that_is_not_what_it_should_be(
    stage: tuple[Engine, DockerEngine], ask: Ask, path: str, right: Any
) -> None:
    served, engine = stage

    @SETTINGS
    @given(damaged(right))
    def law(document: Any) -> None:
        served.said = {path: answer(document)}
        asked(engine, ask)

    served.said = {path: answer(right)}
    ask(engine)
    law()
    served.said = {}


@SETTINGS
@given(damaged(REST["/exec/e/json"]))
def test_an_exit_code_is_a_number_or_not_there_yet(document: Any) -> None:
    with contextlib.suppress(*answers.NONSENSE):
        assert isinstance(inspection.exit_code(document), int | None)


def http(body: bytes, *, head: bytes = b"200 OK", length: int | None = None) -> bytes:
    """Return an answer whose length may not be that of its body."""
    size = len(body) if length is None else length
    return b"HTTP/1.1 " + head + b"\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % size + body


GOOD = answer([LINE])
WIRE = st.one_of(
    st.binary(max_size=80),
    st.builds(lambda at, more: GOOD[:at] + more, st.integers(0, len(GOOD)), st.binary(max_size=8)),
    st.builds(lambda at, more: GOOD[:at] + more + GOOD[at + 1 :], st.integers(0, len(GOOD)), st.binary(max_size=3)),
    st.builds(http, st.binary(max_size=80)),
    st.builds(lambda body: http(body, head=b"500 Oh"), st.binary(max_size=80)),
    st.builds(lambda chunks: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, st.binary(max_size=40)),
    st.builds(lambda code: b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % code, st.integers(0, 1000)),
    st.builds(lambda head: b"HTTP/1.1 200 OK\r\n" + head + b"\r\nContent-Length: 2\r\n\r\n[]", st.binary(max_size=40)),
)


def test_bytes_of_any_kind(tmp_path: Path) -> None:
    """The connection is closed after them, so that nobody waits for more."""
    said = [b""]

    def respond(line: str) -> bytes | Iterator[bytes]:
        return answer(VERSION) if "version" in line else iter(said)

    @SETTINGS
    @given(WIRE, st.sampled_from([DockerEngine.containers, lambda engine: engine.start("c")]))
    @example(http(b"[" * 100_000), DockerEngine.containers)
    @example(http(b"1" * 100_000), DockerEngine.containers)
    @example(http(b'{"message": ' + b"[" * 100_000, head=b"404 Not Found"), DockerEngine.containers)
    @example(http(b'{"message": "\\ud800"}', head=b"404 Not Found"), DockerEngine.containers)
    @example(http(b"\xff\xfe[\0]\0"), DockerEngine.containers)
    @example(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n", DockerEngine.containers)
    @example(b"HTTP/1.1 200 " + b"x" * 70_000 + b"\r\n\r\n", DockerEngine.containers)
    @example(b"HTTP/1.1 302 Found\r\nLocation: http://[\r\nContent-Length: 0\r\n\r\n", DockerEngine.containers)
    @example(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n[]", DockerEngine.containers)
    @example(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\nSet-Cookie: \0=\xff\r\n\r\n[]", DockerEngine.containers)
    def law(wire: bytes, ask: Ask) -> None:
        said[0] = wire
        asked(engine, ask)

    with serving(tmp_path / "s", respond) as address:
        engine = connect(address)
        law()
        engine.close()


FRAME = st.builds(
    lambda number, size, data: bytes([number, 0, 0, 0]) + size.to_bytes(4, "big") + data,
    st.sampled_from((0, 1, 2, 3, 4, 123)),
    st.one_of(st.integers(0, 9), st.just(2**32 - 1)),
    st.binary(max_size=9),
)
OUTPUT = st.one_of(st.binary(max_size=40), st.lists(FRAME, max_size=4).map(b"".join))
READERS: tuple[Ask, ...] = (
    lambda engine: engine.execute("c", ["true"]),
    lambda engine: engine.logs("c"),
    lambda engine: engine.wait_output("c", "x", 5),
    lambda engine: engine.get_files("c", "/etc/slurm"),
    lambda engine: engine.pull("i:1"),
)


@pytest.mark.parametrize("read", READERS)
def test_output_of_any_kind(stage: tuple[Engine, DockerEngine], read: Ask) -> None:
    served, engine = stage
    lines = st.lists(VALUES.map(json.dumps), max_size=3).map(lambda found: "\n".join(found).encode())

    @SETTINGS
    @given(st.one_of(OUTPUT, lines), st.sampled_from((MULTIPLEXED, "text/plain")))
    def law(body: bytes, kind: str) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        said = head.encode() + body
        served.said = {
            **dict.fromkeys(("/start", "/logs", "/archive", "/images/create"), said),
            "/containers/c/json": answer(WORKER),
            "/images/i:1/json": answer({"Id": "sha256:1"}),
        }
        asked(engine, read)

    law()
    served.said = {}


def test_a_long_line_without_an_end_is_not_kept() -> None:
    lines = Lines()

    assert all(lines.feed(b"x" * 65536) == [] for _ in range(64))
    assert [len(line) for line in lines.feed(b"x\nready\n")] == [65536, 5]
    assert lines.end() == []


CALL = Call(verb="containers", name="", method="GET", path="/containers/json", timeout=0.3)


def test_an_answer_that_never_ends_is_late(tmp_path: Path) -> None:
    """A byte now and then keeps a socket's own time limit from ending it."""

    def dripping() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"
        while not ended.wait(0.02):
            yield b" "

    ended = threading.Event()
    with serving(tmp_path / "s", lambda _: dripping()) as address:
        found = transport.Transport(Place(address=address, origin="here"), transport.NEWEST_API)
        began = time.monotonic()
        for ask in (lambda: found.ask(CALL, list), lambda: found.send(CALL)):
            with pytest.raises(EngineTimeout, match=r"within 0\.3 seconds"):
                ask()
        assert time.monotonic() - began < 5
        ended.set()
        found.close()


def test_an_answer_without_an_end_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "LARGEST", 1024**2)
    with serving(tmp_path / "s", lambda _: http(b" " * 1024**2 * 2)) as address:
        found = transport.Transport(Place(address=address, origin="here"), transport.NEWEST_API)
        with pytest.raises(EngineUnreachable, match="more than 1 MiB"):
            found.ask(CALL, list)
        found.close()


def test_connections_are_used_again(tmp_path: Path) -> None:
    """Also after answers that come in chunks, that are empty, and that are refusals."""
    made: list[socket.socket] = []
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n"
    said = [answer([]), chunked, http(b""), http(b"{}", head=b"404 Not Found"), answer([])]
    with serving(tmp_path / "s", lambda _: said.pop(0), made) as address:
        found = transport.Transport(Place(address=address, origin="here"), transport.NEWEST_API)
        while said:
            try:
                found.send(CALL)
            except EngineError:
                continue
        found.close()

    assert len(made) == 1
