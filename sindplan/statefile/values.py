"""What can be wrong with a value that no bound or spelling can say: one small function a field, and their table."""

import ipaddress
import posixpath
import re
from collections.abc import Mapping

from sindplan.model.declaration import Cluster, NodeOptions, SecretReference, Storage, WorkerGroup
from sindplan.model.units import Seconds, TmpfsSize
from sindplan.statefile.bounds import Place
from sindplan.statefile.fault import Said, Says
from sindplan.statefile.node_set import node_names, worker_indexes
from sindplan.statefile.privileges import capability_fault, device_fault, security_option_fault
from sindplan.statefile.secrets import file_fault
from sindplan.statefile.wording import CONTROL, quoted, sentence

ALL_OF_IT = 100
"""Percent."""
LONGEST_DRAIN = Seconds(365 * 24 * 3600)
SMALLEST_PREFIX, LARGEST_PREFIX = 16, 26
"""A subnet of fewer addresses has no room below its middle, one of more is a slip."""

_NETWORK = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}/[0-9]{1,2}")
_LONGEST_PATH = 4095
"""Linux's PATH_MAX, less the final NUL."""


def _tmp_size(value: TmpfsSize) -> Said | None:
    if not value.endswith("%") or int(value[:-1]) <= ALL_OF_IT:
        return None
    return f"{quoted(value)} is more than all memory.", "A percentage is of the node's memory, at most 100%."


def _drain_timeout(value: Seconds) -> Said | None:
    return None if value <= LONGEST_DRAIN else ("That is longer than a year.", "A worker drains at most 8760h.")


def _subnet(value: str) -> Said | None:
    no_network = f"{quoted(value)} is not an IPv4 network.", 'Write a network such as "10.42.0.0/24".'
    if _NETWORK.fullmatch(value) is None:
        return no_network
    try:
        network = ipaddress.IPv4Network(value, strict=False)
    except ValueError:
        return no_network
    if not SMALLEST_PREFIX <= network.prefixlen <= LARGEST_PREFIX:
        room = f"A cluster's network is between /{SMALLEST_PREFIX} and /{LARGEST_PREFIX}."
        return f"{quoted(value)} has no fit size.", room
    if value != str(network):
        return f"{quoted(value)} is an address within a network.", f'The network is "{network}".'
    if any((network.is_multicast, network.is_loopback, network.is_reserved, network.network_address.is_unspecified)):
        return f"{quoted(value)} is no network for containers.", no_network[1]
    return None


def _nodes(value: str) -> Said | None:
    advice = 'Write workers by number, such as "worker-[8-9]" or "worker-0,worker-[4-7]".'
    try:
        return None if worker_indexes(value) else (f"{quoted(value)} names no worker.", "For none write `count = 0`.")
    except ValueError as error:
        return sentence(str(error)), advice


def _powered_off(value: str) -> Said | None:
    advice = 'Write nodes by name, such as "submitter", "worker-[2-3]" or "api,worker-0".'
    try:
        return None if node_names(value) else (f"{quoted(value)} names no node.", "For none remove it.")
    except ValueError as error:
        return sentence(str(error)), advice


def _host_path(value: str) -> Said | None:
    if not value or len(value.encode()) > _LONGEST_PATH or CONTROL.search(value):
        return f"{quoted(value)} is not a path.", "Write the path of a folder of the Docker host."
    if value.startswith("~"):
        return f"{quoted(value)}: `~` is not expanded.", 'Write the absolute path; "./~" is a folder called so.'
    return None


def _mount_path(value: str) -> Said | None:
    is_text = 1 < len(value.encode()) <= _LONGEST_PATH and not CONTROL.search(value) and "," not in value
    # POSIX lets two slashes at the start mean something else, and normpath keeps them.
    if is_text and value == posixpath.normpath(value) and value.startswith("/") and not value.startswith("//"):
        return None
    rule = 'Write an absolute path below `/` without comma, "..", or a slash at the end, such as "/data".'
    return f"{quoted(value)} is no place for the data folder.", rule


SAYS: Mapping[Place, Says] = {
    (Cluster, "subnet"): _subnet,
    (Cluster, "drain_timeout"): _drain_timeout,
    (NodeOptions, "tmp_size"): _tmp_size,
    (WorkerGroup, "nodes"): _nodes,
    (Cluster, "powered_off"): _powered_off,
    (WorkerGroup, "drain_timeout"): _drain_timeout,
    (Storage, "host_path"): _host_path,
    (Storage, "mount_path"): _mount_path,
    (SecretReference, "file"): file_fault,
}

ITEM_SAYS: Mapping[Place, Says] = {
    (NodeOptions, "cap_add"): capability_fault,
    (NodeOptions, "cap_drop"): capability_fault,
    (NodeOptions, "devices"): device_fault,
    (NodeOptions, "security_opt"): security_option_fault,
}
"""The same for each item of an array."""
