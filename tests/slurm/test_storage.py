"""The data folder on the host instead of a volume."""

import shutil

import pytest

from tests.real import share_of

pytestmark = pytest.mark.proof


@pytest.fixture(params=["plain", "a b:c,d"])
def folder(lab, request):
    """A folder of the host that the engine sees at the same path; names that break `-v` too (FC-43)."""
    base = share_of(lab.address) / lab.name
    path = base / request.param
    path.mkdir(parents=True)
    (path / "from-host").write_text("hello", encoding="utf-8")
    yield path
    shutil.rmtree(base)


def test_a_folder_of_the_host(lab, folder):
    """It is a privilege that must be allowed; it outlives the cluster."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, more=f'[CLUSTER.storage]\nhost_path = "{folder}"\nmount_path = "/scratch"'))

    privilege = f"! {realm}/dev: every node reads and writes the host's {folder}"
    assert privilege in lab.plan(code=2).out
    refused = lab.apply(code=1)
    assert privilege in refused.out
    assert "--allow-privileged" in refused.err
    assert lab.names() == set()

    lab.apply("--allow-privileged")
    lab.settled()
    for short in ("controller", "worker-0"):
        assert lab.read(f"{realm}-dev-{short}", "cat", "/scratch/from-host") == "hello"
        assert lab.inspect(f"{realm}-dev-{short}")["Config"]["Labels"]["sind.data.hostpath"] == str(folder)
    lab.read(f"{realm}-dev-worker-0", "sh", "-c", "echo there > /scratch/from-node")
    assert (folder / "from-node").read_text(encoding="utf-8") == "there\n"
    assert f"{realm}-dev-data" not in lab.names()

    # What is there already is no new privilege.
    lab.docker.stop(f"{realm}-dev-worker-0")
    lab.apply()
    lab.destroy()
    assert lab.names() == set()
    assert sorted(path.name for path in folder.iterdir()) == ["from-host", "from-node"]
