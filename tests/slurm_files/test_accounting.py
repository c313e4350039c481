"""Accounting as sacctmgr shows it: what it shows of each limit was recorded from Slurm 26.05.5 and 24.11.5, which agree."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.errors import NodeFailed
from sindplan.slurm.accounting import (
    COLUMNS,
    AccountChange,
    AccountingChange,
    AccountingView,
    AccountState,
    UserChange,
    UserState,
    by_name,
    parse_accounting,
)
from sindplan.slurm.accounting_commands import check, check_removals, operations
from sindplan.slurm.accounting_scripts import AWAIT, OPERATE, VIEW, Operation, encoded, refusal
from sindplan.slurm.limits import LIMITS, NONE, Form, normalised, normalised_limits
from sindplan.slurm.simulated_accounting import Database, blank, rendered
from tests.strategies import SETTINGS

# Limit, what was declared, what sacctmgr shows of it.
RECORDED = (
    ("Comment", "Grant 7|a: it is, so", "grant 7|a: it is, so"),
    ("Comment", " it's ", "it`s"),
    ("Comment", "ÄÖü ABC", "ÄÖü abc"),
    ("DefaultQOS", "High", "high"),
    ("DefaultQOS", -1, ""),
    ("Description", "Physics | Dept", "physics | dept"),
    ("Fairshare", "Parent", "parent"),
    ("Fairshare", 2**31 - 1, "parent"),
    ("Fairshare", -1, "1"),
    ("Fairshare", "007", "7"),
    ("Fairshare", 0, "0"),
    ("Shares", 9, "9"),
    ("Flags", "userSareCoords", "UsersAreCoords"),
    ("Flags", "NoUsersAreCoords", "None"),
    ("GrpJobs", 4, "4"),
    ("GrpJobsAccrue", "05", "5"),
    ("GrpSubmitJobs", "+6", "6"),
    ("GrpTRES", "mem=1536,cpu=4,GRES/gpu=2,license/matlab=3", "cpu=4,gres/gpu=2,license/matlab=3,mem=1.50G"),
    ("GrpTRES", "cpu=4,mem=1g", "cpu=4,mem=1G"),
    ("GrpTRES", "1=7,2=4096", "cpu=7,mem=4G"),
    ("GrpTRES", "cpu=-1,node=3", "node=3"),
    ("GrpTRES", "mem=0", "mem=0"),
    ("GrpTRES", "mem=1023", "mem=1023M"),
    ("GrpTRES", "mem=1025", "mem=1025M"),
    ("GrpTRES", "mem=2560", "mem=2.50G"),
    ("GrpTRES", "mem=1536G", "mem=1.50T"),
    ("GrpTRES", "mem=1573376", "mem=1.50T"),
    ("GrpTRES", "mem=1049088", "mem=1.00T"),
    ("GrpTRES", "mem=1500000", "mem=1500000M"),
    ("GrpTRES", "mem=12345678G", "mem=12345678G"),
    ("GrpTRES", "mem=1610612736", "mem=1.50P"),
    ("GrpTRES", "mem=1024P", "mem=1?"),
    ("GrpTRES", "cpu=1k,vmem=1g,fs/disk=2g", "cpu=1024,fs/disk=2147483648,vmem=1073741824"),
    ("GrpTRES", "billing=1000000,cpu=18446744073709551000", "billing=1000000,cpu=18446744073709551000"),
    ("GrpTRESMins", "cpu=100,mem=1t", "cpu=100,mem=1T"),
    ("GrpTRESRunMins", "mem=5000,cpu=100", "cpu=100,mem=5000M"),
    ("GrpWall", "1500", "1-01:00:00"),
    ("MaxJobs", "-1", ""),
    ("MaxJobs", "0", "0"),
    ("MaxJobsAccrue", 2, "2"),
    ("MaxSubmitJobs", 9, "9"),
    ("MaxTRES", "cpu=2,mem=1g", "cpu=2,mem=1G"),
    ("MaxTRESPerJob", "cpu=3", "cpu=3"),
    ("MaxTRESMins", "cpu=50", "cpu=50"),
    ("MaxTRESMinsPerJob", "cpu=51", "cpu=51"),
    ("MaxTRESPerNode", "cpu=1,mem=512m", "cpu=1,mem=512M"),
    ("MaxTRESRunMins", "cpu=77", "cpu=77"),
    ("MaxWall", "60", "01:00:00"),
    ("MaxWall", "1:00:00", "01:00:00"),
    ("MaxWall", "30:30", "00:31:00"),
    ("MaxWall", "0:30", "00:01:00"),
    ("MaxWall", "1-0", "1-00:00:00"),
    ("MaxWall", "1-12:30", "1-12:30:00"),
    ("MaxWall", "200:00:00", "8-08:00:00"),
    ("MaxWall", "2-25:61:61", "3-02:03:00"),
    ("MaxWall", "0", "00:00:00"),
    ("MaxWall", "UNLIMITED", ""),
    ("MaxWallDurationPerJob", 61, "01:01:00"),
    ("MinPrioThresh", 5, "5"),
    ("Organization", "Uni X", "uni x"),
    ("Priority", 0, "0"),
    ("QOS", "normal,HIGH", "high,normal"),
    ("QosLevel", "a_b", "a_b"),
)


@pytest.mark.parametrize(("limit", "declared", "shown"), RECORDED)
def test_a_limit_is_the_same_declared_and_shown(limit: str, declared: str | int, shown: str) -> None:
    ((name, value),) = normalised_limits({limit: declared}).items()

    assert value == normalised(name, shown)


def test_every_limit_was_recorded() -> None:
    assert {name for limit, value, _ in RECORDED for name in normalised_limits({limit: value})} == set(LIMITS)


@pytest.mark.parametrize(
    ("limit", "declared", "meant"),
    [
        # sacctmgr reads these as 1M and 1T.
        ("GrpTRES", "mem=1.5g", "mem=1536M"),
        ("GrpTRES", "mem=1048576k", "mem=1G"),
        ("GrpTRES", "cpu=4 , mem=2GB", "cpu=4,mem=2G"),
        ("GrpTRES", "cpu=x", "cpu=x"),
        ("GrpTRES", "4 cpus", "4 cpus"),
        ("GrpTRES", "", ""),
        ("QOS", "high, normal", "high,normal"),
        ("MaxWall", "soon", "soon"),
        ("MaxJobs", "4k", "4k"),
        ("Nonsense", "X", "x"),
        ("Comment", "-1", ""),
    ],
)
def test_what_people_mean_is_what_sacctmgr_is_told(limit: str, declared: str, meant: str) -> None:
    assert normalised(limit, declared) == meant


TRES = st.dictionaries(
    st.sampled_from(("cpu", "mem", "node", "gres/gpu", "billing", "bb/x", "license/a")),
    st.integers(0, 2**45),
    max_size=4,
)
_WALLS = st.one_of(
    st.integers(0, 10**6).map(str),
    st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)).map(lambda parts: "{}:{}:{}".format(*parts)),
    st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)).map(lambda parts: "{}-{}:{}".format(*parts)),
    st.sampled_from(("-1", "INFINITE", "unlimited")),
)
_NAMES = st.sampled_from(("normal", "High", "low"))
VALUES = {
    Form.NUMBER: st.integers(-1, 2**32 - 4).map(str),
    Form.SHARES: st.one_of(st.integers(-1, 2**31 - 1).map(str), st.just("parent")),
    Form.WALL: _WALLS,
    Form.TRES: TRES.map(lambda items: ",".join(f"{name}={count}" for name, count in items.items())),
    Form.QOS: st.lists(_NAMES, min_size=1, max_size=3, unique=True).map(",".join),
    Form.NAME: _NAMES,
    Form.TEXT: st.text(
        st.characters(exclude_categories=("C", "Z"), include_characters=" |=,"), min_size=1, max_size=12
    ),
    Form.FLAGS: st.sampled_from(("UsersAreCoords", "NoUsersAreCoords", "usersarecoords")),
}
LIMITS_SAID = st.fixed_dictionaries({}, optional={name: VALUES[form] for name, form in LIMITS.items()})


@SETTINGS
@given(st.data())
def test_normalising_again_changes_nothing(data: st.DataObject) -> None:
    limit = data.draw(st.sampled_from(sorted(LIMITS)))
    value = data.draw(st.one_of(VALUES[LIMITS[limit]], st.text(max_size=20)))

    once = normalised(limit, value)

    assert normalised(limit, once) == once


@SETTINGS
@given(TRES, st.randoms())
def test_resources_are_the_same_in_any_order_and_unit(items: dict[str, int], random: object) -> None:
    # What sacctmgr shows of more than a terabyte has two digits only.
    small = {name: count % 2**20 for name, count in items.items()}
    plain = [f"{name}={count}" for name, count in small.items()]
    spelt = [f"{name.upper()}={count}{'m' if name in {'mem', 'bb/x'} else ''}" for name, count in small.items()]
    random.shuffle(spelt)

    assert normalised("GrpTRES", ",".join(plain)) == normalised("GrpTRES", ",".join(spelt))


@SETTINGS
@given(st.integers(0, 10**6))
def test_a_wall_time_is_the_same_in_minutes_and_by_the_clock(minutes: int) -> None:
    by_clock = f"{minutes // 1440}-{minutes % 1440 // 60}:{minutes % 60}"
    hours = f"{minutes // 60}:{minutes % 60:02}:00"

    assert normalised("MaxWall", minutes) == normalised("MaxWall", by_clock) == normalised("GrpWall", hours)


RECORDED_VIEW = """\
dev
--
root||||1|None||||||||||||||||||normal
root|root|||1|||||||||||||||||||
phys||root|high|parent|UsersAreCoords|4|5|6|cpu=4,mem=1.50G,node=2|cpu=100,mem=1T|cpu=100|1-01:00:00|3|2|9|cpu=2|||\
cpu=77|00:31:00|5|0|high,normal
phys|alice|||1|None||||||||||||||||||
opt||phys||1|None||||||||||||||||||
opt|alice|||1|None||||||||||||||||||
opt|bob|||1|None||||||||||||||||||
--
alice|phys|Administrator|opt,phys
bob|opt|None|opt
carol||Operator|
root|root|Administrator|
--
root|
phys|grant 7|a: it is, `so`
opt|
--
gone|gone
opt|dd
phys|physics | dept
root|default root account
--
gone|gone
opt|phys
phys|uni x
root|root

