"""The engine port on a real Docker Engine, over the docker SDK's transports.

The SDK's own verbs are not used (but for `pull`): its exec loses output and has no time limit, its lists inspect each object, and
its create calls drop fields. Importing this module does not import the SDK, which takes longer than many a plan.
"""

import contextlib
import json
import posixpath
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, Unpack

from attrs import define, field

from sindplan.engine import creation, inspection
from sindplan.engine.archive import ArchiveError, bounded, pack, unpack
from sindplan.engine.calls import Call, Options, Parsed, path_of
from sindplan.engine.patience import patiently
from sindplan.engine.processes import Processes
from sindplan.engine.records import (
    Container,
    ContainerSpec,
    ContainerSummary,
    Endpoint,
    EngineInfo,
    Entry,
    Executed,
    Image,
    Network,
    NetworkSpec,
    Volume,
)
from sindplan.engine.refusals import refusal
from sindplan.errors import Conflict, EngineRefused, EngineTimeout, NotFound

if TYPE_CHECKING:
    from sindplan.engine.transport import Transport

T = TypeVar("T")

# Seconds for what may take long: archives, starts of many at once, removals under load.
LONG = 300.0
_VOLUME_PLUGINS = json.dumps({"enabled": ["true"], "capability": ["volumedriver"]})


def connect(address: str | None = None) -> "DockerEngine":
    """Connect to an engine: at `address`, or where DOCKER_HOST, the current docker context or the default socket lead.

    Raises:
        EngineUnreachable: Nobody answers there, or not as Docker does, or this user may not.
    """
    from sindplan.engine.connect import find
    from sindplan.engine.transport import negotiate

    return DockerEngine(negotiate(find(address)))


