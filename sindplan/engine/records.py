"""What goes in and out of the engine port: plain frozen records, never objects of the docker SDK."""

from collections.abc import Mapping
from typing import Literal

from attrs import field, frozen

ContainerState = Literal["created", "running", "paused", "restarting", "removing", "exited", "dead"]


DEFAULT_POOLS = 31
"""Networks that Docker's built-in address pools hold, docker0 included (moby, ipamutils)."""

LOCAL = "local"
"""The volume driver that every engine has."""


@frozen(kw_only=True)
class EngineInfo:
    """The engine's own account of itself (`GET /info`, and `GET /plugins` for what is missing there).

    Attributes:
        engine_id: The daemon's stable id.
        address: Where it was reached, such as `unix:///run/docker.sock`.
        version: Server version, such as `28.5.2+dfsg4`.
        api_version: Highest API version the server speaks.
        cgroup_version: `1` or `2`.
        security_options: As Docker lists them, such as `name=seccomp,profile=builtin`, `name=rootless`.
        cpus: CPUs of the host.
        memory: Memory of the host, bytes.
        memory_limit, cpu_limit, cpuset, pids_limit: Whether the engine can hold such limits.
        address_pools: How many networks its address pools hold.
        volume_plugins: Names of the volume drivers it can use, `local` among them: managed plugins that are enabled with their
            tag, such as `cvmfs:latest`, and others that it has seen.
    """

    engine_id: str
    address: str
    version: str
    api_version: str
    cgroup_version: str
    security_options: tuple[str, ...]
    cpus: int
    memory: int
    memory_limit: bool
    cpu_limit: bool
    cpuset: bool
    pids_limit: bool
    address_pools: int = DEFAULT_POOLS
    volume_plugins: tuple[str, ...] = (LOCAL,)

    @property
    def local(self) -> bool:
        """Whether the engine shares this machine's kernel and files."""
        return self.address.startswith("unix://")

    def volume_plugin(self, name: str) -> str | None:
        """Return the full name of a volume driver, as its volumes bear it: Docker lets `latest` be left out."""
        return next((full for full in (name, f"{name}:latest") if full in self.volume_plugins), None)

    def has_volume_plugin(self, name: str) -> bool:
        """Say whether there is a volume driver of that name."""
        return self.volume_plugin(name) is not None


@frozen(kw_only=True)
class Image:
    """An image that the engine has. `id` is its content hash, `sha256:…`."""

    id: str
    labels: Mapping[str, str]


@frozen(kw_only=True)
class Network:
    """A network. Addresses are text (`172.20.0.0/16`, `172.20.0.1`), empty when there is none.

    `members` maps container ids to names; it is filled by `inspect_network` only, where stopped containers are absent
    (Engine 28).
    """

    id: str
    name: str
    labels: Mapping[str, str]
    driver: str = "bridge"
    subnet: str = ""
    gateway: str = ""
    ip_range: str = ""
    config_only: bool = False
    created: str = ""
    members: Mapping[str, str] = field(factory=dict)


@frozen(kw_only=True)
class NetworkSpec:
    """A network to create; empty text leaves the choice to the engine.

    Attributes:
        internal: Whether it leads nowhere but to its members.
    """

    name: str
    labels: Mapping[str, str]
    subnet: str = ""
    gateway: str = ""
    ip_range: str = ""
    config_only: bool = False
    internal: bool = False


@frozen(kw_only=True)
class Volume:
    """A named volume."""

    name: str
    driver: str
    labels: Mapping[str, str]
    created: str = ""


@frozen(kw_only=True)
class Endpoint:
    """A container's place on a network.

    In a spec `address` is the fixed IPv4 address or empty. Seen from outside, `address` is the present one (empty while
    stopped) and `fixed` the one the container was given for good (`IPAMConfig`).
    """

    network: str
    address: str = ""
    fixed: str = ""
    gw_priority: int = 0
    network_id: str = ""


