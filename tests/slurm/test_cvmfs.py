"""CVMFS: the volume of a plugin where the engine has one, the host's own folder elsewhere; neither is ever removed."""

import shutil

import pytest

from tests.fake_volume_plugin import engine_root, volume_plugin

pytestmark = pytest.mark.proof

HELLO = "hello"
WANTED = "[CLUSTER.storage]\ncvmfs = true"


def check_nodes(lab, realm, backend):
    for short in ("controller", "worker-0"):
        node = f"{realm}-dev-{short}"
        assert lab.read(node, "cat", f"/cvmfs/{HELLO}") == "from cvmfs"
        assert lab.execute(node, "touch", "/cvmfs/new").code != 0
        assert lab.inspect(node)["Config"]["Labels"]["sind.cvmfs"] == backend


def test_the_volume_of_a_plugin(lab):
    """The volume is shared by all clusters of all realms: a destroy leaves it."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, more=WANTED))
    with volume_plugin(lab.address, "cvmfs:latest", {HELLO: b"from cvmfs\n"}):
        lab.apply()
        lab.settled()
        check_nodes(lab, realm, "volume")

        lab.destroy()
        assert lab.names() == set()
        assert [found["Name"] for found in lab.docker.volumes(filters={"name": "cvmfs"})["Volumes"]] == ["cvmfs"]
        lab.docker.remove_volume("cvmfs")


def test_the_folder_of_the_host(lab):
    """A privilege, since nodes read what is the host's."""
    realm = lab.realm()
    lab.declare(lab.cluster(realm, more=WANTED))
    folder = engine_root(lab.address) / "cvmfs"
    if folder.is_dir() and [path.name for path in folder.iterdir()] == [HELLO]:
        shutil.rmtree(folder)  # of a run that was killed
    refused = lab.apply("--allow-privileged", code=1)
    assert "/cvmfs" in refused.err
    assert lab.names() == set()

    folder.mkdir()
    try:
        (folder / HELLO).write_text("from cvmfs\n", encoding="utf-8")
        assert f"! {realm}/dev: every node reads the host's /cvmfs" in lab.plan(code=2).out
        lab.apply("--allow-privileged")
        lab.settled()
        check_nodes(lab, realm, "hostPath")
        lab.destroy()
        assert lab.names() == set()
    finally:
        shutil.rmtree(folder)
