"""What a user may write: the whole grammar of the state file on one page, as frozen classes.

A key in TOML is a field here, with the same name. A field's metadata says what it is about (`about`, for the schema and
the docs) and, when the grammar knows it but this version does not build it yet, which feature it waits for (`later`):
such a key is refused by name, never ignored. `None` means "not said": the cluster's `defaults`, then sind's own
defaults (`CPUS`, `MEMORY`, `TMP_SIZE`), stand in.
"""

from collections.abc import Mapping
from typing import Any, Literal

from attrs import Factory, field, frozen

from sindplan.model.names import DEFAULT_MOUNT_PATH
from sindplan.model.units import MIB, Bytes, Seconds, TmpfsSize

CPUS = 1
MEMORY = Bytes(512 * MIB)
TMP_SIZE = TmpfsSize("256m")
DRAIN_TIMEOUT = Seconds(600)

Identity = Literal["local", "nss_slurm", "client_ids"]
Power = Literal["on", "off"]
OnTimeout = Literal["fail", "requeue", "cancel"]
AdminLevel = Literal["operator", "admin"]
SlurmText = str | Mapping[str, str]
"""One Slurm file's text, or named fragments of it."""


def about(text: str) -> dict[str, Any]:
    """Return field metadata."""
    return {"about": text}


@frozen(kw_only=True)
class SecretReference:
    """Where a secret is to be had: exactly one of the two. Only an apply looks there."""

    env: str | None = field(
        default=None, metadata=about("An environment variable whose name begins with SINDPLAN_SECRET_.")
    )
    file: str | None = field(default=None, metadata=about("A file below the folder that --secrets-dir names."))


Secret = str | SecretReference
"""A secret by reference, or in plain text (with a warning)."""


@frozen(kw_only=True)
class NodeOptions:
    """What can be said of every node; a cluster's `defaults` have just these keys."""

    image: str | None = field(default=None, metadata=about("Image of the node, any Docker reference."))
    cpus: int | None = field(default=None, metadata=about("Whole CPUs the node may use; 1 unless set."))
    memory: Bytes | None = field(default=None, metadata=about("Memory limit as Docker spells it; 512m unless set."))
    tmp_size: TmpfsSize | None = field(default=None, metadata=about("Size of /tmp, a tmpfs; 256m unless set."))
    cap_add: tuple[str, ...] | None = field(default=None, metadata=about("Linux capabilities to add, without CAP_."))
    cap_drop: tuple[str, ...] | None = field(default=None, metadata=about("Linux capabilities to drop, without CAP_."))
    devices: tuple[str, ...] | None = field(default=None, metadata=about("Devices, host[:container[:permissions]]."))
    security_opt: tuple[str, ...] | None = field(
        default=None,
        metadata=about("Docker security options; the path of a seccomp profile is seen from the state file."),
    )


@frozen(kw_only=True)
class Controller(NodeOptions):
    """The node that runs slurmctld."""

    backup: bool = field(default=False, metadata=about("Add a backup controller."))
    managed: bool | None = field(default=None, metadata=about("Whether Slurm is set up."))


@frozen(kw_only=True)
class Submitter(NodeOptions):
    """A login node: Slurm's commands, no daemon."""


@frozen(kw_only=True)
class Database(NodeOptions):
    """The node that runs MariaDB and slurmdbd."""

    storage_password: Secret | None = field(
        default=None,
        repr=False,
        metadata=about("slurmdbd's password at MariaDB; without one the socket tells who asks."),
    )
    managed: bool | None = field(default=None, metadata=about("Whether Slurm is set up."))


@frozen(kw_only=True)
class Api(NodeOptions):
    """The node that runs slurmrestd."""

    managed: bool | None = field(default=None, metadata=about("Whether Slurm is set up."))


