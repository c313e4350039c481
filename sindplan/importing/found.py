"""A cluster that another tool made, as a declaration."""

import re
from collections import Counter
from typing import TypeVar

from attrs import evolve, field, frozen

from sindplan.engine.records import Container
from sindplan.importing.accounts import accounts_of, with_memberships
from sindplan.importing.groups import groups_of
from sindplan.importing.power import with_power
from sindplan.importing.texts import texts_of
from sindplan.kinds import labels
from sindplan.kinds.evidence import ClusterEvidence
from sindplan.kinds.node_resource import SECURITY
from sindplan.kinds.node_wanted import CVMFS
from sindplan.model import names
from sindplan.model.address import natural
from sindplan.model.declaration import (
    CPUS,
    MEMORY,
    TMP_SIZE,
    Api,
    Cluster,
    Controller,
    Database,
    Group,
    SecretReference,
    Slurm,
    Storage,
    Submitter,
    User,
    WorkerGroup,
)
from sindplan.model.facts import Facts
from sindplan.model.people import people_of
from sindplan.model.units import MIB, Bytes, TmpfsSize
from sindplan.slurm.files import NODES_FILE
from sindplan.slurm.sections import last
from sindplan.slurm.text import Statement, listed_in, statements

STORAGE_SECRET = "SINDPLAN_SECRET_STORAGE"  # noqa: S105 - the name of a variable
"""Where an imported password is looked for: it is never read out of the cluster into a file."""

_DIGITS = re.compile("[0-9]{1,18}")
"""A number as Slurm has them; longer ones Python itself may refuse to read."""

T = TypeVar("T")
Options = dict[str, object]
"""What is said of a node, by key."""


@frozen(kw_only=True)
class Imported:
    """A declaration of a cluster, and what it cannot say, a sentence each."""

    cluster: Cluster
    notes: tuple[str, ...] = field(default=())


def imported(found: ClusterEvidence, facts: Facts) -> Imported:
    """Return the declaration of a cluster as it is."""
    notes: list[str] = []
    first = found.nodes.get(names.CONTROLLER) or next(iter(found.nodes.values()))
    managed = labels.is_managed(first.labels)
    image = Counter(node.spec.image for node in found.nodes.values()).most_common(1)[0][0]
    lines = {one.value: one for one in statements(_text(found, NODES_FILE)) if one.key == "nodename"}
    binds = bool({"task/affinity", "affinity"} & listed_in(last(_text(found, "slurm.conf"), "TaskPlugin") or ""))
    options = {
        short: _options(short, node, image, lines.get(short), managed=managed, binds=binds, notes=notes)
        for short, node in sorted(found.nodes.items(), key=lambda item: natural(item[0]))
    }
    backup = options.pop(names.BACKUP, None)
    first_options = options.pop(names.CONTROLLER, {})
    if backup is not None and {**backup, "managed": None} != {**first_options, "managed": None}:
        notes.append("The backup controller is made like the controller; here it has other options.")
    single = {short: options.pop(short) for short in (names.SUBMITTER, names.DB, names.API) if short in options}
    users, groups = _people(first)
    cluster = Cluster(
        image=image,
        identity=labels.identity_of(first.labels),
        storage=_storage(found, first),
        managed=managed,
        adopt=True,
        # Of these two nodes only the cluster says whether Slurm is set up.
        controller=_table(Controller, {**first_options, "managed": None, "backup": backup is not None}),
        submitter=_table(Submitter, _without_managed(single[names.SUBMITTER])) if names.SUBMITTER in single else None,
        db=_table(Database, single[names.DB]) if names.DB in single else None,
        api=_table(Api, single[names.API]) if names.API in single else None,
        workers=groups_of({short: _table(WorkerGroup, said) for short, said in options.items()}),
        users=users,
        groups=groups,
    )
    cluster, more = with_power(cluster, found.nodes)
    notes += more
    if cluster.identity == "client_ids" and cluster.submitter is not None:
        notes.append("Whether controllers know the users (controller_users) cannot be seen; set it if they do.")
    if found.accounting is not None and cluster.db is not None:
        accounts, more = accounts_of(found.accounting)
        cluster = with_memberships(evolve(cluster, accounts=accounts), found.accounting)
        notes += more
    texts = texts_of(found, cluster, facts)
    notes += texts.notes
    if texts.has_password and cluster.db is not None:
        cluster = evolve(cluster, db=evolve(cluster.db, storage_password=SecretReference(env=STORAGE_SECRET)))
        notes.append(f"slurmdbd's password is looked for in the variable {STORAGE_SECRET}; it was not read.")
    return Imported(cluster=evolve(cluster, slurm=Slurm(**texts.sections)), notes=tuple(notes))


