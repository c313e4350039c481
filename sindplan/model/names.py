"""Every name that sind and sindplan share: a wire contract (sind v0.11, package cluster).

Names are computed, never parsed: realm `ci` with cluster `42-dev` and realm `ci-42` with cluster `dev` compute equal
names, so whose an object is says its labels.
"""

import re

CONTROLLER = "controller"
BACKUP = "controller-backup"
DB = "db"
API = "api"
SUBMITTER = "submitter"
FIXED_NODES = (CONTROLLER, BACKUP, DB, API, SUBMITTER)
"""Short names of the nodes there is at most one of, in address order (base+10 … base+14)."""

DNS_SUFFIX = "sind"
DEFAULT_MOUNT_PATH = "/data"
DNS_LABEL_MAX = 63
ACCOUNTING_CLUSTER_NAME_MAX = 40
"""Slurm's accounting tables carry the cluster's name; longer ones are not created (sind v0.11)."""

# ASCII only, and `fullmatch` rather than `$`, which lets a trailing newline pass.
_DNS_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
# Python reads no number of thousands of digits; no network has addresses for more workers than this.
_WORKER = re.compile(r"worker-(0|[1-9][0-9]{0,8})")

ASIDE = "-replaced"
"""Ends the name of a container whose successor takes its place and its name."""

RESERVED_CLUSTER_NAMES = {"ssh": "its config volume would be the realm's -ssh-config"}


def is_dns_label(text: str) -> bool:
    """Say whether `text` is one lower-case DNS label of 1 to 63 characters (RFC 1123)."""
    return len(text) <= DNS_LABEL_MAX and _DNS_LABEL.fullmatch(text) is not None


def worker(index: int) -> str:
    """Return the short name of a worker."""
    return f"worker-{index}"


def worker_index(short: str) -> int | None:
    """Return the index of a worker's short name, or None for any other name."""
    match = _WORKER.fullmatch(short)
    return int(match[1]) if match else None


def role_of(short: str) -> str:
    """Return the role of a node's short name; the backup controller is a controller."""
    if short in (CONTROLLER, BACKUP):
        return CONTROLLER
    return short if short in FIXED_NODES else "worker"


def project(realm: str, cluster: str) -> str:
    """Return the compose project of a cluster."""
    return f"{realm}-{cluster}"


def mesh_project(realm: str) -> str:
    """Return the compose project of a realm's mesh."""
    return f"{realm}-mesh"


def container(realm: str, cluster: str, short: str) -> str:
    """Return the container name of a node."""
    return f"{realm}-{cluster}-{short}"


def aside(container: str) -> str:
    """Return the name that a container has while its successor takes its place and its name."""
    return f"{container}{ASIDE}"


def network(realm: str, cluster: str) -> str:
    """Return the name of a cluster's network."""
    return f"{realm}-{cluster}-net"


def volume(realm: str, cluster: str, kind: str) -> str:
    """Return the name of a cluster's volume of one kind: config, munge, data, state or home."""
    return f"{realm}-{cluster}-{kind}"


def record(realm: str, cluster: str) -> str:
    """Return the name of the config-only network that holds a cluster's record."""
    return f"{realm}-{cluster}-record"


def trial(realm: str, cluster: str) -> str:
    """Return the name of the container and the network in which a new configuration of a cluster is tried."""
    return f"{realm}-{cluster}-try"


def mesh_network(realm: str) -> str:
    """Return the name of a realm's mesh network."""
    return f"{realm}-mesh"


def mesh_container(realm: str, service: str) -> str:
    """Return the name of a realm's DNS container (`dns`) or relay (`ssh`)."""
    return dns_container(realm) if service == "dns" else relay_container(realm)


def dns_container(realm: str) -> str:
    """Return the name of a realm's DNS container."""
    return f"{realm}-dns"


def relay_container(realm: str) -> str:
    """Return the name of a realm's SSH relay."""
    return f"{realm}-ssh"


def ssh_volume(realm: str) -> str:
    """Return the name of the volume with a realm's SSH key and known hosts."""
    return f"{realm}-ssh-config"


def lock(realm: str) -> str:
    """Return the name of a realm's lock network."""
    return f"{realm}-lock"


def dns_zone(realm: str) -> str:
    """Return the DNS zone of a realm."""
    return f"{realm}.{DNS_SUFFIX}"


def search_domain(realm: str, cluster: str) -> str:
    """Return the DNS search domain of a cluster's nodes."""
    return f"{cluster}.{realm}.{DNS_SUFFIX}"


def fqdn(realm: str, cluster: str, short: str) -> str:
    """Return the DNS name of a node."""
    return f"{short}.{cluster}.{realm}.{DNS_SUFFIX}"