@define(eq=False)
class DockerEngine:
    """A Docker Engine. Made by `connect`."""

    _transport: "Transport"
    _processes: Processes = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._processes = Processes(self._transport)

    def info(self) -> EngineInfo:
        """Return what the engine says of itself."""
        call = self._call("info", "", "GET", "/info")
        with self._transport.open(call) as answer, self._transport.sense(call):
            info, api_version = answer.parsed(), answer.headers.get("Api-Version") or self._transport.version
        plugins: tuple[str, ...] = ()
        # Managed plugins are not in that list. Whoever may not ask for them (a socket proxy) is told of none.
        with contextlib.suppress(EngineRefused):
            plugins = self._get("info", "", "/plugins", inspection.plugin_names, filters=_VOLUME_PLUGINS)
        with self._transport.sense(call):
            return inspection.engine_info(self._transport.place.address, api_version, info, plugins)

    # Reading

    def containers(self) -> tuple[ContainerSummary, ...]:
        """Return all containers, stopped ones too."""
        return self._get("containers", "", "/containers/json", inspection.listed(inspection.summary), all="1")

    def networks(self) -> tuple[Network, ...]:
        """Return all networks."""
        return self._get("networks", "", "/networks", inspection.listed(inspection.network))

    def volumes(self) -> tuple[Volume, ...]:
        """Return all volumes."""
        return self._get("volumes", "", "/volumes", inspection.volumes)

    def inspect_container(self, container: str) -> Container | None:
        """Return a container, or None when it is gone."""
        with contextlib.suppress(NotFound):
            return self._get("inspect_container", container, "/containers/{}/json", inspection.container)
        return None

    def inspect_network(self, network: str) -> Network | None:
        """Return a network with its members, or None when it is gone."""
        with contextlib.suppress(NotFound):
            return self._get("inspect_network", network, "/networks/{}", inspection.network)
        return None

    def image(self, reference: str) -> Image | None:
        """Return an image, or None when the engine does not have it."""
        with contextlib.suppress(NotFound):
            return self._get("image", reference, "/images/{}/json", inspection.image)
        return None

    def images(self) -> Mapping[str, Image]:
        """Return all images, by reference."""
        return self._get("images", "", "/images/json", inspection.images, digests="1")

    def get_files(self, container: str, path: str, limit: int = 4 * 1024 * 1024) -> Mapping[str, Entry]:
        """Return what is at `path`, by absolute path."""
        call = self._call("get_files", container, "GET", "/containers/{}/archive", query={"path": path}, timeout=LONG)
        try:
            with self._transport.open(call) as answer:
                data = bounded(answer.parts(LONG), path, limit)
            return unpack(data, path, limit)
        except ArchiveError as error:
            raise EngineRefused("get_files", container, 413, str(error)) from error
        except EngineRefused as error:
            if _is_missing_path(error):
                return {}
            raise

    def has_file(self, container: str, path: str) -> bool:
        """Say whether something is at `path`."""
        call = self._call("has_file", container, "HEAD", "/containers/{}/archive", query={"path": path})
        try:
            self._transport.send(call)
        except EngineRefused as error:
            # A HEAD answer has no text that tells a missing path from a missing container, or a path through a file.
            if error.status not in (404, 500) or self.inspect_container(container) is None:
                raise
            return False
        return True

    def processes(self, container: str) -> tuple[str, ...]:
        """Return the program names of a container's processes."""
        # Docker wants the pid among the columns, to sort by.
        return self._get("processes", container, "/containers/{}/top", inspection.programs, ps_args="-eo pid,comm")

    def logs(self, container: str, tail: int = 50) -> str:
        """Return the last lines a container printed, of both streams."""
        return self._processes.logs(container, tail)

    # Networks and volumes

    def create_network(self, spec: NetworkSpec) -> str:
        """Create a network and return its id."""
        return self._created("create_network", spec.name, "/networks/create", json=creation.network_body(spec))

    def remove_network(self, network: str) -> None:
        """Remove a network."""
        self._delete("remove_network", network, "/networks/{}")

    def connect(self, network: str, container: str, address: str = "", gw_priority: int = 0) -> None:
        """Put a container on a network.

        Docker takes it in silence, and ignores it, when a container that does not run is there already, and when there is no
        such network: so both are looked at first.
        """
        found = self.inspect_container(container)
        if found is not None and found.state not in ("running", "paused"):
            there = self.inspect_network(network)
            if there is None:
                raise refusal("connect", network, 404, f"network {network} not found")
            if found.endpoint(there.name) is not None:
                text = f"endpoint with name {found.name} already exists in network {there.name}"
                raise refusal("connect", network, 403, text)
        endpoint = creation.endpoint_body(Endpoint(network=network, address=address, gw_priority=gw_priority))
        self._post(
            "connect", network, "/networks/{}/connect", json={"Container": container, "EndpointConfig": endpoint}
        )

    def disconnect(self, network: str, container: str) -> None:
        """Take a container off a network."""
        try:
            self._post("disconnect", network, "/networks/{}/disconnect", json={"Container": container, "Force": True})
        except EngineRefused as error:
            if "is not connected to" not in error.text:
                raise

    def create_volume(self, name: str, labels: Mapping[str, str], driver: str = "local") -> Volume:
        """Create a volume, or return the one there is."""
        body = {"Name": name, "Driver": driver, "Labels": dict(labels)}
        call = self._call("create_volume", name, "POST", "/volumes/create", json=body)
        return self._transport.ask(call, inspection.volume)

    def remove_volume(self, name: str) -> None:
        """Remove a volume.

        Docker may call it in use for a moment after its last container went: only then, while no container has it, this
        waits.
        """
        conflicts: list[Conflict] = []
        mounting = json.dumps({"volume": [name]})

        def removed() -> bool:
            try:
                self._delete("remove_volume", name, "/volumes/{}")
            except Conflict as conflict:
                conflicts.append(conflict)
                if self._get(
                    "remove_volume", name, "/containers/json", inspection.listed(dict), all="1", filters=mounting
                ):
                    raise
                return False
            return True

        if not patiently(removed):
            raise conflicts[-1]

    # Containers

    def create_container(self, spec: ContainerSpec) -> str:
        """Create a container with all its networks and return its id."""
        body = creation.container_body(spec)
        return self._created("create_container", spec.name, "/containers/create", json=body, query={"name": spec.name})

    def start(self, container: str) -> None:
        """Start a container."""
        self._post("start", container, "/containers/{}/start", timeout=LONG)

    def stop(self, container: str, grace: int = 10) -> None:
        """Stop a container."""
        self._post("stop", container, "/containers/{}/stop", query={"t": str(grace)}, timeout=grace + LONG)

    def pause(self, container: str) -> None:
        """Freeze a running container."""
        self._post("pause", container, "/containers/{}/pause")

    def unpause(self, container: str) -> None:
        """Let a frozen container go on."""
        self._post("unpause", container, "/containers/{}/unpause")

    def kill(self, container: str, signal: str = "KILL") -> None:
        """Send a signal to a running container's first process."""
        self._post("kill", container, "/containers/{}/kill", query={"signal": signal})

    def rename(self, container: str, name: str) -> None:
        """Give a container another name."""
        self._post("rename", container, "/containers/{}/rename", query={"name": name})

    def remove_container(self, container: str) -> None:
        """Kill and remove a container; returns when it is gone, also when someone else was removing it already."""
        try:
            self._delete("remove_container", container, "/containers/{}", query={"force": "1", "v": "1"}, timeout=LONG)
        except Conflict as conflict:
            if "already in progress" not in conflict.text:
                raise
            if not patiently(lambda: self.inspect_container(container) is None, first=0.05, tries=10):
                raise

    def update_limits(self, container: str, cpus: int | None, memory: int | None) -> None:
        """Set the limits of a container. An engine that cannot hold one drops it without an error."""
        path = "/containers/{}/update"
        try:
            self._post("update_limits", container, path, json=creation.limits(cpus, memory))
        except EngineRefused as refused:
            # `docker create --cpus`, with which sind makes its nodes, sets another field; the two exclude each other.
            if "NanoCPUs has already been set" not in refused.text:
                raise
            self._post("update_limits", container, path, json=creation.limits_by_nano(cpus, memory))

    def put_files(self, container: str, entries: Sequence[Entry]) -> None:
        """Put entries into a container and its volumes. A file never takes a folder's place, nor a folder a file's."""
        self._transport.send(
            self._call(
                "put_files",
                container,
                "PUT",
                "/containers/{}/archive",
                query={"path": "/", "noOverwriteDirNonDir": "1"},
                data=pack(entries),
                timeout=LONG,
            )
        )

    def copy_files(self, source: str, target: str, path: str) -> None:
        """Let the archive of one container run into the other."""
        read = self._call("copy_files", source, "GET", "/containers/{}/archive", query={"path": path}, timeout=LONG)
        with self._transport.open(read) as answer:
            self._transport.send(
                self._call(
                    "copy_files",
                    target,
                    "PUT",
                    "/containers/{}/archive",
                    # An archive names what is in it from its last folder on.
                    query={"path": posixpath.dirname(path), "noOverwriteDirNonDir": "1"},
                    data=answer.parts(LONG),
                    timeout=LONG,
                )
            )

    def execute(self, container: str, command: Sequence[str], timeout: float = 60, user: str = "") -> Executed:
        """Run a command and wait for its end."""
        return self._processes.execute(container, command, timeout, user)

    def wait_output(self, container: str, marker: str, timeout: float) -> bool:
        """Follow a container's output until a line equals `marker` since its last start."""
        since = self._get("wait_output", container, "/containers/{}/json", inspection.started)
        return since is not None and self._processes.follow(container, since, marker, timeout)

    def wait_exit(self, container: str, timeout: float) -> int:
        """Wait until a container has exited and return its exit code."""
        call = self._call("wait_exit", container, "POST", "/containers/{}/wait", timeout=timeout)
        try:
            return self._transport.ask(call, inspection.exit_status)
        except EngineTimeout as error:
            raise EngineTimeout(f"{container!r} did not exit within {timeout:g} seconds.") from error

    # Images

    def pull(self, reference: str) -> Image:
        """Pull an image from its registry, with the credentials that docker's own command has."""
        from sindplan.engine.registry import pull

        pull(self._transport, reference)
        image = self.image(reference)
        if image is None:
            raise NotFound("pull", reference, 404, f"No such image: {reference}")
        return image

    def close(self) -> None:
        """Let go of connections."""
        self._transport.close()

    # Calls

    def _call(self, verb: str, name: str, method: str, template: str, **more: Unpack[Options]) -> Call:
        if "{}" not in template:
            return Call(verb=verb, name=name, method=method, path=template, **more)
        if not name:
            # Docker would take the path without a name for the list.
            raise NotFound(verb, name, 404, "No name or id was given.")
        return Call(verb=verb, name=name, method=method, path=path_of(template, name), **more)

    def _get(self, verb: str, name: str, template: str, read: Callable[[Parsed], T], **query: str) -> T:
        return self._transport.ask(self._call(verb, name, "GET", template, query=query), read)

    def _post(self, verb: str, name: str, template: str, **more: Unpack[Options]) -> None:
        self._transport.send(self._call(verb, name, "POST", template, **more))

    def _delete(self, verb: str, name: str, template: str, **more: Unpack[Options]) -> None:
        self._transport.send(self._call(verb, name, "DELETE", template, **more))

    def _created(self, verb: str, name: str, path: str, **more: Unpack[Options]) -> str:
        return self._transport.ask(self._call(verb, name, "POST", path, **more), inspection.made)


def _is_missing_path(error: EngineRefused) -> bool:
    """Say whether it was the path that is not there (404), or leads through a file (500), and not the container."""
    return error.text.startswith("Could not find the file") or "not a directory" in error.text
