"""Who is restarted for which parameter, in which order, and what an apply that ends badly owes."""

from typing import Any

import pytest
from attrs import evolve
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sindplan.engine.records import ContainerSpec, NetworkSpec
from sindplan.execute.apply import Settings
from sindplan.kinds.config import RESTART_MARKS
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from sindplan.plan.plan import Plan
from sindplan.slurm.files import CONFIG
from sindplan.slurm.trial import LABEL
from tests.faults import FaultyEngine
from tests.kinds.recording import recorded_world
from tests.kinds.test_config import fail_at_each_call
from tests.strategies import SETTINGS, declared
from tests.test_golden import SCENES
from tests.world import IMAGE, World, new_world

CONTROLLER = "sind-dev-controller"
DEV = Address.parse("sind/dev")
WHOLE: dict[str, Any] = {
    "controller": {"backup": True},
    "db": {},
    "api": {},
    "submitter": {},
    "workers": {"cpu": {"count": 2}},
}


def declaration(main: str = "", **cluster: Any) -> Declaration:
    slurm = {"slurm": {"main": main}} if main else {}
    clusters = {"dev": {"image": IMAGE, **cluster, **slurm}}
    return declared({"version": 1, "name": "lab", "realms": {"sind": {"clusters": clusters}}})


def applied(wanted: Declaration) -> World:
    world = new_world(seed=1)
    assert world.apply(wanted).outcome.complete
    return world


def steps(plan: Plan) -> list[str]:
    return [action.id.replace("sind/dev/service/", "") for action in plan.actions]


def told(log: list[tuple[Any, ...]]) -> list[tuple[str, str]]:
    """Return which daemons were stopped, started and restarted, and who was reconfigured, in order."""
    verbs = ("start_units", "stop_units", "reconfigure")
    found = [(call[0], call[1].removeprefix("sind-dev-"), call[2:]) for call in log if call[0] in verbs]
    return [("restart" if "restart" in more else verb, node) for verb, node, more in found]


def settled(world: World, wanted: Declaration) -> None:
    assert world.plan(wanted).changes == ()
    files = world.engine.get_files(CONTROLLER, CONFIG)
    assert not [path for path in files if ".sindplan" in path]
    view = world.slurm.view(CONTROLLER)
    assert view is not None
    assert not any(node.down for node in view.nodes.values())


# Which


def test_a_parameter_that_is_read_again_is_one_reconfigure() -> None:
    world, log = recorded_world(applied(declaration(**WHOLE)))
    wanted = declaration("SchedulerParameters=bf_continue\n", **WHOLE)
    reconfigured = world.machine.reconfigured

    assert [step for step in steps(world.plan(wanted)) if "restart" in step or "owe" in step] == []
    assert world.apply(wanted).outcome.complete

    assert told(log) == [("reconfigure", "controller")]
    assert world.machine.reconfigured == reconfigured + 1
    settled(world, wanted)


def test_a_port_is_restarts_in_order_and_no_reconfigure() -> None:
    world, log = recorded_world(applied(declaration(**WHOLE)))
    wanted = declaration("SlurmctldPort=7000\n", **WHOLE)

    assert "service.reconfigure" not in " ".join(steps(world.plan(wanted)))
    assert world.apply(wanted, settings=Settings(parallelism=1)).outcome.complete

    order = told(log)
    # The backup steps back for the first controller, and comes up after it.
    assert order[:3] == [
        ("stop_units", "controller-backup"),
        ("restart", "controller"),
        ("start_units", "controller-backup"),
    ]
    assert sorted(order[3:]) == [("restart", "api"), ("restart", "worker-0"), ("restart", "worker-1")]
    settled(world, wanted)


@pytest.mark.parametrize(
    ("main", "restarted"),
    [
        ("SlurmdPort=7001\n", {"controller", "worker-0", "worker-1"}),
        ("FlyingCarpets=1\n", {"controller", "worker-0", "worker-1"}),
        ("MessageTimeout=20\n", {"api"}),
        ("MaxJobCount=9\n", set()),
    ],
)
def test_who_is_restarted(main: str, restarted: set[str]) -> None:
    world = applied(declaration(**WHOLE))

    plan = world.plan(declaration(main, **WHOLE))

    assert {change.address.parts[3] for change in plan.changes if "read_at_start" in _fields(change)} == restarted


