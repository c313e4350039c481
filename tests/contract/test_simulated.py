"""What the simulated engine has beside the port, and what no shared test can show on a real engine."""

import copy
import threading

import pytest
from attrs import evolve

from sindplan.engine.records import Container, Entry, Executed, Mount
from sindplan.engine.simulated import DEFAULT_INFO, SimulatedEngine
from sindplan.engine.simulated_machine import PlainMachine
from sindplan.errors import Conflict, EngineRefused, NotFound
from tests.contract.stage import IMAGE, Stage, simulated


@pytest.fixture
def engine():
    return simulated()


@pytest.fixture
def stage(engine):
    return Stage(engine, run="0123456789ab")


def furnished(stage: Stage) -> str:
    """Make one of everything and return the container's id."""
    stage.network(subnet=stage.subnet())
    stage.network("record", config_only=True)
    container = stage.container(
        endpoints=(stage.place(address=stage.address(9)),), mounts=(stage.volume("v", "/data"),)
    )
    stage.engine.put_files(container, [Entry(path="/data/file", content=b"x")])
    return container


class TestSnapshot:
    def test_equal_until_something_changes(self, engine, stage):
        container = furnished(stage)
        changes = [
            lambda: stage.engine.start(container),
            lambda: stage.engine.pause(container),
            lambda: stage.engine.put_files(container, [Entry(path="/data/file", content=b"y")]),
            lambda: stage.engine.put_files(container, [Entry(path="/x", mode=0o600)]),
            lambda: stage.engine.rename(container, stage.name("other")),
            lambda: stage.engine.create_volume("more", {}),
            lambda: stage.engine.update_limits(container, 2, None),
            lambda: stage.engine.disconnect(stage.name("net"), container),
            lambda: stage.engine.remove_container(container),
            lambda: engine.add_image(IMAGE),
        ]
        seen = [engine.snapshot()]
        for change in changes:
            change()
            assert engine.snapshot() == engine.snapshot()
            seen.append(engine.snapshot())

        assert all(first != second for number, first in enumerate(seen) for second in seen[:number])

    def test_stop_and_start_is_as_before(self, engine, stage):
        container = furnished(stage)
        engine.start(container)
        before = engine.snapshot()
        engine.stop(container)
        assert engine.snapshot() != before
        engine.start(container)

        assert engine.snapshot() == before

    def test_made_again_is_the_same_without_ids(self, engine, stage):
        furnished(stage)
        before, ids = engine.snapshot(ids=False), engine.snapshot()
        stage.clean()
        assert engine.snapshot(ids=False) != before
        furnished(stage)

        assert engine.snapshot(ids=False) == before
        assert engine.snapshot() != ids

    def test_deep_copy_goes_its_own_way(self, engine, stage):
        container = furnished(stage)
        twin = copy.deepcopy(engine)
        before = engine.snapshot()
        twin.start(container)
        twin.write(container, "/data/file", b"changed")

        assert engine.snapshot() == before
        assert twin.read(container, "/data/file") == b"changed"
        assert twin.execute(container, ["cat", "/data/file"]).out == "changed"
        assert engine.read(container, "/data/file") == b"x"

    def test_equal_histories_are_equal(self):
        first, second = (simulated() for _ in range(2))
        assert [furnished(Stage(engine, run="0123456789ab")) for engine in (first, second)]

        assert first.snapshot() == second.snapshot()
        assert first.containers() == second.containers()


class TestKnobs:
    def test_pools_run_out(self):
        engine = SimulatedEngine(pools=("172.17.0.0/16", "172.18.0.0/16"))
        stage = Stage(engine)
        first = stage.network("one")

        with pytest.raises(EngineRefused, match="all predefined address pools have been fully subnetted") as caught:
            stage.network("two")
        assert caught.value.fix
        stage.network("record", config_only=True)
        stage.network("own", subnet=stage.subnet())
        engine.remove_network(first)
        stage.network("two")

    def test_a_network_that_was_asked_for_keeps_pools_off(self):
        engine = SimulatedEngine(pools=("172.17.0.0/16", "172.18.0.0/16"))
        stage = Stage(engine)
        stage.network("own", subnet="172.18.4.0/24")

        with pytest.raises(EngineRefused, match="fully subnetted"):
            stage.network("two")

    def test_a_bridge_is_full(self):
        engine = SimulatedEngine(endpoint_limit=2)
        engine.add_image(IMAGE)
        stage = Stage(engine)
        stage.network()
        containers = [stage.container(str(number), endpoints=(stage.place(),)) for number in range(3)]
        engine.start(containers[0])
        engine.start(containers[1])

        with pytest.raises(EngineRefused, match="exchange full"):
            engine.start(containers[2])
        engine.stop(containers[0])
        engine.start(containers[2])

    def test_a_subnet_is_full(self, stage):
        stage.network(subnet="10.9.0.0/30")
        stage.running("a", endpoints=(stage.place(),))

        with pytest.raises(EngineRefused, match="no available IPv4 addresses"):
            stage.running("b", endpoints=(stage.place(),))

    def test_without_controllers_limits_are_dropped(self):
        engine = SimulatedEngine(info=evolve(DEFAULT_INFO, cpu_limit=False, memory_limit=False))
        engine.add_image(IMAGE)
        container = Stage(engine).container(cpus=2, memory=2**30)
        engine.update_limits(container, 3, 2**31)
        found = engine.inspect_container(container)

        assert (found.spec.cpus, found.spec.memory, found.memory_swap) == (None, None, None)

    def test_limits_stay_unless_given(self, engine, stage):
        container = stage.container(cpus=2, memory=2**30)
        engine.update_limits(container, None, 2**31)
        found = engine.inspect_container(container)

        assert (found.spec.cpus, found.spec.memory, found.memory_swap) == (2, 2**31, 2**31)

    def test_seed_shuffles_lists(self):
        orders = set()
        for seed in range(8):
            engine = SimulatedEngine(seed=seed)
            for name in "abcd":
                engine.create_volume(f"v{name}", {})
            orders.add(tuple(volume.name for volume in engine.volumes()))

        assert len(orders) > 1

    def test_unknown_volume_driver(self, stage):
        with pytest.raises(NotFound, match="plugin"):
            stage.engine.create_volume("v1", {}, driver="nfs")

    def test_pull(self, engine):
        digest = engine.add_image("registry.example/node:1", {"a": "b"}, pulled=False)

        assert engine.image("registry.example/node:1") is None
        assert engine.pull("registry.example/node:1").id == digest
        assert engine.image("registry.example/node:1").labels == {"a": "b"}

    def test_a_moved_tag_shows_in_the_list(self, engine, stage):
        container = stage.container()
        old = engine.image(IMAGE).id
        engine.add_image(IMAGE)

        line = engine.containers()[0]
        assert (line.id, line.image, line.image_id) == (container, old, old)
        assert engine.inspect_container(container).spec.image == IMAGE

    def test_an_ambiguous_prefix_is_an_error(self, engine, stage):
        ids = [stage.container(str(number)) for number in range(17)]
        twice = next(one[0] for one in ids if sum(other[0] == one[0] for other in ids) > 1)

        with pytest.raises(EngineRefused, match="multiple IDs"):
            engine.inspect_container(twice)

    def test_daemon_restart_ends_everything_but_disks(self, engine, stage):
        container = stage.running(mounts=(stage.volume("v", "/data"),), tmpfs={"/run": ""})
        engine.write(container, "/data/x", b"kept")
        engine.write(container, "/run/x", b"lost")
        engine.restart_daemon()

        assert engine.inspect_container(container).state == "exited"
        assert engine.read(container, "/data/x") == b"kept"
        engine.start(container)
        assert engine.read(container, "/run/x") is None


