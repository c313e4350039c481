"""Keys of a cluster: made once, closed to everybody else, and what they say never changes by itself."""

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.engine.records import Entry
from sindplan.kinds.key import FILES
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from tests.edits import DAMAGE
from tests.faults import FaultyEngine
from tests.kinds.recording import recorded_world
from tests.strategies import SETTINGS, declared
from tests.world import IMAGE, World, new_world

CONTROLLER = "sind-dev-controller"
DEV = Address.parse("sind/dev")


def declaration(**cluster: Any) -> Declaration:
    clusters = {"dev": {"image": IMAGE, **cluster}}
    return declared({"version": 1, "name": "lab", "realms": {"sind": {"clusters": clusters}}})


def applied(wanted: Declaration) -> World:
    world = new_world()
    assert world.apply(wanted).outcome.complete
    return world


def key(world: World, name: str, node: str = CONTROLLER) -> Entry | None:
    path = FILES[name].path
    return world.engine.get_files(node, path).get(path)


CLUSTERS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "plain": ({}, {"munge"}),
    "with a REST API": ({"api": {}}, {"munge", "jwt"}),
    "client_ids": ({"identity": "client_ids", "submitter": {}}, {"slurm"}),
    "client_ids with a REST API": ({"identity": "client_ids", "api": {}, "db": {}}, {"slurm", "jwt"}),
    "a REST API by hand": ({"api": {"managed": False}}, {"munge"}),
    "unmanaged": ({"managed": False, "api": {}}, {"munge"}),
}
MODES = {
    # Owner, mode and size as their readers ask for (munged(8); Slurm, authentication plugins and JWT).
    "munge": (0o400, 900, 900, 128),
    "slurm": (0o600, 64030, 64030, 1024),
    "jwt": (0o600, 64030, 64030, 32),
}


@pytest.mark.parametrize("case", sorted(CLUSTERS))
def test_which_keys_there_are_and_who_may_read_them(case: str) -> None:
    cluster, expected = CLUSTERS[case]

    world = applied(declaration(**cluster))

    found = {name: entry for name in FILES if (entry := key(world, name)) is not None}
    assert set(found) == expected
    for name, entry in found.items():
        assert (entry.mode, entry.uid, entry.gid, len(entry.content)) == MODES[name]
    assert len({entry.content for entry in found.values()}) == len(found)


def test_only_the_first_controller_may_write_the_munge_key() -> None:
    world = applied(declaration(controller={"backup": True}, submitter={}))

    read_only = {}
    for node in ("controller", "controller-backup", "submitter", "worker-0"):
        found = world.engine.inspect_container(f"sind-dev-{node}")
        assert found is not None
        read_only[node] = [mount.read_only for mount in found.spec.mounts if mount.target == "/etc/munge"]
    assert read_only == {"controller": [False], "controller-backup": [True], "submitter": [True], "worker-0": [True]}


@pytest.mark.parametrize("name", sorted(FILES))
@pytest.mark.parametrize(
    "damage",
    [{"mode": 0o644}, {"mode": 0o666}, {"mode": 0o000}, {"uid": 0}, {"gid": 0}, {"mode": 0o644, "uid": 0, "gid": 0}],
    ids=" ".join,
)
def test_mode_and_owner_changed_by_hand_are_mended_and_the_key_stays(name: str, damage: dict[str, int]) -> None:
    wanted = declaration(api={}, **({"identity": "client_ids"} if name == "slurm" else {}))
    world = applied(wanted)
    before = key(world, name)
    assert before is not None
    world.engine.put_files(CONTROLLER, [evolve(before, **damage)])

    (change,) = world.plan(wanted).changes
    assert change.address == DEV / "key" / name
    assert {one.name: one.before for one in change.fields} == damage
    assert {one.name: one.after for one in change.fields} == {field: getattr(before, field) for field in damage}
    assert world.apply(wanted).outcome.complete

    assert key(world, name) == before
    assert world.plan(wanted).changes == ()


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_key_that_is_gone_is_made_once_and_its_readers_restarted(name: str) -> None:
    wanted = declaration(api={}, db={}, submitter={}, **({"identity": "client_ids"} if name == "slurm" else {}))
    world = applied(wanted)
    world.engine.delete(CONTROLLER, FILES[name].path)
    world, log = recorded_world(world)

    assert world.apply(wanted).outcome.complete

    restarted = {
        call[1].removeprefix("sind-dev-"): call[2] for call in log if call[0] == "start_units" and "restart" in call
    }
    munge, slurmd, slurmctld, slurmdbd = (f"{one}.service" for one in ("munge", "slurmd", "slurmctld", "slurmdbd"))
    everywhere = ("controller", "db", "api", "submitter", "worker-0")
    assert (
        restarted
        == {
            "munge": dict.fromkeys(everywhere, (munge,)),
            "slurm": {
                "controller": (slurmctld,),
                "db": (slurmdbd,),
                "submitter": ("sackd.service",),
                "worker-0": (slurmd,),
            },
            "jwt": {"controller": (slurmctld,), "db": (slurmdbd,)},
        }[name]
    )
    entry = key(world, name)
    assert entry is not None
    assert (entry.mode, entry.uid, entry.gid, len(entry.content)) == MODES[name]
    assert world.plan(wanted).changes == ()


