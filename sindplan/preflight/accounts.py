"""Checks of Slurm's accounts: limits that nobody enforces, and accounts that others are in."""

from collections.abc import Iterator

from attrs import evolve

from sindplan.kinds.account import Account
from sindplan.kinds.slurm_user import SlurmUser
from sindplan.model.kind import Operation
from sindplan.plan.plan import Change
from sindplan.preflight.case import Case
from sindplan.preflight.finding import Finding, warning
from sindplan.slurm.accounting import AccountingView, AccountState, UserState
from sindplan.slurm.accounting_commands import held_by_others
from sindplan.slurm.enforcement import enforces_limits


def check_accounts(case: Case) -> Iterator[Finding]:
    """Yield what is to be said of the accounts of each cluster."""
    yield from _limits_are_enforced(case)
    yield from _others_are_in_them(case)


def _limits_are_enforced(case: Case) -> Iterator[Finding]:
    for cluster in case.layout.clusters:
        limited = sorted(name for name, account in cluster.declared.accounts.items() if account.limits)
        if limited and not enforces_limits(cluster.declared):
            yield warning(
                "accounts",
                f"{cluster.address} sets limits of accounts ({', '.join(limited)}), which nobody enforces.",
                "Write AccountingStorageEnforce=limits (or safe) into slurm.main.",
            )


def _others_are_in_them(case: Case) -> Iterator[Finding]:
    """Yield accounts that would go while they hold what nobody declared: sacctmgr would remove it with them."""
    removed = {change.address for change in case.plan.changes if change.operation is Operation.DELETE}
    for cluster in case.observation.evidence.clusters:
        mine = [change for change in case.plan.changes if change.address.scope == cluster.address]
        gone = [
            change.before.name
            for change in mine
            # With its database goes everything in it.
            if change.after is None and isinstance(change.before, Account) and change.before.host not in removed
        ]
        if cluster.accounting is None or not gone:
            continue
        for name, held in held_by_others(_after(cluster.accounting, mine), gone):
            yield Finding(
                "accounts",
                f"The account {name} of {cluster.address} is declared no more, and still holds {', '.join(held)}, not of the "
                "declaration: they would go with it.",
                "Declare it again, or take them out of it first (sacctmgr delete user, sacctmgr modify account).",
            )


def _after(view: AccountingView, changes: list[Change]) -> AccountingView:
    """Return what there is when all is done that comes before an account goes."""
    accounts, users = dict(view.accounts), dict(view.users)
    for change in changes:
        match change.before, change.after:
            case _, Account(name=name, parent=parent):
                accounts[name] = evolve(accounts.get(name, AccountState(parent=parent)), parent=parent)
            case SlurmUser(name=name, accounts=left), after:
                kept = after.accounts if isinstance(after, SlurmUser) else ()
                there = users.get(name, UserState())
                stays = tuple(one for one in there.accounts if one not in left or one in kept)
                users[name] = evolve(there, accounts=stays)
    return evolve(view, accounts=accounts, users=users)
