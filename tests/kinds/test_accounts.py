"""Accounts and users of accounts, as kinds: planned, carried out on a simulated database, and planned again."""

import json

import pytest
from attrs import define, evolve, field
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.engine.records import Network
from sindplan.errors import NodeFailed
from sindplan.kinds import account, labels, slurm_user
from sindplan.kinds.evidence import ClusterEvidence, Evidence
from sindplan.kinds.run import Known, Run
from sindplan.model.address import Address
from sindplan.model.canonical import canonical
from sindplan.model.declaration import Account, Cluster, Database, Declaration, Realm, User
from sindplan.model.kind import Operation, Phase
from sindplan.model.layout import lay_out
from sindplan.model.resource import State
from sindplan.plan.diff import Observed
from sindplan.plan.plan import Plan
from sindplan.plan.planner import make_plan
from sindplan.slurm.accounting import AccountingView, by_name
from sindplan.slurm.simulated_accounting import SimulatedAccounting
from tests.slurm_files.test_accounting import LIMITS_SAID
from tests.strategies import SETTINGS
from tests.world import IMAGE, World, new_world

DEV = Address(("sind", "dev"))
KINDS = {module.KIND.name: module.KIND for module in (account, slurm_user)}
PERFORM = {**account.PERFORM, **slurm_user.PERFORM}
BARE = Cluster(image=IMAGE, db=Database())


def _declaration(cluster: Cluster) -> Declaration:
    return Declaration(version=1, name="lab-7f3k", realms={"sind": Realm(clusters={"dev": cluster})})


@define
class Lab:
    """A simulated cluster with a database; `applied` is what its record would say."""

    world: World
    applied: Cluster = field(default=BARE)

    @property
    def controller(self) -> str:
        found = self.world.engine.inspect_container("sind-dev-controller")
        assert found is not None
        return found.id

    def sacctmgr(self, *words: str) -> None:
        """Do what an administrator does."""
        volume = next(volume for volume in self.world.engine.volumes() if volume.name == "sind-dev-db")
        self.world.machine.accounting.on(volume).run(words)

    def view(self) -> AccountingView:
        view = self.world.slurm.accounting(self.controller)
        assert view is not None
        return view

    def evidence(self) -> ClusterEvidence:
        record = Network(
            id="r", name="sind-dev-record", labels={labels.DECLARATION: json.dumps(canonical(self.applied))}
        )
        return ClusterEvidence(realm="sind", name="dev", records=(record,), accounting=self.view())

    def seen(self) -> State:
        evidence = Evidence(clusters=(self.evidence(),))
        return dict([*account.seen(evidence), *slurm_user.seen(evidence)])

    def wanted(self, cluster: Cluster) -> State:
        declaration = _declaration(cluster)
        layout = lay_out(declaration, self.world.observe(declaration).facts())
        return dict([*account.wanted(layout), *slurm_user.wanted(layout)])

    def plan(self, cluster: Cluster) -> Plan:
        """Plan as the workflow does: with what the declaration or the last apply has a word for."""
        wanted, seen, evidence = self.wanted(cluster), self.seen(), self.evidence()
        recorded = dict([*account.recorded(evidence), *slurm_user.recorded(evidence)])
        own = {
            address: resource.said_by(wanted.get(address), recorded.get(address))
            for address, resource in seen.items()
            if (address in wanted or address in recorded)
            and isinstance(resource, account.Account | slurm_user.SlurmUser)
        }
        return make_plan(wanted, Observed(state=own), KINDS)

    def carry_out(self, plan: Plan, *, taking_back: bool = False) -> None:
        run = Run(
            engine=self.world.engine,
            slurm=self.world.slurm,
            owner="lab-7f3k",
            token="t",
            wait=1,
            known=Known(ids={DEV / "node/controller": self.controller}),
            taking_back=taking_back,
        )
        for action in plan.actions:
            if action.step in PERFORM:
                PERFORM[action.step](run, action)

    def apply(self, cluster: Cluster) -> None:
        self.carry_out(self.plan(cluster))
        self.applied = cluster


