"""A cluster that a sind of v0.9 made, as a real engine showed it, put on a simulated one: imported, planned, taken over."""

import json
from pathlib import Path

from attrs import evolve

from sindplan.engine import inspection
from sindplan.engine.records import ContainerSpec, Endpoint, Entry, Mount, NetworkSpec
from sindplan.model.address import Address
from sindplan.model.facts import IMAGE_LABEL
from tests.importing.conftest import ids, taken
from tests.world import IMAGE_FACTS, NO_LIMITS, new_world

RECORDED = Path(__file__).parent / "recorded"
T4 = Address(("sind", "t4"))
IMAGE = "ghcr.io/gsi-hpc/sind-node:latest"
UNITS = "/etc/systemd/system/multi-user.target.wants"

EXPECTED = """\
version = 1
name = "lab"

[realms.sind.mesh]
dns_image = "coredns/coredns:latest"

[realms.sind.clusters.t4]
image = "ghcr.io/gsi-hpc/sind-node:latest"
adopt = true

[realms.sind.clusters.t4.controller]

[realms.sind.clusters.t4.workers.default]
count = 4

[realms.sind.clusters.t4.slurm]
main = \"\"\"
TaskPlugin=task/affinity
DefMemPerCPU=0
\"\"\"
"""


def replayed():
    """Return a world with the cluster in it."""
    world = new_world(seed=1, info=NO_LIMITS)
    facts = json.dumps({**IMAGE_FACTS, "people": {}})
    world.engine.add_image(IMAGE, labels={"sind.slurm.version": "26.05.5", IMAGE_LABEL: facts})
    world.engine.add_image("coredns/coredns:latest")
    for found in map(inspection.network, _read("networks.json")):
        world.engine.create_network(NetworkSpec(name=found.name, labels=found.labels))
    for found in map(inspection.volume, _read("volumes.json")):
        world.engine.create_volume(found.name, found.labels, found.driver)
    _fill(world, "sind-t4-munge", "/etc/munge", {"munge.key": b"k" * 128}, mode=0o400, owner=900)
    names = ("slurm.conf", "sind-nodes.conf", "cgroup.conf", "plugstack.conf")
    _fill(world, "sind-t4-config", "/etc/slurm", {name: (RECORDED / name).read_bytes() for name in names})
    _fill(world, "sind-t4-config", "/etc/slurm", {"plugstack.conf.d/.keep": b""})
    for found in sorted(map(inspection.container, _read("containers.json")), key=lambda one: one.name):
        container = world.engine.create_container(evolve(found.spec, endpoints=_places(found.spec)))
        _prepare(world, container, found.spec)
        world.engine.start(container)
    text = (RECORDED / "Corefile").read_text(encoding="utf-8")
    for container in world.engine.containers():
        network = next(
            (place for place in _seen(world, container.name).endpoints if place.network == "sind-t4-net"), None
        )
        short = container.name.removeprefix("sind-t4-")
        lines = [line for line in text.splitlines() if f" {short}.t4" in line]
        if network and lines:
            text = text.replace(lines[0].split()[0] + f" {short}.", f"{network.address} {short}.")
    world.engine.put_files("sind-dns", [Entry(path="/Corefile", content=text.encode())])
    return world


def _read(name):
    return json.loads((RECORDED / name).read_text(encoding="utf-8"))


def _places(spec):
    return tuple(Endpoint(network=place.network, gw_priority=place.gw_priority) for place in spec.endpoints)


def _seen(world, name):
    return world.engine.inspect_container(name).spec


def _fill(world, volume, target, files, *, mode=0o644, owner=0):
    mount = Mount(target=target, kind="volume", source=volume)
    helper = world.engine.create_container(ContainerSpec(name="helper", image=IMAGE, labels={}, mounts=(mount,)))
    entries = [Entry(path=target, kind="dir", mode=0o700 if owner else 0o755, uid=owner, gid=owner)]
    entries += [
        Entry(path=f"{target}/{path.rpartition('/')[0]}", kind="dir", mode=0o755) for path in files if "/" in path
    ]
    entries += [
        Entry(path=f"{target}/{path}", content=content, mode=mode, uid=owner, gid=owner)
        for path, content in files.items()
    ]
    world.engine.put_files(helper, entries)
    world.engine.remove_container(helper)


def _prepare(world, container, spec):
    """Put what a node, the relay and the DNS server had in themselves."""
    known_hosts = (RECORDED / "known_hosts").read_bytes()
    entries = []
    if spec.name == "sind-ssh":
        entries = [
            Entry(path="/root/.ssh/id_ed25519.pub", content=b"ssh-ed25519 AAAA\n"),
            Entry(path="/root/.ssh/known_hosts", content=known_hosts),
        ]
    elif "t4" in spec.name:
        daemon = "slurmctld" if spec.hostname == "controller" else "slurmd"
        key = known_hosts.split(b"\n")[0].partition(b" ")[2]
        entries = [
            Entry(path=f"{UNITS}/{daemon}.service", kind="link", link=f"/usr/lib/systemd/system/{daemon}.service"),
            Entry(path="/etc/ssh/ssh_host_ed25519_key", content=b"private", mode=0o600),
            Entry(path="/etc/ssh/ssh_host_ed25519_key.pub", content=key + b" root@buildkitsandbox\n"),
        ]
    world.engine.put_files(container, entries)


def test_it_is_written_down(tmp_path):
    world = replayed()

    _, written = taken(world, tmp_path, T4)

    assert written.text == EXPECTED
    assert written.notes == ()


def test_it_is_taken_over_with_a_record_and_nothing_else(tmp_path):
    world = replayed()
    before = ids(world)
    declaration, _ = taken(world, tmp_path, T4)

    assert [str(change.address) for change in world.plan(declaration).changes] == ["sind/t4/record"]
    world.apply(declaration)

    assert world.plan(declaration).changes == ()
    assert ids(world) == before