def _fields(change: Any) -> set[str]:
    return {field.name for field in change.fields}


def test_a_submitter_with_sackd_is_restarted_for_authentication() -> None:
    cluster = {**WHOLE, "identity": "client_ids"}
    world = applied(declaration(**cluster))

    plan = world.plan(declaration("AuthInfo=use_client_ids,ttl=99\n", **cluster))

    assert "service.restart submitter/sackd" in steps(plan)


def test_slurmdbd_comes_before_slurmctld() -> None:
    world, log = recorded_world(applied(declaration(**WHOLE)))
    first = declaration("SlurmctldPort=7000\n", **WHOLE)
    both = {**WHOLE, "slurm": {"main": "SlurmctldPort=7000\n", "slurmdbd": "PurgeJobAfter=1month\n"}}
    wanted = declaration(**both)
    assert first != wanted

    assert world.apply(wanted).outcome.complete

    order = told(log)
    assert (
        order.index(("restart", "db")) < order.index(("restart", "controller")) < order.index(("restart", "worker-0"))
    )
    settled(world, wanted)


def test_a_new_worker_comes_after_the_restart() -> None:
    world = applied(declaration(workers={"cpu": {"count": 1}}))
    wanted = declaration("SlurmctldPort=7000\n", workers={"cpu": {"count": 2}})

    plan = world.plan(wanted)
    (start,) = [action for action in plan.actions if action.id == "node.start sind/dev/node/worker-1"]

    assert "service.restart sind/dev/service/controller/slurmctld" in start.needs
    assert world.apply(wanted).outcome.complete
    settled(world, wanted)


def test_a_daemon_that_is_down_is_started_and_not_restarted() -> None:
    world = applied(declaration())
    world.slurm.stop_units("sind-dev-worker-0", ["slurmd.service"])
    world, log = recorded_world(world)
    wanted = declaration("SlurmctldPort=7000\n")

    assert world.apply(wanted).outcome.complete

    assert sorted(told(log)) == [("restart", "controller"), ("start_units", "worker-0")]
    settled(world, wanted)


def test_a_frozen_worker_is_restarted_when_it_wakes() -> None:
    world = applied(declaration(workers={"cpu": {"count": 2}}))
    world.engine.pause("sind-dev-worker-1")
    wanted = declaration("SlurmctldPort=7000\n", workers={"cpu": {"count": 2}})

    assert world.apply(wanted).outcome.complete

    settled(world, wanted)


def test_a_hand_that_edits_the_port_is_mended_with_a_restart() -> None:
    wanted = declaration("SlurmctldPort=7000\n")
    world = applied(wanted)
    text = world.machine.engine.read(CONTROLLER, f"{CONFIG}/slurm.conf") or b""
    world.engine.write(CONTROLLER, f"{CONFIG}/slurm.conf", text.replace(b"7000", b"7001"))

    assert world.apply(wanted).outcome.complete

    settled(world, wanted)


def test_a_worker_that_sind_added_follows() -> None:
    world = applied(declaration())
    SCENES["sind adds a worker"](world, "sind-dev-worker-5")
    world.slurm.start_units("sind-dev-worker-5", ["munge.service", "slurmd.service"], 1)
    wanted = declaration("SlurmctldPort=7000\n")

    assert world.apply(wanted).outcome.complete

    guest = world.engine.inspect_container("sind-dev-worker-5")
    assert guest is not None
    assert world.machine.once(guest, "slurmd") == {"SlurmctldPort": "7000"}


# Badly ended

MAINS = st.lists(
    st.sampled_from(
        (
            "SlurmctldPort=7000",
            "SlurmctldPort=7001",
            "SlurmdPort=7002",
            "SchedulerParameters=bf_continue",
            "MaxJobCount=7",
            "MessageTimeout=20",
            "HashPlugin=hash/sha3",
        )
    ),
    max_size=3,
    unique=True,
).map(lambda lines: "".join(f"{line}\n" for line in lines))
CLUSTERS = st.fixed_dictionaries(
    {"workers": st.sampled_from(({"cpu": {"count": 1}}, {"cpu": {"count": 2}}))},
    optional={"controller": st.just({"backup": True}), "api": st.just({}), "db": st.just({})},
)