@pytest.fixture(scope="module")
def world() -> World:
    world = new_world(seed=1)
    assert world.apply(_declaration(BARE)).outcome.complete
    return world


def _fresh(world: World) -> Lab:
    world.machine.accounting = SimulatedAccounting()
    volume = next(volume for volume in world.engine.volumes() if volume.name == "sind-dev-db")
    database = world.machine.accounting.on(volume)
    database.cluster_id = 1
    database.qos |= {"high", "low"}
    return Lab(world)


@pytest.fixture
def lab(world: World) -> Lab:
    return _fresh(world)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    accounts: dict[str, Account] = {}
    for name in draw(st.lists(st.sampled_from(("a", "b", "c", "where")), unique=True)):
        accounts[name] = Account(parent=draw(st.sampled_from(("root", *accounts))), limits=draw(LIMITS_SAID))
    users: dict[str, User] = {}
    some = st.lists(st.sampled_from(sorted(accounts) or ["-"]), min_size=1, unique=True).map(tuple)
    for name in draw(st.lists(st.sampled_from(("alice", "bob", "set")), unique=True)):
        users[name] = User()
        if accounts and draw(st.booleans()):
            users[name] = User(
                accounts=draw(some),
                coordinator=draw(st.one_of(st.just(()), some)),
                admin_level=draw(st.sampled_from((None, "operator", "admin"))),
            )
    return evolve(BARE, accounts=accounts, users=users)


@settings(SETTINGS, max_examples=60)
@given(clusters(), clusters())
def test_after_an_apply_there_is_nothing_to_do(world: World, first: Cluster, second: Cluster) -> None:
    lab = _fresh(world)

    for cluster in (first, second, BARE):
        lab.apply(cluster)

        assert lab.plan(cluster).empty
        assert set(lab.view().accounts) == {"root", *cluster.accounts}
        assert {name: set(user.accounts) for name, user in lab.view().users.items() if name != "root"} == {
            name: set(user.accounts) for name, user in cluster.users.items() if user.accounts
        }


@settings(SETTINGS, max_examples=60)
@given(clusters(), clusters())
def test_what_administrators_set_besides_stays(world: World, first: Cluster, second: Cluster) -> None:
    lab = _fresh(world)
    lab.apply(first)
    lab.sacctmgr("add", "account", "name=own", "cluster=dev", "parent=root", "MaxJobs=3")
    lab.sacctmgr("add", "user", "name=zoe", "account=own", "cluster=dev", "defaultaccount=own")
    for user in first.users:
        lab.sacctmgr("add", "user", f"name={user}", "account=own", "cluster=dev")
        lab.sacctmgr("add", "coordinator", "account=own", f"names={user}")
    unsaid = [
        (name, limit)
        for name, there in first.accounts.items()
        for limit in ("GrpJobs", "MaxWall")
        if limit not in there.limits and limit not in (second.accounts.get(name, there).limits)
    ]
    for name, limit in unsaid:
        lab.sacctmgr("modify", "account", "where", f"name={name}", "set", f"{limit}=7")
    assert lab.plan(first).empty

    lab.apply(second)

    view = lab.view()
    assert lab.plan(second).empty
    assert view.accounts["own"].limits["MaxJobs"] == "3"
    for user in ("zoe", *first.users):
        assert "own" in view.users[user].accounts
    for user in first.users:
        assert "own" in view.users[user].coordinator
    for name, limit in unsaid:
        if name in second.accounts:
            assert view.accounts[name].limits[limit] in {"7", "00:07:00"}


@settings(SETTINGS, max_examples=60)
@given(clusters(), clusters())
def test_what_was_done_is_taken_back(world: World, first: Cluster, second: Cluster) -> None:
    lab = _fresh(world)
    lab.apply(first)
    before = lab.view()
    goal = lab.seen()
    lab.carry_out(_until_removals(lab.plan(second)))

    lab.carry_out(make_plan(goal, Observed(state=lab.seen()), KINDS), taking_back=True)

    assert lab.view() == before


