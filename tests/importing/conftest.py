"""A cluster of sind's on a simulated engine, and how it is imported."""

from attrs import evolve

from sindplan.engine.records import Endpoint
from sindplan.importing.imports import import_clusters
from sindplan.model.address import Address
from sindplan.statefile import read
from tests.sind_cluster import Sind, make_all

DEV = Address(("sind", "dev"))
PLAIN = """
version = 1
name = "lab"
[realms.sind.clusters.dev]
image = "sindplan-node:26.05"
[realms.sind.clusters.dev.workers.cpu]
count = 2
[realms.sind.clusters.dev.workers.gpu]
cpus = 2
memory = "1g"
"""


def sinds(world, tmp_path, text=PLAIN, *, old=False):
    """Make what a state file says as sind would; return its containers."""
    return make_all(Sind(world.engine, old=old), world.slurm, declared(tmp_path, text))


def declared(tmp_path, text):
    file = tmp_path / "sindplan.toml"
    file.write_text(text, encoding="utf-8")
    return read([file])


def taken(world, tmp_path, *clusters):
    """Import, through the file that is written."""
    written = import_clusters(world.engine, world.slurm, clusters or (DEV,), name="lab")
    return declared(tmp_path, written.text), written


def ids(world):
    return {container.name: container.id for container in world.engine.containers()}


def cluster_of(declaration, realm="sind", name="dev"):
    return declaration.realms[realm].clusters[name]


def spec_of(world, container):
    """Return what a container could be made from again, as sind would: without an address of its own."""
    spec = world.engine.inspect_container(container).spec
    return evolve(spec, endpoints=tuple(Endpoint(network=place.network) for place in spec.endpoints))