@settings(SETTINGS, max_examples=40)
@given(CLUSTERS, MAINS, MAINS)
def test_parameters_are_arrived_at(cluster: dict[str, Any], one: str, two: str) -> None:
    world = applied(declaration(one, **cluster))
    wanted = declaration(two, **cluster)

    assert world.apply(wanted).outcome.complete

    settled(world, wanted)


@settings(SETTINGS, max_examples=60)
@given(CLUSTERS, MAINS, MAINS, st.integers(1, 40), st.sampled_from(("before", "after", "timeout")))
def test_a_fault_leaves_everything_as_it_was(
    cluster: dict[str, Any], one: str, two: str, fail_at: int, mode: Any
) -> None:
    world = applied(declaration(one, **cluster))
    wanted = declaration(two, **cluster)
    before, prepared = world.snapshot(), world.prepare(wanted)

    done = world.run(
        prepared, wanted, engine=FaultyEngine(world.engine, fail_at, mode), settings=Settings(parallelism=1)
    )

    if not done.outcome.complete and done.restored >= {DEV}:
        assert world.snapshot() == before
    assert world.apply(wanted).outcome.complete
    settled(world, wanted)


@settings(SETTINGS, max_examples=60)
@given(CLUSTERS, MAINS, MAINS, st.integers(1, 40), st.booleans())
@example({"workers": {"cpu": {"count": 2}}}, "", "SlurmctldPort=7000\n", 10, True)
def test_an_apply_that_was_killed_is_finished_or_taken_back_by_the_next(
    cluster: dict[str, Any], one: str, two: str, fail_at: int, onward: bool
) -> None:
    old, new = declaration(one, **cluster), declaration(two, **cluster)
    world = applied(old)
    killed = FaultyEngine(world.engine, fail_at)
    world.run(world.prepare(new), new, engine=killed, settings=Settings(on_failure="stop", parallelism=1))

    wanted = new if onward else old
    assert world.apply(wanted).outcome.complete

    settled(world, wanted)


def test_each_call_of_a_change_of_ports_can_fail() -> None:
    world = applied(declaration(workers={"cpu": {"count": 2}}))

    assert fail_at_each_call(world, declaration("SlurmctldPort=7000\n", workers={"cpu": {"count": 2}})) > 8


@pytest.mark.parametrize("short", ["controller", "worker-0", "worker-1"])
def test_what_was_written_and_not_restarted_is_restarted_by_the_next_apply(short: str) -> None:
    cluster = {"workers": {"cpu": {"count": 2}}}
    wanted = declaration("SlurmctldPort=7000\n", **cluster)
    world = applied(declaration(**cluster))
    cut, _ = recorded_world(world, fails=("start_units", f"sind-dev-{short}"))
    assert not cut.apply(wanted, settings=Settings(on_failure="stop", parallelism=1)).outcome.complete

    plan = world.plan(wanted)

    assert not [change for change in plan.changes if "/file/" in str(change.address)]
    daemon = "slurmctld" if short == "controller" else "slurmd"
    assert f"service.restart {short}/{daemon}" in steps(plan)
    assert f"{CONFIG}/{RESTART_MARKS[daemon]}" in world.engine.get_files(CONTROLLER, CONFIG)
    assert world.apply(wanted).outcome.complete
    settled(world, wanted)


# Trials


@pytest.mark.parametrize(
    ("main", "said"),
    [
        ("Nonsense=1\n", "unrecognized key"),
        ("SchedulerType=sched/nope\n", ""),
        ("include mine.conf\n", "cannot stat file /etc/slurm/mine.conf"),
    ],
)
def test_what_slurmctld_refuses_is_never_written(main: str, said: str) -> None:
    world = applied(declaration())
    wanted = declaration(main)
    before, prepared = world.snapshot(), world.prepare(wanted)
    world, log = recorded_world(world)

    done = world.run(prepared, wanted)

    ((action, error),) = done.outcome.failed
    assert action.step == "file.try"
    assert "slurmctld refuses the new configuration of sind/dev" in error.summary
    assert said in error.summary
    assert not [call for call in log if call[0] in ("install", "reconfigure", "start_units")]
    assert done.restored >= {DEV}
    assert world.snapshot() == before


