"""Replacing nodes: the old container stands by until its successor has proved itself, and nothing else is touched."""

import json
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from sindplan.engine.records import ContainerSummary, Entry
from sindplan.execute.apply import Applied, Settings
from sindplan.execute.reporter import Reporter
from sindplan.kinds.host_key import HOST_KEY
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from sindplan.model.facts import IMAGE_LABEL
from sindplan.model.kind import Operation
from sindplan.plan.plan import Action
from sindplan.slurm.files import STATE
from sindplan.workflow import Prepared, prepare
from tests.faults import FaultyEngine, Mode
from tests.kinds.test_config import DEV, applied, declaration
from tests.world import IMAGE, IMAGE_FACTS, World, failures

NEWER = "newer:1"
OTHER = "other:1"
WHOLE: dict[str, Any] = {"db": {}, "submitter": {}, "workers": {"cpu": {"count": 2}}}
PAIR: dict[str, Any] = {**WHOLE, "controller": {"backup": True}}
VERSIONS = {OTHER: "26.05.5", NEWER: "26.11.1", "older:1": "25.11.2", "far:1": "28.05.1"}


def with_images(world: World) -> World:
    for name, version in VERSIONS.items():
        facts = {**IMAGE_FACTS, "slurm_version": version}
        labels = {"sind.slurm.version": version, IMAGE_LABEL: json.dumps(facts), "variant": name}
        world.engine.add_image(name, labels=labels)
    return world


def cluster(**more: Any) -> tuple[World, dict[str, Any]]:
    said = {**WHOLE, **more}
    return with_images(applied(declaration(**said))), said


def nodes(world: World) -> dict[str, ContainerSummary]:
    """Return the containers of the cluster by name, whatever they are called."""
    return {found.name: found for found in world.engine.containers() if found.labels.get("sind.cluster") == "dev"}


def ids(world: World) -> dict[str, str]:
    return {name.removeprefix("sind-dev-"): found.id for name, found in nodes(world).items()}


def host_keys(world: World) -> dict[str, bytes]:
    return {name: world.engine.read(found.id, HOST_KEY) or b"" for name, found in nodes(world).items()}


def known_hosts(world: World) -> bytes | None:
    return world.engine.read("sind-ssh", "/root/.ssh/known_hosts")


def replaced(prepared: Prepared) -> set[str]:
    return {change.address.name for change in prepared.plan.changes if change.operation is Operation.REPLACE}


EDITS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "image of all": ({"image": OTHER}, {"controller", "db", "submitter", "worker-0", "worker-1"}),
    "image of a group": ({"workers": {"cpu": {"count": 2, "image": OTHER}}}, {"worker-0", "worker-1"}),
    "image of the controller": ({"controller": {"image": OTHER}}, {"controller"}),
    "newer Slurm": ({"image": NEWER}, {"controller", "db", "submitter", "worker-0", "worker-1"}),
    "tmp_size": ({"workers": {"cpu": {"count": 2, "tmp_size": "1g"}}}, {"worker-0", "worker-1"}),
    "capability": ({"submitter": {"cap_add": ["SYS_PTRACE"]}}, {"submitter"}),
    "device": ({"workers": {"cpu": {"count": 2, "devices": ["/dev/fuse"]}}}, {"worker-0", "worker-1"}),
    "mount path": (
        {"storage": {"mount_path": "/scratch"}},
        {"controller", "db", "submitter", "worker-0", "worker-1"},
    ),
    "first user": ({"users": {"alice": {}}}, {"controller", "db", "submitter", "worker-0", "worker-1"}),
    "group": ({"workers": {"cpu": {"count": 1}, "gpu": {"nodes": "worker-1"}}}, {"worker-1"}),
    "file besides": (
        {"db": {"image": OTHER}, "slurm": {"slurmdbd": "PurgeJobAfter=1month\n", "main": "MaxJobCount=7\n"}},
        {"db"},
    ),
    "growing besides": ({"workers": {"cpu": {"count": 4, "tmp_size": "1g"}}}, {"worker-0", "worker-1"}),
    "shrinking besides": ({"workers": {"cpu": {"count": 1, "tmp_size": "1g"}}}, {"worker-0"}),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_must_be_replaced_is_and_nothing_else(edit: str) -> None:
    change, expected = EDITS[edit]
    world, said = cluster()
    before, keys, known = ids(world), host_keys(world), known_hosts(world)
    world.machine.submit("sind-dev-controller", "worker-0", "7")
    wanted = declaration(**{**said, **change})
    prepared = world.prepare(wanted)

    assert replaced(prepared) == expected
    assert world.run(prepared, wanted).outcome.complete

    after = ids(world)
    assert {name for name in before.keys() & after.keys() if before[name] != after[name]} == expected
    assert not [name for name in after if name.endswith("-replaced")]
    assert {name: host_keys(world)[name] for name in keys.keys() & host_keys(world).keys()} == {
        name: key for name, key in keys.items() if name in host_keys(world)
    }
    if not {"growing besides", "shrinking besides"} & {edit}:
        assert known_hosts(world) == known
    assert world.plan(wanted).changes == ()
    assert {found.state for found in nodes(world).values()} == {"running"}


