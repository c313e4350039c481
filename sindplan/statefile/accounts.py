"""Slurm accounts: they need a database, hang together as a tree, and have limits (see limits)."""

from collections.abc import Callable, Iterator, Mapping

from sindplan.model.declaration import Account
from sindplan.statefile.context import Context
from sindplan.statefile.fault import Fault
from sindplan.statefile.limits import limits_are_those_of_sacctmgr
from sindplan.statefile.people import repeated, undeclared
from sindplan.statefile.wording import quoted

_ROOT = "root"


def _accounting_needs_a_database(context: Context) -> Iterator[Fault]:
    if context.has_managed_db or context.lacks("db"):
        return
    advice = "Declare a managed `db` node, or remove it."
    if context.cluster.accounts:
        yield context.fault(("accounts",), "Accounts need a managed db node.", advice)
    for name, user in context.cluster.users.items():
        for key in ("accounts", "coordinator", "admin_level"):
            if getattr(user, key):
                what = f"`{key}` needs a managed db node."
                yield context.fault(("users", name, key), what, advice)


def _accounts_of_users_are_declared(context: Context) -> Iterator[Fault]:
    if not context.has_managed_db:
        return
    for name, user in context.cluster.users.items():
        for key in ("accounts", "coordinator"):
            path, names = ("users", name, key), getattr(user, key)
            yield from undeclared(context, "accounts", "account", path, names)
            yield from repeated(context, "account", path, names)
        for key in ("coordinator", "admin_level"):
            if getattr(user, key) and not user.accounts and not context.lacks("users", name, "accounts"):
                what = f"Without an account the user is not in Slurm's database, where `{key}` is kept."
                yield context.fault(("users", name, key), what, "Name one in `accounts`.")


def _parents_make_a_tree(context: Context) -> Iterator[Fault]:
    accounts = context.cluster.accounts
    for name, account in accounts.items():
        path = ("accounts", name, "parent")
        if account.parent != _ROOT:
            yield from undeclared(context, "accounts", "account", path, (account.parent,))
    for circle in _circles(accounts):
        way = " -> ".join((*circle, circle[0]))
        what = f"The parents go round in a circle: {quoted(way)}."
        yield context.fault(("accounts", circle[0], "parent"), what, 'One of them is below "root".')


def _circles(accounts: Mapping[str, Account]) -> Iterator[tuple[str, ...]]:
    """Yield each circle of parents once, from its first name on."""
    done: set[str] = set()
    for start in sorted(accounts):
        way: dict[str, None] = {}
        name = start
        while name != _ROOT and name in accounts and name not in done and name not in way:
            way[name] = None
            name = accounts[name].parent
        if name in way:
            walked = list(way)
            circle = walked[walked.index(name) :]
            first = circle.index(min(circle))
            yield tuple(circle[first:] + circle[:first])
        done |= way.keys()


RULES: tuple[Callable[[Context], Iterator[Fault]], ...] = (
    _accounting_needs_a_database,
    _accounts_of_users_are_declared,
    _parents_make_a_tree,
    limits_are_those_of_sacctmgr,
)
