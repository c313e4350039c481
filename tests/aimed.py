"""Aims: a call of sindplan to the real engine, by what it is and the so-maniest of its kind, and what must outlive what is done to it."""

import hashlib
import io
import re
import tarfile

import docker
import docker.errors
from attrs import frozen

from tests.fault_proxy import FaultProxy
from tests.real import Lab, Running

_NODE = "/containers/[0-9a-f]{64}"
EXEC, RUN = f"POST {_NODE}/exec", "POST /exec/[0-9a-f]{64}/start"
ARCHIVE = f"PUT {_NODE}/archive"
START, STOP, KILL = f"POST {_NODE}/start", f"POST {_NODE}/stop", f"POST {_NODE}/kill"
RENAME, REMOVE = f"POST {_NODE}/rename", f"DELETE {_NODE}"
NETWORK, REMOVE_NETWORK = "POST /networks/create", "DELETE /networks/[0-9a-f]{64}"
CONNECT, DISCONNECT = "POST /networks/[0-9a-f]{64}/connect", "POST /networks/[0-9a-f]{64}/disconnect"
VOLUME = "POST /volumes/create"
"""Patterns of calls."""


def container(name: str) -> str:
    """Return the pattern of the call that creates a container of the realm."""
    return rf"POST /containers/create\?name=REALM-{name}"


def remove_volume(name: str) -> str:
    """Return the pattern of the call that removes a volume of the cluster."""
    return f"DELETE /volumes/REALM-dev-{name}"


KEPT = {"munge": "munge.key", "data": "mine"}
"""A file in each volume whose content must not be lost."""

COMMANDS = {
    "make": ("apply", ()),
    "change": ("apply", ()),
    "grow": ("apply", ()),
    "replace": ("apply", ("--replace", "REALM/dev")),
    "destroy": ("destroy", ()),
}
"""What is run to do it, by what is done to the cluster `dev`."""


@frozen
class Aim:
    """A call.

    Attributes:
        command: What it is done for, of COMMANDS.
        way: What is done to it: a fault of the proxy.
        call: A pattern of method, path and query; REALM stands for the realm.
        number: Which of those that match.
    """

    command: str
    way: str
    call: str
    number: int = 1

    def __str__(self) -> str:
        plain = re.sub(r"[^a-zA-Z0-9.=-]+", "-", self.call.replace("[0-9a-f]{64}", "").replace("REALM-", "")).strip("-")
        return f"{self.command}-{self.way}-{plain}-{self.number}"


def counting(aim: Aim, realm: str) -> str:
    """Return the pattern of the calls of which one is aimed at."""
    return aim.call.replace("REALM", realm) + r"(\?|$)"


def start(lab: Lab, realm: str, command: str, proxy: FaultProxy | None = None) -> Running:
    """Start one of COMMANDS, behind a proxy if there is one."""
    name, options = COMMANDS[command]
    environment = {"DOCKER_HOST": proxy.address} if proxy else {}
    return lab.start(name, *(option.replace("REALM", realm) for option in options), **environment)


def contents(lab: Lab, realm: str) -> dict[str, str]:
    """Return digests of what must not be lost, of the volumes that are there; no node need run for it."""
    there = [name for name in KEPT if f"{realm}-dev-{name}" in lab.volumes()]
    mounts = [docker.types.Mount(f"/kept/{name}", f"{realm}-dev-{name}", no_copy=True) for name in there]
    config = lab.docker.create_host_config(mounts=mounts)
    reader = lab.docker.create_container(lab.image, host_config=config, name=f"{realm}-reader")["Id"]
    found = {}
    try:
        for name in there:
            try:
                parts, _ = lab.docker.get_archive(reader, f"/kept/{name}/{KEPT[name]}")
            except docker.errors.NotFound:
                continue  # nothing was written yet
            with tarfile.open(fileobj=io.BytesIO(b"".join(parts))) as tar:
                file = tar.extractfile(KEPT[name])
                assert file is not None
                found[name] = hashlib.sha256(file.read()).hexdigest()
    finally:
        lab.docker.remove_container(reader)
    return found
