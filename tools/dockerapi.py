"""The few Docker Engine API calls that tools/engine and tools/image need.

Only the standard library is used: these tools run on machines that have neither a docker
command nor sindplan's own environment yet.

    dockerapi.py check HOST                     is this engine fit for sindplan? (exit 1 and the reason)
    dockerapi.py version HOST                   engine version and number of containers
    dockerapi.py ping HOST                      exit 0 when the engine answers
    dockerapi.py has-containerd HOST            exit 0 when the engine reaches its containerd
    dockerapi.py find-image HOST STAMP          tags of the image that carries this stamp
    dockerapi.py import HOST TAR FACTS STAMP    import a root file system; prints the tags
    dockerapi.py clear HOST                     remove all containers, networks, volumes and plugins

HOST is what DOCKER_HOST holds: unix:///path or tcp://name:port.
"""
# A script, not a package; what it prints is its answer.
# ruff: noqa: INP001, T201

import http.client
import json
import os
import socket
import ssl
import sys
import urllib.parse
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO

MINIMUM = 28  # writable-cgroups and gateway priorities came with Docker Engine 28
REPOSITORY = "sindplan-node"
EX_USAGE = 64
OWN_NETWORKS = ("bridge", "host", "none")  # the engine's own, which it never removes


class Unfit(Exception):
    """The engine cannot be used, or refused; the text says why."""


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self) -> None:
        """Connect to the socket instead of to a host and port."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def connection(host: str, timeout: float) -> http.client.HTTPConnection:
    """Make the connection that HOST asks for; it connects at the first request."""
    scheme, _, rest = host.partition("://")
    if scheme == "unix":
        return UnixConnection(rest, timeout)
    if scheme == "tcp":
        address = urllib.parse.urlsplit(f"//{rest}")
        name = address.hostname or "localhost"
        if not os.environ.get("DOCKER_TLS_VERIFY"):
            return http.client.HTTPConnection(name, address.port or 2375, timeout=timeout)
        folder = Path(os.environ.get("DOCKER_CERT_PATH") or "~/.docker").expanduser()
        context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        return http.client.HTTPSConnection(name, address.port or 2376, timeout=timeout, context=context)
    raise Unfit(f"these tools speak to unix:// and tcp:// engines, not to {host}")


def call(
    host: str,
    method: str,
    path: str,
    body: BinaryIO | None = None,
    timeout: float = 10,
    headers: dict[str, str] | None = None,
) -> str:
    """Make one request and return the text of the answer; a refusal, or no answer at all, is raised."""
    try:
        link = connection(host, timeout)
        try:
            link.request(method, path, body=body, headers=headers or {})
            answer = link.getresponse()
            text = answer.read().decode()
        finally:
            link.close()
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Unfit(f"no Docker Engine answers at {host}: {error}") from error
    if answer.status >= HTTPStatus.BAD_REQUEST:
        raise Unfit(f"{method} {path.partition('?')[0]}: HTTP {answer.status}: {text.strip()}")
    return text


def get(host: str, path: str) -> Any:  # noqa: ANN401, what JSON holds depends on the path
    """Return the JSON that the engine answers; anything else than an engine is raised."""
    text = call(host, "GET", path)
    try:
        return json.loads(text)
    except ValueError as error:
        raise Unfit(f"what answers at {host} is no Docker Engine") from error


def check(host: str) -> None:
    """Print the version of a fit engine, or raise the reason why it is not."""
    version, info = get(host, "/version"), get(host, "/info")
    number = str(version.get("Version", "unknown"))
    major = number.partition(".")[0]
    if not major.isdigit() or int(major) < MINIMUM:
        raise Unfit(f"the engine at {host} is version {number}; {MINIMUM} or newer is needed")
    if info.get("CgroupVersion") != "2":
        raise Unfit(f"the engine at {host} uses cgroup v{info.get('CgroupVersion', '?')}; v2 is needed")
    options = {option.partition(",")[0] for option in info.get("SecurityOptions") or []}
    for option in ("rootless", "userns"):
        if f"name={option}" in options:
            raise Unfit(f"the engine at {host} runs with {option}, in which systemd nodes cannot work")
    print(number)


def show_version(host: str) -> None:
    """Print one line about the engine."""
    info = get(host, "/info")
    running, all_of_them = info["ContainersRunning"], info["Containers"]
    print(f"Docker Engine {info['ServerVersion']}, {running} of {all_of_them} containers running")


def ping(host: str) -> None:
    """Raise, unless the engine answers soon."""
    call(host, "GET", "/_ping", timeout=2)


def has_containerd(host: str) -> None:
    """Raise, unless the engine can start containers. It asks containerd for its version when it is asked."""
    components = {component["Name"] for component in get(host, "/version").get("Components") or []}
    if "containerd" not in components:
        raise Unfit(f"the engine at {host} has no containerd at the moment")


def find_image(host: str, stamp: str) -> None:
    """Print the tags of the image with this stamp, or raise."""
    filters = urllib.parse.quote(json.dumps({"label": [f"sindplan.image.stamp={stamp}"]}))
    for image in get(host, f"/images/json?filters={filters}"):
        tags = [tag for tag in image.get("RepoTags") or [] if tag.startswith(f"{REPOSITORY}:")]
        if tags:
            print("\n".join(sorted(tags)))
            return
    raise Unfit(f"no image with stamp {stamp}")


def changes(facts: dict[str, Any], stamp: str) -> list[str]:
    """Dockerfile lines for an imported image. Single quotes keep the JSON as it is: it holds none."""
    compact = json.dumps(facts, separators=(",", ":"), sort_keys=True)
    if "'" in compact:
        raise Unfit("image.json holds a single quote")
    return [
        "STOPSIGNAL SIGRTMIN+3",
        'CMD ["/sbin/init"]',
        "WORKDIR /",
        f"LABEL sind.slurm.version={facts['slurm_version']}",
        f"LABEL sindplan.image.stamp={stamp}",
        f"LABEL sindplan.image='{compact}'",
    ]


def remove_replaced(host: str) -> None:
    """Remove images of ours that lost their tags to a newer one. The engine keeps those that a container uses."""
    filters = urllib.parse.quote(json.dumps({"label": ["sindplan.image.stamp"], "dangling": ["true"]}))
    for image in get(host, f"/images/json?filters={filters}"):
        try:
            call(host, "DELETE", f"/images/{image['Id']}", timeout=60)
        except Unfit:
            continue


def import_image(host: str, tar: str, facts_file: str, stamp: str) -> None:
    """Import a root file system, with labels from its facts, and print its two tags."""
    facts = json.loads(Path(facts_file).read_text(encoding="utf-8"))
    full = facts["slurm_version"]
    short = ".".join(full.split(".")[:2])
    query = [("fromSrc", "-"), ("repo", REPOSITORY), ("tag", full)]
    query += [("changes", line) for line in changes(facts, stamp)]
    with Path(tar).open("rb") as body:
        headers = {"Content-Type": "application/x-tar", "Content-Length": str(os.fstat(body.fileno()).st_size)}
        answer = call(host, "POST", f"/images/create?{urllib.parse.urlencode(query)}", body, 600, headers)
    # The engine answers 200 first and reports a failure inside the stream of JSON lines.
    for line in map(json.loads, answer.splitlines()):
        if "error" in line:
            raise Unfit(f"import failed: {line['error']}")
    call(host, "POST", f"/images/{REPOSITORY}:{full}/tag?repo={REPOSITORY}&tag={short}")
    remove_replaced(host)
    print(f"{REPOSITORY}:{short}\n{REPOSITORY}:{full}")


def names(host: str, what: str) -> list[str]:
    """Return what there is of one sort, by the name or id that removes it."""
    if what == "containers":
        return [found["Id"] for found in get(host, "/containers/json?all=1")]
    if what == "networks":
        return [found["Id"] for found in get(host, "/networks") if found["Name"] not in OWN_NETWORKS]
    if what == "volumes":
        return [found["Name"] for found in get(host, "/volumes")["Volumes"] or []]
    return [found["Id"] for found in get(host, "/plugins")]


def clear(host: str) -> None:
    """Remove all that an engine holds but its images, and print how much that was."""
    removed = 0
    # Volumes of a plugin go before it, and networks and volumes after the containers that use them.
    for what in ("containers", "networks", "volumes", "plugins"):
        for name in names(host, what):
            # A volume whose plugin does not answer any more is forgotten by force.
            call(host, "DELETE", f"/{what}/{urllib.parse.quote(name, safe='')}?force=1", timeout=60)
            removed += 1
    print(removed)


COMMANDS: dict[str, tuple[Callable[..., None], int]] = {
    "check": (check, 1),
    "version": (show_version, 1),
    "ping": (ping, 1),
    "has-containerd": (has_containerd, 1),
    "find-image": (find_image, 2),
    "import": (import_image, 4),
    "clear": (clear, 1),
}


def main(arguments: list[str]) -> int:
    """Run one command and return the exit status."""
    usage = (__doc__ or "").strip()
    if arguments[:1] in (["--help"], ["-h"]):
        print(usage)
        return 0
    function, count = COMMANDS.get(arguments[0] if arguments else "", (ping, -1))
    if len(arguments) - 1 != count:
        print(usage, file=sys.stderr)
        return EX_USAGE
    try:
        function(*arguments[1:])
    except Unfit as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
