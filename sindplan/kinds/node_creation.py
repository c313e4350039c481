"""Making a node: one create call with both networks, and one archive with what its first boot needs."""

import json

from attrs import evolve

from sindplan.engine.records import ContainerSpec, Endpoint
from sindplan.errors import Conflict, SindplanError
from sindplan.kinds import labels
from sindplan.kinds.first_boot import boot_entries
from sindplan.kinds.host_key import HostKey, new_host_key
from sindplan.kinds.node_resource import Node
from sindplan.kinds.removing import remove_container
from sindplan.kinds.run import Run
from sindplan.kinds.volume import marked
from sindplan.model import names, network
from sindplan.model.address import Address
from sindplan.model.boot import BOOT_SCRIPT
from sindplan.model.units import MIB
from sindplan.plan.plan import Action


def create(run: Run, action: Action) -> None:
    """Create a node's container and put into it what its first boot needs."""
    (change,) = action.changes
    node = change.after
    assert isinstance(node, Node)
    if change.before is not None:
        remove_container(run, action)
    run.known.made.add(change.address)
    run.known.ids[change.address] = build(run, change.address, node, new_host_key())
    if node.starts_early:
        run.engine.start(run.known.ids[change.address])


def build(run: Run, address: Address, node: Node, key: HostKey) -> str:
    """Create a container and put into it what its first boot needs; return its id."""
    short, realm = address.name, node.cluster.realm
    run.known.host_keys[address] = key.public
    subnet = run.known.subnets.get(node.cluster, "")
    try:
        container = run.engine.create_container(_spec(run, node, short, key.public, subnet))
    except Conflict as refused:
        raise SindplanError(
            f"A container named {node.name!r} is in the way; it was left as it is: {refused.text}",
            f"Look at it (docker inspect {node.name}), then remove or rename it and apply again.",
        ) from refused
    assert node.boot is not None, "a node that is wanted says what its boot must find"
    run.engine.put_files(
        container, boot_entries(node.boot, key, run.known.relay_keys[realm], run.secrets.get(node.cluster))
    )
    return container


def _spec(run: Run, node: Node, short: str, host_key: str, subnet: str) -> ContainerSpec:
    realm, cluster = node.cluster.parts
    # Of all volumes only the database's begins with what the image has: MariaDB's first tables.
    filled = names.volume(realm, cluster, "db")
    mounts = marked(run, node.mounts, realm, cluster)
    half = node.declared_mib // 2 * MIB
    return ContainerSpec(
        name=node.name,
        image=node.image,
        hostname=short,
        labels={
            **dict.fromkeys(labels.NODE_KEYS, ""),
            **node.labels,
            **node.stated,
            **labels.own(run.owner, run.token),
            labels.SLURM_VERSION: node.slurm_version,
            labels.HOST_KEY: host_key,
            labels.SPEC: json.dumps(
                {"v": 1, "image": node.image, "tmp_size": node.tmp_size, "units": node.units}, sort_keys=True
            ),
        },
        endpoints=tuple(
            Endpoint(
                network=name,
                address=network.resolve(address, subnet),
                # The default route leads over the cluster's network.
                gw_priority=1 if name == names.network(realm, cluster) else 0,
            )
            for name, address in node.networks.items()
        ),
        entrypoint=("/bin/sh",),
        command=("-c", BOOT_SCRIPT),
        mounts=tuple(evolve(mount, no_copy=mount.kind == "volume" and mount.source != filled) for mount in mounts),
        tmpfs={
            "/tmp": f"rw,nosuid,nodev,size={node.tmp_size}",  # noqa: S108 - a mount point in the node
            "/run": "exec,mode=755,size=64m",
            "/run/lock": "",
        },
        cpus=node.cpus,
        memory=node.memory,
        shm_size=half or None,
        dns=(run.known.dns[realm],) if run.known.dns.get(realm) else (),
        dns_search=(names.search_domain(realm, cluster),),
        extra_hosts=tuple(network.resolve(host, subnet) for host in node.hosts),
        security_opt=node.security_opt,
        cap_add=node.cap_add,
        cap_drop=node.cap_drop,
        devices=node.devices,
        private_cgroup=True,
    )
