"""Docker's JSON as records: what was created is what is observed.

A container's spec is read back equal to the one it was created from, as far as the engine keeps it. It differs so:

- `labels`, `entrypoint` and `command` include what the image has (the image's entry point unless one was given; its command
  unless one of the two was).
- `endpoints` come with the network mode's first and the others by name; `address` is the present address, `fixed` the given.
- `cpus` and `memory` are None on an engine that cannot hold them; part of a CPU counts as a whole one.
- `private_cgroup` is true on every engine with cgroup v2, which does that by default.
- Capabilities are in capitals and without `CAP_`; devices are written in full, those of CDI after the others;
  `systempaths=unconfined` is the last security option.
- `shm_size` of Docker's default (64 MiB) is None, a host name that is the short id is empty.
- Mounts that only the image asked for (anonymous volumes) are left out.

An answer that has not the shape that Docker gives it is none: whatever comes of reading it (`answers.NONSENSE`) says so, and what is
returned holds what its annotations say.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from ipaddress import IPv4Network, ip_address, ip_network
from typing import Any, TypeVar

from sindplan.engine.creation import CPU_PERIOD
from sindplan.engine.privileges import capabilities, device_of, security_options
from sindplan.engine.records import (
    DEFAULT_POOLS,
    LOCAL,
    Container,
    ContainerSpec,
    ContainerSummary,
    Endpoint,
    EngineInfo,
    Image,
    Mount,
    Network,
    Volume,
)
from sindplan.engine.typed import is_text, well_typed

T = TypeVar("T")
Json = Mapping[str, Any]

IPV4 = 4
DEFAULT_SHM = 64 * 1024 * 1024
PROPAGATIONS = ("private", "rprivate", "shared", "rshared", "slave", "rslave")


def engine_info(address: str, api_version: str, info: Json, plugins: Sequence[str]) -> EngineInfo:
    """Read `GET /info`, the API version that came with it, and the names out of `GET /plugins`."""
    listed = (info.get("Plugins") or {}).get("Volume") or [LOCAL]
    return well_typed(
        EngineInfo(
            engine_id=info.get("ID") or "",
            address=address,
            version=info.get("ServerVersion") or "",
            api_version=api_version,
            cgroup_version=info.get("CgroupVersion") or "1",
            security_options=tuple(info.get("SecurityOptions") or ()),
            cpus=info.get("NCPU") or 0,
            memory=info.get("MemTotal") or 0,
            memory_limit=bool(info.get("MemoryLimit")),
            cpu_limit=bool(info.get("CpuCfsQuota")),
            cpuset=bool(info.get("CPUSet")),
            pids_limit=bool(info.get("PidsLimit")),
            address_pools=_pools(info.get("DefaultAddressPools") or ()),
            volume_plugins=tuple(sorted({*listed, *plugins})),
        )
    )


def _pools(pools: Sequence[Json]) -> int:
    """Return how many IPv4 networks of the size given the pools hold; the built-in number when none are set."""
    sizes = [(ip_network(pool["Base"]), pool["Size"]) for pool in pools]
    mine = [(base, size) for base, size in sizes if base.version == IPV4]
    wrong = next((size for base, size in mine if not base.prefixlen <= size <= base.max_prefixlen), None)
    if wrong is not None:
        raise ValueError(f"an address pool of networks of size {wrong}")
    return sum(1 << (size - base.prefixlen) for base, size in mine) or DEFAULT_POOLS


def plugin_names(found: Sequence[Json]) -> tuple[str, ...]:
    """Read `GET /plugins`."""
    return tuple(_text(plugin["Name"]) for plugin in found)


def listed(read: Callable[[Json], T]) -> Callable[[object], tuple[T, ...]]:
    """Return what reads a list of what `read` reads."""

    def read_all(found: object) -> tuple[T, ...]:
        if not isinstance(found, list):
            raise TypeError(f"{type(found).__name__} instead of a list")
        return tuple(map(read, found))

    return read_all


def made(found: Json) -> str:
    """Read the id of something that was created."""
    if not found["Id"]:
        raise ValueError("an empty Id")
    return _text(found["Id"])


def programs(found: Json) -> tuple[str, ...]:
    """Read the names out of `GET /containers/{id}/top` of `pid,comm`, sorted."""
    return tuple(sorted(_text(row[1]) for row in found["Processes"]))


def exit_status(found: Json) -> int:
    """Read `POST /containers/{id}/wait`."""
    return _number(found["StatusCode"])


def exit_code(found: Json) -> int | None:
    """Read `GET /exec/{id}/json`: the exit code, None as long as there is none."""
    code = found["ExitCode"]
    return None if found["Running"] or code is None else _number(code)


def started(found: Json) -> str | None:
    """Read when a container was started last, as `since` takes it, out of its inspection; None for never."""
    return unix_time(found["State"]["StartedAt"])


def _text(value: object) -> str:
    if not isinstance(value, str) or not is_text(value):
        raise TypeError(f"{type(value).__name__} instead of text")
    return value


def _number(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"{type(value).__name__} instead of a number")
    return value


def summary(line: Json) -> ContainerSummary:
    """Read a line of the container list."""
    networks = (line.get("NetworkSettings") or {}).get("Networks") or {}
    return well_typed(
        ContainerSummary(
            id=line["Id"],
            name=_own_name(line.get("Names") or ()),
            image=line.get("Image") or "",
            image_id=line.get("ImageID") or "",
            labels=line.get("Labels") or {},
            state=line["State"],
            networks={name: (place or {}).get("NetworkID") or "" for name, place in networks.items() if name != "none"},
        )
    )


def network(found: Json) -> Network:
    """Read a network, with its members if they are there."""
    pool: Json = next(
        (one for one in (found.get("IPAM") or {}).get("Config") or () if ":" not in one.get("Subnet", "")), {}
    )
    return well_typed(
        Network(
            id=found["Id"],
            name=found["Name"],
            labels=found.get("Labels") or {},
            driver=found.get("Driver") or "",
            subnet=str(IPv4Network(pool["Subnet"], strict=False)) if pool.get("Subnet") else "",
            gateway=pool.get("Gateway") or "",
            ip_range=pool.get("IPRange") or "",
            config_only=bool(found.get("ConfigOnly")),
            created=found.get("Created") or "",
            members={key: member.get("Name") or "" for key, member in (found.get("Containers") or {}).items()},
        )
    )


def volumes(found: Json) -> tuple[Volume, ...]:
    """Read `GET /volumes`."""
    return listed(volume)(found.get("Volumes") or [])


def volume(found: Json) -> Volume:
    """Read a volume."""
    return well_typed(
        Volume(
            name=found["Name"],
            driver=found.get("Driver") or "",
            labels=found.get("Labels") or {},
            created=_time(found.get("CreatedAt")),
        )
    )


def image(found: Json) -> Image:
    """Read an image."""
    return well_typed(Image(id=found["Id"], labels=(found.get("Config") or {}).get("Labels") or {}))


def images(lines: object) -> Mapping[str, Image]:
    """Read the image list: by tags and digests, or by id where there are none."""
    return {reference: image for found in listed(_named_image)(lines) for reference, image in found.items()}


def _named_image(line: Json) -> Mapping[str, Image]:
    image = well_typed(Image(id=line["Id"], labels=line.get("Labels") or {}))
    references = [*(line.get("RepoTags") or ()), *(line.get("RepoDigests") or ())]
    if not all(map(is_text, references)):
        raise TypeError("a reference is no text")
    return dict.fromkeys([one for one in references if "<none>" not in one] or [image.id], image)


def container(found: Json) -> Container:
    """Read `GET /containers/{id}/json`."""
    state, host, config = found["State"], found["HostConfig"], found["Config"]
    hostname = config.get("Hostname") or ""
    spec = ContainerSpec(
        name=found["Name"].removeprefix("/"),
        image=config.get("Image") or "",
        labels=config.get("Labels") or {},
        endpoints=_endpoints(host.get("NetworkMode") or "", (found.get("NetworkSettings") or {}).get("Networks") or {}),
        hostname="" if hostname == found["Id"][:12] else hostname,
        entrypoint=tuple(config["Entrypoint"]) if config.get("Entrypoint") else None,
        command=tuple(config["Cmd"]) if config.get("Cmd") else None,
        mounts=_mounts(host, found.get("Mounts") or ()),
        tmpfs=host.get("Tmpfs") or {},
        cpus=_cpus(host),
        memory=_limit(host.get("Memory")),
        shm_size=None if host.get("ShmSize") in (None, 0, DEFAULT_SHM) else host["ShmSize"],
        dns=tuple(host.get("Dns") or ()),
        dns_search=tuple(host.get("DnsSearch") or ()),
        extra_hosts=tuple(host.get("ExtraHosts") or ()),
        cap_add=capabilities(host.get("CapAdd")),
        cap_drop=capabilities(host.get("CapDrop")),
        devices=_devices(host),
        security_opt=security_options(host),
        private_cgroup=host.get("CgroupnsMode") == "private",
        init=bool(host.get("Init")),
    )
    return well_typed(
        Container(
            id=found["Id"],
            spec=spec,
            image_id=found.get("Image") or "",
            state=state["Status"],
            exit_code=state.get("ExitCode") or 0,
            oom_killed=bool(state.get("OOMKilled")),
            started_at=_time(state.get("StartedAt")),
            memory_swap=_limit(host.get("MemorySwap")),
        )
    )


def unix_time(text: str | None) -> str | None:
    """Return Docker's time as seconds since 1970 with all nine decimals, as `since` takes it, or None for never."""
    if not _time(text) or text is None:
        return None
    whole, _, rest = text.removesuffix("Z").partition(".")
    seconds = int(datetime.fromisoformat(f"{whole}+00:00").timestamp())
    return f"{seconds}.{rest.ljust(9, '0')}"


