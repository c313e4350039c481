"""A cluster's record: a config-only network whose labels hold owner, protection and the last applied declaration.

It takes no address pool, and all records come with the one call that lists networks. It is written at the end of an apply: the
new one first, then the old one is removed. The engine refuses a second network of one name, so two names take turns.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from attrs import evolve, field, fields, frozen

from sindplan.engine.port import Engine
from sindplan.engine.records import Network, NetworkSpec
from sindplan.errors import Conflict, NotFound
from sindplan.kinds import labels
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.canonical import canonical
from sindplan.model.declaration import Cluster, Declaration, Slurm
from sindplan.model.hidden import Hidden
from sindplan.model.kind import Kind, Phase, Step
from sindplan.model.layout import ClusterLayout, Layout
from sindplan.model.resource import IGNORED, IN_PLACE, EngineObject, Resource
from sindplan.plan.plan import Action
from sindplan.slurm.files import slurm_files
from sindplan.slurm.masking import masked


@frozen(kw_only=True)
class ClusterRecord(EngineObject):
    """The record.

    Attributes:
        declaration: Canonical JSON without secrets.
        contents: What the cluster has in volumes and in Slurm: addresses below its own. Others there are not sindplan's.
    """

    KIND: ClassVar[str] = "cluster-record"
    REMOVED_WITH: ClassVar[str] = "docker network rm"

    owner: str = field(metadata=IN_PLACE)
    protected: bool = field(metadata=IN_PLACE)
    declaration: str = field(metadata=IN_PLACE)
    contents: tuple[str, ...] = field(default=(), metadata=IN_PLACE)
    ids: tuple[str, ...] = field(default=(), metadata=IGNORED)


PEOPLE = "people"
"""In the contents of a record: the nodes know users or groups, whatever their labels say."""
_MEMBER = "member/"
"""In the contents, before group and name: a worker that another tool made and that was taken over. No label can say it."""

_WRITE = Step("cluster-record.write", "recording what was applied", Phase.SEAL)

KIND = Kind(
    name="cluster-record",
    resource=ClusterRecord,
    create=(_WRITE,),
    update=dict.fromkeys(("owner", "protected", "declaration", "contents"), (_WRITE,)),
    delete=(Step("cluster-record.remove", "removing", Phase.SEAL),),
)


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the records that a layout wants."""
    for cluster in layout.clusters:
        yield (
            cluster.address / "record",
            ClusterRecord(
                owner=cluster.owner,
                protected=cluster.declared.prevent_destroy,
                declaration=_json(canonical(without_secrets(cluster.declared))),
                contents=tuple(sorted(_contents(cluster))),
            ),
        )


def _json(data: object) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"))


def without_secrets(cluster: Cluster) -> Cluster:
    """Return what is declared with every password hidden, and without the word that took the cluster over."""
    return evolve(_masked(cluster), adopt=False)


def masked_secrets(declaration: Declaration) -> Declaration:
    """Return a declaration with every password hidden."""
    return evolve(
        declaration,
        realms={
            name: evolve(realm, clusters={key: _masked(cluster) for key, cluster in realm.clusters.items()})
            for name, realm in declaration.realms.items()
        },
    )


def _masked(cluster: Cluster) -> Cluster:
    db = cluster.db
    if db is not None and isinstance(db.storage_password, str):
        db = evolve(db, storage_password=str(Hidden("")))
    sections = {field.name: getattr(cluster.slurm, field.name) for field in fields(Slurm)}
    hidden = {
        name: masked(text) if isinstance(text, str) else {part: masked(inner) for part, inner in text.items()}
        for name, text in sections.items()
        if text is not None
    }
    return evolve(cluster, db=db, slurm=Slurm(**hidden))


