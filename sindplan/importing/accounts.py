"""Accounts and what users are in them, as sacctmgr shows them."""

from attrs import evolve

from sindplan.model.declaration import Account, AdminLevel, Cluster
from sindplan.slurm.accounting import ROOT, AccountingView
from sindplan.slurm.limits import NONE

_GIVEN = ("Description", "Organization")
"""Texts that sacctmgr fills in itself: the account's name, or that of the one above."""
_SHARE = "1"
"""What an account has as Fairshare unless somebody says otherwise (sacctmgr(1))."""


def accounts_of(view: AccountingView) -> tuple[dict[str, Account], list[str]]:
    """Return the accounts, parents first, and what cannot be said of them."""
    accounts: dict[str, Account] = {}
    left = {name: state for name, state in view.accounts.items() if name != ROOT}
    while ready := [name for name, state in left.items() if state.parent == ROOT or state.parent in accounts]:
        for name in ready:
            state = left.pop(name)
            limits: dict[str, str | int] = {
                limit: value
                for limit, value in sorted(state.limits.items())
                if value != NONE
                and not (limit in _GIVEN and value in (name, state.parent))
                and (limit, value) != ("Fairshare", _SHARE)
                # Every account has this QOS of Slurm's own unless another one is said.
                and (limit, value) != ("QOS", "normal")
            }
            accounts[name] = Account(parent=state.parent, limits=limits)
    notes = [f"The account {name} hangs below none that could be read; it is left out." for name in sorted(left)]
    return accounts, notes


_LEVELS: dict[str, AdminLevel] = {"operator": "operator", "admin": "admin"}


def with_memberships(cluster: Cluster, view: AccountingView) -> Cluster:
    """Return a cluster whose users are in the accounts that they are in."""
    users = dict(cluster.users)
    for name, user in users.items():
        state = view.users.get(name)
        if state is None or not state.accounts:
            continue
        first = [state.default_account] if state.default_account in state.accounts else []
        accounts = tuple(dict.fromkeys([*first, *state.accounts]))
        users[name] = evolve(
            user,
            accounts=tuple(account for account in accounts if account in cluster.accounts),
            coordinator=tuple(account for account in state.coordinator if account in cluster.accounts),
            admin_level=_LEVELS.get(state.admin_level),
        )
    return evolve(cluster, users=users)