def _until_removals(plan: Plan) -> Plan:
    return Plan(changes=plan.changes, actions=tuple(a for a in plan.actions if a.phase is Phase.BUILD))


def test_one_action_sets_all_accounts_up_and_the_next_all_users(lab: Lab) -> None:
    cluster = evolve(
        BARE,
        accounts={"lab": Account(limits={"MaxJobs": 5}), "sub": Account(parent="lab")},
        users={name: User(accounts=("sub", "lab")) for name in ("alice", "bob")},
    )

    plan = lab.plan(cluster)

    assert [action.id for action in plan.actions] == ["account.set sind/dev", "slurm-user.set sind/dev"]
    assert [len(action.changes) for action in plan.actions] == [2, 2]
    assert [str(change.address) for change in plan.changes] == [
        "sind/dev/slurm/account/lab",
        "sind/dev/slurm/account/sub",
        "sind/dev/slurm/user/alice",
        "sind/dev/slurm/user/bob",
    ]


def test_users_leave_before_accounts_and_both_after_all_else(lab: Lab) -> None:
    lab.apply(evolve(BARE, accounts={"lab": Account()}, users={"alice": User(accounts=("lab",))}))

    plan = lab.plan(BARE)

    removals = [action for action in plan.actions if action.step in PERFORM]
    assert [action.step for action in removals] == ["slurm-user.remove", "account.remove"]
    assert {action.phase for action in removals} == {Phase.REMOVE}


def test_a_database_that_goes_takes_everything_with_it(lab: Lab) -> None:
    lab.apply(evolve(BARE, accounts={"lab": Account()}, users={"alice": User(accounts=("lab",))}))

    hosts = {resource.host for resource in lab.seen().values()}

    assert hosts == {DEV / "volume/db"}


def test_another_spelling_is_no_change(lab: Lab) -> None:
    said = {"GrpTRES": "cpu=4,mem=1g", "MaxWall": "90", "Shares": 5, "QOS": "low,High", "Comment": "Our Lab"}
    again = {
        "grptres": "MEM=1024M,CPU=4",
        "maxwall": "1:30:00",
        "Fairshare": "05",
        "QosLevel": "high,low",
        "COMMENT": "our lab",
    }
    lab.apply(evolve(BARE, accounts={"lab": Account(limits=said)}))

    assert lab.plan(evolve(BARE, accounts={"lab": Account(limits=again)})).empty


def test_a_limit_that_is_declared_no_more_is_taken_away(lab: Lab) -> None:
    lab.apply(evolve(BARE, accounts={"lab": Account(limits={"MaxJobs": 5, "GrpTRES": "cpu=4,mem=1g"})}))

    lab.apply(evolve(BARE, accounts={"lab": Account(limits={"GrpTRES": "cpu=4"})}))

    limits = lab.view().accounts["lab"].limits
    assert (limits["MaxJobs"], limits["GrpTRES"]) == ("", "cpu=4")


def test_a_limit_that_is_neither_declared_nor_set_any_more_is_no_difference(lab: Lab) -> None:
    lab.apply(evolve(BARE, accounts={"lab": Account(limits={"MaxJobs": 5, "Fairshare": 7})}))
    lab.sacctmgr("modify", "account", "where", "name=lab", "set", "MaxJobs=-1", "Fairshare=1")

    assert lab.plan(evolve(BARE, accounts={"lab": Account()})).empty


def test_drift_is_seen_and_mended(lab: Lab) -> None:
    cluster = evolve(
        BARE,
        accounts={"lab": Account(limits={"MaxJobs": 5, "MaxWall": -1}), "sub": Account(parent="lab")},
        users={"alice": User(accounts=("lab", "sub"), admin_level="operator")},
    )
    lab.apply(cluster)
    lab.sacctmgr("modify", "account", "where", "name=lab", "set", "MaxJobs=50", "MaxWall=10", "GrpJobs=1")
    lab.sacctmgr("modify", "account", "where", "name=sub", "set", "parent=root")
    lab.sacctmgr("modify", "user", "where", "name=alice", "set", "defaultaccount=sub", "adminlevel=admin")

    changed = {
        (change.address.name, fields.name): fields.after
        for change in lab.plan(cluster).changes
        for fields in change.fields
    }

    assert changed == {
        ("lab", "limits"): {"MaxJobs": "5", "MaxWall": ""},
        ("sub", "parent"): "lab",
        ("alice", "default_account"): "lab",
        ("alice", "admin_level"): "operator",
    }
    lab.apply(cluster)
    assert lab.plan(cluster).empty
    assert lab.view().accounts["lab"].limits["GrpJobs"] == "1"


