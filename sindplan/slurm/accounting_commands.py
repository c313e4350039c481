"""What sacctmgr is told: from what accounting shows and what it shall become to operations, and the scripts that run them.

Operations are made from what is there at that moment, so that doing them again does nothing. sacctmgr refuses some things with
status 0 (a parent that does not exist, 26.05) and takes others for something else: so what it shows afterwards decides.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sindplan.errors import NodeFailed
from sindplan.slurm.accounting import (
    COLUMNS,
    COORDINATORS,
    LIMITS,
    NONE,
    ROOT,
    SEPARATOR,
    TEXTS,
    AccountChange,
    AccountingChange,
    AccountingView,
    Form,
    UserChange,
    UserState,
    by_name,
    normalised,
    tres_items,
)

OF_RECORD = ("Description", "Flags", "Organization")
"""What Slurm keeps of an account itself; the rest it keeps of the account in a cluster."""

Operation = tuple[str, ...]
"""The words of one sacctmgr command."""

# Asking a slurmctld that does not run takes scontrol ten seconds; the kernel says it at once.
_VIEW = f"""\
view() {{
    grep -qsx slurmctld /proc/[0-9]*/comm || return 1
    cluster=$(scontrol show config 2> /dev/null | awk '$1 == "ClusterName" {{ print $3; exit }}')
    test -n "$cluster" || return 1
    echo "$cluster"
    echo '{SEPARATOR}'
    sacctmgr -nP show assoc WOPLimits where cluster="$cluster" format=Account,User,ParentName,{",".join(COLUMNS)} ||
        return 1
    echo '{SEPARATOR}'
    sacctmgr -nP show user withcoord format=User,DefaultAccount,Admin,Coordinators || return 1
    echo '{SEPARATOR}'
    sacctmgr -nP show assoc WOPLimits where cluster="$cluster" user= format=Account,Comment || return 1
    echo '{SEPARATOR}'
    sacctmgr -nP show account format=Account,Description || return 1
    echo '{SEPARATOR}'
    sacctmgr -nP show account format=Account,Organization || return 1
}}
"""
assert TEXTS == ("Comment", "Description", "Organization")

VIEW = f"{_VIEW}view\n"
"""Says everything that is compared."""

# A cluster without a control host is not registered yet (or its slurmctld is down): nothing can be added to it.
AWAIT = f"""\
{_VIEW}
until said=$(view 2> /dev/null) &&
    test -n "$(sacctmgr -nP show cluster where names="${{said%%
*}}" format=controlhost 2> /dev/null)"
do sleep 0.2; done
printf '%s\\n' "$said"
"""
"""The same, as soon as slurmdbd answers and knows the cluster."""

_MARK = "\x1f"
REFUSED = 3
"""Status of a script whose operation sacctmgr refused."""

OPERATE = f"""\
{_VIEW}
words=''
set -f
for operation
do
    IFS=$(printf '\\037')
    said=$(sacctmgr -i $operation 2>&1)
    status=$?
    unset IFS
    case "$status $said" in
        0\\ * | *'Nothing modified'* | *'has not changed'* | *'Nothing added'* | *'Nothing removed'* | \\
        *'Nothing deleted'* | *'Already existing'*)
            words="$words$said
" ;;
        *)
            printf '%s\\n' "$operation" "$said" >&2
            exit {REFUSED} ;;
    esac
done
set +f
printf '%s' "$words" >&2
view
"""
"""Runs operations, each of them one argument, and says what accounting shows afterwards."""


def encoded(operations: Iterable[Operation]) -> list[str]:
    """Return operations as arguments of the script, which takes each apart without looking into its words."""
    return [_MARK.join(word.replace(_MARK, " ") for word in operation) for operation in operations]


def refusal(said: str) -> str:
    """Return what the script says of an operation that was refused, as one line: which, and sacctmgr's words."""
    operation, _, words = said.partition("\n")
    verb, kind, *rest = [*operation.split(_MARK), "", ""]
    whom = next((word.partition("=")[2] for word in rest if word.startswith(("name=", "names="))), "")
    return f"sacctmgr refused to {verb} {kind} {whom}: {in_one_line(words)}"


def in_one_line(words: str) -> str:
    """Return sacctmgr's words in one line."""
    lines = (" ".join(line.removeprefix("sacctmgr: error:").split()) for line in words.splitlines())
    return "; ".join(line for line in lines if line)


def operations(view: AccountingView, change: AccountingChange) -> tuple[Operation, ...]:
    """Return what must be done, in an order that sacctmgr takes: parents before children, and removed after them."""
    wanted = {name: account.parent for name, account in change.accounts.items()}
    leaving = {name: view.accounts[name].parent for name in change.gone if name in view.accounts}
    return (
        *(done for name in _downwards(wanted) for done in _account(view, name, change.accounts[name])),
        *_together((name, done) for name in by_name(change.users) for done in _user(view, name, change.users[name])),
        *(("delete", "account", "where", *_of(view, name)) for name in reversed(_downwards(leaving))),
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


def _downwards(parents: Mapping[str, str]) -> list[str]:
    """Return accounts so that each comes after its parent, if that is one of them."""
    order: list[str] = []
    left = set(parents)
    while left:
        # Of a circle, which nobody can have made, any may come first.
        ready = {name for name in left if parents[name] not in left} or left
        order += by_name(ready)
        left = left - ready
    return order


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


def check_removals(view: AccountingView, gone: Iterable[str]) -> None:
    """Refuse to remove accounts that hold what others put there: sacctmgr would remove it with them.

    Raises:
        NodeFailed: There is something.
    """
    going = {*gone, ROOT}
    for name in by_name(going - {ROOT}):
        below = by_name(other for other, account in view.accounts.items() if account.parent == name)
        users = by_name(user for user, state in view.users.items() if name in state.accounts)
        held = [f"the account {other}" for other in below if other not in going] + [
            f"the user {user}" for user in users
        ]
        if held:
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
