"""A volume plugin for tests: one that an engine has installed and enabled, and whose answers the test gives.

The plugin's own process only sleeps. Its socket is made by this process, in the folder where the engine looks for it; so the engine
must run on this machine, and the tests as root. An older, unmanaged plugin (a socket in /run/docker/plugins) would be less work, but
an engine never forgets one: until its restart each list of volumes would wait for it.
"""

import contextlib
import json
import os
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingUnixStreamServer
from tempfile import TemporaryDirectory

import docker
import docker.errors
import pytest
from attrs import Factory, define

SOCKET = "sindplan-test.sock"
DATA = "/data"
DESCRIPTION = "answers are given by a test of sindplan"
_SLEEP = "trap 'exit 0' TERM; while :; do sleep 1 & wait; done"


@define
class FakePlugin:
    """The volumes of a plugin, all with the same files.

    Attributes:
        name: Its full name, with a tag.
        volumes: Names of its volumes.
        mounted: Who has mounted them, by the ids that the engine gives.
        asked: What the engine asked for, in order.
    """

    name: str
    volumes: set[str] = Factory(set)
    mounted: set[str] = Factory(set)
    asked: list[str] = Factory(list)

    def answer(self, path: str, asked: Mapping[str, str]) -> dict[str, object]:
        """Answer a call of the volume plugin protocol (docs.docker.com/engine/extend/plugins_volume)."""
        verb = path.rpartition(".")[2]
        self.asked.append(verb)
        name = asked.get("Name", "")
        fixed: dict[str, dict[str, object]] = {
            "Activate": {"Implements": ["VolumeDriver"]},
            "Capabilities": {"Capabilities": {"Scope": "local"}},
            "List": {"Volumes": [_volume(one) for one in sorted(self.volumes)]},
        }
        if verb in fixed:
            return fixed[verb]
        if verb == "Create":
            self.volumes.add(name)
        if name not in self.volumes:
            return {"Err": f"no such volume: {name}"}
        if verb == "Remove":
            self.volumes.discard(name)
        if verb == "Mount":
            self.mounted.add(asked["ID"])
        if verb == "Unmount":
            self.mounted.discard(asked["ID"])
        return {"Volume": _volume(name), "Mountpoint": DATA}


@contextlib.contextmanager
def volume_plugin(address: str, name: str, files: Mapping[str, bytes]) -> Iterator[FakePlugin]:
    """Install and enable a volume plugin, and take it away again with all its volumes.

    Args:
        address: The engine's, as in DOCKER_HOST.
        name: With a tag.
        files: What its volumes hold, by relative path.
    """
    plugin = FakePlugin(name)
    client = docker.APIClient(base_url=address, version="1.48")
    with contextlib.ExitStack() as stack:
        stack.callback(client.close)
        folder = stack.enter_context(TemporaryDirectory())
        _write(Path(folder), files)
        _remove_left(client, name)
        client.create_plugin(name, folder)
        stack.callback(client.remove_plugin, name, force=True)
        stack.enter_context(_served(plugin, engine_root(address), client.inspect_plugin(name)["Id"]))
        client.enable_plugin(name, timeout=10)
        stack.callback(client.disable_plugin, name, force=True)
        yield plugin


@contextlib.contextmanager
def _served(plugin: FakePlugin, root: Path, plugin_id: str) -> Iterator[None]:
    """Answer on the plugin's socket."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            said = json.dumps(plugin.answer(self.path, asked or {})).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/vnd.docker.plugins.v1.2+json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            """Say nothing: there is no address to tell."""

    folder = root / "run/docker/plugins" / plugin_id
    folder.mkdir(parents=True, exist_ok=True)
    # The path of a socket has 107 bytes at most.
    descriptor = os.open(folder, os.O_PATH)
    try:
        with ThreadingUnixStreamServer(f"/proc/self/fd/{descriptor}/{SOCKET}", Handler) as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
            thread.start()
            try:
                yield
            finally:
                server.shutdown()
                thread.join()
    finally:
        os.close(descriptor)


def _remove_left(client: docker.APIClient, name: str) -> None:
    """Remove the plugin of a run that was killed; one of the same name that is somebody's stays, and stops the test."""
    try:
        left = client.inspect_plugin(name)
    except docker.errors.NotFound:
        return
    if left["Config"]["Description"] == DESCRIPTION:
        client.remove_plugin(name, force=True)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write what a plugin is made of. Its programs are the engine's machine's own."""
    usr = {"Name": "usr", "Source": "/usr", "Destination": "/usr", "Type": "bind", "Options": ["rbind", "ro"]}
    config = {
        "Description": DESCRIPTION,
        "Interface": {"Types": ["docker.volumedriver/1.0"], "Socket": SOCKET},
        "Entrypoint": ["/usr/bin/sh", "-c", _SLEEP],
        "WorkDir": "/",
        "Network": {"Type": "none"},
        "Mounts": [usr],
        "Env": [],
        "Args": {},
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    root = folder / "rootfs"
    for name in ("dev", "proc", "run/docker/plugins", "sys", "usr", DATA.lstrip("/")):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    for path, content in files.items():
        (root / DATA.lstrip("/") / path).parent.mkdir(parents=True, exist_ok=True)
        (root / DATA.lstrip("/") / path).write_bytes(content)


def engine_root(address: str) -> Path:
    """Return the root folder of the engine's daemon as this machine sees it: it may have a mount namespace of its own."""
    if os.geteuid() != 0 or not address.startswith("unix://"):
        pytest.skip("a volume plugin can be played only by root, and only for an engine of this machine")
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(address.removeprefix("unix://"))
        pid, _, _ = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return Path(f"/proc/{pid}/root")


def _volume(name: str) -> dict[str, object]:
    return {"Name": name, "Mountpoint": DATA}
