"""What sacctmgr is told: from what accounting shows and what it shall become to operations, and whether it did become that.

Operations are made from what is there at that moment, so that doing them again does nothing. sacctmgr refuses some things with
status 0 (a parent that does not exist, 26.05) and takes others for something else: so what it shows afterwards decides.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sindplan.errors import NodeFailed
from sindplan.slurm.accounting import (
    ROOT,
    AccountChange,
    AccountingChange,
    AccountingView,
    UserChange,
    UserState,
    by_name,
)
from sindplan.slurm.accounting_scripts import Operation, in_one_line
from sindplan.slurm.limits import COORDINATORS, LIMITS, NONE, Form, normalised, tres_items

OF_RECORD = ("Description", "Flags", "Organization")
"""What Slurm keeps of an account itself; the rest it keeps of the account in a cluster."""


def operations(view: AccountingView, change: AccountingChange) -> tuple[Operation, ...]:
    """Return what must be done, in an order that sacctmgr takes: parents before children, and removed after them."""
    wanted = {name: account.parent for name, account in change.accounts.items()}
    leaving = {name: view.accounts[name].parent for name in change.gone if name in view.accounts}
    return (
        *(done for name in _downwards(wanted, view) for done in _account(view, name, change.accounts[name])),
        *_together((name, done) for name in by_name(change.users) for done in _user(view, name, change.users[name])),
        *(("delete", "account", "where", *_of(view, name)) for name in reversed(_downwards(leaving, view))),
    )


_STAGES = ("add user", "modify user", "delete coordinator", "add coordinator", "delete user")
_MANY = 500
"""Users that one operation is about; each operation takes slurmdbd a twentieth of a second."""


def _together(told: Iterable[tuple[str, Operation]]) -> Iterator[Operation]:
    """Yield operations on users, those that say the same of several as one: each user goes through the stages in order."""
    alike: dict[tuple[int, Operation], list[str]] = {}
    for name, operation in told:
        alike.setdefault((_STAGES.index(" ".join(operation[:2])), operation), []).append(name)
    for (_, operation), names in sorted(alike.items(), key=lambda item: item[0]):
        for begin in range(0, len(names), _MANY):
            yield tuple(word.replace(_USER, ",".join(names[begin : begin + _MANY])) for word in operation)


_USER = "\0"
"""Stands for the user's name in what is said of it."""


def _downwards(parents: Mapping[str, str], view: AccountingView) -> list[str]:
    """Return accounts so that each comes after those of them that are to be above it, through others that stay, too.

    What is above an account is final then, when it is moved: nothing is ever moved below what it has below itself.
    """
    above = {name: _nearest(name, parents, view) for name in parents}
    order: list[str] = []
    left = set(parents)
    while left:
        # Of a circle, which nobody can have made, any may come first.
        ready = {name for name in left if above[name] not in left} or left
        order += by_name(ready)
        left = left - ready
    return order


def _nearest(name: str, parents: Mapping[str, str], view: AccountingView) -> str:
    """Return the first of some accounts on the way up from one of them; `root` or a stranger when there is none."""
    up, passed = parents[name], {name}
    while up not in parents and up in view.accounts and up not in passed:
        passed.add(up)
        up = view.accounts[up].parent
    return up


def _of(view: AccountingView, name: str) -> tuple[str, str]:
    return f"name={name}", f"cluster={view.cluster}"


def _account(view: AccountingView, name: str, change: AccountChange) -> Iterator[Operation]:
    there = view.accounts.get(name)
    if there is None:
        yield (
            "add",
            "account",
            *_of(view, name),
            f"parent={change.parent}",
            *(
                _setting(limit, value, NONE)
                for limit, value in change.limits.items()
                if value and limit not in OF_RECORD
            ),
        )
        # Slurm keeps the record of an account that has left its clusters, and `add` leaves it as it is.
        told = [_setting(limit, change.limits[limit], NONE) for limit in OF_RECORD if limit in change.limits]
        if told:
            yield ("modify", "account", "where", *_of(view, name), "set", *told)
        return
    # The parent that it has already makes sacctmgr (26.05) leave the rest undone.
    told = [f"parent={change.parent}"] if change.parent != there.parent else []
    for limit, value in _goal(change).items():
        before = there.limits.get(limit, NONE)
        if value != before:
            told.append(_setting(limit, value, before))
    if told:
        yield ("modify", "account", "where", *_of(view, name), "set", *told)


def _goal(change: AccountChange) -> Mapping[str, str]:
    return {limit: normalised(limit, NONE) for limit in change.cleared} | dict(change.limits)


_CLEARING: Mapping[Form, str] = {
    Form.NUMBER: "-1",
    Form.WALL: "-1",
    Form.NAME: "-1",
    Form.FLAGS: "NoUsersAreCoords",
    Form.QOS: "",
    Form.TEXT: "",
}
"""What takes a limit away. Trackable resources are taken away one by one."""


def _setting(limit: str, value: str, before: str) -> str:
    form = LIMITS.get(limit, Form.TEXT)
    if form is Form.TRES:
        # sacctmgr adds to what is there: what shall not be there must be said.
        left = (tres_items(before) or {}).keys() - (tres_items(value) or {}).keys()
        return f"{limit}={','.join([*([value] if value else []), *(f'{name}=-1' for name in sorted(left))])}"
    return f"{limit}={value or _CLEARING[form]}"