def _table(kind: type[T], said: Options) -> T:
    return kind(**{key: value for key, value in said.items() if value is not None})


def _without_managed(said: Options) -> Options:
    return {key: value for key, value in said.items() if key != "managed"}


def _text(found: ClusterEvidence, path: str) -> str:
    entry = (found.files or {}).get(path)
    return entry.content.decode("utf-8", "replace") if entry else ""


def _options(
    short: str,
    node: Container,
    image: str,
    line: Statement | None,
    *,
    managed: bool,
    binds: bool,
    notes: list[str],
) -> Options:
    """Return what is said of a node, without what holds for every node anyway."""
    spec = node.spec
    # An engine without controllers holds no limits; what was asked for is in the node's line alone.
    cpus = spec.cpus if spec.cpus is not None else _number(line, "CPUs")
    memory = spec.memory if spec.memory is not None else (_number(line, "RealMemory") or 0) * MIB or None
    tmp = dict(part.partition("=")[::2] for part in spec.tmpfs.get("/tmp", "").split(",")).get("size", "")  # noqa: S108
    security = tuple(option for option in spec.security_opt if option not in SECURITY)
    if any(option.startswith("seccomp={") for option in security):
        notes.append(f"{short} has a seccomp profile of its own: write it into a file and name that in security_opt.")
        security = tuple(option for option in security if not option.startswith("seccomp={"))
    own_managed = labels.is_managed(node.labels)
    worker = names.worker_index(short) is not None
    return {
        "image": spec.image if spec.image != image else None,
        "cpus": cpus if cpus not in (None, CPUS) else None,
        "memory": Bytes(memory) if memory not in (None, MEMORY) else None,
        "tmp_size": TmpfsSize(tmp) if tmp not in ("", TMP_SIZE) else None,
        # sind gives it to workers by itself where Slurm binds tasks.
        "cap_add": tuple(cap for cap in spec.cap_add if not (worker and binds and cap == "SYS_NICE")) or None,
        "cap_drop": spec.cap_drop or None,
        "devices": spec.devices or None,
        "security_opt": security or None,
        "managed": False if managed and not own_managed else None,
        **(_of_slurm(line) if worker and line is not None else {}),
    }


def _of_slurm(line: Statement) -> Options:
    features, gres = line.get("Features") or line.get("Feature"), line.get("Gres")
    return {
        "features": tuple(features.split(",")) if features else None,
        "gres": gres or None,
        "weight": _number(line, "Weight"),
    }


def _number(line: Statement | None, key: str) -> int | None:
    text = line.get(key) if line is not None else None
    return int(text) if text and _DIGITS.fullmatch(text) else None


def _storage(found: ClusterEvidence, node: Container) -> Storage:
    """Return the data folder: by the labels, or by what is mounted where an older sind wrote none."""
    volume = names.volume(found.realm, found.name, "data")
    fixed = {"/etc/slurm", "/etc/munge", "/home", "/var/spool/slurmctld", CVMFS}
    data = next(
        (
            mount
            for mount in node.spec.mounts
            if mount.source == volume or (mount.kind == "bind" and mount.target not in fixed)
        ),
        None,
    )
    has_cvmfs = bool(node.labels.get(labels.CVMFS)) or any(mount.target == CVMFS for mount in node.spec.mounts)
    mount_path = node.labels.get("sind.data.mountpath") or (data.target if data else names.DEFAULT_MOUNT_PATH)
    path = node.labels.get("sind.data.hostpath") or (data.source if data and data.kind == "bind" else None)
    return Storage(host_path=path, mount_path=mount_path, cvmfs=has_cvmfs)


def _people(node: Container) -> tuple[dict[str, User], dict[str, Group]]:
    found = people_of(node.labels.get(labels.USERS, ""), node.labels.get(labels.GROUPS, ""))
    by_id = {team.gid: team.name for team in reversed(found.groups)}
    private = {person.name for person in found.users if by_id.get(person.gid) == person.name}
    users = {
        person.name: User(
            uid=person.uid,
            group=None if person.name in private else by_id.get(person.gid),
            groups=person.groups,
        )
        for person in found.users
    }
    return users, {team.name: Group(gid=team.gid) for team in found.groups if team.name not in private}