@frozen(kw_only=True)
class WorkerGroup(NodeOptions):
    """A named group of equal workers, either `count` of them or explicit `nodes`."""

    count: int | None = field(
        default=None, metadata=about("How many workers; 1 unless `nodes` names them, 0 for none.")
    )
    nodes: str | None = field(default=None, metadata=about('Explicit workers as a node set, such as "worker-[8-9]".'))
    managed: bool | None = field(default=None, metadata=about("Whether Slurm is set up."))
    power: Power | None = field(
        default=None, metadata=about("Whether the group's nodes run; none of a cluster that is off does.")
    )
    features: tuple[str, ...] = field(default=(), metadata=about("Slurm features."))
    gres: str | None = field(default=None, metadata=about("Slurm generic resources, such as gpu:a100:2."))
    weight: int | None = field(default=None, metadata=about("Slurm scheduling weight."))
    partition: str | None = field(
        default=None, metadata=about("Parameters of a partition of the group's own, which has its name.")
    )
    drain_timeout: Seconds | None = field(
        default=None, metadata=about("How long to wait for jobs before a worker leaves; 10m unless set.")
    )
    on_timeout: OnTimeout | None = field(
        default=None, metadata=about('What happens to jobs then; "fail" gives up, and the worker stays.')
    )
    max_unavailable: int | None = field(default=None, metadata=about("How many workers are replaced at the same time."))


@frozen(kw_only=True)
class Partition:
    """A Slurm partition over worker groups."""

    workers: tuple[str, ...] = field(metadata=about("Names of worker groups."))
    default: bool = field(default=False, metadata=about("Whether jobs go here that name no partition."))
    max_time: str | None = field(default=None, metadata=about("Slurm's MaxTime, such as 60, 2:30:00 or INFINITE."))
    state: Literal["up", "down", "drain", "inactive"] | None = field(default=None, metadata=about("Slurm's State."))
    options: Mapping[str, str] = field(factory=dict, metadata=about("Further partition parameters of slurm.conf."))


@frozen(kw_only=True)
class Storage:
    """The data folder that every node sees."""

    host_path: str | None = field(
        default=None, metadata=about("A folder of the Docker host instead of a volume, absolute or beside the file.")
    )
    mount_path: str = field(default=DEFAULT_MOUNT_PATH, metadata=about("Where nodes see it; /data unless set."))
    cvmfs: bool = field(default=False, metadata=about("Mount /cvmfs."))


@frozen(kw_only=True)
class User:
    """A user of the cluster."""

    uid: int | None = field(default=None, metadata=about("User id; assigned unless set."))
    group: str | None = field(default=None, metadata=about("Primary group; a private group unless set."))
    groups: tuple[str, ...] = field(default=(), metadata=about("Further groups."))
    accounts: tuple[str, ...] = field(default=(), metadata=about("Slurm accounts, the first is the default."))
    coordinator: tuple[str, ...] = field(default=(), metadata=about("Accounts the user coordinates."))
    admin_level: AdminLevel | None = field(default=None, metadata=about("Slurm's AdminLevel."))


@frozen(kw_only=True)
class Group:
    """A group of users."""

    gid: int | None = field(default=None, metadata=about("Group id; assigned unless set."))


@frozen(kw_only=True)
class Account:
    """A Slurm account."""

    parent: str = field(default="root", metadata=about("The account above."))
    limits: Mapping[str, str | int] = field(
        factory=dict, metadata=about("Limits as sacctmgr names them, in any case; -1 clears one.")
    )


@frozen(kw_only=True)
class Slurm:
    """Text of the user's for Slurm's files, carried byte for byte."""

    main: SlurmText | None = field(default=None, metadata=about("slurm.conf"))
    cgroup: SlurmText | None = field(default=None, metadata=about("cgroup.conf"))
    gres: SlurmText | None = field(default=None, metadata=about("gres.conf"))
    topology: SlurmText | None = field(default=None, metadata=about("topology.conf"))
    plugstack: SlurmText | None = field(default=None, metadata=about("plugstack.conf"))
    slurmdbd: SlurmText | None = field(default=None, metadata=about("slurmdbd.conf"))