def _user(view: AccountingView, name: str, change: UserChange) -> Iterator[Operation]:
    there = view.users.get(name, UserState())
    missing = [account for account in by_name(change.accounts) if account not in there.accounts]
    if missing:
        default = () if there.accounts else (f"defaultaccount={change.default_account}",)
        yield ("add", "user", f"name={_USER}", f"account={','.join(missing)}", f"cluster={view.cluster}", *default)
    left = [account for account in there.accounts if account in change.left and account not in change.accounts]
    kept = by_name({*there.accounts, *change.accounts} - set(left))
    if kept:
        yield from _user_record(view, change, there, kept)
    resigned = [account for account in change.resigned if account in there.coordinator]
    if resigned:
        yield ("delete", "coordinator", f"account={','.join(resigned)}", f"names={_USER}")
    if set(change.coordinator) - _own_coordination(view, there):
        yield ("add", "coordinator", f"account={','.join(change.coordinator)}", f"names={_USER}")
    if left:
        # Of its last account no user is taken out by name: then it leaves the database.
        accounts = (f"account={','.join(left)}",) if kept else ()
        yield ("delete", "user", "where", f"name={_USER}", *accounts, f"cluster={view.cluster}")


def _user_record(
    view: AccountingView, change: UserChange, there: UserState, kept: Sequence[str]
) -> Iterator[Operation]:
    goal = change.default_account or (there.default_account if there.default_account in kept else kept[0])
    # sacctmgr does not take a user out of its default account.
    if there.accounts and goal != there.default_account:
        yield ("modify", "user", "where", *_of(view, _USER), "set", f"defaultaccount={goal}")
    # Of a user that the database has without an account, `add` leaves the level as it is.
    if change.admin_level is not None and change.admin_level != there.admin_level:
        yield ("modify", "user", "where", f"name={_USER}", "set", f"adminlevel={change.admin_level or 'none'}")


def _own_coordination(view: AccountingView, there: UserState) -> set[str]:
    """Return what a user coordinates for sure: not just as an account below another, nor as one of its users."""

    def lent(account: str) -> bool:
        below, above = account, _above(view, account)
        flagged = (name for name in (below, *above) if name in there.accounts)
        return any(name in there.coordinator for name in above) or any(
            name in view.accounts and view.accounts[name].limits.get("Flags") == COORDINATORS for name in flagged
        )

    return {account for account in there.coordinator if not lent(account)}


def _above(view: AccountingView, account: str) -> list[str]:
    above: list[str] = []
    while account in view.accounts and (account := view.accounts[account].parent) not in above:
        above.append(account)
    return above


def held_by_others(view: AccountingView, gone: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the accounts of some that shall go in which there is something else: each with what it holds."""
    going = {*gone, ROOT}
    for name in by_name(going - {ROOT}):
        below = by_name(other for other, account in view.accounts.items() if account.parent == name)
        held = (
            *(f"the account {other}" for other in below if other not in going),
            *(f"the user {user}" for user in by_name(u for u, state in view.users.items() if name in state.accounts)),
        )
        if held:
            yield name, held


def check_removals(view: AccountingView, gone: Iterable[str]) -> None:
    """Refuse to remove accounts that hold what others put there: sacctmgr would remove it with them.

    Raises:
        NodeFailed: There is something.
    """
    for name, held in held_by_others(view, gone):
        raise NodeFailed(
            f"The account {name} still holds {', '.join(held)}, not of the declaration; it stays.",
            fix="Declare them, or take them out of it (sacctmgr delete user, sacctmgr modify account).",
        )


def check(view: AccountingView | None, change: AccountingChange, words: str = "") -> None:
    """Make sure that accounting shows what was asked for.

    Raises:
        NodeFailed: It does not; says what is otherwise, and sacctmgr's own words.
    """
    wrong = list(_unmet(view, change)) if view is not None else ["slurmdbd stopped answering"]
    if wrong:
        said = in_one_line(words)
        raise NodeFailed(f"Slurm did not take what sacctmgr was told: {'; '.join(wrong)}.", diagnostics=said)


def _unmet(view: AccountingView, change: AccountingChange) -> Iterator[str]:
    for name, account in change.accounts.items():
        there = view.accounts.get(name)
        if there is None:
            yield f"there is no account {name}"
            continue
        if there.parent != account.parent:
            yield f"the account {name} is below {there.parent}, not {account.parent}"
        for limit, value in _goal(account).items():
            shown = there.limits.get(limit, NONE)
            if shown != value:
                yield f"{limit} of the account {name} is {shown or 'not set'}, not {value or 'taken away'}"
    for name, user in change.users.items():
        yield from _unmet_user(name, view.users.get(name, UserState()), user)
    yield from (f"the account {name} is still there" for name in change.gone if name in view.accounts)


def _unmet_user(name: str, there: UserState, change: UserChange) -> Iterator[str]:
    missing = set(change.accounts) - set(there.accounts)
    if missing:
        yield f"the user {name} is not in {', '.join(by_name(missing))}"
    still = set(change.left) & set(there.accounts) - set(change.accounts)
    if still:
        yield f"the user {name} is still in {', '.join(by_name(still))}"
    if change.default_account and there.default_account != change.default_account:
        yield f"the default account of the user {name} is {there.default_account or 'none'}, not {change.default_account}"
    if set(change.coordinator) - set(there.coordinator):
        yield f"the user {name} coordinates {', '.join(there.coordinator) or 'nothing'}, not {', '.join(change.coordinator)}"
    if change.accounts and change.admin_level not in {None, there.admin_level}:
        yield f"the admin level of the user {name} is {there.admin_level or 'none'}, not {change.admin_level or 'none'}"