@frozen(kw_only=True, order=True)
class Mount:
    """A volume or a folder of the host, mounted.

    `source` is a volume's name or an absolute path. `no_copy` keeps Docker from filling an empty volume with what the
    image has at `target`. A volume that does not exist is made by `driver` (empty for `local`, a plugin's name may lack its
    `latest`); one that exists must be that driver's unless it is empty. `propagation` is that of a folder, such as `rslave`,
    empty for Docker's own `rprivate`. A volume that the engine makes on the way gets the `labels`, which are no part of what is
    mounted.
    """

    target: str
    kind: Literal["volume", "bind"]
    source: str
    read_only: bool = False
    no_copy: bool = False
    driver: str = ""
    propagation: str = ""
    labels: Mapping[str, str] = field(factory=dict, eq=False, order=False, repr=False)

    def __str__(self) -> str:
        how = "read-only" if self.read_only else "read-write"
        return f"{self.kind} {self.source} at {self.target} ({how})"


@frozen(kw_only=True)
class ContainerSpec:
    """A container to create: one call, all networks.

    Attributes:
        endpoints: In order; the first is the network mode. Docker Engine API v1.48 for `gw_priority`.
        tmpfs: Mount point to options.
        cpus: Whole CPUs, sent as CPU period and quota (`NanoCPUs` cannot be changed to a quota later, and is refused without a
            CPU controller); None for no limit. May be more than the host has.
        memory: Bytes for memory and for memory with swap (no swap); None for no limit. At least 6 MiB on every engine. An engine
            without the controller (`EngineInfo`) takes either limit and drops it: it is observed as None.
        shm_size: Bytes of /dev/shm; None for Docker's default.
        extra_hosts: `name:address` lines.
        cap_add, cap_drop: Names without `CAP_`, in capitals, or `ALL`.
        devices: `host:inside:rights` in full (`sindplan.engine.privileges.device`), then names of CDI devices.
        security_opt: As `docker run --security-opt` takes them, but for a seccomp profile, which is JSON and not a path.
            `systempaths=unconfined` comes back last.
        init: Whether Docker puts its own init in front.
    """

    name: str
    image: str
    labels: Mapping[str, str]
    endpoints: tuple[Endpoint, ...] = ()
    hostname: str = ""
    entrypoint: tuple[str, ...] | None = None
    command: tuple[str, ...] | None = None
    mounts: tuple[Mount, ...] = ()
    tmpfs: Mapping[str, str] = field(factory=dict)
    cpus: int | None = None
    memory: int | None = None
    shm_size: int | None = None
    dns: tuple[str, ...] = ()
    dns_search: tuple[str, ...] = ()
    extra_hosts: tuple[str, ...] = ()
    cap_add: tuple[str, ...] = ()
    cap_drop: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    security_opt: tuple[str, ...] = ()
    private_cgroup: bool = False
    init: bool = False


@frozen(kw_only=True)
class ContainerSummary:
    """A line of the container list: enough to tell whose it is.

    `networks` maps network names to ids.
    """

    id: str
    name: str
    image: str
    image_id: str
    labels: Mapping[str, str]
    state: ContainerState
    networks: Mapping[str, str]


@frozen(kw_only=True)
class Container:
    """A container as `inspect` shows it: the spec as the engine holds it, and its state.

    `spec.image` is the reference it was made from, `image_id` what that meant. `spec.cpus` and `spec.memory` are None when
    the engine holds no such limit. `memory_swap` is in bytes. `running_pid` is 0 unless it runs.
    """

    id: str
    spec: ContainerSpec
    image_id: str
    state: ContainerState
    exit_code: int
    oom_killed: bool
    started_at: str
    memory_swap: int | None = None

    @property
    def name(self) -> str:
        """The container's name, without Docker's slash."""
        return self.spec.name

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels, those of the image included."""
        return self.spec.labels

    def endpoint(self, network: str) -> Endpoint | None:
        """Return its place on the network of that name."""
        return next((endpoint for endpoint in self.spec.endpoints if endpoint.network == network), None)


@frozen(kw_only=True)
class Entry:
    """A file, folder or symbolic link to put into a container, or one that was read out of it.

    `path` is absolute. `content` is the bytes of a file; `link` the target of a link. `mode` holds permission bits only.
    """

    path: str
    kind: Literal["file", "dir", "link"] = "file"
    content: bytes = field(default=b"", repr=False)
    link: str = ""
    mode: int = 0o644
    uid: int = 0
    gid: int = 0


@frozen(kw_only=True)
class Executed:
    """What a command in a container gave back. Output is decoded as UTF-8 with replacement."""

    code: int
    out: str
    err: str
