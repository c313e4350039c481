"""A simulated slurmdbd and its sacctmgr: databases by the volume they lie on, operations as `accounting_commands` makes them.

It shows what it has as the view script prints it, and refuses what sacctmgr refuses, in its words.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from attrs import define, evolve, field

from sindplan.engine.records import Volume
from sindplan.slurm.accounting import (
    COLUMNS,
    ROOT,
    SEPARATOR,
    TEXTS,
    AccountingView,
    AccountState,
    UserState,
    by_name,
)
from sindplan.slurm.accounting_commands import OF_RECORD
from sindplan.slurm.accounting_scripts import Operation
from sindplan.slurm.limits import COORDINATORS, LIMITS, NONE, Form, normalised, tres_items

_LEVELS = {"": "None", "operator": "Operator", "admin": "Administrator"}


class Refused(Exception):
    """sacctmgr said no; holds its words."""


def blank(parent: str) -> AccountState:
    """Return an account without limits of its own."""
    return AccountState(parent=parent, limits={limit: normalised(limit, NONE) for limit in LIMITS})


@define
class Database:
    """One slurmdbd's: accounts, users with what they coordinate themselves, QOS, and records of accounts that left."""

    accounts: dict[str, AccountState] = field(factory=lambda: {ROOT: blank("")})
    users: dict[str, UserState] = field(
        factory=lambda: {ROOT: UserState(accounts=(ROOT,), default_account=ROOT, admin_level="admin")}
    )
    qos: set[str] = field(factory=lambda: {"normal"})
    records: dict[str, Mapping[str, str]] = field(factory=dict)

    def view(self, cluster: str) -> AccountingView:
        """Return what there is; those below an account that somebody coordinates are shown too."""
        users = {name: evolve(user, coordinator=self._shown(name, user)) for name, user in self.users.items()}
        return AccountingView(cluster=cluster, accounts=dict(self.accounts), users=users)

    def _shown(self, name: str, user: UserState) -> tuple[str, ...]:
        of_account = [a for a in user.accounts if self.accounts[a].limits["Flags"] == COORDINATORS]
        shown = {*user.coordinator, *of_account}
        while below := {a for a, state in self.accounts.items() if state.parent in shown} - shown:
            shown |= below
        return by_name(shown)

    def run(self, operation: Operation) -> None:
        """Run an operation. Raises `Refused`."""
        verb, kind, *rest = operation
        split = rest.index("set") if "set" in rest else len(rest)
        where = _pairs(rest[:split])
        told = _pairs(rest[split + 1 :])
        for name in (where.get("name") or where.get("names", "")).split(","):
            match verb, kind:
                case "add", "account":
                    self._add_account(name, where)
                case "modify", "account":
                    self._modify_account(name, told)
                case "delete", "account":
                    self._delete_account(name)
                case "add", "user":
                    self._add_user(name, where)
                case "modify", "user":
                    self._modify_user(name, told)
                case "delete", "user":
                    self._delete_user(name, where.get("account", ""))
                case (("add" | "delete"), "coordinator"):
                    self._coordinate(name, where["account"], add=verb == "add")
                case _:
                    raise Refused(f"No valid entity in {verb} command")

    def _add_account(self, name: str, where: Mapping[str, str]) -> None:
        parent = where["parent"]
        if name in self.accounts:
            raise Refused(f"Already existing account {name}")
        if parent not in self.accounts:
            raise Refused(f"error: No parent account '{parent}'")
        told = {key: value for key, value in where.items() if key not in {"name", "cluster", "parent"}}
        made = self._told(blank(parent), told)
        # What Slurm calls an account that says nothing of itself, unless it knew one of that name.
        record = self.records.get(name, {"Description": name, "Organization": name if parent == ROOT else parent})
        self.accounts[name] = evolve(made, limits={**made.limits, **record})

    def _modify_account(self, name: str, told: Mapping[str, str]) -> None:
        if name not in self.accounts:
            raise Refused("Nothing modified")
        account = self._told(self.accounts[name], {key: value for key, value in told.items() if key != "parent"})
        parent = told.get("parent", account.parent)
        # Slurm says no to these with status 0.
        above = [parent]
        while above[-1] in self.accounts:
            above.append(self.accounts[above[-1]].parent)
        sound = parent in self.accounts and name not in above
        self.accounts[name] = evolve(account, parent=parent if sound else account.parent)

    def _told(self, account: AccountState, told: Mapping[str, str]) -> AccountState:
        limits = dict(account.limits)
        for limit, value in told.items():
            if limit not in LIMITS:
                raise Refused(f"Unknown option: {limit}={value}")
            form = LIMITS[limit]
            if form in {Form.QOS, Form.NAME} and (
                unknown := {*normalised(limit, value).split(",")} - self.qos - {NONE}
            ):
                raise Refused(f"sacctmgr: error: You gave a bad qos '{min(unknown)}'.\nUnknown option: {limit}={value}")
            limits[limit] = _merged(limits[limit], value) if form is Form.TRES else normalised(limit, value)
        return evolve(account, limits=limits)

    def _delete_account(self, name: str) -> None:
        if name not in self.accounts:
            raise Refused("Nothing deleted")
        for child in [child for child, state in self.accounts.items() if state.parent == name]:
            self._delete_account(child)
        for user in [user for user, state in self.users.items() if name in state.accounts]:
            self._leave(user, {name})
        gone = self.accounts.pop(name)
        self.records[name] = {limit: gone.limits[limit] for limit in OF_RECORD}
        for user, state in self.users.items():
            self.users[user] = evolve(state, coordinator=by_name({*state.coordinator} - {name}))

    def _add_user(self, name: str, where: Mapping[str, str]) -> None:
        asked = where["account"].split(",")
        if not {*asked} <= self.accounts.keys():
            raise Refused("Nothing added.")
        there = self.users.get(name, UserState())
        default = there.default_account or where.get("defaultaccount") or asked[0]
        self.users[name] = evolve(there, accounts=by_name((*there.accounts, *asked)), default_account=default)

    def _modify_user(self, name: str, told: Mapping[str, str]) -> None:
        if name not in self.users:
            raise Refused("Nothing modified")
        there = self.users[name]
        default = told.get("defaultaccount", there.default_account)
        if default not in there.accounts:
            raise Refused(f"Can't modify because these users aren't associated with new default account '{default}'...")
        level = told.get("adminlevel", there.admin_level).replace("none", "")
        self.users[name] = evolve(there, default_account=default, admin_level=level)

    def _delete_user(self, name: str, accounts: str) -> None:
        if name not in self.users:
            raise Refused("Nothing deleted")
        there = self.users[name]
        left = {*accounts.split(",")} if accounts else {*there.accounts}
        if there.default_account in left and {*there.accounts} - left:
            raise Refused("Error with request: You can not remove the default account of a user")
        self._leave(name, left)

    def _leave(self, name: str, accounts: Collection[str]) -> None:
        there = self.users[name]
        kept = by_name({*there.accounts} - {*accounts})
        if not kept:
            del self.users[name]
            return
        default = there.default_account if there.default_account in kept else ""
        self.users[name] = evolve(there, accounts=kept, default_account=default)

    def _coordinate(self, name: str, of: str, *, add: bool) -> None:
        accounts = {*of.split(",")}
        if name not in self.users:
            raise Refused(f"You specified a non-existent user '{name}'.")
        if missing := accounts - self.accounts.keys():
            raise Refused(f"You specified a non-existent account '{min(missing)}'.")
        there = self.users[name]
        now = {*there.coordinator} | accounts if add else {*there.coordinator} - accounts
        self.users[name] = evolve(there, coordinator=by_name(now))


