"""Clusters for people who install Slurm by hand: sindplan asks Slurm nothing there and leaves its files alone."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.kinds import labels
from sindplan.model.declaration import Declaration
from sindplan.slurm.files import CONFIG
from sindplan.workflow import clusters_of, prepare_destroy
from tests.edits import DAMAGE, nodes_of
from tests.kinds.recording import recorded_world
from tests.strategies import SETTINGS, declared
from tests.world import IMAGE, World, new_world

CONTROLLER = "sind-dev-controller"
SLURMS = {"view", "join", "drain", "resume", "wait_empty", "reconfigure", "accounting", "change_accounting", "install"}
BY_CLUSTER = {"managed": False}
BY_CONTROLLER = {"controller": {"managed": False}}


def declaration(count: int = 1, **cluster: Any) -> Declaration:
    tables = {"image": IMAGE, "workers": {"cpu": {"count": count}}, **cluster}
    return declared({"version": 1, "name": "lab", "realms": {"sind": {"clusters": {"dev": tables}}}})


def asked(log: list[tuple[Any, ...]]) -> set[tuple[str, str]]:
    """Return what was asked of Slurm; the relay's files are written through the same port."""
    return {call[:2] for call in log if call[0] in SLURMS and call[1] != "sind-ssh"}


_MORE = st.fixed_dictionaries(
    {},
    optional={
        "db": st.just({}),
        "api": st.just({}),
        "submitter": st.just({}),
        "users": st.just({"alice": {}}),
        "storage": st.just({"cvmfs": True}),
    },
)


@settings(SETTINGS, max_examples=20)
@given(st.data(), st.sampled_from((BY_CLUSTER, BY_CONTROLLER)), st.booleans(), _MORE)
def test_slurm_is_asked_nothing(data: st.DataObject, by: dict[str, Any], backup: bool, more: dict[str, Any]) -> None:
    where = {**by, "controller": {**by.get("controller", {}), "backup": backup}}
    world, log = recorded_world(new_world(seed=1))

    for workers in (2, 0, 1):
        wanted = declaration(workers, **{**where, **more})
        assert world.apply(wanted).outcome.failed == ()
        assert world.plan(wanted).changes == ()
        (cluster,) = clusters_of(wanted)
        damage = data.draw(st.sampled_from(sorted(DAMAGE.keys() - {"edit slurm.conf", "put a file of one's own"})))
        DAMAGE[damage](world, data.draw(st.sampled_from(nodes_of(world, cluster))))
        assert world.apply(wanted).outcome.failed == ()
        assert world.plan(wanted).changes == ()
    world.destroy(wanted)

    assert asked(log) == set()


def test_nothing_of_slurms_is_written_or_started() -> None:
    world = new_world(seed=1)

    assert world.apply(declaration(**BY_CLUSTER, db={}, api={}, submitter={})).outcome.complete

    assert set(world.engine.get_files(CONTROLLER, CONFIG)) == {CONFIG}
    for summary in world.engine.containers():
        if summary.labels.get(labels.ROLE):
            assert world.engine.processes(summary.id) == ("munged", "sshd", "systemd")
            assert summary.labels[labels.MANAGED] == "false"
            assert summary.labels.get("sind.slurm.version", "") == ""
    assert not [volume.name for volume in world.engine.volumes() if volume.name == "sind-dev-db"]


@pytest.fixture
def world() -> World:
    """Return an unmanaged cluster in which somebody has installed Slurm."""
    made = new_world(seed=1)
    made.apply(declaration(2, **BY_CLUSTER))
    made.engine.write(CONTROLLER, f"{CONFIG}/slurm.conf", b"ClusterName=mine\nSlurmctldHost=controller\n")
    made.engine.write(CONTROLLER, f"{CONFIG}/sind-nodes.conf", b"NodeName=worker-[0-1]\n")
    made.slurm.start_units(CONTROLLER, ["slurmctld.service"], 1)
    made.machine.submit(CONTROLLER, "worker-1", "7", endless=True)
    return made


def test_their_files_and_daemons_are_their_own(world: World) -> None:
    before = world.engine.get_files(CONTROLLER, CONFIG)
    assert world.plan(declaration(2, **BY_CLUSTER)).changes == ()

    for workers in (3, 1, 2):
        assert world.apply(declaration(workers, **BY_CLUSTER)).outcome.complete

    assert world.engine.get_files(CONTROLLER, CONFIG) == before
    assert world.slurm.services(CONTROLLER, ["slurmctld.service"])["slurmctld.service"]


def test_a_worker_leaves_without_asking(world: World) -> None:
    prepared = world.prepare(declaration(1, **BY_CLUSTER))

    assert prepared.findings == ()
    # The last one goes: nobody counts it as busy.
    assert "sind/dev/node/worker-1" in {str(change.address) for change in prepared.plan.changes}
    assert not [action for action in prepared.plan.actions if action.step.startswith("slurm.")]
    assert world.apply(declaration(1, **BY_CLUSTER)).outcome.complete


def test_destroying_asks_for_no_leave_to_lose_jobs(world: World) -> None:
    wanted = declaration(2, **BY_CLUSTER)

    prepared = prepare_destroy(world.engine, world.slurm, clusters_of(wanted), declaration=wanted)

    assert prepared.findings == ()
    assert world.run(prepared, wanted).outcome.complete
    assert not world.engine.containers()


def test_a_worker_by_hand_in_a_managed_cluster_is_none_of_slurms() -> None:
    wanted = declaration(1, workers={"byhand": {"managed": False}, "cpu": {}})
    fewer = declaration(1, workers={"byhand": {"managed": False, "count": 0}, "cpu": {}})
    world, log = recorded_world(new_world(seed=1))

    assert world.apply(wanted).outcome.complete
    view = world.slurm.view(CONTROLLER)
    assert view is not None
    assert set(view.nodes) == {"worker-1"}
    assert {call[2] for call in log if call[0] == "join"} == {("worker-1",)}
    assert b"worker-0" not in (world.engine.read(CONTROLLER, f"{CONFIG}/sind-nodes.conf") or b"")
    assert world.apply(fewer).outcome.complete

    assert not [call for call in log if call[0] in ("drain", "wait_empty")]
    assert world.engine.inspect_container("sind-dev-worker-0") is None
    assert world.plan(fewer).changes == ()


def test_a_db_by_hand_in_a_managed_cluster_has_no_accounting() -> None:
    wanted = declaration(1, db={"managed": False})
    world, log = recorded_world(new_world(seed=1))

    assert world.apply(wanted).outcome.complete

    assert world.engine.processes("sind-dev-db") == ("munged", "sshd", "systemd")
    assert not [call for call in log if "accounting" in call[0]]
    assert b"AccountingStorage" not in (world.engine.read(CONTROLLER, f"{CONFIG}/slurm.conf") or b"")
    assert not world.engine.has_file(CONTROLLER, f"{CONFIG}/slurmdbd.conf")