def test_a_replaced_node_has_the_same_addresses_labels_and_state() -> None:
    world, said = cluster()
    world.engine.put_files("sind-dev-controller", [Entry(path=f"{STATE}/job_state", content=b"queue")])
    before = world.engine.inspect_container("sind-dev-controller")
    assert before is not None

    assert world.apply(declaration(**{**said, "image": OTHER})).outcome.complete

    after = world.engine.inspect_container("sind-dev-controller")
    assert after is not None
    assert [end.fixed for end in after.spec.endpoints] == [end.fixed for end in before.spec.endpoints]
    assert after.labels["sindplan.host-key"] == before.labels["sindplan.host-key"]
    assert after.spec.mounts == before.spec.mounts
    assert world.engine.read("sind-dev-controller", f"{STATE}/job_state") == b"queue"


def test_state_that_no_volume_holds_moves_over() -> None:
    """A controller of a cluster that sind made without a backup has its state in its own layer."""
    world, said = cluster()
    old = world.engine.inspect_container("sind-dev-controller")
    assert old is not None
    mounts = tuple(mount for mount in old.spec.mounts if mount.target != STATE)
    world.engine.stop(old.id)
    layer = [
        entry for path, entry in world.engine.get_files(old.id, "/etc").items() if path.startswith(("/etc/s", "/etc/m"))
    ]
    world.engine.remove_container(old.id)
    bare = world.engine.create_container(evolve(old.spec, mounts=mounts))
    state = Entry(path=f"{STATE}/job_state", content=b"queue", uid=64030, gid=64030, mode=0o600)
    world.engine.put_files(bare, [*layer, state])
    world.engine.start(bare)

    assert world.apply(declaration(**said)).outcome.complete

    moved = world.engine.get_files("sind-dev-controller", STATE)[f"{STATE}/job_state"]
    assert (moved.content, moved.uid, moved.mode) == (b"queue", 64030, 0o600)
    assert world.plan(declaration(**said)).changes == ()


# Order


class Order(Reporter):
    """Writes down which actions began and ended."""

    def __init__(self) -> None:
        self.log: list[tuple[str, str]] = []

    def started(self, action: Action) -> None:
        self.log.append(("began", action.id))

    def finished(self, action: Action, seconds: float) -> None:
        self.log.append(("ended", action.id))


def away(log: list[tuple[str, str]]) -> int:
    """Return how many workers were away at once at most, from their drain to their successor's proof."""
    most, gone = 0, set()
    for what, action in log:
        step, _, address = action.partition(" ")
        if (what, step) == ("began", "node.drain"):
            gone.add(address)
        if (what, step) == ("ended", "node.prove"):
            gone.discard(address)
        most = max(most, len(gone))
    return most


