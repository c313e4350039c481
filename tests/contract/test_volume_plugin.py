"""Volumes of a plugin, as CVMFS's are: with a driver, made in silence, mounted read-only."""

import os
from collections.abc import Iterator

import pytest
from attrs import evolve, frozen

from sindplan.engine.docker_sdk import DockerEngine
from sindplan.engine.records import Mount, Volume
from sindplan.engine.simulated import DEFAULT_INFO
from sindplan.errors import Conflict, EngineRefused, NotFound
from tests.contract.stage import Stage, simulated
from tests.fake_volume_plugin import FakePlugin, volume_plugin

FILES = {"hello": b"from the plugin\n", "below/deep": b"x"}


@frozen
class Case:
    """A place on an engine that has a volume plugin; `fake` is the real one's other end."""

    stage: Stage
    plugin: str
    fake: FakePlugin | None = None

    def mount(self, base: str = "v", driver: str | None = None, **more: object) -> Mount:
        """Return a mount of one of the plugin's volumes."""
        values = {"read_only": True, "no_copy": True, "driver": self.plugin if driver is None else driver} | more
        return Mount(target="/cvmfs", kind="volume", source=self.stage.name(base), **values)

    def volume(self, base: str = "v") -> Volume | None:
        """Return a volume of this test, if there is one."""
        listed = self.stage.engine.volumes()
        return next((volume for volume in listed if volume.name == self.stage.name(base)), None)


@pytest.fixture(params=["simulated", pytest.param("real", marks=pytest.mark.engine)])
def case(request: pytest.FixtureRequest) -> Iterator[Case]:
    """An engine with a volume plugin that no other test has."""
    if request.param == "simulated":
        plugin = "cvmfs"
        info = evolve(DEFAULT_INFO, volume_plugins=(f"{plugin}:latest", "local"))
        yield Case(Stage(simulated(info)), plugin)
        return
    yield from _real(request.getfixturevalue("real_engine"))


@pytest.fixture
def real_case(real_engine: DockerEngine) -> Iterator[Case]:
    """A real engine with a volume plugin."""
    yield from _real(real_engine)


def _real(engine: DockerEngine) -> Iterator[Case]:
    stage = Stage(engine)
    plugin = stage.name("cvmfs")
    with volume_plugin(os.environ["SINDPLAN_TEST_ENGINE"], f"{plugin}:latest", FILES) as fake:
        yield Case(stage, plugin, fake)
        stage.clean()


def test_is_known_by_both_names(case: Case) -> None:
    """The engine tells of plugins, and of its own driver."""
    info = case.stage.engine.info()

    assert f"{case.plugin}:latest" in info.volume_plugins
    assert info.has_volume_plugin(case.plugin)
    assert info.has_volume_plugin(f"{case.plugin}:latest")
    assert info.has_volume_plugin("local")
    assert not info.has_volume_plugin(f"{case.plugin}:other")
    assert not info.has_volume_plugin("nobodys-plugin")


def test_what_is_created_is_observed(case: Case) -> None:
    """A missing volume is made by the plugin, without labels; the mount comes back as it was given."""
    engine = case.stage.engine
    container = case.stage.container(mounts=(case.mount(),))
    found = engine.inspect_container(container)
    volume = case.volume()

    assert found is not None
    assert found.spec.mounts == (case.mount(),)
    assert volume is not None
    assert (volume.driver, volume.labels) == (f"{case.plugin}:latest", {})

    other = case.stage.container("other", mounts=(case.mount(driver=f"{case.plugin}:latest"),))
    found = engine.inspect_container(other)
    assert found is not None
    assert found.spec.mounts == (case.mount(driver=f"{case.plugin}:latest"),)
    assert case.volume() == volume

    with pytest.raises(Conflict, match="volume is in use"):
        engine.remove_volume(case.stage.name("v"))
    engine.remove_container(container)
    engine.remove_container(other)
    assert case.volume() == volume