def _own_name(names: Sequence[str]) -> str:
    """Return the name without its slash; names with a second one are those that legacy links gave."""
    own = [name.removeprefix("/") for name in names if "/" not in name.removeprefix("/")]
    return own[0] if own else ""


def _time(text: str | None) -> str:
    """Go's zero time means never."""
    return "" if not text or text.startswith("0001-") else text


def _limit(value: int | None) -> int | None:
    """0 and -1 both mean no limit."""
    return value if value is not None and value > 0 else None


def _cpus(host: Json) -> int | None:
    quota, period = host.get("CpuQuota") or 0, host.get("CpuPeriod") or CPU_PERIOD
    if quota > 0:
        return int(-(-quota // period))
    nano = host.get("NanoCpus") or 0
    return int(-(-nano // 1_000_000_000)) if nano > 0 else None


def _endpoints(mode: str, networks: Mapping[str, Json | None]) -> tuple[Endpoint, ...]:
    # The mode may be a name or an id; the network of no network is not one.
    order = sorted(
        (name for name in networks if name != "none"),
        key=lambda name: (mode not in (name, (networks[name] or {}).get("NetworkID")), name),
    )
    return tuple(_endpoint(name, networks[name] or {}) for name in order)


def _endpoint(name: str, found: Json) -> Endpoint:
    return Endpoint(
        network=name,
        address=_address(found.get("IPAddress")),
        fixed=_address((found.get("IPAMConfig") or {}).get("IPv4Address")),
        gw_priority=found.get("GwPriority") or 0,
        network_id=found.get("NetworkID") or "",
    )


def _address(value: str | None) -> str:
    return str(ip_address(_text(value))) if value else ""


def _mounts(host: Json, actual: Sequence[Json]) -> tuple[Mount, ...]:
    names = {mount.get("Destination"): mount.get("Name") for mount in actual}
    found = [
        Mount(
            target=mount["Target"],
            kind=mount["Type"],
            source=mount.get("Source") or names.get(mount["Target"]) or "",
            read_only=bool(mount.get("ReadOnly")),
            no_copy=bool((mount.get("VolumeOptions") or {}).get("NoCopy")),
            driver=((mount.get("VolumeOptions") or {}).get("DriverConfig") or {}).get("Name") or "",
            propagation=(mount.get("BindOptions") or {}).get("Propagation") or "",
            labels=(mount.get("VolumeOptions") or {}).get("Labels") or {},
        )
        for mount in host.get("Mounts") or ()
        if mount.get("Type") in ("volume", "bind")
    ]
    return (*found, *(_bind(text) for text in host.get("Binds") or ()))


def _bind(text: str) -> Mount:
    """Read `source:target[:options]`, which docker's own command sends for --volume."""
    source, target, *rest = text.split(":")
    options = rest[0].split(",") if rest else []
    return Mount(
        target=target,
        kind="bind" if source.startswith("/") else "volume",
        source=source,
        read_only="ro" in options,
        no_copy="nocopy" in options,
        propagation=next((option for option in options if option in PROPAGATIONS), ""),
    )


def _devices(host: Json) -> tuple[str, ...]:
    plain = [
        device_of(found["PathOnHost"], found["PathInContainer"], found["CgroupPermissions"]).text
        for found in host.get("Devices") or ()
    ]
    cdi = [one for ask in host.get("DeviceRequests") or () if ask.get("Driver") == "cdi" for one in ask["DeviceIDs"]]
    return (*plain, *cdi)