"""


def test_what_sacctmgr_shows_is_read() -> None:
    view = parse_accounting(RECORDED_VIEW)

    assert view is not None
    assert view.cluster == "dev"
    assert set(view.accounts) == {"root", "phys", "opt"}
    assert {name: value for name, value in view.accounts["phys"].limits.items() if value} == {
        "DefaultQOS": "high",
        "Fairshare": "parent",
        "Flags": "UsersAreCoords",
        "GrpJobs": "4",
        "GrpJobsAccrue": "5",
        "GrpSubmitJobs": "6",
        "GrpTRES": "cpu=4,mem=1536M,node=2",
        "GrpTRESMins": "cpu=100,mem=1T",
        "GrpTRESRunMins": "cpu=100",
        "GrpWall": "1-01:00:00",
        "MaxJobs": "3",
        "MaxJobsAccrue": "2",
        "MaxSubmitJobs": "9",
        "MaxTRES": "cpu=2",
        "MaxTRESRunMins": "cpu=77",
        "MaxWall": "00:31:00",
        "MinPrioThresh": "5",
        "Priority": "0",
        "QOS": "high,normal",
        "Comment": "grant 7|a: it is, `so`",
        "Description": "physics | dept",
        "Organization": "uni x",
    }
    assert view.accounts["opt"].parent == "phys"
    assert {name: value for name, value in view.accounts["opt"].limits.items() if value} == {
        "Fairshare": "1",
        "Description": "dd",
        "Organization": "phys",
    }
    assert view.users["alice"] == UserState(
        accounts=("opt", "phys"), default_account="phys", coordinator=("opt", "phys"), admin_level="admin"
    )
    assert view.users["carol"] == UserState(admin_level="operator")


@pytest.mark.parametrize("text", ["", "\n", "dev\n", "dev\n--\n", "--\n" * 9, "sacctmgr: error: no\n"])
def test_half_an_answer_is_none(text: str) -> None:
    assert parse_accounting(text) is None


@given(st.text("root|phys\n-=,019KMG?.:\0\x1b\u2028\x1f", max_size=120), st.integers(0, len(RECORDED_VIEW)))
def test_no_text_is_too_odd(text: str, place: int) -> None:
    view = parse_accounting(RECORDED_VIEW[:place] + text + RECORDED_VIEW[place:])

    assert view is None or all(set(account.limits) == set(LIMITS) for account in view.accounts.values())


@pytest.mark.parametrize("digits", ["9" * 20, "9" * 5000, "1-" + "9" * 5000, "0" * 5000])
def test_no_number_is_too_long(digits: str) -> None:
    for limit in LIMITS:
        normalised(limit, digits)
        normalised(limit, f"mem={digits}t,cpu={digits}.{digits}")


ACCOUNTS = ("a", "b", "c-1", "where")
USERS = ("alice", "bob", "set")


@st.composite
def goals(draw: st.DrawFn) -> AccountingChange:
    """Draw accounts in a tree and users in them, as a declaration would have them."""
    accounts: dict[str, AccountChange] = {}
    for name in draw(st.lists(st.sampled_from(ACCOUNTS), min_size=1, unique=True)):
        accounts[name] = AccountChange(
            parent=draw(st.sampled_from(("root", *accounts))), limits=normalised_limits(draw(LIMITS_SAID))
        )
    some = st.lists(st.sampled_from(sorted(accounts)), min_size=1, unique=True).map(by_name)
    users: dict[str, UserChange] = {}
    for name in draw(st.lists(st.sampled_from(USERS), unique=True)):
        member = draw(some)
        users[name] = UserChange(
            accounts=member,
            default_account=draw(st.sampled_from(member)),
            coordinator=draw(st.one_of(st.just(()), some)),
            admin_level=draw(st.sampled_from((None, "", "operator", "admin"))),
        )
    return AccountingChange(accounts=accounts, users=users)


def database() -> Database:
    return Database(qos={"normal", "high", "low"})


def carry_out(there: Database, change: AccountingChange) -> None:
    """Do what is needed, as the real port does: look, work, look again."""
    view = there.view("dev")
    check_removals(view, change.gone)
    for operation in operations(view, change):
        there.run(operation)
    check(there.view("dev"), change)


@settings(SETTINGS, max_examples=200)
@given(goals())
def test_what_was_done_needs_not_be_done_again(goal: AccountingChange) -> None:
    there = database()

    carry_out(there, goal)

    assert done_again(there, goal) == []


def done_again(there: Database, goal: AccountingChange) -> list[Operation]:
    """Do it again, which changes nothing; return what is told besides what only makes sure of coordinators."""
    before = there.view("dev")
    carry_out(there, goal)
    assert there.view("dev") == before
    return [operation for operation in operations(before, goal) if operation[:2] != ("add", "coordinator")]


@settings(SETTINGS, max_examples=200)
@given(goals(), goals())
def test_one_state_leads_to_another(first: AccountingChange, second: AccountingChange) -> None:
    there = database()
    carry_out(there, first)

    carry_out(there, moved(first, second))

    assert done_again(there, second) == []
    carry_out(there, AccountingChange(gone=tuple(first.accounts.keys() - second.accounts.keys())))
    assert set(there.accounts) == {"root", *second.accounts}
    assert set(there.users) == {"root", *second.users}


def moved(first: AccountingChange, second: AccountingChange) -> AccountingChange:
    """Return the second goal with what of the first must go for it."""
    accounts = {
        name: AccountChange(
            parent=account.parent,
            limits=account.limits,
            cleared=tuple(first.accounts[name].limits.keys() - account.limits.keys()) if name in first.accounts else (),
        )
        for name, account in second.accounts.items()
    }
    users: dict[str, UserChange] = {}
    for name in {*first.users, *second.users}:
        old, new = first.users.get(name, UserChange()), second.users.get(name, UserChange())
        users[name] = UserChange(
            accounts=new.accounts,
            default_account=new.default_account,
            coordinator=new.coordinator,
            admin_level=new.admin_level,
            left=tuple(sorted({*old.accounts} - {*new.accounts})),
            resigned=tuple(sorted({*old.coordinator} - {*new.coordinator})),
        )
    return AccountingChange(accounts=accounts, users=users)


@SETTINGS
@given(goals())
def test_a_view_is_printed_and_read_alike(goal: AccountingChange) -> None:
    there = database()
    carry_out(there, goal)
    view = there.view("dev")

    assert parse_accounting(rendered(view)) == view


def test_resources_that_are_not_wanted_any_more_are_said_so() -> None:
    before = {"GrpTRES": "cpu=4,mem=1G", "MaxWall": "01:00:00", "QOS": "low", "Fairshare": "7"}
    view = _view(a=AccountState(parent="root", limits=before))
    change = AccountChange(parent="root", limits={"GrpTRES": "cpu=4"}, cleared=("MaxWall", "QOS", "Fairshare"))

    (operation,) = operations(view, AccountingChange(accounts={"a": change}))

    assert operation[:6] == ("modify", "account", "where", "name=a", "cluster=dev", "set")
    assert set(operation[6:]) == {"GrpTRES=cpu=4,mem=-1", "Fairshare=1", "MaxWall=-1", "QOS="}


def test_a_user_gets_another_default_account_before_it_leaves_the_old_one() -> None:
    view = AccountingView(
        cluster="dev",
        accounts={name: blank("root") for name in ("a", "b")},
        users={"alice": UserState(accounts=("a",), default_account="a")},
    )
    change = UserChange(accounts=("b",), default_account="b", left=("a",))

    told = operations(view, AccountingChange(users={"alice": change}))

    assert told == (
        ("add", "user", "name=alice", "account=b", "cluster=dev"),
        ("modify", "user", "where", "name=alice", "cluster=dev", "set", "defaultaccount=b"),
        ("delete", "user", "where", "name=alice", "account=a", "cluster=dev"),
    )


def test_an_account_goes_below_one_that_is_below_itself_when_that_has_moved() -> None:
    """Between the two stands an account of which nothing is said."""
    there = database()
    below = {"b": AccountChange(parent="root"), "c": AccountChange(parent="b"), "a": AccountChange(parent="c")}
    carry_out(there, AccountingChange(accounts=below))

    carry_out(there, AccountingChange(accounts={"b": AccountChange(parent="a"), "c": AccountChange(parent="root")}))

    assert {name: account.parent for name, account in there.view("dev").accounts.items() if name != "root"} == {
        "a": "c",
        "b": "a",
        "c": "root",
    }


def test_a_coordinator_by_another_account_is_made_one_of_its_own() -> None:
    view = AccountingView(
        cluster="dev",
        accounts={"a": blank("root"), "b": blank("a")},
        users={"alice": UserState(accounts=("a",), default_account="a", coordinator=("a", "b"))},
    )

    def told(*accounts: str) -> tuple[Operation, ...]:
        change = UserChange(accounts=("a",), default_account="a", coordinator=accounts)
        return operations(view, AccountingChange(users={"alice": change}))

    assert told("a") == ()
    assert told("b") == (("add", "coordinator", "account=b", "names=alice"),)


def test_users_of_whom_the_same_is_said_are_one_operation() -> None:
    view = AccountingView(cluster="dev", accounts={"a": blank("root")})
    change = UserChange(accounts=("a",), default_account="a", coordinator=("a",))
    users = {f"u{number}": change for number in range(1, 1002)}

    told = operations(view, AccountingChange(users=users))

    assert [operation[:2] for operation in told] == [("add", "user")] * 3 + [("add", "coordinator")] * 3
    assert told[2] == ("add", "user", "name=u1001", "account=a", "cluster=dev", "defaultaccount=a")


def test_an_account_that_holds_what_others_put_there_is_not_removed() -> None:
    view = AccountingView(
        cluster="dev",
        accounts={"a": blank("root"), "b": blank("a"), "own": blank("b")},
        users={"zoe": UserState(accounts=("b",), default_account="b")},
    )

    with pytest.raises(NodeFailed, match="The account b still holds the account own, the user zoe"):
        check_removals(view, ("a", "b"))


def test_what_sacctmgr_did_not_do_is_said_with_its_words() -> None:
    change = AccountingChange(accounts={"a": AccountChange(parent="b", limits={"QOS": "high"})})

    with pytest.raises(NodeFailed) as failed:
        check(_view(a=blank("root")), change, " Parent account b doesn't exist on cluster dev\n")

    assert failed.value.summary == (
        "Slurm did not take what sacctmgr was told: the account a is below root, not b; "
        "QOS of the account a is not set, not high."
    )
    assert failed.value.diagnostics == "Parent account b doesn't exist on cluster dev"


def test_a_refusal_names_who_it_is_about() -> None:
    (operation,) = encoded([("modify", "account", "where", "name=phys", "cluster=dev", "set", "QOS=nope")])
    words = "sacctmgr: error: You gave a bad qos 'nope'. Valid QOS's are normal\n Unknown option: QOS=nope\n"

    assert refusal(f"{operation}\n{words}") == (
        "sacctmgr refused to modify account phys: You gave a bad qos 'nope'. Valid QOS's are normal; Unknown option: QOS=nope"
    )


def test_no_value_makes_two_words_or_gets_into_a_script() -> None:
    (operation,) = encoded([("modify", "account", "set", "Comment=a\x1fset\x1fadminlevel=admin $(reboot)")])

    assert operation.split("\x1f") == ["modify", "account", "set", "Comment=a set adminlevel=admin $(reboot)"]
    assert "Comment=a" not in OPERATE + VIEW + AWAIT


def test_the_table_that_is_asked_for_is_the_one_that_is_read() -> None:
    assert f"format=Account,User,ParentName,{','.join(COLUMNS)}" in VIEW
    assert re.findall(r"format=\w+,(Comment|Description|Organization)\b", VIEW) == [
        "Comment",
        "Description",
        "Organization",
    ]


def _view(**accounts: AccountState) -> AccountingView:
    filled = {
        name: AccountState(parent=account.parent, limits={**blank("").limits, **account.limits})
        for name, account in accounts.items()
    }
    return AccountingView(cluster="dev", accounts=filled)


def test_a_limit_that_is_not_set_has_no_value() -> None:
    assert {name for name, value in blank("root").limits.items() if value != NONE} == {"Fairshare"}