@hypothesis_settings(deadline=None, max_examples=40)
@given(count=st.integers(1, 6), width=st.integers(1, 7), parallelism=st.integers(1, 8))
def test_no_more_workers_of_a_group_are_away_than_may_be(count: int, width: int, parallelism: int) -> None:
    said = {"workers": {"cpu": {"count": count, "max_unavailable": width}}}
    world = with_images(applied(declaration(**said)))
    order = Order()
    wanted = declaration(**said, image=OTHER)

    done = world.apply(wanted, reporter=order, settings=Settings(parallelism=parallelism))

    assert done.outcome.complete
    assert 1 <= away(order.log) <= min(count, width)


def test_a_newer_slurm_comes_in_the_order_that_slurm_demands() -> None:
    world = with_images(applied(declaration(**PAIR)))
    order = Order()

    assert world.apply(declaration(**PAIR, image=NEWER), reporter=order).outcome.complete

    def at(what: str, action: str) -> int:
        return order.log.index((what, action))

    node = f"{DEV}/node"
    assert at("ended", f"node.keep {node}/db") < at("began", f"node.upgrade {node}/db")
    assert at("ended", f"node.prove {node}/db") < at("began", f"node.keep {node}/controller")
    assert at("ended", f"node.keep {node}/controller") < at("began", f"node.upgrade {node}/controller")
    assert at("ended", f"node.prove {node}/controller") < at("began", f"node.swap {node}/controller-backup")
    for worker in ("worker-0", "worker-1"):
        assert at("ended", f"node.prove {node}/controller-backup") < at("began", f"node.drain {node}/{worker}")


def waits_for(world: World, wanted: Declaration, later: str, earlier: str) -> bool:
    """Say whether an action of a plan begins only when another one is done."""
    actions = {action.id: action for action in world.plan(wanted).actions}
    found, left = set(), [later]
    while left:
        found |= (new := set(actions[left.pop()].needs) - found)
        left += new
    return earlier in found


@pytest.mark.parametrize(
    ("edit", "asks", "before"),
    [
        # Jobs of a worker that goes off are waited for while slurmctld can be asked.
        ({"powered_off": "worker-1"}, f"slurm.power-off {DEV}/slurm/node/worker-1", True),
        ({"workers": {"cpu": {"count": 1}}}, f"slurm.drain {DEV}/slurm/node/worker-1", True),
        ({"workers": {"cpu": {"count": 3}}}, f"node.join {DEV}", False),
        ({"accounts": {"physics": {}}}, f"account.set {DEV}", False),
    ],
)
def test_nobody_asks_slurm_while_its_controllers_change_over(edit: dict[str, Any], asks: str, before: bool) -> None:
    world, said = cluster(controller={"backup": True})
    wanted = declaration(**{**said, **edit, "controller": {"backup": True, "image": OTHER}})
    first, last = f"node.succeed {DEV}/node/controller", f"node.prove {DEV}/node/controller-backup"

    assert waits_for(world, wanted, first, asks) if before else waits_for(world, wanted, asks, last)


def test_before_a_newer_slurm_the_database_is_dumped_and_the_state_copied() -> None:
    world, said = cluster()
    secret = Entry(path=f"{STATE}/job_state", content=b"queue", uid=64030, gid=64030, mode=0o600)
    world.engine.put_files("sind-dev-controller", [secret])
    wanted = declaration(**{**said, "image": NEWER})

    (warned,) = [finding.what for finding in world.prepare(wanted).findings if finding.check == "no return"]
    assert world.apply(wanted).outcome.complete

    assert "from Slurm 26.05.5 to 26.11.1" in warned
    kept = world.engine.get_files("sind-dev-controller", STATE)[f"{STATE}/sindplan-before-26.11.1/job_state"]
    assert (kept.content, kept.uid, kept.mode) == (b"queue", 64030, 0o600)
    dump = "/var/lib/mysql/sindplan-before-26.11.1.sql"
    assert world.engine.get_files("sind-dev-db", dump)[dump].mode == 0o600