def test_one_that_exists_needs_no_driver(case: Case) -> None:
    """A volume's name is enough to mount it, whoever made it."""
    made = case.stage.engine.create_volume(case.stage.name("v"), case.stage.labels, driver=case.plugin)
    container = case.stage.container(mounts=(case.mount(driver=""),))
    found = case.stage.engine.inspect_container(container)

    assert (made.driver, made.labels) == (f"{case.plugin}:latest", case.stage.labels)
    assert found is not None
    assert found.spec.mounts == (case.mount(driver=""),)


def test_a_name_has_one_driver(case: Case) -> None:
    """A volume that another driver has is not taken for the plugin's, and neither the other way round."""
    engine = case.stage.engine
    engine.create_volume(case.stage.name("v"), case.stage.labels)
    engine.create_volume(case.stage.name("p"), case.stage.labels, driver=case.plugin)

    with pytest.raises(Conflict, match=r"driver 'local' already has volume .*: volume name must be unique"):
        case.stage.container(mounts=(case.mount(),))
    with pytest.raises(Conflict, match="volume name must be unique"):
        case.stage.container(mounts=(case.mount("p", driver="local"),))
    with pytest.raises(Conflict, match="volume name must be unique"):
        engine.create_volume(case.stage.name("p"), case.stage.labels)
    assert engine.inspect_container(case.stage.name("one")) is None


@pytest.mark.engine
def test_a_container_sees_it_read_only(real_case: Case) -> None:
    """The plugin's files are there, its volume is mounted as long as the container runs, and nobody writes into it."""
    stage, fake = real_case.stage, real_case.fake
    assert fake is not None
    container = stage.container(mounts=(real_case.mount(),))
    assert fake.volumes == {stage.name("v")}
    assert "Mount" not in fake.asked

    stage.engine.start(container)

    assert len(fake.mounted) == 1
    assert stage.engine.execute(container, ["cat", "/cvmfs/hello", "/cvmfs/below/deep"]).out == "from the plugin\nx"
    assert "Read-only file system" in stage.engine.execute(container, ["touch", "/cvmfs/x"]).err
    stage.engine.stop(container, grace=0)
    assert not fake.mounted
    # Archives see it even so.
    assert stage.engine.get_files(container, "/cvmfs/hello")["/cvmfs/hello"].content == FILES["hello"]


@pytest.mark.engine
def test_one_that_went_is_not_listed(real_engine: DockerEngine) -> None:
    """Only enabled plugins are listed."""
    name = Stage(real_engine).name("cvmfs")
    with volume_plugin(os.environ["SINDPLAN_TEST_ENGINE"], f"{name}:latest", {}):
        assert real_engine.info().has_volume_plugin(name)
    assert not real_engine.info().has_volume_plugin(name)


def test_a_driver_that_nobody_has(stage: Stage) -> None:
    """An unknown driver is not found, at the create call. Docker looks for it during 15 seconds."""
    mount = Mount(target="/x", kind="volume", source=stage.name("v"), driver="nobodys-plugin")

    with pytest.raises(
        NotFound, match='error looking up volume plugin nobodys-plugin: plugin "nobodys-plugin" not'
    ) as e:
        stage.container(mounts=(mount,))
    assert e.value.fix
    assert stage.engine.inspect_container(stage.name("one")) is None
    assert stage.name("v") not in {volume.name for volume in stage.engine.volumes()}


def test_only_volumes_have_drivers_and_only_folders_propagate(stage: Stage) -> None:
    """What cannot be is refused, not dropped."""
    with pytest.raises(EngineRefused, match="VolumeOptions must not be specified on mount type"):
        stage.container(mounts=(Mount(target="/x", kind="bind", source="/dev", driver="local"),))
    with pytest.raises(EngineRefused, match="BindOptions must not be specified on mount type"):
        stage.container(mounts=(stage.volume("v", "/x", propagation="rslave"),))
    assert stage.name("v") not in {volume.name for volume in stage.engine.volumes()}
