"""Users in Slurm's accounting: the accounts they are in and coordinate, and what they may administer.

As with accounts, what neither the declaration nor the last apply has a word for is the administrators' own.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from attrs import evolve, field, frozen

from sindplan.kinds.account import (
    WHEN_SERVED,
    controller_for,
    database_of,
    inside_node,
    nodes_of_accounting,
    servers,
    tables,
)
from sindplan.kinds.account import address_of as address_of_account
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.last_applied import last_applied
from sindplan.kinds.run import Run
from sindplan.model.address import Address
from sindplan.model.kind import After, Kind, Phase, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import IGNORED, IN_PLACE, Resource
from sindplan.plan.plan import Action
from sindplan.slurm.accounting import ROOT, AccountingChange, UserChange, by_name


@frozen(kw_only=True)
class SlurmUser(Resource):
    """A user of the accounting.

    Attributes:
        default_account: Where jobs go that name no account.
        accounts, coordinator: Sorted.
        admin_level: `operator`, `admin`, or empty.
        on: What the database lies on when that is no volume.
    """

    KIND: ClassVar[str] = "slurm-user"
    SHOWN: ClassVar[tuple[str, ...]] = ("accounts", "default_account", "coordinator", "admin_level")

    cluster: Address = field(metadata=IGNORED)
    name: str = field(metadata=IGNORED)
    accounts: tuple[str, ...] = field(metadata=IN_PLACE)
    default_account: str = field(metadata=IN_PLACE)
    coordinator: tuple[str, ...] = field(default=(), metadata=IN_PLACE)
    admin_level: str = field(default="", metadata=IN_PLACE)
    on: Address | None = field(default=None, metadata=IGNORED)

    @property
    def needs(self) -> frozenset[Address]:
        """The nodes that keep and serve it, and its accounts."""
        accounts = {*self.accounts, *self.coordinator} - {ROOT}
        return nodes_of_accounting(self.cluster) | {address_of_account(self.cluster, name) for name in accounts}

    @property
    def earlier(self) -> frozenset[Address]:
        """The nodes through which it is set, and the backup of one."""
        return servers(self.cluster)

    @property
    def host(self) -> Address | None:
        """What the database lies on: when it goes, so does everything in it."""
        return database_of(self.cluster) if self.on is None else self.on

    def said_by(self, wanted: Resource | None, recorded: Resource | None) -> "SlurmUser":
        """Return it without what neither the declaration nor the last apply has a word for.

        Coordinators of an account are shown for those below it too; this leaves out what nobody declared.
        """
        said = [user for user in (wanted, recorded) if isinstance(user, SlurmUser)]
        return evolve(
            self,
            accounts=_kept(self.accounts, *(user.accounts for user in said)),
            coordinator=_kept(self.coordinator, *(user.coordinator for user in said)),
            admin_level=self.admin_level if any(user.admin_level for user in said) else "",
        )


def _kept(names: tuple[str, ...], *said: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if any(name in some for some in said))


_SET = Step(
    "slurm-user.set",
    "setting up users of accounts",
    after=(*WHEN_SERVED, After("account.set", Where.CLUSTER)),
    batch=True,
)

KIND = Kind(
    name="slurm-user",
    resource=SlurmUser,
    create=(_SET,),
    update=dict.fromkeys(("accounts", "default_account", "coordinator", "admin_level"), (_SET,)),
    delete=(Step("slurm-user.remove", "removing users of accounts", Phase.REMOVE, batch=True),),
)


def address_of(cluster: Address, name: str) -> Address:
    """Return the address of a user of accounts."""
    return cluster / "slurm/user" / name


def _user(
    cluster: Address, name: str, accounts: tuple[str, ...], coordinator: tuple[str, ...], admin_level: str
) -> tuple[Address, SlurmUser]:
    """Return a user as it is declared: the first account is the default."""
    return address_of(cluster, name), SlurmUser(
        cluster=cluster,
        name=name,
        accounts=by_name(accounts),
        default_account=accounts[0],
        coordinator=by_name(coordinator),
        admin_level=admin_level,
    )


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the declared users that are in accounts."""
    for cluster in layout.clusters:
        if cluster.managed_role("db"):
            for name, user in cluster.declared.users.items():
                if user.accounts:
                    yield _user(cluster.address, name, user.accounts, user.coordinator, user.admin_level or "")


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield all users that are in accounts, but Slurm's own."""
    for cluster in evidence.clusters:
        for name, user in (cluster.accounting.users if cluster.accounting else {}).items():
            if name != ROOT and user.accounts:
                yield (
                    address_of(cluster.address, name),
                    SlurmUser(
                        cluster=cluster.address,
                        name=name,
                        accounts=user.accounts,
                        default_account=user.default_account,
                        coordinator=user.coordinator,
                        admin_level=user.admin_level,
                        on=inside_node(cluster),
                    ),
                )


def recorded(cluster: ClusterEvidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the users that were applied last, as far as the record says."""
    for name, said in tables(last_applied(cluster).get("users")).items():
        accounts = _names(said, "accounts")
        if accounts:
            level = str(said.get("admin_level", ""))
            yield _user(cluster.address, name, accounts, _names(said, "coordinator"), level)


def _names(said: Mapping[str, object], key: str) -> tuple[str, ...]:
    found = said.get(key)
    return tuple(map(str, found)) if isinstance(found, list) else ()


def set_up(run: Run, action: Action) -> None:
    """Add and change users: what they had and shall not have is taken from them."""
    users: dict[str, UserChange] = {}
    for change in action.changes:
        before, user = change.before, change.after
        assert isinstance(user, SlurmUser)
        had = before if isinstance(before, SlurmUser) else None
        users[user.name] = UserChange(
            accounts=user.accounts,
            default_account=user.default_account,
            coordinator=user.coordinator,
            # A level that nobody declared, now or before, is an administrator's.
            admin_level=user.admin_level if user.admin_level or (had and had.admin_level) else None,
            left=tuple(name for name in (had.accounts if had else ()) if name not in user.accounts),
            resigned=tuple(name for name in (had.coordinator if had else ()) if name not in user.coordinator),
        )
    run.slurm.change_accounting(controller_for(run, action.scope), AccountingChange(users=users))


def remove(run: Run, action: Action) -> None:
    """Take users out of the accounts that they were declared in; one in no account at all leaves the database."""
    users: dict[str, UserChange] = {}
    for change in action.changes:
        user = change.before
        assert isinstance(user, SlurmUser)
        users[user.name] = UserChange(
            left=user.accounts, resigned=user.coordinator, admin_level="" if user.admin_level else None
        )
    run.slurm.change_accounting(controller_for(run, action.scope), AccountingChange(users=users))


PERFORM = {"slurm-user.set": set_up, "slurm-user.remove": remove}