@frozen(kw_only=True)
class Cluster:
    """One Slurm cluster. Without `workers` it has a group `default` of one worker, as in sind."""

    image: str | None = field(default=None, metadata=about("Image of every node that names no other."))
    defaults: NodeOptions = field(factory=NodeOptions, metadata=about("What holds for every node that says nothing."))
    identity: Identity = field(default="local", metadata=about("Who knows the users: local, nss_slurm or client_ids."))
    controller_users: bool = field(
        default=False,
        metadata=about("Users on the controllers too under client_ids, so that REST tokens can submit jobs as them."),
    )
    subnet: str | None = field(
        default=None, metadata=about("IPv4 subnet of the cluster's network; Docker's choice unless set.")
    )
    storage: Storage = field(factory=Storage, metadata=about("The data folder."))
    prevent_destroy: bool = field(default=False, metadata=about("Refuse every plan that would destroy the cluster."))
    managed: bool = field(default=True, metadata=about("Whether Slurm is set up."))
    adopt: bool = field(
        default=False,
        metadata=about(
            "Take over a cluster of this name that sind made, as `sindplan import` writes it; without effect once it is ours."
        ),
    )
    pull: bool = field(default=False, metadata=about("Pull the nodes' images at every apply, before it plans."))
    follow_tag: bool = field(default=False, metadata=about("Replace nodes when their image's tag means another image."))
    power: Power = field(default="on", metadata=about("Whether the cluster runs."))
    powered_off: str | None = field(
        default=None, metadata=about('Single nodes that do not run, as a node set such as "submitter,worker-[2-3]".')
    )
    drain_timeout: Seconds = field(
        default=DRAIN_TIMEOUT, metadata=about("How long to wait for jobs before a worker leaves; 10m unless set.")
    )
    on_timeout: OnTimeout = field(
        default="fail", metadata=about('What happens to jobs then; "fail" gives up, and the worker stays.')
    )
    max_unavailable: int = field(
        default=1, metadata=about("How many workers of a group are replaced at the same time.")
    )
    controller: Controller = field(factory=Controller, metadata=about("The controller."))
    submitter: Submitter | None = field(default=None, metadata=about("The login node; none unless set."))
    db: Database | None = field(default=None, metadata=about("The database node."))
    api: Api | None = field(default=None, metadata=about("The REST node."))
    workers: Mapping[str, WorkerGroup] = field(
        default=Factory(lambda: {"default": WorkerGroup()}), metadata=about("Worker groups by name.")
    )
    partitions: Mapping[str, Partition] = field(factory=dict, metadata=about("Partitions by name."))
    users: Mapping[str, User] = field(factory=dict, metadata=about("Users by name."))
    groups: Mapping[str, Group] = field(factory=dict, metadata=about("Groups by name."))
    accounts: Mapping[str, Account] = field(factory=dict, metadata=about("Slurm accounts by name."))
    slurm: Slurm = field(factory=Slurm, metadata=about("Text for Slurm's files."))


@frozen(kw_only=True)
class Mesh:
    """What all clusters of a realm share: its network, DNS server and SSH relay."""

    dns_image: str | None = field(default=None, metadata=about("Image of the DNS server."))
    relay_image: str | None = field(default=None, metadata=about("Image of the SSH relay."))


@frozen(kw_only=True)
class Realm:
    """Clusters that see each other over a mesh."""

    mesh: Mesh = field(factory=Mesh, metadata=about("The realm's mesh."))
    clusters: Mapping[str, Cluster] = field(factory=dict, metadata=about("Clusters by name."))


@frozen(kw_only=True)
class Declaration:
    """All of one state file, or of several that agree on `name`."""

    version: Literal[1] = field(metadata=about("Version of this grammar."))
    name: str = field(metadata=about("Whose clusters these are; `sindplan init` mints one."))
    realms: Mapping[str, Realm] = field(factory=dict, metadata=about("Realms by name."))
