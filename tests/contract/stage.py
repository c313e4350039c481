"""A place on an engine for one test: unique names and labels, and everything gone afterwards."""

import contextlib
import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from attrs import field, frozen

from sindplan.engine.docker_sdk import DockerEngine, connect
from sindplan.engine.port import Engine
from sindplan.engine.records import ContainerSpec, Endpoint, EngineInfo, Entry, Mount, NetworkSpec
from sindplan.engine.simulated import DEFAULT_INFO, SimulatedEngine
from sindplan.errors import NotFound

LABEL = "sindplan.test"
IMAGE = os.environ.get("SINDPLAN_TEST_IMAGE", "sindplan-node:26.05")
SLEEP = ("sleep", "infinity")


@frozen
class Stage:
    """An engine, and what one test makes on it."""

    engine: Engine
    image: str = IMAGE
    run: str = field(factory=lambda: uuid.uuid4().hex[:12])

    @property
    def labels(self) -> dict[str, str]:
        """The labels of all that the test makes."""
        return {LABEL: self.run}

    def name(self, base: str) -> str:
        """Return a name that no other test has."""
        return f"t{self.run}-{base}"

    def subnet(self, number: int = 0) -> str:
        """Return a /24, other for most other tests, that no default pool has."""
        return f"10.{200 + int(self.run[0], 16) % 16}.{(int(self.run[1:5], 16) + number) % 256}.0/24"

    def address(self, last: int, number: int = 0) -> str:
        """Return an address in `subnet(number)`."""
        return self.subnet(number).removesuffix("0/24") + str(last)

    def network(self, base: str = "net", **more: Any) -> str:
        """Create a network and return its id."""
        return self.engine.create_network(self.network_spec(base, **more))

    def network_spec(self, base: str = "net", **more: Any) -> NetworkSpec:
        """Return the spec of a network."""
        return NetworkSpec(name=self.name(base), labels=self.labels, **more)

    def spec(self, base: str = "one", **more: Any) -> ContainerSpec:
        """Return the spec of a container that sleeps, unless told otherwise."""
        values = {"image": self.image, "labels": self.labels, "entrypoint": SLEEP} | more
        return ContainerSpec(name=self.name(base), **values)

    def container(self, base: str = "one", **more: Any) -> str:
        """Create a container and return its id."""
        return self.engine.create_container(self.spec(base, **more))

    def running(self, base: str = "one", **more: Any) -> str:
        """Create and start a container and return its id."""
        container = self.container(base, **more)
        self.engine.start(container)
        return container

    def place(self, base: str = "net", **more: Any) -> Endpoint:
        """Return an endpoint on a network of this test."""
        return Endpoint(network=self.name(base), **more)

    def volume(self, base: str, target: str, **more: Any) -> Mount:
        """Return a mount of a volume of this test, without copy-up unless told otherwise."""
        values = {"no_copy": True} | more
        return Mount(target=target, kind="volume", source=self.name(base), **values)

    def clean(self) -> None:
        """Remove everything that carries this test's label or name."""
        prefix = self.name("")
        for container in self.engine.containers():
            if container.labels.get(LABEL) == self.run or container.name.startswith(prefix):
                with contextlib.suppress(NotFound):
                    self.engine.remove_container(container.id)
        for network in self.engine.networks():
            if network.labels.get(LABEL) == self.run:
                with contextlib.suppress(NotFound):
                    self.engine.remove_network(network.id)
        for volume in self.engine.volumes():
            if volume.labels.get(LABEL) == self.run or volume.name.startswith(prefix):
                with contextlib.suppress(NotFound):
                    self.engine.remove_volume(volume.name)


def simulated(info: EngineInfo = DEFAULT_INFO) -> SimulatedEngine:
    """Return a simulated engine with an image like the one that real tests use."""
    engine = SimulatedEngine(info=info)
    files = {path: Entry(path=path, content=b"as in the image\n") for path in ("/etc/ssh/ssh_config", "/etc/hosts")}
    files |= {"/var/run": Entry(path="/var/run", kind="link", link="/run", mode=0o777)}
    files |= {path: Entry(path=path, kind="dir", mode=0o755) for path in ("/run", "/tmp", "/etc/munge")}
    engine.host_paths["/srv"] = {}
    engine.add_image(IMAGE, {"sind.slurm.version": "26.05.5"}, files)
    return engine


def real() -> Iterator[DockerEngine]:
    """Connect to the engine that tests may use, and to no other."""
    address = os.environ.get("SINDPLAN_TEST_ENGINE")
    if not address:
        pytest.fail(
            "This test needs a Docker Engine: set SINDPLAN_TEST_ENGINE to the DOCKER_HOST of one that tests may use "
            "(tools/test does), or leave these tests out with -m 'not engine'.",
            pytrace=False,
        )
    engine = connect(address)
    if engine.image(IMAGE) is None:
        engine.close()
        pytest.fail(f"The engine at {address} has no image {IMAGE}: set SINDPLAN_TEST_IMAGE.", pytrace=False)
    yield engine
    engine.close()
