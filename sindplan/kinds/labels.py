"""Labels: sind's and docker compose's, a wire contract, and sindplan's own beside them (sind.md section 2, design section 4).

Docker merges the labels of an image into its containers, so every key is written always, empty when there is nothing to
say, and readers take missing and empty alike.
"""

from collections.abc import Iterable, Mapping

from sindplan import __version__
from sindplan.model import names
from sindplan.model.declaration import Identity

REALM = "sind.realm"
CLUSTER = "sind.cluster"
ROLE = "sind.role"
MANAGED = "sind.managed"
CVMFS = "sind.cvmfs"
USERS = "sind.users"
GROUPS = "sind.groups"
IDENTITY = "sind.identity"
SLURM_VERSION = "sind.slurm.version"
DNS_ADDRESS = "sind.dns.ip"
PROJECT = "com.docker.compose.project"
COMPOSE_SERVICE = "com.docker.compose.service"
COMPOSE_NUMBER = "com.docker.compose.container-number"
OWNER = "sindplan.owner"
GROUP = "sindplan.group"
SPEC = "sindplan.spec"
RUN = "sindplan.run"
HOST_KEY = "sindplan.host-key"
"""Public SSH host key: spares reading it out of every node to compare it with known_hosts."""
RECORD = "sindplan.record"
RECORD_REALM = "sindplan.realm"
RECORD_CLUSTER = "sindplan.cluster"
DECLARATION = "sindplan.declaration"
PROTECTED = "sindplan.protected"
CONTENTS = "sindplan.contents"
"""On a record: what was put into volumes and into Slurm, as addresses below the cluster's."""
SUBNET = "sindplan.subnet"
"""On a record: the subnet of the cluster's network, which nodes and files still name when a hand has removed it."""
_VERSION = "sindplan.version"

IDENTITIES: Mapping[Identity, str] = {"local": "local", "nss_slurm": "nssSlurm", "client_ids": "clientIds"}
"""How sind spells the identities."""

# Keys without which `docker compose ls` fails.
_COMPOSE_CONTAINER = {
    "com.docker.compose.oneoff": "False",
    "com.docker.compose.config-hash": "",
    "com.docker.compose.project.config_files": "",
}


def own(owner: str, token: str) -> dict[str, str]:
    """Return what sindplan adds to everything it makes."""
    return {OWNER: owner, RUN: token, _VERSION: __version__}


def network(realm: str, cluster: str) -> dict[str, str]:
    """Return sind's labels of a cluster's network."""
    return {
        REALM: realm,
        CLUSTER: cluster,
        PROJECT: names.project(realm, cluster),
        "com.docker.compose.network": "net",
    }


def volume(realm: str, cluster: str, kind: str) -> dict[str, str]:
    """Return sind's labels of a cluster's volume."""
    return {
        REALM: realm,
        CLUSTER: cluster,
        PROJECT: names.project(realm, cluster),
        "com.docker.compose.volume": kind,
    }


def mesh_network(realm: str) -> dict[str, str]:
    """Return sind's labels of a mesh network, without the pinned DNS address."""
    return {REALM: realm, PROJECT: names.mesh_project(realm), "com.docker.compose.network": "mesh"}


def mesh_volume(realm: str) -> dict[str, str]:
    """Return sind's labels of the SSH volume."""
    return {REALM: realm, PROJECT: names.mesh_project(realm), "com.docker.compose.volume": "ssh-config"}


def mesh_container(realm: str, service: str) -> dict[str, str]:
    """Return sind's labels of the DNS container or the relay: compose's only, so that no listing takes them for nodes."""
    return {
        PROJECT: names.mesh_project(realm),
        COMPOSE_SERVICE: service,
        COMPOSE_NUMBER: "1",
        **_COMPOSE_CONTAINER,
    }


def node(realm: str, cluster: str, short: str) -> dict[str, str]:
    """Return sind's labels of a node that follow from its name; the others (`NODE_KEYS`) say what it was given."""
    role = names.role_of(short)
    index = names.worker_index(short)
    number = 2 if short == names.BACKUP else 1 if index is None else index + 1
    return {
        REALM: realm,
        CLUSTER: cluster,
        ROLE: role,
        PROJECT: names.project(realm, cluster),
        COMPOSE_SERVICE: role,
        COMPOSE_NUMBER: str(number),
        **_COMPOSE_CONTAINER,
    }


NODE_KEYS = (
    *node("", "", ""),
    MANAGED,
    "sind.data.hostpath",
    "sind.data.mountpath",
    CVMFS,
    USERS,
    GROUPS,
    IDENTITY,
    GROUP,
)
"""Labels that a node is given; `sind.slurm.version` follows its image."""

COMPARED = tuple(key for key in NODE_KEYS if key not in (USERS, GROUPS))
"""Those that a node is replaced for. Users come and go in place; no label of a container can be changed."""


def is_managed(labels: Mapping[str, str]) -> bool:
    """Say whether a node's labels call it managed; those that say nothing do (sind before v0.10)."""
    return labels.get(MANAGED) != "false"


def identity_of(labels: Mapping[str, str]) -> Identity:
    """Return the identity that a node's labels say; local without one."""
    word = labels.get(IDENTITY)
    return next((identity for identity, spelled in IDENTITIES.items() if spelled == word), "local")


def said(labels: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    """Return what labels say of some keys, without empty values."""
    return {key: labels[key] for key in sorted(keys) if labels.get(key)}


def of_cluster(labels: Mapping[str, str], realm: str, cluster: str) -> bool:
    """Say whether labels put an object into exactly this cluster of this realm."""
    return labels.get(REALM) == realm and labels.get(CLUSTER) == cluster
