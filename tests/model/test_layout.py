"""What a declaration is laid out to: nodes by role, who knows the users, what nodes are given."""

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from sindplan.engine.records import EngineInfo
from sindplan.engine.simulated import DEFAULT_INFO
from sindplan.model.address import Address
from sindplan.model.declaration import Identity
from sindplan.model.facts import ClusterFacts, Facts
from sindplan.model.layout import ClusterLayout, lay_out
from tests.strategies import SETTINGS, declared

DEV = Address.parse("sind/dev")


def laid_out(facts: Facts | None = None, **cluster: Any) -> ClusterLayout:
    document = {
        "version": 1,
        "name": "lab",
        "realms": {"sind": {"clusters": {"dev": {"image": "node:1", **cluster}}}},
    }
    (found,) = lay_out(declared(document), facts or Facts(engine=DEFAULT_INFO)).clusters
    return found


EVERYTHING: dict[str, Any] = {
    "controller": {"backup": True},
    "db": {},
    "api": {},
    "submitter": {},
    "workers": {"cpu": {"count": 2}, "byhand": {"managed": False}},
}


def test_nodes_come_in_the_order_of_their_roles() -> None:
    cluster = laid_out(subnet="10.0.0.0/24", **EVERYTHING)

    assert {node.short: (node.role, node.address) for node in cluster.nodes} == {
        "controller": ("controller", "10.0.0.10"),
        "controller-backup": ("controller", "10.0.0.11"),
        "db": ("db", "10.0.0.12"),
        "api": ("api", "10.0.0.13"),
        "submitter": ("submitter", "10.0.0.14"),
        "worker-0": ("worker", "10.0.0.20"),
        "worker-1": ("worker", "10.0.0.21"),
        "worker-2": ("worker", "10.0.0.22"),
    }
    assert [node.short for node in cluster.nodes][:5] == ["controller", "controller-backup", "db", "api", "submitter"]
    assert [node.short for node in cluster.controllers] == ["controller", "controller-backup"]
    assert [node.short for node in cluster.slurm_workers] == ["worker-1", "worker-2"]


def test_a_backup_is_what_its_controller_is() -> None:
    cluster = laid_out(controller={"backup": True, "cpus": 2, "memory": "1g", "cap_add": ["SYS_PTRACE"]})

    first, backup = cluster.controllers
    assert evolve(backup, short=first.short, address=first.address) == first


# sind.md 6.4, end: unmanaged nodes and identity local all; nss_slurm all but managed workers; client_ids the submitter, or the
# controllers when there is no submitter or controller_users is set. An unmanaged db, api or worker has them in any case.
KNOWING = [
    ("local", {}, {"controller", "controller-backup", "db", "api", "submitter", "worker-0", "worker-1", "worker-2"}),
    ("nss_slurm", {}, {"controller", "controller-backup", "db", "api", "submitter", "worker-0"}),
    ("client_ids", {}, {"submitter", "worker-0"}),
    ("client_ids", {"controller_users": True}, {"submitter", "worker-0", "controller", "controller-backup"}),
    ("client_ids", {"submitter": None}, {"worker-0", "controller", "controller-backup"}),
    ("client_ids", {"db": {"managed": False}, "api": {"managed": False}}, {"submitter", "worker-0", "db", "api"}),
    ("nss_slurm", {"submitter": None, "db": None}, {"controller", "controller-backup", "api", "worker-0"}),
]


@pytest.mark.parametrize(("identity", "more", "knowing"), KNOWING)
def test_who_knows_the_users(identity: Identity, more: dict[str, Any], knowing: set[str]) -> None:
    tables = {key: table for key, table in {**EVERYTHING, **more}.items() if table is not None}

    cluster = laid_out(identity=identity, users={"alice": {}}, **tables)

    # The group that nobody manages comes first in the alphabet, so it has worker-0.
    assert [node.short for node in cluster.workers if not node.managed] == ["worker-0"]
    assert {node.short for node in cluster.nodes if node.knows_users} == knowing


@pytest.mark.parametrize("where", [{"managed": False}, {"controller": {"managed": False, "backup": True}}])
def test_in_an_unmanaged_cluster_no_node_is_managed_and_all_know_the_users(where: dict[str, Any]) -> None:
    tables = {**EVERYTHING, "workers": {"cpu": {"count": 2}}, **where}

    cluster = laid_out(users={"alice": {}}, **tables)

    assert not cluster.managed
    assert not any(node.managed for node in cluster.nodes)
    assert all(node.knows_users for node in cluster.nodes)
    assert not any(cluster.managed_role(node.role) for node in cluster.nodes)


@pytest.mark.parametrize("role", ["db", "api"])
def test_a_role_is_managed_unless_it_says_no(role: str) -> None:
    assert laid_out(**{role: {}}).managed_role(role)
    assert laid_out(**{role: {"managed": True}}).managed_role(role)
    assert not laid_out(**{role: {"managed": False}}).managed_role(role)
    assert not laid_out().managed_role(role)


def test_privileges_are_the_clusters_then_the_nodes_each_once() -> None:
    cluster = laid_out(
        defaults={"cap_add": ["SYS_PTRACE", "NET_ADMIN"], "devices": ["/dev/fuse"]},
        controller={"cap_add": ["NET_ADMIN", "SYS_TIME"], "devices": []},
        workers={"a": {"cap_drop": ["MKNOD"], "devices": ["/dev/kvm", "/dev/fuse"], "security_opt": ["x=y"]}},
    )
    worker = cluster.workers[0]

    assert cluster.controller.cap_add == ("SYS_PTRACE", "NET_ADMIN", "SYS_TIME")
    # An empty list adds nothing; it takes nothing away either (sind v0.11).
    assert cluster.controller.devices == ("/dev/fuse",)
    assert (worker.cap_add, worker.cap_drop) == (("SYS_PTRACE", "NET_ADMIN"), ("MKNOD",))
    assert (worker.devices, worker.security_opt) == (("/dev/fuse", "/dev/kvm"), ("x=y",))


_WORDS = st.lists(st.sampled_from(("A", "B", "C", "D")), max_size=4)


@SETTINGS
@given(_WORDS, _WORDS)
def test_merged_lists_hold_each_word_once_and_the_clusters_first(defaults: list[str], own: list[str]) -> None:
    found = laid_out(defaults={"cap_add": defaults}, controller={"cap_add": own}).controller.cap_add

    assert set(found) == {*defaults, *own}
    assert len(set(found)) == len(found)
    assert set(found[: len(set(defaults))]) == set(defaults)


def _plugged(*, plugin: bool) -> EngineInfo:
    return evolve(DEFAULT_INFO, volume_plugins=("cvmfs",) if plugin else ())


@pytest.mark.parametrize(
    ("plugin", "seen", "expected"),
    [
        (True, "", "volume"),
        (False, "", "hostPath"),
        # What its nodes have stays, whatever was installed since.
        (False, "volume", "volume"),
        (True, "hostPath", "hostPath"),
    ],
)
def test_cvmfs_stays_what_it_is_where_it_exists(plugin: bool, seen: str, expected: str) -> None:
    facts = Facts(engine=_plugged(plugin=plugin), clusters={DEV: ClusterFacts(cvmfs=seen)})

    assert laid_out(facts, storage={"cvmfs": True}).cvmfs == expected
    assert laid_out(facts).cvmfs == ""
