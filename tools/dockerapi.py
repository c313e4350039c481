"""The few Docker Engine API calls that tools/engine and tools/image need.

Only the standard library is used: these tools run on machines that have neither a docker
command nor sindplan's own environment yet.

    dockerapi.py check HOST                     is this engine fit for sindplan? (exit 1 and the reason)
    dockerapi.py version HOST                   engine version and number of containers
    dockerapi.py ping HOST                      exit 0 when the engine answers
    dockerapi.py has-containerd HOST            exit 0 when the engine reaches its containerd
    dockerapi.py find-image HOST STAMP          tags of the image that carries this stamp
    dockerapi.py import HOST TAR FACTS STAMP    import a root file system; prints the tags

HOST is what DOCKER_HOST holds: unix:///path or tcp://name:port.
"""

import http.client
import json
import os
import socket
import ssl
import sys
import urllib.parse

MINIMUM = 28  # writable-cgroups and gateway priorities came with Docker Engine 28
REPOSITORY = "sindplan-node"


class Unfit(Exception):
    """The engine cannot be used; the text says why."""


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def connection(host, timeout):
    scheme, _, rest = host.partition("://")
    if scheme == "unix":
        return UnixConnection(rest, timeout)
    if scheme == "tcp":
        address = urllib.parse.urlsplit(f"//{rest}")
        if not os.environ.get("DOCKER_TLS_VERIFY"):
            return http.client.HTTPConnection(address.hostname, address.port or 2375, timeout=timeout)
        folder = os.environ.get("DOCKER_CERT_PATH", os.path.expanduser("~/.docker"))
        context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
        context.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
        return http.client.HTTPSConnection(address.hostname, address.port or 2376, timeout=timeout, context=context)
    raise Unfit(f"these tools speak to unix:// and tcp:// engines, not to {host}")


def call(host, method, path, body=None, timeout=10, headers=None):
    """One request; returns the body's text. A refusal or no answer at all is raised as Unfit."""
    try:
        link = connection(host, timeout)
        link.request(method, path, body=body, headers=headers or {})
        answer = link.getresponse()
        text = answer.read().decode()
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Unfit(f"no Docker Engine answers at {host}: {error}") from error
    finally:
        if "link" in locals():
            link.close()
    if answer.status >= 400:
        raise Unfit(f"{method} {path.partition('?')[0]}: HTTP {answer.status}: {text.strip()}")
    return text


def get(host, path):
    return json.loads(call(host, "GET", path))


def check(host):
    version, info = get(host, "/version"), get(host, "/info")
    number = version.get("Version", "unknown")
    if not number.partition(".")[0].isdigit() or int(number.partition(".")[0]) < MINIMUM:
        raise Unfit(f"the engine at {host} is version {number}; {MINIMUM} or newer is needed")
    if info.get("CgroupVersion") != "2":
        raise Unfit(f"the engine at {host} uses cgroup v{info.get('CgroupVersion', '?')}; v2 is needed")
    options = {option.partition(",")[0] for option in info.get("SecurityOptions") or []}
    for option in ("rootless", "userns"):
        if f"name={option}" in options:
            raise Unfit(f"the engine at {host} runs with {option}, in which systemd nodes cannot work")
    print(number)


def version(host):
    info = get(host, "/info")
    running, all_of_them = info["ContainersRunning"], info["Containers"]
    print(f"Docker Engine {info['ServerVersion']}, {running} of {all_of_them} containers running")


def ping(host):
    call(host, "GET", "/_ping", timeout=2)


def has_containerd(host):
    components = {component["Name"] for component in get(host, "/version").get("Components") or []}
    if "containerd" not in components:
        raise Unfit(f"the engine at {host} has no containerd at the moment")


def find_image(host, stamp):
    filters = urllib.parse.quote(json.dumps({"label": [f"sindplan.image.stamp={stamp}"]}))
    for image in get(host, f"/images/json?filters={filters}"):
        tags = [tag for tag in image.get("RepoTags") or [] if tag.startswith(f"{REPOSITORY}:")]
        if tags:
            print("\n".join(sorted(tags)))
            return
    sys.exit(1)


def changes(facts, stamp):
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


def remove_replaced(host):
    """Images of ours that lost their tags to a newer one. The engine keeps those that a container uses."""
    filters = urllib.parse.quote(json.dumps({"label": ["sindplan.image.stamp"], "dangling": ["true"]}))
    for image in get(host, f"/images/json?filters={filters}"):
        try:
            call(host, "DELETE", f"/images/{image['Id']}", timeout=60)
        except Unfit:
            continue


def import_image(host, tar, facts_file, stamp):
    with open(facts_file, encoding="utf-8") as file:
        facts = json.load(file)
    full = facts["slurm_version"]
    short = ".".join(full.split(".")[:2])
    query = [("fromSrc", "-"), ("repo", REPOSITORY), ("tag", full)]
    query += [("changes", line) for line in changes(facts, stamp)]
    with open(tar, "rb") as body:
        size = os.fstat(body.fileno()).st_size
        headers = {"Content-Type": "application/x-tar", "Content-Length": str(size)}
        answer = call(host, "POST", f"/images/create?{urllib.parse.urlencode(query)}", body, 600, headers)
    # The engine answers 200 first and reports a failure inside the stream of JSON lines.
    for line in answer.splitlines():
        if "error" in json.loads(line):
            raise Unfit(f"import failed: {json.loads(line)['error']}")
    call(host, "POST", f"/images/{REPOSITORY}:{full}/tag?repo={REPOSITORY}&tag={short}")
    remove_replaced(host)
    print(f"{REPOSITORY}:{short}\n{REPOSITORY}:{full}")


COMMANDS = {
    "check": (check, 1),
    "version": (version, 1),
    "ping": (ping, 1),
    "has-containerd": (has_containerd, 1),
    "find-image": (find_image, 2),
    "import": (import_image, 4),
}


def main(arguments):
    if arguments[:1] in (["--help"], ["-h"]):
        print(__doc__.strip())
        return 0
    function, count = COMMANDS.get(arguments[0] if arguments else "", (None, 0))
    if function is None or len(arguments) - 1 != count:
        print(__doc__.strip(), file=sys.stderr)
        return 64
    try:
        function(*arguments[1:])
    except Unfit as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