class TestFilesInside:
    def test_processes_see_tmpfs_and_archives_do_not(self, engine, stage):
        container = stage.running(tmpfs={"/run": ""})
        engine.write(container, "/var/run/pid", b"1")

        assert engine.read(container, "/run/pid") == b"1"
        assert not engine.has_file(container, "/run/pid")
        engine.delete(container, "/run/pid")
        assert engine.read(container, "/run/pid") is None

    def test_volumes_are_shared(self, engine, stage):
        first = stage.container("a", mounts=(stage.volume("v", "/etc/slurm"),))
        second = stage.container("b", mounts=(stage.volume("v", "/mnt", read_only=True),))
        engine.put_files(first, [Entry(path="/etc/slurm/x", content=b"1", mode=0o600, uid=5, gid=6)])
        engine.write(first, "/etc/slurm/x", b"2")

        assert engine.read(second, "/mnt/x") == b"2"
        assert engine.get_files(second, "/mnt/x")["/mnt/x"] == Entry(
            path="/mnt/x", content=b"2", mode=0o600, uid=5, gid=6
        )
        with pytest.raises(EngineRefused, match="read-only"):
            engine.write(second, "/mnt/x", b"3")

    def test_a_folder_of_the_host(self, engine, stage):
        engine.host_paths["/srv/data"] = {}
        container = stage.container(mounts=(Mount(target="/data", kind="bind", source="/srv/data"),))
        engine.put_files(container, [Entry(path="/data/x", content=b"1")])

        assert engine.host_paths["/srv/data"]["/x"].content == b"1"

    def test_a_mount_in_a_mount(self, engine, stage):
        mounts = (stage.volume("outer", "/a"), stage.volume("inner", "/a/b"))
        container = stage.container(mounts=mounts)
        engine.put_files(container, [Entry(path="/a/x"), Entry(path="/a/b/y")])

        assert set(engine.get_files(container, "/a")) == {"/a", "/a/x", "/a/b", "/a/b/y"}
        other = stage.container("other", mounts=(stage.volume("inner", "/only"),))
        assert set(engine.get_files(other, "/only")) == {"/only", "/only/y"}


class Recording(PlainMachine):
    """Notes what it is told, ends politely, and dies when told to by exec."""

    def started(self, container: Container) -> int | None:
        self.engine.write(container.id, "/started", container.started_at.encode())

    def stopped(self, _: Container) -> int | None:
        return 130

    def execute(self, container, command, user):
        if command == ["die"]:
            self.engine.exit(container.id, 1, oom_killed=True)
        return Executed(code=0, out=f"{user}:{' '.join(command)}", err="")

    def attach(self, engine):
        self.engine = engine

    def output(self, _: Container):
        return ["ready"]


class TestMachine:
    def test_plays_the_processes(self):
        engine = SimulatedEngine(machine=Recording())
        engine.add_image(IMAGE)
        container = Stage(engine).running()

        assert engine.read(container, "/started")
        assert engine.execute(container, ["id", "x"], user="slurm").out == "slurm:id x"
        assert engine.wait_output(container, "ready", 1)
        engine.stop(container)
        assert engine.inspect_container(container).exit_code == 130
        engine.start(container)
        engine.execute(container, ["die"])
        found = engine.inspect_container(container)
        assert (found.state, found.exit_code, found.oom_killed) == ("exited", 1, True)
        with pytest.raises(Conflict):
            engine.execute(container, ["id"])


def test_many_threads_lose_nothing(engine, stage):
    def work(number: int) -> None:
        for turn in range(20):
            container = stage.running(f"{number}-{turn}")
            engine.put_files(container, [Entry(path="/x")])
            if turn % 2:
                engine.remove_container(container)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(engine.containers()) == 80
    assert len({line.id for line in engine.containers()}) == 80
