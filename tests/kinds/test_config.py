"""Files on the config volume: secrets in them, whose they are, and what an apply that ends badly leaves."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import evolve
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sindplan.engine.records import Entry
from sindplan.execute.apply import Settings
from sindplan.kinds.config import MARKS, File
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from sindplan.model.hidden import Hidden
from sindplan.render.text import render_text
from sindplan.slurm.files import CONFIG
from tests.faults import MUTATING, FaultyEngine
from tests.kinds.recording import recorded_world
from tests.strategies import SETTINGS, declared
from tests.world import IMAGE, PASSWORD, World, new_world

CONTROLLER, DB = "sind-dev-controller", "sind-dev-db"
DEV = Address.parse("sind/dev")
DBD = f"{CONFIG}/slurmdbd.conf"
BY_ENV = {"storage_password": {"env": "SINDPLAN_SECRET_DB"}}


def declaration(**cluster: Any) -> Declaration:
    clusters = {"dev": {"image": IMAGE, **cluster}}
    return declared({"version": 1, "name": "lab", "realms": {"sind": {"clusters": clusters}}})


def applied(wanted: Declaration) -> World:
    world = new_world(seed=1)
    assert world.apply(wanted).outcome.complete
    return world


def entry(world: World, path: str, node: str = CONTROLLER) -> Entry:
    return world.engine.get_files(node, path)[path]


def files(world: World) -> dict[str, Entry]:
    """Return the config volume."""
    return {path: one for path, one in world.engine.get_files(CONTROLLER, CONFIG).items() if one.kind == "file"}


# Secrets


def test_the_password_is_put_in_where_only_slurmdbd_reads_it() -> None:
    world = applied(declaration(db=BY_ENV))

    found = entry(world, DBD)

    assert f"StoragePass={PASSWORD}\n".encode() in found.content
    assert (found.mode, found.uid, found.gid) == (0o600, 64030, 64030)
    assert all(one.mode == 0o644 for path, one in files(world).items() if path != DBD and not path.endswith(".key"))


def test_fragments_of_slurmdbd_are_closed_with_their_folder() -> None:
    world = applied(declaration(db={}, slurm={"slurmdbd": {"own": "StoragePass=hunter2\n"}}))

    fragment, folder = entry(world, f"{DBD}.d/own.conf"), entry(world, f"{DBD}.d")

    assert (fragment.mode, fragment.uid, fragment.content) == (0o600, 64030, b"StoragePass=hunter2\n")
    assert (folder.kind, folder.mode, folder.uid) == ("dir", 0o700, 64030)
    assert world.plan(declaration(db={}, slurm={"slurmdbd": {"own": "StoragePass=hunter2\n"}})).changes == ()


def test_what_is_planned_and_seen_of_a_secret_file_is_masked() -> None:
    wanted = declaration(db=BY_ENV, slurm={"slurmdbd": "ArchiveJobs=no\n"})
    world = applied(wanted)

    seen = world.observe(wanted).observed().state[DEV / "file/slurmdbd.conf"]

    assert isinstance(seen, File)
    assert "StoragePass=<hidden>\n" in seen.content
    # It is kept for taking back, and not for anybody's eyes.
    assert seen.original is not None
    assert PASSWORD in seen.original.value
    assert PASSWORD not in repr(seen) + str(seen) + str(seen.original) + f"{seen.original}"


_SECRET, _OTHER = "s3cret-of-the-texts", "pl4in-of-the-table"
_PASSWORDS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    (
        {"db": {"storage_password": _OTHER}},
        {"db": BY_ENV},
        {"db": {"storage_password": {"file": "db"}}},
        {"db": {}, "slurm": {"slurmdbd": f"StoragePass={_SECRET}\n"}},
        {"db": {}, "slurm": {"slurmdbd": f'# StoragePass = "{_SECRET}"\nstorage\\\npass="{_SECRET}"\n'}},
        {
            "db": {},
            "slurm": {"slurmdbd": {"10-pass": f"StoragePass={_SECRET}\n", "20-purge": "PurgeJobAfter=1month\n"}},
        },
    )
)
_REST: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "controller": st.just({"backup": True}),
        "api": st.just({}),
        "workers": st.just({"cpu": {"count": 2}}),
        "identity": st.just("client_ids"),
        "accounts": st.just({"physics": {"limits": {"MaxJobs": 3}}}),
    },
)


def _searched(world: World) -> Iterator[tuple[str, str]]:
    """Yield everything on the engine but contents of files: labels, arguments, names."""
    for summary in world.engine.containers():
        yield summary.name, repr(world.engine.inspect_container(summary.id))
        yield f"log of {summary.name}", world.engine.logs(summary.id)
    yield "networks", repr(world.engine.networks())
    yield "volumes", repr(world.engine.volumes())


def _entries(world: World) -> Iterator[Entry]:
    shot: Any = world.engine.snapshot()
    for found in shot["containers"].values():
        yield from found["layer"].values()
    for _, tree in shot["volumes"].values():
        yield from tree.values()


@settings(SETTINGS, max_examples=25)
@given(_PASSWORDS, _REST, _REST, st.integers(0, 40))
@example({"db": BY_ENV}, {}, {"workers": {"cpu": {"count": 2}}}, 0)
def test_a_password_is_in_slurmdbds_files_and_nowhere_else(
    password: dict[str, Any], one: dict[str, Any], two: dict[str, Any], fail_at: int
) -> None:
    # An identity would mean other containers; so would, here, nothing else.
    first = declaration(**{**one, **password})
    second = declaration(**{**two, "identity": one.get("identity", "local"), **password})
    needles = (PASSWORD, _SECRET, _OTHER)
    world, log = recorded_world(new_world(seed=1))
    own = Hidden(_OTHER) if password["db"].get("storage_password") == _OTHER else Hidden(PASSWORD)
    told: list[tuple[str, str]] = []

    for wanted in (first, second):
        prepared = world.prepare(wanted)
        assume(not prepared.blocked)
        told += [("plan", render_text(prepared.plan)), ("repr", repr(prepared)), ("str", str(prepared.plan))]
        # Some of them fail, and are taken back, and say so.
        for engine in (FaultyEngine(world.engine, fail_at), None):
            done = world.run(prepared, wanted, engine=engine, settings=Settings(parallelism=1, secrets={DEV: own}))
            told += [("outcome", repr(done)), ("errors", str([error for _, error in done.outcome.failed]))]
            if done.outcome.complete:
                break
            prepared = world.prepare(wanted)
        assert done.outcome.complete
        told += [*_searched(world), ("calls", repr(log))]

    leaked = [where for where, text in told for needle in needles if needle in text]
    assert leaked == []
    holding = [found for found in _entries(world) if any(needle.encode() in found.content for needle in needles)]
    assert holding
    assert {(found.path.partition(".d/")[0], found.mode, found.uid) for found in holding} == {
        ("/slurmdbd.conf", 0o600, 64030)
    }


# Taking back


def fail_at_each_call(world: World, wanted: Declaration, **more: Any) -> int:
    """Let the first, second, … call of an apply fail until one is not taken back; each before is, to the last byte.

    Return how many were.
    """
    before, prepared = world.snapshot(), world.prepare(wanted)
    for fail_at in range(1, 60):
        engine = FaultyEngine(world.engine, fail_at)
        done = world.run(prepared, wanted, engine=engine, settings=Settings(parallelism=1, **more))
        if not done.restored >= {DEV}:
            # Removals had begun, or it was only the record.
            return fail_at - 1
        assert world.snapshot() == before
    raise AssertionError


def test_a_failure_puts_slurmdbd_conf_back_with_its_password() -> None:
    old = declaration(db=BY_ENV, slurm={"slurmdbd": "PurgeJobAfter=1month\n"})
    new = declaration(db=BY_ENV, slurm={"slurmdbd": "PurgeJobAfter=2month\n", "main": "MaxJobCount=7\n"}, submitter={})
    world = applied(old)
    before = entry(world, DBD)

    # What is put back is not the password of now: it is the one that the database knows.
    assert fail_at_each_call(world, new, secrets={DEV: Hidden("another-one")}) > 8

    assert f"StoragePass={PASSWORD}\n".encode() in before.content
    assert world.apply(new, settings=Settings(secrets={DEV: Hidden("another-one")})).outcome.complete
    assert b"StoragePass=another-one\n" in entry(world, DBD).content


_OWN = {
    "gres.conf": b"NodeName=worker-0 Name=gpu File=/dev/null\n",
    "job_submit.lua": b"-- mine\n",
    "slurm.conf.d/mine.conf": b"MaxJobCount=3\n",
    "slurmdbd.conf.d/mine.conf": b"StoragePass=mine\n",
    "topology.conf": b"SwitchName=s0 Nodes=worker-0\n",
    "acct_gather.conf": b"EnergyIPMIFrequency=10\n",
    "slurmdbd.conf": b"# by hand\nStoragePass=mine\n",
}
_CLUSTERS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "submitter": st.just({}),
        "api": st.just({}),
        "workers": st.sampled_from(({"cpu": {"count": 0}}, {"cpu": {"count": 2}})),
        "slurm": st.sampled_from(({"main": {"theirs": "MaxJobCount=7\n"}}, {"cgroup": "ConstrainCores=yes\n"})),
    },
)


def _mine(world: World, names: list[str]) -> dict[str, Entry]:
    return {name: entry(world, f"{CONFIG}/{name}") for name in names}


@settings(SETTINGS, max_examples=25)
@given(st.lists(st.sampled_from(sorted(_OWN)), min_size=1, unique=True), _CLUSTERS, _CLUSTERS, st.integers(0, 30))
def test_files_of_the_users_own_outlive_everything(
    names: list[str], one: dict[str, Any], two: dict[str, Any], fail_at: int
) -> None:
    # With the REST API from the beginning: its key stays when it goes.
    first, second = (declaration(**{**cluster, "api": {}}) for cluster in (one, two))
    world = applied(first)
    world.engine.put_files(
        CONTROLLER, [Entry(path=f"{CONFIG}/{name}", content=_OWN[name], mode=0o640, uid=7) for name in names]
    )
    mine = _mine(world, names)
    assert world.plan(first).changes == ()
    prepared = world.prepare(second)

    world.run(prepared, second, engine=FaultyEngine(world.engine, fail_at))

    # Applied or taken back or left half way.
    assert _mine(world, names) == mine
    assert world.apply(second).outcome.failed == ()
    assert _mine(world, names) == mine
    assert world.plan(second).changes == ()


def test_a_file_that_is_declared_becomes_sindplans() -> None:
    world = applied(declaration())
    world.engine.write(CONTROLLER, f"{CONFIG}/gres.conf", _OWN["gres.conf"])
    wanted = declaration(slurm={"gres": "NodeName=worker-0 Name=disk Count=1\n"})

    (change,) = [change for change in world.plan(wanted).changes if change.address == DEV / "file/gres.conf"]
    assert change.fields[0].name == "content"
    assert world.apply(wanted).outcome.complete

    assert b"Name=disk" in entry(world, f"{CONFIG}/gres.conf").content
    # What was declared once is taken away again, since the record knows it.
    assert world.apply(declaration()).outcome.complete
    assert f"{CONFIG}/gres.conf" not in files(world)
    assert world.plan(declaration()).changes == ()


def test_a_file_that_only_became_declared_is_put_back_after_a_failure() -> None:
    world = applied(declaration())
    world.engine.write(CONTROLLER, f"{CONFIG}/gres.conf", _OWN["gres.conf"])

    assert fail_at_each_call(world, declaration(slurm={"gres": "NodeName=worker-0 Name=disk Count=1\n"})) > 3


# Marks


@pytest.mark.parametrize(
    ("slurm", "reader"),
    [
        ({"main": "MaxJobCount=7\n"}, "slurmctld"),
        ({"main": {"x": "MaxJobCount=7\n"}}, "slurmctld"),
        ({"cgroup": "ConstrainCores=yes\n"}, "slurmctld"),
        ({"slurmdbd": "PurgeJobAfter=1month\n"}, "slurmdbd"),
        ({"slurmdbd": {"x": "PurgeJobAfter=1month\n"}}, "slurmdbd"),
    ],
)
def test_what_is_written_and_not_read_yet_is_read_by_the_next_apply(slurm: dict[str, Any], reader: str) -> None:
    wanted = declaration(db=BY_ENV, slurm=slurm)
    world = applied(declaration(db=BY_ENV))
    # Killed between writing and telling: the daemon is gone when it should be told.
    verb, node = ("reconfigure", CONTROLLER) if reader == "slurmctld" else ("start_units", DB)
    cut, _ = recorded_world(world, fails=(verb, node))
    done = cut.apply(wanted, settings=Settings(on_failure="stop", parallelism=1))
    assert not done.outcome.complete
    assert {mark for mark in MARKS.values() if f"{CONFIG}/{mark}" in files(world)} == {MARKS[reader]}

    stale = {str(change.address) for change in world.plan(wanted).changes}
    short = "db" if reader == "slurmdbd" else "controller"
    assert f"sind/dev/service/{short}/{reader}" in stale
    assert not any("/file/" in address for address in stale)
    world, log = recorded_world(world)
    assert world.apply(wanted).outcome.complete

    told = [(call[0], call[1]) for call in log if call[0] in ("reconfigure", "start_units")]
    assert told == [(verb, node)]
    assert not {f"{CONFIG}/{mark}" for mark in MARKS.values()} & files(world).keys()
    assert world.plan(wanted).changes == ()


def test_the_mark_is_there_before_what_it_speaks_of() -> None:
    world = applied(declaration(db=BY_ENV))
    world, log = recorded_world(world)

    world.apply(declaration(db=BY_ENV, slurm={"main": "MaxJobCount=7\n", "slurmdbd": "PurgeJobAfter=1month\n"}))

    order = [call[0] for call in log if call[0] in ("install", "reconfigure", "start_units", "remove_files")]
    assert order[0] == "install"
    (written,) = [call[2] for call in log if call[0] == "install"]
    assert {f"{CONFIG}/{mark}" for mark in MARKS.values()} < set(written)
    assert sorted(order) == ["install", "reconfigure", "remove_files", "remove_files", "start_units"]


def test_a_mode_alone_tells_nobody() -> None:
    world = applied(declaration(db=BY_ENV))
    world.engine.put_files(CONTROLLER, [evolve(entry(world, DBD), mode=0o640, uid=0)])
    before = entry(world, DBD)
    world, log = recorded_world(world)

    assert {str(change.address) for change in world.plan(declaration(db=BY_ENV)).changes} == {
        "sind/dev/file/slurmdbd.conf"
    }
    assert world.apply(declaration(db=BY_ENV)).outcome.complete

    assert not [call for call in log if call[0] in ("reconfigure", "start_units", "stop_units")]
    assert entry(world, DBD) == evolve(before, mode=0o600, uid=64030)


def test_a_started_slurmdbd_has_read_its_files() -> None:
    world = applied(declaration(db=BY_ENV))
    world.engine.write(CONTROLLER, f"{CONFIG}/{MARKS['slurmdbd']}", b"")
    world.engine.stop(DB)

    assert world.apply(declaration(db=BY_ENV)).outcome.complete

    assert world.plan(declaration(db=BY_ENV)).changes == ()


def test_every_mutating_verb_of_a_change_in_slurmdbd_is_about_the_config_volume_or_slurmdbd() -> None:
    wanted = declaration(db=BY_ENV, slurm={"slurmdbd": "PurgeJobAfter=1month\n"})
    world = applied(declaration(db=BY_ENV))
    engine = FaultyEngine(world.engine, verbs=MUTATING - {"execute"})

    world.apply(wanted, engine=engine)

    changed = {name for verb, name in engine.calls if verb in ("start", "stop", "put_files")}
    controller = world.engine.inspect_container(CONTROLLER)
    assert controller is not None
    assert changed == {controller.id}


def test_the_record_knows_what_was_written() -> None:
    world = applied(declaration(db=BY_ENV, slurm={"slurmdbd": {"x": f"StoragePass={_SECRET}\n"}}))

    (record,) = [found for found in world.engine.networks() if found.name == "sind-dev-record"]

    contents = json.loads(record.labels["sindplan.contents"])
    assert {"file/slurmdbd.conf", "file/slurmdbd.conf.d/x.conf"} < set(contents)
    said = json.loads(record.labels["sindplan.declaration"])
    assert said["slurm"]["slurmdbd"]["x"] == "StoragePass=<hidden>\n"
    assert said["db"]["storage_password"] == {"env": "SINDPLAN_SECRET_DB"}
