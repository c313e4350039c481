"""Memory and CPUs of nodes that run: what the engine is asked for, and that no container is made anew for it."""

import pytest

from tests.limiting_engine import limiting
from tests.real import new_lab

pytestmark = pytest.mark.proof

MIB = 1024**2


def test_memory_is_changed_in_place(tmp_path):
    """One call for each worker of the group and nothing for others; Slurm is told, and a job goes on."""
    with new_lab(tmp_path) as lab, limiting(lab.address) as engine:
        lab.address = engine.address
        realm = lab.realm()
        lab.declare(lab.cluster(realm, workers='count = 2\nmemory = "256m"'))
        lab.apply()
        lab.settled()
        before = lab.identity()
        workers = {before[name][0] for name in (f"{realm}-dev-worker-0", f"{realm}-dev-worker-1")}
        assert {engine.held[one]["Memory"] for one in workers} == {256 * MIB}
        assert engine.updates == []
        job = lab.submit(realm, "worker-0", 600)

        lab.declare(lab.cluster(realm, workers='count = 2\nmemory = "384m"'))
        assert '~ memory = "256m" -> "384m"' in lab.plan(code=2).out
        assert engine.updates == []
        lab.apply()

        assert {one for one, _ in engine.updates} == workers
        assert len(engine.updates) == len(workers)
        for _, body in engine.updates:
            assert (body["Memory"], body["MemorySwap"]) == (384 * MIB, 384 * MIB)
        assert lab.identity() == before
        assert lab.job(realm, job) == "RUNNING"
        seen = lab.read(f"{realm}-dev-controller", "sinfo", "-hN", "-o", "%N %m").splitlines()
        assert seen == ["worker-0 384", "worker-1 384"]
        lab.settled()
