"""Accounts of Slurm: where each hangs in the tree, and its limits.

sindplan has a say in what the declaration says now or said when it was applied last. Other accounts, and other limits of these,
are the administrators' own.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from attrs import evolve, field, frozen

from sindplan.errors import SindplanError
from sindplan.kinds.controllers import answering
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.last_applied import last_applied
from sindplan.kinds.node_resource import replaced_before
from sindplan.kinds.run import Run
from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Phase, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import IGNORED, IN_PLACE, Resource
from sindplan.plan.plan import Action
from sindplan.slurm.accounting import ROOT, AccountChange, AccountingChange
from sindplan.slurm.limits import NONE, normalised, normalised_limits


@frozen(kw_only=True)
class Account(Resource):
    """An account.

    Attributes:
        limits: In one spelling (see slurm.limits). Of an account that was seen: all, empty where nothing is set.
        on: What the database lies on when that is no volume.
    """

    KIND: ClassVar[str] = "account"
    SHOWN: ClassVar[tuple[str, ...]] = ("parent", "limits")

    cluster: Address = field(metadata=IGNORED)
    name: str = field(metadata=IGNORED)
    parent: str = field(metadata=IN_PLACE)
    limits: Mapping[str, str] = field(factory=dict, metadata=IN_PLACE)
    on: Address | None = field(default=None, metadata=IGNORED)

    @property
    def needs(self) -> frozenset[Address]:
        """The nodes that keep and serve it, and the account above."""
        above = {address_of(self.cluster, self.parent)} if self.parent != ROOT else set()
        return frozenset({*nodes_of_accounting(self.cluster), *above})

    @property
    def earlier(self) -> frozenset[Address]:
        """The nodes through which it is set, and the backup of one."""
        return servers(self.cluster)

    @property
    def host(self) -> Address | None:
        """What the database lies on: when it goes, so does everything in it."""
        return database_of(self.cluster) if self.on is None else self.on

    def said_by(self, wanted: Resource | None, recorded: Resource | None) -> "Account":
        """Return it without the limits that neither the declaration nor the last apply has a word for."""
        names = set(wanted.limits if isinstance(wanted, Account) else ())
        # One that is no longer declared and not set any more either is no difference.
        names |= {
            name
            for name in (recorded.limits if isinstance(recorded, Account) else ())
            if self.limits.get(name, NONE) != normalised(name, NONE)
        }
        return evolve(self, limits={name: self.limits.get(name, NONE) for name in sorted(names)})


WHEN_SERVED = (
    After("node.join", Where.CLUSTER),
    After("service.start", Where.CLUSTER),
    After("service.reconfigure", Where.CLUSTER),
    After("service.restart", Where.CLUSTER),
    After("service.settle", Where.CLUSTER),
    After("node.prove", Where.EARLIER),
)
"""What steps wait for that talk to slurmdbd."""
_SET = Step("account.set", "setting up accounts", after=WHEN_SERVED, batch=True)

KIND = Kind(
    name="account",
    resource=Account,
    create=(_SET,),
    update={"parent": (_SET,), "limits": (_SET,)},
    delete=(
        Step(
            "account.remove",
            "removing accounts",
            Phase.REMOVE,
            after=(After("slurm-user.remove", Where.CLUSTER),),
            batch=True,
        ),
    ),
)


def address_of(cluster: Address, name: str) -> Address:
    """Return the address of an account."""
    return cluster / "slurm/account" / name


def nodes_of_accounting(cluster: Address) -> frozenset[Address]:
    """Return the nodes that accounts and users are kept on and asked through."""
    return frozenset({cluster / "node/controller", cluster / "node/db"})


def servers(cluster: Address) -> frozenset[Address]:
    """Return the nodes that accounts cannot do without while they are changed."""
    return replaced_before(cluster) | nodes_of_accounting(cluster)


def inside_node(cluster: ClusterEvidence) -> Address | None:
    """Return the db node when the database lies in it, as sind has it; None when it has a volume."""
    return cluster.address / "node/db" if "db" in cluster.nodes and "db" not in cluster.volumes else None


def database_of(cluster: Address) -> Address:
    """Return the volume that accounts and users lie on."""
    return cluster / "volume/db"


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the declared accounts."""
    for cluster in layout.clusters:
        if cluster.managed_role("db"):
            for name, account in cluster.declared.accounts.items():
                yield (
                    address_of(cluster.address, name),
                    Account(
                        cluster=cluster.address,
                        name=name,
                        parent=account.parent,
                        limits=normalised_limits(account.limits),
                    ),
                )


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield all accounts that there are, but Slurm's own."""
    for cluster in evidence.clusters:
        for name, account in (cluster.accounting.accounts if cluster.accounting else {}).items():
            if name != ROOT:
                yield (
                    address_of(cluster.address, name),
                    Account(
                        cluster=cluster.address,
                        name=name,
                        parent=account.parent,
                        limits=account.limits,
                        on=inside_node(cluster),
                    ),
                )


def recorded(cluster: ClusterEvidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the accounts that were applied last, as far as the record says."""
    for name, said in tables(last_applied(cluster).get("accounts")).items():
        limits = said.get("limits")
        known = {
            str(limit): value
            for limit, value in (limits.items() if isinstance(limits, dict) else ())
            if isinstance(value, str | int)
        }
        yield (
            address_of(cluster.address, name),
            Account(
                cluster=cluster.address,
                name=name,
                parent=str(said.get("parent", ROOT)),
                limits=normalised_limits(known),
            ),
        )


def tables(found: object) -> dict[str, dict[str, Any]]:
    """Return the tables in plain data by name; what is none is left out."""
    items = found.items() if isinstance(found, dict) else ()
    return {str(name): table for name, table in items if name and isinstance(table, dict)}


def set_up(run: Run, action: Action) -> None:
    """Add and change accounts."""
    accounts: dict[str, AccountChange] = {}
    for change in action.changes:
        before, account = change.before, change.after
        assert isinstance(account, Account)
        had = before.limits if isinstance(before, Account) else {}
        accounts[account.name] = AccountChange(
            parent=account.parent,
            limits=account.limits,
            cleared=tuple(sorted(had.keys() - account.limits.keys())),
        )
    run.slurm.change_accounting(controller_for(run, action.scope), AccountingChange(accounts=accounts))


def remove(run: Run, action: Action) -> None:
    """Remove accounts."""
    gone = tuple(change.before.name for change in action.changes if isinstance(change.before, Account))
    run.slurm.change_accounting(controller_for(run, action.scope), AccountingChange(gone=gone))


def controller_for(run: Run, cluster: Address) -> str:
    """Return a controller through which accounting is changed."""
    controller = answering(run, cluster)
    if controller is None:
        raise SindplanError(
            f"slurmctld of {cluster} does not run, so its accounts cannot be changed.",
            "Mend the controller first (sindplan plan shows what it needs).",
        )
    return controller


PERFORM = {"account.set": set_up, "account.remove": remove}
