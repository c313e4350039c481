"""Names that sind shares."""

import pytest

from sindplan.model import names


@pytest.mark.parametrize(
    ("short", "index"),
    [
        ("worker-0", 0),
        ("worker-10", 10),
        ("worker-01", None),
        ("worker-", None),
        ("worker--1", None),
        ("worker-1\n", None),
        ("worker-٣", None),
        ("xworker-1", None),
        ("controller", None),
        ("worker-" + "9" * 5000, None),
    ],
)
def test_workers_have_an_index(short: str, index: int | None) -> None:
    assert names.worker_index(short) == index
    assert index is None or names.worker(index) == short


def test_roles() -> None:
    roles = [names.role_of(short) for short in (*names.FIXED_NODES, "worker-3")]

    assert roles == ["controller", "controller", "db", "api", "submitter", "worker"]


@pytest.mark.parametrize(
    ("text", "fits"),
    [("dev", True), ("0", True), ("a" * 63, True), ("42-dev", True), ("a--b", True)]
    + [(text, False) for text in ("", "a" * 64, "-a", "a-", "A", "a_b", "a.b", "a\n", "dév", "d\u0435v", "٣", "a b")],
)
def test_dns_labels(text: str, fits: bool) -> None:
    assert names.is_dns_label(text) is fits


def test_names_of_one_cluster() -> None:
    assert names.container("sind", "dev", "worker-0") == "sind-dev-worker-0"
    assert names.network("sind", "dev") == "sind-dev-net"
    assert names.volume("sind", "dev", "config") == "sind-dev-config"
    assert names.record("sind", "dev") == "sind-dev-record"
    assert names.fqdn("sind", "dev", "worker-0") == "worker-0.dev.sind.sind"
    assert names.search_domain("sind", "dev") == "dev.sind.sind"
    assert names.mesh_network("sind") == "sind-mesh"
    assert names.ssh_volume("sind") == "sind-ssh-config"
