"""What must hold within a snapshot beyond its grammar: what no engine says, no file may."""

import base64
import binascii
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network, ip_address

from sindplan.engine.records import Container, Endpoint
from sindplan.snapshots.codec import Fault
from sindplan.snapshots.snapshot import LONGEST_HIDDEN, ContainerSeen, FileSeen, FilesSeen, Simulated, Snapshot

_LARGEST_MODE = 0o7777
_LARGEST_ID = 2**32 - 1
_STATUS = range(100, 600)


def check(snapshot: Snapshot) -> Iterator[Fault]:
    """Yield what is wrong with a snapshot."""
    yield from _time("taken", snapshot.taken)
    networks, containers, volumes = snapshot.networks, snapshot.containers, snapshot.volumes
    yield from _unique("networks", "id", [one.id for one in networks])
    yield from _unique("volumes", "name", [one.name for one in volumes])
    yield from _unique("containers", "summary.id", [one.summary.id for one in containers])
    yield from _unique("containers", "summary.name", [one.summary.name for one in containers])
    for at, network in enumerate(networks):
        where = f"networks[{at}]"
        yield from _address(f"{where}.subnet", network.subnet, IPv4Network, "an IPv4 network, such as 172.20.0.0/16")
        yield from _address(f"{where}.ip_range", network.ip_range, IPv4Network, "an IPv4 network")
        yield from _address(f"{where}.gateway", network.gateway, IPv4Address, "an IPv4 address")
    for at, container in enumerate(containers):
        yield from _container(f"containers[{at}]", container)
    if snapshot.simulated is not None:
        yield from _simulated(snapshot.simulated, snapshot)


def _container(where: str, seen: ContainerSeen) -> Iterator[Fault]:
    yield from _unique(f"{where}.files", "path", [one.path for one in seen.files])
    for at, found in enumerate(seen.files):
        yield from _found(f"{where}.files[{at}]", found)
    if seen.inspected is not None:
        yield from _inspected(f"{where}.inspected", seen.inspected, seen)


def _inspected(where: str, found: Container, seen: ContainerSeen) -> Iterator[Fault]:
    if found.id != seen.summary.id:
        yield Fault(f"{where}.id", "is not the id in `summary`")
    yield from _unique(f"{where}.spec.mounts", "target", [mount.target for mount in found.spec.mounts])
    yield from _unique(f"{where}.spec.endpoints", "network", [one.network for one in found.spec.endpoints])
    for at, mount in enumerate(found.spec.mounts):
        yield from _path(f"{where}.spec.mounts[{at}].target", mount.target)
    for target in found.spec.tmpfs:
        yield from _path(f"{where}.spec.tmpfs", target)
    for at, endpoint in enumerate(found.spec.endpoints):
        yield from _endpoint(f"{where}.spec.endpoints[{at}]", endpoint)


def _endpoint(where: str, endpoint: Endpoint) -> Iterator[Fault]:
    yield from _address(f"{where}.address", endpoint.address, ip_address, "an address")
    yield from _address(f"{where}.fixed", endpoint.fixed, ip_address, "an address")


def _found(where: str, found: FilesSeen) -> Iterator[Fault]:
    yield from _path(f"{where}.path", found.path)
    if found.refused and found.refused not in _STATUS:
        yield Fault(f"{where}.refused", "is no status")
    yield from _files(f"{where}.entries", found.entries)
    outside = (at for at, one in enumerate(found.entries) if not _is_at(found.path, one.path))
    yield from (Fault(f"{where}.entries[{at}].path", f"is not below {found.path!r}") for at in outside)


def _files(where: str, files: Iterable[FileSeen]) -> Iterator[Fault]:
    found = tuple(files)
    yield from _unique(where, "path", [one.path for one in found])
    for at, one in enumerate(found):
        yield from _file(f"{where}[{at}]", one)


def _file(where: str, one: FileSeen) -> Iterator[Fault]:
    yield from _path(f"{where}.path", one.path)
    if not 0 <= one.mode <= _LARGEST_MODE:
        yield Fault(f"{where}.mode", "is no mode of a file")
    for name, number in (("uid", one.uid), ("gid", one.gid)):
        if not 0 <= number <= _LARGEST_ID:
            yield Fault(f"{where}.{name}", "is no id of a user or group")
    if one.hidden is not None and not 0 <= one.hidden <= LONGEST_HIDDEN:
        yield Fault(f"{where}.hidden", f"is not between 0 and {LONGEST_HIDDEN}")
    try:
        base64.b64decode(one.base64, validate=True)
    except (binascii.Error, ValueError):
        yield Fault(f"{where}.base64", "is not base64")


def _simulated(found: Simulated, snapshot: Snapshot) -> Iterator[Fault]:
    if not found.count >= 0:
        yield Fault("simulated.count", "is below 0")
    there = {
        "volumes": {one.name for one in snapshot.volumes},
        "layers": {one.summary.id for one in snapshot.containers},
    }
    for kind, trees in (("volumes", found.volumes), ("layers", found.layers)):
        for name, files in trees.items():
            if name not in there[kind]:
                yield Fault(f"simulated.{kind}", f"has files of {name[:80]!r}, which is not in the snapshot")
            yield from _files(f"simulated.{kind}[{name[:80]}]", files)


def _unique(where: str, what: str, found: list[str]) -> Iterator[Fault]:
    if "" in found:
        yield Fault(where, f"has an empty {what}")
    for name, times in Counter(found).items():
        if times > 1:
            yield Fault(where, f"has {what} {name[:80]!r} {times} times")


def _path(where: str, path: str) -> Iterator[Fault]:
    if not path.startswith("/") or posixpath.normpath(path) != path or path.startswith("//") or "\0" in path:
        yield Fault(where, "is not an absolute path")


def _is_at(folder: str, path: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def _address(where: str, text: str, kind: Callable[[str], object], noun: str) -> Iterator[Fault]:
    if not text:
        return
    try:
        kind(text)
    except ValueError:
        yield Fault(where, f"is not {noun}")


def _time(where: str, text: str) -> Iterator[Fault]:
    try:
        # In years that every clock can count.
        sound = datetime.fromisoformat(text).tzinfo is not None and 2000 < datetime.fromisoformat(text).year < 9000  # noqa: PLR2004
    except ValueError:
        sound = False
    if not sound:
        yield Fault(where, "is no time with a time zone, such as 2026-01-01T00:00:00+00:00")
