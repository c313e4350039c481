"""Specs as Docker's own JSON: the bodies of create and update calls.

They are written by hand: the SDK's helpers drop what they do not know (gateway priorities) and send what was not asked for.
A limit of None is never sent.
"""

from sindplan.engine.privileges import SYSTEM_PATHS, is_cdi, parsed_device
from sindplan.engine.records import ContainerSpec, Endpoint, Mount, NetworkSpec

# Microseconds. A quota can be changed in place; Docker refuses that once NanoCpus was set.
CPU_PERIOD = 100_000

Json = dict[str, object]


def container_body(spec: ContainerSpec) -> Json:
    """Return the body of `POST /containers/create`."""
    host: Json = {
        "NetworkMode": spec.endpoints[0].network if spec.endpoints else "none",
        "Mounts": [_mount(mount) for mount in spec.mounts],
        "Tmpfs": dict(spec.tmpfs),
        "Dns": list(spec.dns),
        "DnsSearch": list(spec.dns_search),
        "ExtraHosts": list(spec.extra_hosts),
        "CapAdd": list(spec.cap_add),
        "CapDrop": list(spec.cap_drop),
        "Devices": [device_body(text) for text in spec.devices if not is_cdi(text)],
        "SecurityOpt": [option for option in spec.security_opt if option != SYSTEM_PATHS],
        **limits(spec.cpus, spec.memory),
    }
    if cdi := [text for text in spec.devices if is_cdi(text)]:
        host["DeviceRequests"] = [{"Driver": "cdi", "DeviceIDs": cdi}]
    if SYSTEM_PATHS in spec.security_opt:
        host |= {"MaskedPaths": [], "ReadonlyPaths": []}
    if spec.shm_size is not None:
        host["ShmSize"] = spec.shm_size
    if spec.private_cgroup:
        host["CgroupnsMode"] = "private"
    if spec.init:
        host["Init"] = True
    body: Json = {
        "Image": spec.image,
        "Labels": dict(spec.labels),
        "HostConfig": host,
        "NetworkingConfig": {"EndpointsConfig": {one.network: endpoint_body(one) for one in spec.endpoints}},
    }
    if spec.hostname:
        body["Hostname"] = spec.hostname
    if spec.entrypoint is not None:
        body["Entrypoint"] = list(spec.entrypoint)
    if spec.command is not None:
        body["Cmd"] = list(spec.command)
    return body


def endpoint_body(endpoint: Endpoint) -> Json:
    """Return an endpoint's configuration."""
    body: Json = {}
    if endpoint.address:
        body["IPAMConfig"] = {"IPv4Address": endpoint.address}
    if endpoint.gw_priority:
        body["GwPriority"] = endpoint.gw_priority
    return body


def limits(cpus: int | None, memory: int | None) -> Json:
    """Return limits as create and update take them. Memory and memory with swap go together: there is no swap."""
    body: Json = {}
    if cpus is not None:
        body |= {"CpuPeriod": CPU_PERIOD, "CpuQuota": cpus * CPU_PERIOD}
    if memory is not None:
        body |= {"Memory": memory, "MemorySwap": memory}
    return body


def limits_by_nano(cpus: int | None, memory: int | None) -> Json:
    """Return limits as update takes them for a container whose CPUs were set as NanoCpus."""
    return limits(None, memory) | ({"NanoCpus": cpus * 1_000_000_000} if cpus is not None else {})


def network_body(spec: NetworkSpec) -> Json:
    """Return the body of `POST /networks/create`. A config-only network has no driver and takes no addresses."""
    body: Json = {"Name": spec.name, "Labels": dict(spec.labels)}
    pool = {"Subnet": spec.subnet, "Gateway": spec.gateway, "IPRange": spec.ip_range}
    if given := {key: value for key, value in pool.items() if value}:
        body["IPAM"] = {"Driver": "default", "Config": [given]}
    if spec.internal:
        body["Internal"] = True
    return body | ({"ConfigOnly": True} if spec.config_only else {"Driver": "bridge"})


def _mount(mount: Mount) -> Json:
    body: Json = {"Type": mount.kind, "Source": mount.source, "Target": mount.target, "ReadOnly": mount.read_only}
    options: Json = {"NoCopy": True} if mount.kind == "volume" and mount.no_copy else {}
    if mount.driver:
        options["DriverConfig"] = {"Name": mount.driver}
    if mount.labels:
        options["Labels"] = dict(mount.labels)
    if options:
        body["VolumeOptions"] = options
    if mount.propagation:
        body["BindOptions"] = {"Propagation": mount.propagation}
    return body


def device_body(text: str) -> Json:
    """Return a device's configuration."""
    found = parsed_device(text)
    return {"PathOnHost": found.outside, "PathInContainer": found.inside, "CgroupPermissions": found.rights}