def test_a_refusal_says_sacctmgrs_words(lab: Lab) -> None:
    plan = lab.plan(evolve(BARE, accounts={"lab": Account(limits={"QOS": "nope"})}))

    with pytest.raises(NodeFailed, match="You gave a bad qos 'nope'"):
        lab.carry_out(plan)


def test_an_account_with_somebody_elses_user_is_not_removed(lab: Lab) -> None:
    lab.apply(evolve(BARE, accounts={"lab": Account()}))
    lab.sacctmgr("add", "user", "name=zoe", "account=lab", "cluster=dev")

    with pytest.raises(NodeFailed, match="The account lab still holds the user zoe"):
        lab.carry_out(lab.plan(BARE))

    assert "lab" in lab.view().accounts


def test_without_slurmdbd_nobody_can_say_and_nothing_is_changed() -> None:
    world = new_world(seed=2)
    assert world.apply(_declaration(BARE)).outcome.complete
    lab = Lab(world)
    plan = lab.plan(evolve(BARE, accounts={"lab": Account()}))
    db = world.engine.inspect_container("sind-dev-db")
    assert db is not None
    world.machine.stop_unit(db, "slurmdbd.service")

    assert world.slurm.accounting(lab.controller) is None
    with pytest.raises(NodeFailed, match="slurmdbd does not answer"):
        lab.carry_out(plan)


def test_the_database_outlives_its_node_and_not_its_volume() -> None:
    world = new_world(seed=3)
    assert world.apply(_declaration(BARE)).outcome.complete
    lab = Lab(world)
    lab.apply(evolve(BARE, accounts={"lab": Account()}))
    remembered = world.machine.memory()

    world.engine.remove_container("sind-dev-db")
    assert world.apply(_declaration(BARE)).outcome.complete
    assert "lab" in lab.view().accounts

    world.destroy(_declaration(BARE))
    assert world.machine.memory() != remembered
    assert world.apply(_declaration(BARE)).outcome.complete
    assert set(lab.view().accounts) == {"root"}


@pytest.mark.parametrize(
    "record", ["", "[]", "{", "[" * 9000, '{"accounts": 7}', '{"accounts": {"a": 1}, "users": {"b": {"accounts": 3}}}']
)
def test_a_record_that_makes_no_sense_says_nothing(record: str) -> None:
    network = Network(id="r", name="r", labels={labels.DECLARATION: record})
    evidence = ClusterEvidence(realm="sind", name="dev", records=(network,))

    assert [*account.recorded(evidence), *slurm_user.recorded(evidence)] == []


def test_a_cluster_without_a_managed_database_has_none(lab: Lab) -> None:
    cluster = evolve(BARE, db=Database(managed=False), accounts={"lab": Account()})

    assert lab.wanted(cluster) == {}


def test_changes_are_updates_and_never_replacements(lab: Lab) -> None:
    lab.apply(evolve(BARE, accounts={"a": Account(), "b": Account(parent="a")}, users={"alice": User(accounts=("a",))}))

    plan = lab.plan(
        evolve(BARE, accounts={"b": Account(), "a": Account(parent="b")}, users={"alice": User(accounts=("b", "a"))})
    )
    lab.carry_out(plan)

    assert {change.operation for change in plan.changes} == {Operation.UPDATE}
    assert lab.view().accounts["a"].parent == "b"
    assert lab.view().users["alice"].accounts == by_name(("a", "b"))
