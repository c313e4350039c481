"""Slurm accounts: they need a database, hang together as a tree, and have the limits that sacctmgr knows."""

import difflib
from collections.abc import Callable, Iterator, Mapping

from sindplan.model.declaration import Account
from sindplan.statefile.context import Context
from sindplan.statefile.fault import Fault
from sindplan.statefile.people import repeated, undeclared
from sindplan.statefile.wording import CONTROL, KeyPath, listed, quoted

_ROOT = "root"
_LIMITS = (
    *("Comment", "DefaultQOS", "Description", "Fairshare", "Flags", "GrpJobs", "GrpJobsAccrue", "GrpSubmitJobs"),
    *("GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "GrpWall", "MaxJobs", "MaxJobsAccrue", "MaxSubmitJobs", "MaxTRES"),
    *("MaxTRESMins", "MaxTRESMinsPerJob", "MaxTRESPerJob", "MaxTRESPerNode", "MaxTRESRunMins", "MaxWall"),
    *("MaxWallDurationPerJob", "MinPrioThresh", "Organization", "Priority", "QOS", "QosLevel", "Shares"),
)
"""What sacctmgr sets of an account, in full names (sind v0.11)."""
_LIMIT_NAMES: Mapping[str, str] = {name.lower(): name for name in _LIMITS}
_CLEAR = -1
"""What takes a limit away (sacctmgr(1))."""
_LARGEST_LIMIT = 2**32 - 3
"""Slurm's numbers of 32 bits, without its INFINITE and NO_VAL."""


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


def _limits_are_those_of_sacctmgr(context: Context) -> Iterator[Fault]:
    for name, account in context.cluster.accounts.items():
        said: dict[str, str] = {}
        for key, value in account.limits.items():
            path = ("accounts", name, "limits", key)
            other = said.setdefault(key.lower(), key)
            if key.lower() not in _LIMIT_NAMES:
                near = difflib.get_close_matches(key[:40].lower(), _LIMIT_NAMES, n=1)
                advice = f"Did you mean `{_LIMIT_NAMES[near[0]]}`?" if near else f"The limits are {listed(_LIMITS)}."
                yield context.fault(path, "sacctmgr has no such limit of an account.", advice)
            elif other != key:
                yield context.fault(path, f"This is said already, as `{other}`.", "Keep one: sacctmgr takes any case.")
            yield from _faults_of_limit(context, path, value)


def _faults_of_limit(context: Context, path: KeyPath, value: str | int) -> Iterator[Fault]:
    if isinstance(value, int):
        if not _CLEAR <= value <= _LARGEST_LIMIT:
            rule = f"Write a whole number from 0 to {_LARGEST_LIMIT}, or {_CLEAR} for no limit."
            yield context.fault(path, f"{value} is out of bounds.", rule)
    elif not value.strip():
        yield context.fault(path, "A limit without a value says nothing.", "Write -1 for no limit, or remove it.")
    elif CONTROL.search(value) or set("\"'") & set(value):
        what = f"{quoted(value)} holds what sacctmgr does not carry."
        yield context.fault(path, what, "Write it without quotes and control characters.")


RULES: tuple[Callable[[Context], Iterator[Fault]], ...] = (
    _accounting_needs_a_database,
    _accounts_of_users_are_declared,
    _parents_make_a_tree,
    _limits_are_those_of_sacctmgr,
)
