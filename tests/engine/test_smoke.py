"""The way of the README on a real engine: apply, a job, an empty plan, a stopped worker, destroy."""

import pytest

from tests.contract.stage import IMAGE
from tests.real import NO_CHANGES, OLD_IMAGE, Lab

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("image", [IMAGE, OLD_IMAGE])
def test_from_a_file_to_a_job_and_back(lab, image):
    """Both releases of Slurm go the whole way."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, image=image))

    assert lab.plan(code=2).counts[1:] == (0, 0)
    lab.apply()
    assert lab.read(f"{realm}-dev-controller", "srun", "hostname") == "worker-0"
    assert lab.states(realm) == {"worker-0": "idle"}

    assert NO_CHANGES in lab.plan(code=0).out
    before = lab.snapshot()
    assert NO_CHANGES in lab.apply().out
    assert lab.snapshot() == before

    lab.destroy()
    assert lab.names() == set()
    assert "Nothing to destroy." in lab.destroy().out


def test_a_stopped_worker_is_started_again(lab):
    """One change, of that worker alone; the very container is started, and takes jobs again (FC-20)."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, workers="count = 2"))
    lab.apply()
    worker = f"{realm}-dev-worker-1"
    before = lab.identity()

    lab.docker.stop(worker)

    plan = lab.plan(code=2)
    assert plan.counts == (0, 1, 0)
    assert f"{realm}/dev/node/worker-1 will be updated in-place" in plan.out
    lab.apply()
    lab.settled()
    after = lab.identity()
    assert after.pop(worker)[0] == before.pop(worker)[0]
    assert after == before
    assert lab.states(realm) == {"worker-0": "idle", "worker-1": "idle"}
    assert lab.read(f"{realm}-dev-controller", "srun", "-w", "worker-1", "hostname") == "worker-1"


def test_what_is_declared_twice_is_made_once(lab):
    """A second declaration may share a realm; the mesh goes with the last cluster of any owner."""
    realm = lab.realm()
    first = Lab(lab.engine, lab.docker, lab.address, lab.folder / "first", realms=lab.realms)
    first.folder.mkdir()
    first.declare(first.cluster(realm, "dev"))
    lab.declare(lab.cluster(realm, "qa"))
    first.apply()
    lab.apply()
    mesh = lab.identity(f"{realm}-dns", f"{realm}-ssh")

    foreign = first.sindplan("plan", "-f", str(_claiming(first, realm)), code=1)
    assert f"{realm}/qa exists and belongs to the declaration named {lab.name!r}" in foreign.err

    first.destroy()
    assert lab.identity(f"{realm}-dns", f"{realm}-ssh") == mesh
    assert not any(name.startswith(f"{realm}-dev") for name in lab.names())
    lab.settled()
    lab.destroy()
    assert lab.names() == set()


def _claiming(lab, realm):
    path = lab.folder / "claim.toml"
    path.write_text(f'version = 1\nname = "{lab.name}"\n{lab.cluster(realm, "qa")}', encoding="utf-8")
    return path