def test_a_database_that_a_hand_has_stopped_is_dumped_all_the_same() -> None:
    world, said = cluster()
    world.slurm.stop_units("sind-dev-db", ["slurmdbd.service", "mariadb.service"])
    wanted = declaration(**{**said, "image": NEWER})

    assert failures(world.apply(wanted)) == []

    assert world.engine.has_file("sind-dev-db", "/var/lib/mysql/sindplan-before-26.11.1.sql")
    assert world.pending(wanted) == []


@pytest.mark.parametrize("image", [OTHER, NEWER])
def test_accounts_change_when_what_serves_them_has_been_replaced(image: str) -> None:
    accounts = {"accounts": {"physics": {}, "chemistry": {}}, "users": {"alice": {"accounts": ["physics"]}}}
    world, said = cluster(**accounts)
    limited = {"physics": {"limits": {"MaxJobs": 5}}, "chemistry": {}}
    edit = {"accounts": limited, "users": {"alice": {"accounts": ["chemistry"]}}}
    wanted = declaration(**{**said, **edit, "image": image})

    # One after the other: whatever may come first does.
    assert failures(world.apply(wanted, settings=Settings(parallelism=1))) == []

    assert world.pending(wanted) == []


@pytest.mark.parametrize(
    ("image", "said"), [("older:1", "cannot read what that wrote"), ("far:1", "3 releases before")]
)
def test_slurm_goes_neither_back_nor_too_far(image: str, said: str) -> None:
    world, before = cluster()
    prepared = world.prepare(declaration(**{**before, "image": image}))

    assert prepared.blocked
    (found,) = [finding.what for finding in prepared.findings if finding.check == "Slurm versions"]
    assert said in found


def test_identity_of_what_runs_is_not_changed() -> None:
    world, said = cluster()

    assert world.prepare(declaration(**{**said, "identity": "client_ids"})).blocked


# On demand, and tags that move


def test_a_node_is_replaced_on_demand() -> None:
    world, said = cluster()
    before = ids(world)
    wanted = declaration(**said)
    prepared = prepare(world.engine, world.slurm, wanted, replace=[Address.parse("sind/dev/node/worker-1")])

    assert replaced(prepared) == {"worker-1"}
    assert world.run(prepared, wanted).outcome.complete

    assert {name for name, id_ in ids(world).items() if before[name] != id_} == {"worker-1"}
    assert world.plan(wanted).changes == ()


@pytest.mark.parametrize("follow", [True, False])
def test_a_tag_that_moved_is_followed_only_where_that_is_said(follow: bool) -> None:
    said = {**WHOLE, "follow_tag": follow}
    world = applied(declaration(**said))
    before = ids(world)
    world.engine.retag(IMAGE, "old:1")
    labels = {"sind.slurm.version": "26.05.5", IMAGE_LABEL: json.dumps(IMAGE_FACTS), "new": "yes"}
    world.engine.add_image(IMAGE, labels=labels)
    prepared = world.prepare(declaration(**said))

    assert replaced(prepared) == (set(before) if follow else set())
    told = [finding.what for finding in prepared.findings if finding.check == "tag moved"]
    assert bool(told) == (not follow)
    assert world.run(prepared, declaration(**said)).outcome.complete

    assert world.plan(declaration(**said)).changes == ()
    demanded = prepare(world.engine, world.slurm, declaration(**said), replace=[DEV])
    assert replaced(demanded) == set(before)


def test_another_name_of_the_same_image_replaces_nothing() -> None:
    world, said = cluster()
    image = world.engine.image(IMAGE)
    assert image is not None
    world.engine._images["alias:1"] = world.engine._images[IMAGE]

    assert replaced(world.prepare(declaration(**{**said, "image": "alias:1"}))) == set()


# Failing, and being killed


def whole(world: World) -> bool:
    """Say whether every node is there once, running, and nothing is set aside."""
    found = nodes(world)
    return {item.state for item in found.values()} == {"running"} and not [n for n in found if n.endswith("-replaced")]


