"""The state of a simulated engine, how things are found in it, and the steps that several verbs share."""

import copy
import functools
import hashlib
import random
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from sindplan.engine.records import LOCAL, EngineInfo, Entry, Network, NetworkSpec, Volume
from sindplan.engine.references import tagged
from sindplan.engine.refusals import refusal
from sindplan.engine.simulated_files import FilesError, View, rooted, subtree
from sindplan.engine.simulated_machine import Machine
from sindplan.engine.simulated_networks import NetworksError, addresses_for, allocate
from sindplan.engine.simulated_store import (
    SimulatedContainer,
    SimulatedImage,
    SimulatedNetwork,
    SimulatedPlace,
    SimulatedVolume,
    Tree,
)

# What every Linux machine has.
HOST_DEVICES = tuple(f"/dev/{name}" for name in ("full", "fuse", "null", "random", "tty", "urandom", "zero"))
PREDEFINED = {"bridge": "bridge", "host": "host", "none": "null"}
NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]+")
NAME_CHARACTERS = "[a-zA-Z0-9][a-zA-Z0-9_.-]"

P = ParamSpec("P")
R = TypeVar("R")
W = TypeVar("W", bound="World")


def locked(method: Callable[Concatenate[W, P], R]) -> Callable[Concatenate[W, P], R]:
    """Let one thread in at a time."""

    @functools.wraps(method)
    def inner(self: W, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self._lock:
            return method(self, *args, **kwargs)

    return inner


class World:
    """What a simulated engine is made of. The verbs are in its subclasses."""

    def __init__(
        self, info: EngineInfo, machine: Machine, seed: int | None, pools: Sequence[str], endpoint_limit: int
    ) -> None:
        self.registry: dict[str, SimulatedImage] = {}
        self.host_paths: dict[str, Tree] = {}
        self.host_devices = set(HOST_DEVICES)
        self.endpoint_limit = endpoint_limit
        self.pools = tuple(pools)
        self._info = info
        self._machine = machine
        # Order of lists, not a secret.
        self._random = None if seed is None else random.Random(seed)  # noqa: S311
        self._lock = threading.RLock()
        self._count = 0
        self._images: dict[str, SimulatedImage] = {}
        self._networks: dict[str, SimulatedNetwork] = {}
        self._volumes: dict[str, SimulatedVolume] = {}
        self._containers: dict[str, SimulatedContainer] = {}
        for name, driver in PREDEFINED.items():
            self._add_network(NetworkSpec(name=name, labels={}), driver)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        with self._lock:
            twin = object.__new__(type(self))
            memo[id(self)] = twin
            for name, value in vars(self).items():
                setattr(twin, name, threading.RLock() if name == "_lock" else copy.deepcopy(value, memo))
            return twin

    def held(self) -> AbstractContextManager[object]:
        """Keep all others out, for as long as a machine reads or writes more than one thing."""
        return self._lock

    # Looking up: full id, then name, then a unique beginning of an id, as dockerd does.

    def _find_container(self, verb: str, key: str) -> SimulatedContainer | None:
        by_name = (one for one in self._containers.values() if one.name == key.removeprefix("/"))
        return self._containers.get(key) or next(by_name, None) or _by_prefix(verb, key, self._containers)

    def _container(self, verb: str, key: str) -> SimulatedContainer:
        found = self._find_container(verb, key)
        if found is None:
            raise refusal(verb, key, 404, f"No such container: {key}")
        return found

    def _running(self, verb: str, key: str, before: str = "") -> SimulatedContainer:
        found = self._container(verb, key)
        if not found.alive:
            raise refusal(verb, key, 409, f"{before}container {found.id} is not running")
        return found

    def _find_network(self, verb: str, key: str) -> SimulatedNetwork | None:
        by_name = (one for one in self._networks.values() if one.record.name == key)
        return self._networks.get(key) or next(by_name, None) or _by_prefix(verb, key, self._networks)

    def _network(self, verb: str, key: str) -> SimulatedNetwork:
        found = self._find_network(verb, key)
        if found is None:
            raise refusal(verb, key, 404, f"network {key} not found")
        return found

    def _find_image(self, reference: str) -> SimulatedImage | None:
        if found := self._images.get(tagged(reference)):
            return found
        digest = reference.removeprefix("sha256:")
        matching = {image.id: image for image in self._images.values() if digest and image.id[7:].startswith(digest)}
        return next(iter(matching.values())) if len(matching) == 1 else None

    def _image_shown(self, found: SimulatedContainer) -> str:
        """Docker's list shows the reference until it means another image, then the id."""
        now = self._images.get(tagged(found.spec.image))
        return found.spec.image if now is not None and now.id == found.image_id else found.image_id

    # Parts

    def _joined(self, network_id: str) -> Iterator[tuple[SimulatedContainer, SimulatedPlace]]:
        for found in self._containers.values():
            for place in found.places.values():
                if found.alive and place.network_id == network_id and place.address:
                    yield found, place

    def _join(self, place: SimulatedPlace) -> None:
        """Give a place its network and address."""
        key = place.network_id or place.network
        network = self._networks.get(key) if place.network_id else self._find_network("start", key)
        if network is None:
            raise NetworksError(404, f"network {key} not found")
        if network.record.config_only:
            raise NetworksError(403, "cannot create endpoint on configuration-only network")
        if not network.record.subnet:
            place.network_id = network.record.id
            return
        used = [
            other.address
            for found in self._containers.values()
            for other in found.places.values()
            if other.address and other.network_id == network.record.id
        ]
        if len(used) >= self.endpoint_limit:
            raise NetworksError(500, f"adding interface to bridge br-{network.record.id[:12]} failed: exchange full")
        place.address = allocate(network, place.fixed, used)
        place.network_id = network.record.id

    def _ended(self, found: SimulatedContainer, code: int) -> None:
        found.state, found.exit_code = "exited", code
        found.tmpfs = {}
        for place in found.places.values():
            place.address = ""

    def _add_network(self, spec: NetworkSpec, driver: str) -> str:
        subnet, gateway = spec.subnet, spec.gateway
        if driver == "bridge":
            taken = [one.record.subnet for one in self._networks.values() if one.record.driver == "bridge"]
            with self._networking("create_network", spec.name):
                subnet, gateway = addresses_for(spec, taken, self.pools)
        new_id = self._new_id("network")
        record = Network(
            id=new_id,
            name=spec.name,
            labels=dict(spec.labels),
            driver=driver,
            subnet=subnet,
            gateway=gateway,
            ip_range=spec.ip_range,
            config_only=spec.config_only,
            created=self._now(),
        )
        self._networks[new_id] = SimulatedNetwork(record=record, pinned=bool(spec.subnet))
        return new_id

    def _volume(self, verb: str, about: str, name: str, labels: Mapping[str, str], driver: str = "") -> SimulatedVolume:
        """Return a volume, made if it is missing; without a driver one of any driver will do."""
        old = self._volumes.get(name)
        plugin = old.record.driver if old is not None and not driver else self._info.volume_plugin(driver or LOCAL)
        if plugin is None:
            text = f'create {name}: error looking up volume plugin {driver}: plugin "{driver}" not found'
            raise refusal(verb, about, 404, text)
        if old is not None:
            if old.record.driver != plugin:
                whose = f"driver '{old.record.driver}' already has volume '{name}'"
                raise refusal(verb, about, 409, f"create {name}: {whose}: volume name must be unique")
            return old
        if plugin == LOCAL and not NAME.fullmatch(name):
            raise refusal(verb, about, 400, f"create {name}: {_bad_volume(name)}")
        record = Volume(name=name, driver=plugin, labels=dict(labels), created=self._now())
        self._volumes[name] = SimulatedVolume(record=record)
        return self._volumes[name]

    def _mount(self, found: SimulatedContainer, image: SimulatedImage) -> None:
        """Make missing volumes in silence and fill empty ones from the image, as dockerd does at the create call."""
        for mount in found.spec.mounts:
            found.layer = {**rooted({mount.target: Entry(path=mount.target, kind="dir", mode=0o755)}), **found.layer}
            if mount.kind == "volume":
                volume = self._volume("create_container", found.name, mount.source, mount.labels, mount.driver)
                # Owner and mode of its own folder do not count.
                if not set(volume.tree) - {"/"} and not mount.no_copy:
                    volume.tree.update(subtree(image.files, mount.target))

    def _view(self, found: SimulatedContainer, *, inside: bool = False) -> View:
        """Return its files: as archives see them, or as processes inside do, with tmpfs."""
        trees: dict[str, Tree] = {"/": found.layer}
        for mount in found.spec.mounts:
            source = self._volumes[mount.source].tree if mount.kind == "volume" else self.host_paths[mount.source]
            trees[mount.target] = source
        if inside:
            trees |= found.tmpfs
        read_only = frozenset(mount.target for mount in found.spec.mounts if mount.read_only)
        return View(trees, read_only, found.alive)

    def _check_name(self, verb: str, about: str, name: str, before: str) -> None:
        if not NAME.fullmatch(name):
            shown = f"/{name}" if before else name
            text = f"{before}Invalid container name ({shown}), only {NAME_CHARACTERS} are allowed"
            raise refusal(verb, about, 400, text)
        for other in self._containers.values():
            if other.name == name:
                text = (
                    f'{before}Conflict. The container name "/{name}" is already in use by container "{other.id}". '
                    "You have to remove (or rename) that container to be able to reuse that name."
                )
                raise refusal(verb, about, 409, text)

    @contextmanager
    def _networking(self, verb: str, name: str, before: str = "") -> Iterator[None]:
        try:
            yield
        except NetworksError as error:
            raise refusal(verb, name, error.status, before + error.text) from error

    @contextmanager
    def _files(self, found: SimulatedContainer, verb: str) -> Iterator[None]:
        try:
            yield
        except FilesError as error:
            raise refusal(verb, found.name, 500, str(error)) from error

    def _shuffled(self, found: Iterable[R]) -> list[R]:
        ordered = list(found)
        if self._random is not None:
            self._random.shuffle(ordered)
        return ordered

    def _new_id(self, kind: str) -> str:
        self._count += 1
        return hashlib.sha256(f"{kind} {self._count}".encode()).hexdigest()

    def _now(self) -> str:
        self._count += 1
        return (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._count)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _by_prefix(verb: str, key: str, by_id: Mapping[str, R]) -> R | None:
    matching = [found for object_id, found in by_id.items() if key and object_id.startswith(key)]
    if len(matching) > 1:
        raise refusal(verb, key, 400, f"multiple IDs found with provided prefix: {key}")
    return matching[0] if matching else None


def _bad_volume(name: str) -> str:
    if len(name) == 1:
        return "volume name is too short, names should be at least two alphanumeric characters"
    return (
        f'"{name}" includes invalid characters for a local volume name, only "{NAME_CHARACTERS}" '
        "are allowed. If you intended to pass a host directory, use absolute path"
    )
