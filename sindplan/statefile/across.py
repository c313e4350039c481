"""What must hold across files, realms and clusters: one declaration, and no name or address twice."""

import ipaddress
from collections.abc import Iterator, Sequence

from attrs import frozen

from sindplan.errors import Problem
from sindplan.model import names
from sindplan.statefile.fault import Fault
from sindplan.statefile.source import Source, cluster_path, clusters_of
from sindplan.statefile.wording import KeyPath, quoted

_VOLUMES = ("config", "munge", "data", "state", "home", "db")


@frozen
class Owner:
    """Something that Docker objects are named after: a cluster, or a realm's mesh where `cluster` is empty."""

    source: Source
    realm: str
    cluster: str = ""

    @property
    def path(self) -> KeyPath:
        """Where it is declared."""
        return cluster_path(self.realm, self.cluster) if self.cluster else ("realms", self.realm)

    def __str__(self) -> str:
        if self.cluster:
            return f"cluster {quoted(self.cluster)} of realm {quoted(self.realm)}"
        return f"the mesh of realm {quoted(self.realm)}"

    def with_place(self) -> str:
        """Return it with file and line, for a sentence about another one."""
        return f"{self} ({self.source.place(self.path)})"

    def problem(self, what: str, fix: str, *keys: str) -> Problem:
        """Return a problem at this, or at a key below it."""
        return self.source.problem(Fault((*self.path, *keys), what, fix))


def problems_across(sources: Sequence[Source]) -> Iterator[Problem]:
    """Yield what is wrong with files that are each right by themselves."""
    clusters = tuple(Owner(source, *at[:2]) for source in sources for at in clusters_of(source.declaration))
    yield from _names_agree(sources)
    yield from _clusters_are_declared_once(clusters)
    yield from _meshes_agree(sources)
    yield from _computed_names_differ(sources, clusters)
    yield from _subnets_are_apart(clusters)


def _names_agree(sources: Sequence[Source]) -> Iterator[Problem]:
    path = ("name",)
    named = [source for source in sources if source.said(path)]
    for source in named[1:]:
        first = named[0]
        if source.declaration.name != first.declaration.name:
            what = f"The name is {quoted(first.declaration.name)} in {first.place(path)}."
            yield source.problem(Fault(path, what, "Files that are read together have the same name."))


def _clusters_are_declared_once(clusters: Sequence[Owner]) -> Iterator[Problem]:
    first: dict[KeyPath, Owner] = {}
    for owner in clusters:
        other = first.setdefault(owner.path, owner)
        if other is not owner:
            yield owner.problem(f"This is declared already: {other.with_place()}.", "Declare a cluster in one file.")


def _meshes_agree(sources: Sequence[Source]) -> Iterator[Problem]:
    first: dict[str, Source] = {}
    for source in sources:
        for name, realm in source.declaration.realms.items():
            path = ("realms", name, "mesh")
            if not source.said(path):
                continue
            other = first.setdefault(name, source)
            if other.declaration.realms[name].mesh != realm.mesh:
                what = f"The mesh is declared differently in {other.place(path)}."
                yield source.problem(Fault(path, what, "Declare a realm's mesh in one file."))


def _computed_names_differ(sources: Sequence[Source], clusters: Sequence[Owner]) -> Iterator[Problem]:
    meshes = [Owner(source, realm) for source in sources for realm in source.declaration.realms]
    owners: dict[tuple[str, str], Owner] = {}
    told: set[tuple[KeyPath, KeyPath]] = set()
    for owner in (*meshes, *clusters):
        if not _has_names(owner):
            continue
        for kind, name in _computed(owner):
            other = owners.setdefault((kind, name), owner)
            pair = (other.path, owner.path)
            if other.path != owner.path and pair not in told:
                told.add(pair)
                what = f"This would have the {kind} {quoted(name)}, as {other.with_place()}."
                yield owner.problem(what, "Rename one of the two.")


def _has_names(owner: Owner) -> bool:
    """Say whether names can be computed: what is refused by its own name needs no second problem."""
    if owner.cluster in names.RESERVED_CLUSTER_NAMES:
        return False
    return names.is_dns_label(owner.realm) and (not owner.cluster or names.is_dns_label(owner.cluster))


def _computed(owner: Owner) -> Iterator[tuple[str, str]]:
    """Yield the kind and name of every Docker object that an owner can have."""
    realm, cluster = owner.realm, owner.cluster
    if not cluster:
        yield "container", names.dns_container(realm)
        yield "container", names.relay_container(realm)
        yield "network", names.mesh_network(realm)
        yield "network", names.lock(realm)
        yield "volume", names.ssh_volume(realm)
        return
    # One worker stands for all: equal worker names end in equal numbers, so all of two clusters' collide or none.
    for short in (*names.FIXED_NODES, names.worker(0)):
        yield "container", names.container(realm, cluster, short)
    yield "network", names.network(realm, cluster)
    yield "network", names.record(realm, cluster)
    for kind in _VOLUMES:
        yield "volume", names.volume(realm, cluster, kind)


def _subnets_are_apart(clusters: Sequence[Owner]) -> Iterator[Problem]:
    subnets = [(network, owner) for owner in clusters if (network := _subnet(owner)) is not None]
    # Networks hold each other or are apart, so in this order one can only overlap the widest one that began before it.
    subnets.sort(key=lambda entry: (entry[0].network_address, entry[0].prefixlen))
    widest: tuple[ipaddress.IPv4Network, Owner] | None = None
    for network, owner in subnets:
        if widest is None or not network.overlaps(widest[0]):
            widest = network, owner
        elif owner.path != widest[1].path:
            what = f"{quoted(str(network))} overlaps {quoted(str(widest[0]))} of {widest[1].with_place()}."
            yield owner.problem(what, "Choose networks that share no address.", "subnet")


def _subnet(owner: Owner) -> ipaddress.IPv4Network | None:
    cluster = owner.source.declaration.realms[owner.realm].clusters[owner.cluster]
    try:
        return ipaddress.IPv4Network(cluster.subnet or "")
    except ValueError:
        return None