def fail(world: World, wanted: Declaration, at: int, mode: Mode, on_failure: str) -> tuple[Applied, int]:
    engine = FaultyEngine(world.engine, at, mode)
    settings = Settings(parallelism=1, on_failure=on_failure)  # type: ignore[arg-type]
    return world.run(world.prepare(wanted), wanted, engine=engine, settings=settings), len(engine.calls)


MODES: tuple[Mode, ...] = ("before", "after", "timeout")
FAULTY = {
    "workers": ({"workers": {"cpu": {"count": 2}}}, {"workers": {"cpu": {"count": 2, "tmp_size": "1g"}}}),
    "controller": ({"db": {}}, {"db": {}, "controller": {"image": OTHER}}),
    "pair": (PAIR, {**PAIR, "controller": {"backup": True, "image": OTHER}}),
    "all": (WHOLE, {**WHOLE, "storage": {"mount_path": "/scratch"}, "slurm": {"main": "MaxJobCount=7\n"}}),
    "newer Slurm": (WHOLE, {**WHOLE, "image": NEWER}),
    "first user": ({"submitter": {}}, {"submitter": {}, "users": {"alice": {}}}),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", FAULTY)
def test_a_failure_anywhere_leaves_every_node_as_it_was_or_replaced_for_good(case: str, mode: Mode) -> None:
    old, new = FAULTY[case]
    calls = 10**6
    at = 0
    while at < calls:
        at += 1
        world = with_images(applied(declaration(**old)))
        before, snapshot = ids(world), world.snapshot()
        done, calls = fail(world, declaration(**new), at, mode, "rollback")
        if done.outcome.complete:
            continue
        if done.restored and not done.leftovers:
            assert world.snapshot() == snapshot, (at, done.outcome.failed)
        if done.restored:
            assert whole(world), (at, nodes(world).keys())
            assert ids(world).keys() == before.keys()
        assert world.apply(declaration(**new)).outcome.complete, at
        assert world.plan(declaration(**new)).changes == (), at
        assert whole(world), at


@pytest.mark.parametrize("mode", ["before", "after"])
@pytest.mark.parametrize("case", FAULTY)
@pytest.mark.parametrize("then", ["goes on", "goes back"])
def test_whoever_is_killed_anywhere_the_next_apply_finishes_or_goes_back(case: str, mode: Mode, then: str) -> None:
    old, new = FAULTY[case]
    if then == "goes back" and case in ("newer Slurm", "first user"):
        # From a newer Slurm there is no way back; an edit never removes a volume, here that of the homes.
        new = FAULTY["all"][1]
        old = FAULTY["all"][0]
    calls = 10**6
    at = 0
    while at < calls:
        at += 1
        world = with_images(applied(declaration(**old)))
        keys = host_keys(world)
        _, calls = fail(world, declaration(**new), at, mode, "stop")
        wanted = declaration(**(new if then == "goes on" else old))

        assert world.apply(wanted).outcome.complete, at

        assert world.plan(wanted).changes == (), at
        assert whole(world), at
        assert host_keys(world) == keys, at


def test_what_is_set_aside_goes_with_the_cluster() -> None:
    world, said = cluster()
    fail(world, declaration(**{**said, "image": OTHER}), 3, "before", "stop")

    world.destroy(declaration(**said))

    assert nodes(world) == {}


@pytest.mark.parametrize("short", ["controller", "db", "worker-1"])
def test_a_node_that_was_renamed_by_hand_gets_its_name_back(short: str) -> None:
    world, said = cluster()
    before = ids(world)
    world.engine.rename(f"sind-dev-{short}", "mine")

    (change,) = world.plan(declaration(**said)).changes
    assert change.address == DEV / "node" / short
    assert [(field.name, field.before) for field in change.fields] == [("name", "mine")]
    assert world.apply(declaration(**said)).outcome.complete

    assert ids(world) == before
    assert names.container("sind", "dev", short) in nodes(world)
