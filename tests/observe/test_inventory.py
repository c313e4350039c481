"""Whose is what: exact labels and exact names (field cases FC-01, FC-02, FC-03, FC-14)."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.engine.records import ContainerSummary, Network, Volume
from sindplan.engine.simulated import DEFAULT_INFO
from sindplan.kinds import labels
from sindplan.model.address import Address
from sindplan.observe.inventory import Inventory
from sindplan.observe.places import MeshPlace
from sindplan.workflow import clusters_of
from tests.strategies import SETTINGS, declared
from tests.world import IMAGE, new_world


def container(name: str, marks: Mapping[str, str]) -> ContainerSummary:
    return ContainerSummary(
        id=f"id of {name}", name=name, image="x", image_id="y", labels=marks, state="running", networks={}
    )


def node(realm: str, cluster: str, short: str, **more: str) -> ContainerSummary:
    marks = {**labels.node(realm, cluster, short), **more}
    return container(f"{realm}-{cluster}-{short}", marks)


def inventory(
    *containers: ContainerSummary, networks: tuple[Network, ...] = (), volumes: tuple[Volume, ...] = ()
) -> Inventory:
    return Inventory(engine=DEFAULT_INFO, containers=containers, networks=networks, volumes=volumes)


def nodes(found: Inventory) -> dict[str, list[str]]:
    return {str(address): sorted(one.nodes) for address, one in found.clusters().items()}


def test_clusters_of_one_name_in_two_realms_are_two() -> None:
    found = inventory(node("a", "dev", "controller"), node("b", "dev", "controller"), node("b", "dev", "worker-0"))

    assert nodes(found) == {"a/dev": ["controller"], "b/dev": ["controller", "worker-0"]}


def test_a_name_is_no_prefix_of_another() -> None:
    clusters = [(realm, cluster) for realm in ("ci", "ci-42") for cluster in ("dev", "dev-2", "dev2", "xdev")]

    found = inventory(*(node(realm, cluster, "worker-1") for realm, cluster in clusters))

    assert nodes(found) == {f"{realm}/{cluster}": ["worker-1"] for realm, cluster in clusters}


def test_equal_names_are_told_apart_by_their_labels() -> None:
    # ci + 42-dev and ci-42 + dev compute the same names.
    found = inventory(
        node("ci", "42-dev", "controller"),
        volumes=(
            Volume(name="ci-42-dev-config", driver="local", labels=labels.volume("ci", "42-dev", "config")),
            Volume(name="ci-42-dev-munge", driver="local", labels=labels.volume("ci-42", "dev", "munge")),
        ),
    )

    clusters = {str(address): one for address, one in found.clusters().items()}
    assert set(clusters["ci/42-dev"].nodes) == {"controller"}
    assert set(clusters["ci/42-dev"].volumes) == {"config"}
    assert set(clusters["ci-42/dev"].volumes) == {"munge"}
    assert not clusters["ci-42/dev"].nodes


@pytest.mark.parametrize(
    ("name", "marks"),
    [
        ("by-hand", {}),
        ("sind-dev-worker-01", {}),
        ("sind-dev-worker-", {}),
        ("sind-dev-gpu-0", {}),
        ("sind-dev-worker-0-old", {}),
        ("sind-dev-worker-01-replaced", {}),
        ("sind-dev-worker-0-replaced", {labels.ROLE: "controller"}),
        ("sind-dev-2-worker-0", {}),
        ("sind-dev-controller", {labels.ROLE: "worker"}),
        ("sind-dev-worker-0", {labels.ROLE: "controller"}),
        ("sind-dev-worker-0", {labels.ROLE: ""}),
    ],
)
def test_labels_alone_make_no_node(name: str, marks: dict[str, str]) -> None:
    """Labels leak out of images: a container of a committed node has them all."""
    leaked = {**labels.node("sind", "dev", "worker-0"), **marks}

    (found,) = inventory(container(name, leaked)).clusters().values()

    assert dict(found.nodes) == {}
    assert found.strays == (name,)


@pytest.mark.parametrize(
    "marks",
    [
        {},
        {labels.CLUSTER: "dev"},
        {labels.REALM: "sind"},
        {labels.REALM: "", labels.CLUSTER: "dev"},
        {labels.REALM: "sind", labels.CLUSTER: ""},
        {"com.docker.compose.project": "sind-dev"},
    ],
)
def test_names_alone_make_nothing(marks: dict[str, str]) -> None:
    found = inventory(
        container("sind-dev-worker-0", marks),
        networks=(Network(id="n", name="sind-dev-net", labels=marks),),
        volumes=(Volume(name="sind-dev-config", driver="local", labels=marks),),
    )

    assert found.clusters() == {}
    assert found.mesh_place("sind", "dns") == MeshPlace()


def test_networks_and_volumes_must_fit_by_name_too() -> None:
    found = inventory(
        node("sind", "dev", "controller"),
        networks=(
            Network(id="1", name="other", labels=labels.network("sind", "dev")),
            Network(id="2", name="sind-dev-net", labels=labels.network("sind", "dev")),
        ),
        volumes=(
            Volume(name="sind-dev-scratch", driver="local", labels=labels.volume("sind", "dev", "scratch")),
            Volume(name="sind-dev-config", driver="local", labels=labels.volume("sind", "dev", "config")),
        ),
    )

    (cluster,) = found.clusters().values()
    assert cluster.network is not None
    assert cluster.network.id == "2"
    assert set(cluster.volumes) == {"config"}


def test_a_single_volume_is_a_cluster_still() -> None:
    volume = Volume(name="sind-dev-data", driver="local", labels=labels.volume("sind", "dev", "data"))

    assert list(inventory(volumes=(volume,)).clusters()) == [Address(("sind", "dev"))]


# Owners


def record(owner: str, created: str = "1", name: str = "sind-dev-record") -> Network:
    marks = {labels.RECORD: "1", labels.RECORD_REALM: "sind", labels.RECORD_CLUSTER: "dev", labels.OWNER: owner}
    return Network(id=f"r{created}", name=name, labels=marks, config_only=True, created=created)


@pytest.mark.parametrize(
    ("owners", "records", "expected"),
    [
        (["lab"], [], {"lab"}),
        (["", ""], [], {""}),
        # A worker that sind added does not make the cluster sind's.
        (["lab", ""], [], {"lab"}),
        (["lab", "other"], [], {"lab", "other"}),
        # The record decides: of a cluster that was taken over, nodes keep the labels they have.
        (["lab", ""], [record("other")], {"other"}),
        (["lab"], [record("old", "1"), record("new", "2", "sind-dev-record-next")], {"new"}),
        (["lab"], [record("new", "2"), record("old", "1", "sind-dev-record-next")], {"new"}),
    ],
)
def test_whose_a_cluster_is(owners: list[str], records: list[Network], expected: set[str]) -> None:
    containers = [node("sind", "dev", f"worker-{i}", **{labels.OWNER: owner}) for i, owner in enumerate(owners)]

    (found,) = inventory(*containers, networks=tuple(records)).clusters().values()

    assert found.owners == expected


def test_records_of_equal_time_are_told_apart_always_in_the_same_way() -> None:
    one, two = record("a", "1"), Network(**{**_fields(record("b", "1", "next")), "id": "r9"})

    for networks in ((one, two), (two, one)):
        (found,) = inventory(networks=networks).clusters().values()
        assert found.owners == {"b"}


def _fields(network: Network) -> dict[str, object]:
    import attrs

    return attrs.asdict(network, recurse=False)


# The mesh


def test_the_mesh_is_found_by_name_and_labels() -> None:
    found = inventory(
        container("sind-dns", labels.mesh_container("sind", "dns")),
        container("sind-ssh", labels.mesh_container("other", "ssh")),
        networks=(Network(id="m", name="sind-mesh", labels=labels.mesh_network("sind")),),
        volumes=(Volume(name="sind-ssh-config", driver="local", labels=labels.mesh_volume("sind")),),
    )

    assert found.mesh_network("sind") is not None
    assert found.ssh_volume("sind") is not None
    assert found.mesh_place("sind", "dns").container is not None
    assert found.mesh_place("sind", "ssh").container is None
    assert found.mesh_network("sin") is None
    # Nothing of a mesh looks like a cluster.
    assert found.clusters() == {}


# On an engine


@settings(SETTINGS, max_examples=15)
@given(st.integers(0, 999), st.sampled_from(["a/dev", "b/dev", "b/dev-2"]))
def test_destroying_one_leaves_its_namesakes(seed: int, victim: str) -> None:
    world = new_world(seed=seed)
    tables = {"image": IMAGE}
    everything = declared(
        {
            "version": 1,
            "name": "lab",
            "realms": {"a": {"clusters": {"dev": tables}}, "b": {"clusters": {"dev": tables, "dev-2": tables}}},
        }
    )
    world.apply(everything)
    address = Address.parse(victim)
    prefix = f"{address.realm}-{address.cluster}-"
    before = {found.name: found.id for found in world.engine.containers()}

    world.destroy(everything, address)

    after = {found.name: found.id for found in world.engine.containers()}
    last = address.realm == "a"
    gone = {f"{prefix}controller", f"{prefix}worker-0"} | ({"a-dns", "a-ssh"} if last else set())
    assert after == {name: id_ for name, id_ in before.items() if name not in gone}
    assert len(clusters_of(everything)) == 3