def test_it_is_told_where_an_unknown_key_stands() -> None:
    world = applied(declaration())

    done = world.run(world.prepare(declaration("MaxJobCount=7\nNonsense=1\n")), declaration())

    ((_, error),) = done.outcome.failed
    line = 2 + (world.machine.engine.read(CONTROLLER, f"{CONFIG}/slurm.conf") or b"").split(b"include")[0].count(b"\n")
    assert f"(line {line} of slurm.conf)" in error.summary


def test_a_file_of_the_users_own_that_is_broken_fails_before_the_write() -> None:
    wanted = declaration("include mine.conf\n")
    world = applied(declaration())
    world.engine.write(CONTROLLER, f"{CONFIG}/mine.conf", b"MaxJobCount=3\n")
    assert world.apply(wanted).outcome.complete
    world.engine.write(CONTROLLER, f"{CONFIG}/mine.conf", b"Nonsense=3\n")
    before = world.snapshot()

    done = world.apply(declaration("include mine.conf\nMaxArraySize=9\n"))

    assert [action.step for action, _ in done.outcome.failed] == ["file.try"]
    assert world.snapshot() == before


def test_no_trial_of_a_new_cluster_nor_of_what_slurmctld_does_not_read() -> None:
    world = new_world(seed=1)
    first = declaration(db={})
    assert not [step for step in steps(world.plan(first)) if "file.try" in step]
    world.apply(first)

    plan = world.plan(declaration(db={}, slurm={"slurmdbd": "PurgeJobAfter=1month\n"}))

    assert not [step for step in steps(plan) if "file.try" in step]


def test_no_secret_is_tried() -> None:
    cluster = {"db": {"storage_password": {"env": "SINDPLAN_SECRET_DB"}}, "api": {}, "identity": "client_ids"}
    world = applied(declaration(**cluster))
    tried: list[Any] = []
    slurm: Any = world.slurm

    class Listening:
        def __getattr__(self, verb: str) -> Any:
            return tried.append if verb == "try_configuration" else getattr(slurm, verb)

    listened = evolve(world, slurm=Listening())
    assert listened.apply(declaration("MaxJobCount=7\n", **cluster)).outcome.complete

    (trial,) = tried
    paths = {entry.path for entry in trial.files if entry.kind == "file"}
    assert f"{CONFIG}/slurm.conf" in paths
    assert not [path for path in paths if path.endswith(".key") or "slurmdbd" in path]


def test_what_a_killed_trial_left_is_removed_by_the_next() -> None:
    world = applied(declaration())
    wanted = declaration("MaxJobCount=7\n")
    prepared = world.prepare(wanted)
    clean = {found.name for found in world.engine.containers()}
    name = names.trial("sind", "dev")
    world.engine.create_network(NetworkSpec(name=name, labels={LABEL: "sind/dev"}, internal=True))
    world.engine.create_container(ContainerSpec(name=name, image=IMAGE, labels={LABEL: "sind/dev"}))
    assert [finding.check for finding in world.prepare(wanted).findings].count("trial") == 2

    assert world.run(prepared, wanted).outcome.complete

    assert {found.name for found in world.engine.containers()} == clean
    assert world.engine.inspect_network(name) is None
    assert world.prepare(wanted).findings == prepared.findings


def test_what_somebody_else_called_alike_is_left_alone() -> None:
    world = applied(declaration())
    theirs = world.engine.create_network(NetworkSpec(name=names.trial("sind", "dev"), labels={}))

    done = world.apply(declaration("MaxJobCount=7\n"))

    assert [action.step for action, _ in done.outcome.failed] == ["file.try"]
    assert world.engine.inspect_network(theirs) is not None