@define
class SimulatedAccounting:
    """All databases, by their volume: they outlive the containers that serve them.

    Attributes:
        databases: By name and time of the volume: another one of the same name is another.
    """

    databases: dict[tuple[str, str], Database] = field(factory=dict, init=False)

    def on(self, volume: Volume) -> Database:
        """Return the database on a volume; an empty one on a new volume."""
        return self.databases.setdefault((volume.name, volume.created), Database())

    def memory(self, volumes: Iterable[Volume]) -> object:
        """Return what the databases on some volumes hold, comparable; an empty one is as good as none."""
        views = {volume.name: self.on(volume).view(volume.name) for volume in volumes}
        return {name: view for name, view in sorted(views.items()) if view != Database().view(name)}


def rendered(view: AccountingView) -> str:
    """Return a view as the view script prints it."""
    return "\n".join([*_lines(view), ""])


def _lines(view: AccountingView) -> Iterator[str]:
    yield view.cluster
    yield SEPARATOR
    for name, account in view.accounts.items():
        yield "|".join((name, "", account.parent, *(account.limits[limit] for limit in COLUMNS)))
        for user, state in view.users.items():
            if name in state.accounts:
                yield "|".join((name, user, "", *("" for _ in COLUMNS)))
    yield SEPARATOR
    for user, state in view.users.items():
        yield "|".join((user, state.default_account, _LEVELS[state.admin_level], ",".join(state.coordinator)))
    for limit in TEXTS:
        yield SEPARATOR
        yield from (f"{name}|{account.limits[limit]}" for name, account in view.accounts.items())


def _pairs(words: Collection[str]) -> dict[str, str]:
    return dict(word.partition("=")[::2] for word in words if "=" in word)


def _merged(before: str, told: str) -> str:
    """Return what becomes of a list of resources: sacctmgr takes what is told into it, and minus one out of it."""
    items = (tres_items(before) or {}) | (tres_items(told) or {})
    return normalised("GrpTRES", ",".join(f"{name}={count}" for name, count in items.items()))