def _contents(cluster: ClusterLayout) -> Iterator[str]:
    yield from (f"file/{path}" for path in slurm_files(cluster))
    yield from (f"{_MEMBER}{node.group}/{node.short}" for node in cluster.workers if node.foreign)
    if cluster.people.groups:
        yield PEOPLE
    if cluster.managed_role("db"):
        yield from (f"slurm/account/{name}" for name in cluster.declared.accounts)
        yield from (f"slurm/user/{name}" for name, user in cluster.declared.users.items() if user.accounts)


def members_of(contents: Iterable[str]) -> dict[str, str]:
    """Return the workers that were taken over, by a record's contents: short name to group."""
    taken = (content.removeprefix(_MEMBER).rpartition("/") for content in contents if content.startswith(_MEMBER))
    return {short: group for group, _, short in taken}


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the records that exist; of two left by an apply that was killed the newer one counts."""
    for cluster in evidence.clusters:
        if cluster.records:
            newest = cluster.records[0]
            yield (
                cluster.address / "record",
                ClusterRecord(
                    owner=newest.labels.get(labels.OWNER, ""),
                    protected=newest.labels.get(labels.PROTECTED) == "true",
                    declaration=newest.labels.get(labels.DECLARATION, ""),
                    contents=tuple(sorted(content for content in cluster.contents if _is_so(cluster, content))),
                    ids=tuple(record.id for record in cluster.records),
                    run=newest.labels.get(labels.RUN, ""),
                ),
            )


def _is_so(cluster: ClusterEvidence, content: str) -> bool:
    """Say whether a line of contents still says something: a worker that was taken over and then made anew has labels of its own."""
    return not content.startswith(_MEMBER) or content.rpartition("/")[2] in cluster.foreign


def is_record(network: Network) -> bool:
    """Say whether a network is a cluster's record."""
    return network.config_only and labels.RECORD in network.labels


def write(run: Run, action: Action) -> None:
    """Write a record beside the old one, then remove the old one."""
    (change,) = action.changes
    record = change.after
    assert isinstance(record, ClusterRecord)
    realm, cluster = change.address.parts[:2]
    base = names.record(realm, cluster)
    newest, *left = change.before.ids if isinstance(change.before, ClusterRecord) else ("",)
    # Of an apply that was killed between writing and removing: it takes one of the two names.
    _remove(run, left)
    marks = {
        **labels.own(record.owner, run.token),
        labels.RECORD: "1",
        labels.RECORD_REALM: realm,
        labels.RECORD_CLUSTER: cluster,
        labels.PROTECTED: "true" if record.protected else "false",
        labels.DECLARATION: record.declaration,
        labels.CONTENTS: _json(list(record.contents)),
        labels.SUBNET: run.known.subnets.get(action.scope, ""),
    }
    try:
        run.engine.create_network(NetworkSpec(name=base, labels=marks, config_only=True))
    except Conflict:
        run.engine.create_network(NetworkSpec(name=f"{base}-next", labels=marks, config_only=True))
    _remove(run, [newest] if newest else [])


def renew(engine: Engine, cluster: Address, records: Sequence[Network]) -> None:
    """Write a record anew as it is, so that it has another id. The lock of its realm must be held.

    Args:
        records: The networks that hold it, newest first; nothing is done without any.
    """
    if not records:
        return
    newest, *left = records
    base = names.record(*cluster.parts)
    for record in left:
        engine.remove_network(record.id)
    name = f"{base}-next" if newest.name == base else base
    engine.create_network(NetworkSpec(name=name, labels=newest.labels, config_only=True))
    engine.remove_network(newest.id)


def remove(run: Run, action: Action) -> None:
    """Remove a record."""
    (change,) = action.changes
    _remove(run, change.before.ids if isinstance(change.before, ClusterRecord) else ())


def _remove(run: Run, records: Iterable[str]) -> None:
    for record in records:
        try:
            run.engine.remove_network(record)
        except NotFound:
            continue


PERFORM = {"cluster-record.write": write, "cluster-record.remove": remove}