def test_an_open_key_is_closed_through_a_controller_that_is_made_anew() -> None:
    wanted = declaration(submitter={})
    world = applied(wanted)
    DAMAGE["open a key"](world, CONTROLLER)
    world.engine.remove_container(CONTROLLER)

    assert world.apply(wanted).outcome.complete

    entry = key(world, "munge")
    assert entry is not None
    assert (entry.mode, entry.uid, entry.gid, len(entry.content)) == MODES["munge"]
    assert world.plan(wanted).changes == ()


def test_a_key_is_never_open_not_even_for_a_moment() -> None:
    class Watching(FaultyEngine):
        """Looks at each archive before it goes in."""

        seen: list[Entry]

    world, seen = new_world(), []
    put = world.engine.put_files
    watching = Watching(world.engine)
    watching.put_files = lambda container, entries: (seen.extend(entries), put(container, entries))[1]

    world.apply(declaration(identity="client_ids", api={}), engine=watching)

    keys = [entry for entry in seen if entry.path in {file.path for file in FILES.values()}]
    assert sorted(entry.path for entry in keys) == [FILES["jwt"].path, FILES["slurm"].path]
    assert all(not entry.mode & 0o077 for entry in keys)


_EDITS = st.fixed_dictionaries(
    {},
    optional={
        "api": st.just({}),
        "submitter": st.just({}),
        "workers": st.sampled_from(({"cpu": {"count": 0}}, {"cpu": {"count": 2}})),
        "slurm": st.sampled_from(({"main": "MaxJobCount=7\n"}, {"cgroup": "ConstrainCores=yes\n"})),
    },
)


@settings(SETTINGS, max_examples=15)
@given(st.sampled_from(("local", "client_ids")), st.lists(_EDITS, min_size=2, max_size=3))
def test_keys_are_kept_over_applies_and_edits(identity: str, edits: list[dict[str, Any]]) -> None:
    world, known = new_world(seed=1), {}
    for edit in edits:
        wanted = declaration(identity=identity, db={}, **edit)

        assert world.apply(wanted).outcome.failed == ()

        for name in FILES:
            entry = key(world, name)
            if entry is not None:
                assert known.setdefault(name, entry) == entry
    assert known


@pytest.mark.parametrize(
    ("step", "edit"),
    [
        ("service.reconfigure", {}),
        ("slurm.drain", {"workers": {"cpu": {"count": 1}}}),
        ("account.set", {"accounts": {"physics": {}}}),
    ],
)
def test_slurm_is_asked_nothing_while_it_is_restarted_for_a_new_key(step: str, edit: dict[str, Any]) -> None:
    """slurmctld and slurmdbd read a new key of the REST API at their start only; who asks them then is not answered."""
    before = {"identity": "client_ids", "db": {}, "workers": {"cpu": {"count": 2}}}
    world = applied(declaration(**before))
    actions = {action.id: action for action in world.plan(declaration(**{**before, "api": {}, **edit})).actions}

    def waits_for(action: str) -> set[str]:
        return {need for one in actions[action].needs for need in ({one} | waits_for(one))}

    asking = [action for action in actions if action.startswith(f"{step} ")]
    assert asking
    for action in asking:
        assert f"key.write {DEV}/key/jwt" in waits_for(action)
