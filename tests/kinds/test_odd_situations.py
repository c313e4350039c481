"""Situations that nobody plans for: images without what others have, tags that moved, files that lie beside sindplan's own."""

import json

import pytest
from attrs import evolve

from sindplan.engine.records import Entry
from sindplan.kinds.database import SQL_FILE, database_sql
from sindplan.kinds.key import FILES
from sindplan.model.facts import IMAGE_LABEL
from sindplan.slurm.files import CONFIG
from sindplan.workflow import clusters_with_secrets
from tests.kinds.test_config import BY_ENV, CONTROLLER, DBD, applied, declaration, entry, fail_at_each_call
from tests.world import IMAGE, IMAGE_FACTS, PASSWORD, new_world

BARE = {**IMAGE_FACTS, "daemons": ["sshd"], "uids": {}}
OTHER_IDS = {"slurm": [64031, 64031], "munge": [901, 901], "mysql": [1, 1], "slurmrestd": [2, 2]}
CLUSTERS = [
    {"db": {}, "api": {}},
    {"managed": False},
    {"identity": "client_ids", "users": {"alice": {}}},
    {"workers": {"plain": {"managed": False}}},
]


def test_a_key_is_made_anew_where_the_image_has_no_munge():
    world = new_world()
    world.engine.add_image("bare:1", labels={IMAGE_LABEL: json.dumps(BARE)})
    wanted = declaration(image="bare:1", managed=False)
    assert world.apply(wanted).outcome.complete
    world.engine.delete(CONTROLLER, FILES["munge"].path)

    assert world.apply(wanted).outcome.complete

    assert world.plan(wanted).changes == ()


def test_a_munge_that_was_installed_by_hand_keeps_its_key():
    """An image for people who install Slurm themselves has no munge; its user is theirs."""
    world = new_world()
    world.engine.add_image("bare:1", labels={IMAGE_LABEL: json.dumps(BARE)})
    wanted = declaration(image="bare:1", managed=False)
    assert world.apply(wanted).outcome.complete
    theirs = evolve(entry(world, FILES["munge"].path), uid=101, gid=102)
    world.engine.put_files(CONTROLLER, [theirs])

    assert world.plan(wanted).changes == ()

    world.engine.put_files(CONTROLLER, [evolve(theirs, mode=0o644)])
    assert world.apply(wanted).outcome.complete
    assert entry(world, FILES["munge"].path) == theirs


def test_a_key_that_cannot_be_read_is_not_missed():
    """The engine gives no archive that large; a plan that makes the key would lie."""
    world = applied(declaration())
    large = evolve(entry(world, FILES["munge"].path), content=bytes(5 * 1024 * 1024))
    world.engine.put_files(CONTROLLER, [large])

    assert world.plan(declaration()).changes == ()


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_an_image_whose_tag_is_gone_changes_nothing(cluster):
    world = applied(declaration(**cluster))

    world.engine.retag(IMAGE, "old:1")

    assert world.plan(declaration(**cluster)).changes == ()


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_an_image_that_is_gone_with_all_its_tags_changes_nothing(cluster):
    world = applied(declaration(**cluster))

    world.engine._images.clear()

    assert world.plan(declaration(**cluster)).changes == ()


def test_owners_are_left_alone_where_an_unlabelled_image_and_its_probe_are_gone(monkeypatch, tmp_path):
    """Another machine may have looked into it: nobody here can say then which ids its users have."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    world = new_world()
    world.engine.add_image("plain:1", labels={"sind.slurm.version": "26.05.5"})
    image = world.engine.image("plain:1")
    probe = tmp_path / "sindplan" / "images" / f"{image.id.removeprefix('sha256:')}.json"
    probe.parent.mkdir(parents=True)
    probe.write_text(json.dumps(IMAGE_FACTS))
    wanted = declaration(image="plain:1", db={}, api={})
    assert world.apply(wanted).outcome.complete
    assert world.plan(wanted).changes == ()

    world.engine._images.clear()
    probe.unlink()

    fields = {field.name for change in world.plan(wanted).changes for field in change.fields}
    assert not fields & {"uid", "gid"}
    before = entry(world, f"{CONFIG}/slurmdbd.conf")
    edited = declaration(image="plain:1", db={}, api={}, slurm={"slurmdbd": "PurgeJobAfter=1month\n"})
    assert world.apply(edited).outcome.complete
    after = entry(world, f"{CONFIG}/slurmdbd.conf")
    assert (after.uid, after.gid, after.mode) == (before.uid, before.gid, before.mode)
    assert b"PurgeJobAfter" in after.content


def test_a_tag_that_moved_to_other_user_ids_changes_nothing():
    """What runs has the ids of the image that it was made from."""
    world = applied(declaration(db={}))

    world.engine.retag(IMAGE, "old:1")
    facts = {**IMAGE_FACTS, "uids": OTHER_IDS}
    world.engine.add_image(IMAGE, labels={"sind.slurm.version": "26.05.5", IMAGE_LABEL: json.dumps(facts)})

    assert world.plan(declaration(db={})).changes == ()


def test_a_fragment_in_a_folder_of_its_own_leaves_no_folder_behind():
    world = applied(declaration(db={}))

    assert fail_at_each_call(world, declaration(db={}, slurm={"main": {"own": "MaxJobCount=8\n"}})) > 2


def test_slurmctld_is_told_after_a_file_is_gone():
    world = applied(declaration(slurm={"gres": "NodeName=worker-0 Name=disk Count=1\n"}))

    steps = [action.step for action in world.plan(declaration()).actions]

    assert steps.index("file.remove") < steps.index("service.reconfigure")


def test_a_password_that_nobody_includes_is_not_the_databases():
    world = applied(declaration(db=BY_ENV))
    mine = Entry(path=f"{DBD}.d/mine.conf", content=b"StoragePass=mine\n", mode=0o600, uid=64030, gid=64030)
    world.engine.put_files(CONTROLLER, [mine])

    assert world.apply(declaration(db=BY_ENV, slurm={"slurmdbd": "PurgeJobAfter=1month\n"})).outcome.complete

    assert entry(world, SQL_FILE, "sind-dev-db").content.decode() == database_sql(PASSWORD)


def test_a_fragment_without_a_password_needs_none():
    def purging(months):
        return declaration(db=BY_ENV, slurm={"slurmdbd": {"purge": f"PurgeJobAfter={months}month\n"}})

    world = applied(purging(1))

    assert clusters_with_secrets(world.plan(purging(2))) == set()
