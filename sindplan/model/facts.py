"""What must be known of engine, images and present clusters before a declaration can be expanded."""

import json
from collections.abc import Mapping

from attrs import field, frozen

from sindplan.engine.records import EngineInfo
from sindplan.model.address import Address
from sindplan.model.people import Ids

IMAGE_LABEL = "sindplan.image"
"""The label in which our images say what they have; foreign images are probed once."""


@frozen(kw_only=True)
class ImageFacts:
    """What an image has.

    Attributes:
        id: Content hash; empty when the engine does not have the image.
        slurm_version: Such as `26.05.5`; empty when it has no slurmctld.
        plugins: Names of Slurm's plugins, such as `mpi_pmix`, `task_cgroup`.
        ids: User id and group id of users that files must belong to, by name.
        tools: Programs that it carries, such as `dnsmasq`.
        daemons: Daemons that it carries, such as `slurmctld`, `mariadbd`.
        nss_slurm: Whether it has libnss_slurm.
        db_dir: Where its MariaDB keeps its data.
        people: Ids of all its users and groups.
        probed: Whether all this was looked up; otherwise it is assumed.
    """

    id: str = ""
    slurm_version: str = ""
    plugins: frozenset[str] = frozenset()
    ids: Mapping[str, tuple[int, int]] = field(factory=dict)
    tools: frozenset[str] = frozenset()
    daemons: frozenset[str] = frozenset()
    nss_slurm: bool = False
    db_dir: str = ""
    people: Ids = field(factory=Ids)
    probed: bool = False

    def owner(self, user: str) -> tuple[int, int]:
        """Return the user id and group id of a user of the image; root when it has none."""
        return self.ids.get(user, (0, 0))


def image_facts(image_id: str, text: str) -> ImageFacts | None:
    """Read what an image says of itself (label or probe, JSON of version 1); None when it makes no sense."""
    try:
        data = json.loads(text)
        if data["v"] != 1:
            return None
        return ImageFacts(
            id=image_id,
            slurm_version=str(data["slurm_version"]),
            plugins=frozenset(map(str, data["plugins"])),
            ids={str(name): (int(uid), int(gid)) for name, (uid, gid) in data["uids"].items()},
            tools=frozenset(map(str, data["tools"])),
            # Labels and probes of an earlier sindplan lack these.
            daemons=frozenset(map(str, data.get("daemons", ()))),
            nss_slurm=data.get("nss_slurm") is True,
            db_dir=str(data.get("db_dir", "")),
            people=Ids(users=_numbers(data.get("users", {})), groups=_numbers(data.get("groups", {}))),
            probed=True,
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        # The text comes from a container or a label that anybody can write.
        return None


def _numbers(data: Mapping[str, int]) -> Mapping[str, int]:
    return {str(name): int(number) for name, number in data.items()}


@frozen(kw_only=True)
class Member:
    """A worker that exists.

    Attributes:
        group: Its worker group, by label or by the record; empty for one that another tool made and that was not taken over.
        ours: Whether it carries the cluster's owner label, or was taken over by the record.
        busy: Whether jobs run on it or wait for it by name; True when that cannot be read.
        line: Its line in sind-nodes.conf; empty when there is none.
    """

    group: str
    ours: bool
    busy: bool = False
    line: str = ""


@frozen(kw_only=True)
class ClusterFacts:
    """What exists of a cluster.

    Attributes:
        owners: The `sindplan.owner` labels found on it; an empty one stands for what another tool made.
        recorded: Whether it has a record.
        by_name: Whether another tool made its network: there are no fixed addresses on it, and nodes go by their names.
        foreign: Nodes that another tool made, by short name; without those that were never started, which are made anew.
        bare: Nodes whose data no volume holds, by short name: sind gives one to the state only where there is a backup, and
            none to the database.
        addresses: Present addresses of nodes that run, by short name.
        subnet: Subnet of its network; empty while there is none.
        members: Its workers by short name.
        host_keys: Public SSH host keys by short name; empty for one that cannot be had.
        people: Ids of its users and groups.
        images: What is known of the images that its nodes were made from, by short name.
        references: What those images were called, by short name.
        cvmfs: How its nodes have CVMFS: `volume`, `hostPath` or not at all.
    """

    owners: frozenset[str] = frozenset()
    recorded: bool = False
    by_name: bool = False
    foreign: frozenset[str] = frozenset()
    bare: frozenset[str] = frozenset()
    addresses: Mapping[str, str] = field(factory=dict)
    subnet: str = ""
    members: Mapping[str, Member] = field(factory=dict)
    host_keys: Mapping[str, str] = field(factory=dict)
    people: Ids = field(factory=Ids)
    images: Mapping[str, ImageFacts] = field(factory=dict)
    references: Mapping[str, str] = field(factory=dict)
    cvmfs: str = ""


@frozen(kw_only=True)
class MeshFacts:
    """What exists of a realm's mesh.

    Attributes:
        subnet: Subnet of the mesh network; empty while there is none.
        dns_address: Address of the DNS server; empty while unknown.
        dns_image, relay_image: Images that the containers were made from; empty while there are none.
    """

    subnet: str = ""
    dns_address: str = ""
    dns_image: str = ""
    relay_image: str = ""


@frozen(kw_only=True)
class Facts:
    """All of it."""

    engine: EngineInfo
    images: Mapping[str, ImageFacts] = field(factory=dict)
    clusters: Mapping[Address, ClusterFacts] = field(factory=dict)
    meshes: Mapping[str, MeshFacts] = field(factory=dict)

    @property
    def cvmfs(self) -> str:
        """How new clusters mount CVMFS: `volume` where the engine has the volume plugin, else the host's /cvmfs."""
        return "volume" if self.engine.has_volume_plugin("cvmfs") else "hostPath"

    @property
    def limits(self) -> bool:
        """Whether nodes can be given CPU and memory limits."""
        return self.engine.memory_limit and self.engine.cpu_limit

    @property
    def cgroups(self) -> bool:
        """Whether nodes get the controllers that Slurm's cgroup plugins need."""
        return self.limits and self.engine.cpuset
