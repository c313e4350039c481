"""What `sindplan import` writes: the declaration of clusters that run, of one owner or of none."""

from collections.abc import Collection, Mapping

from attrs import evolve, frozen

from sindplan.engine.port import Engine
from sindplan.errors import SindplanError
from sindplan.importing.found import STORAGE_SECRET, imported
from sindplan.importing.power import differing
from sindplan.importing.toml import state_file
from sindplan.kinds import labels
from sindplan.model.address import Address
from sindplan.model.declaration import Cluster, Declaration, Mesh, Realm, SecretReference, Slurm
from sindplan.model.facts import Facts, ImageFacts, MeshFacts
from sindplan.model.layout import images_of, lay_out
from sindplan.observe.gather import take_inventory
from sindplan.observe.inventory import Found
from sindplan.observe.observation import look_up, observe
from sindplan.preflight.leftovers import left
from sindplan.slurm.masking import HIDDEN
from sindplan.slurm.port import Slurm as SlurmPort
from sindplan.statefile.recorded import recorded_declaration


@frozen(kw_only=True)
class Written:
    """A declaration of what runs, and what it cannot say, a sentence each."""

    declaration: Declaration
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The state file."""
        return state_file(self.declaration, self.notes)


def import_clusters(engine: Engine, slurm: SlurmPort, wanted: Collection[Address], *, name: str) -> Written:
    """Write down clusters as they are. Only reads.

    Args:
        wanted: Clusters, or realms for all of theirs.
        name: Name of the declaration, for clusters that have no owner yet.

    Raises:
        SindplanError: One is not there, or they belong to several declarations.
    """
    there = take_inventory(engine).clusters()
    chosen = _chosen(wanted, there)
    owner = _owner({address: there[address] for address in chosen}, name)
    before = observe(engine, slurm, chosen)
    recorded = recorded_declaration(
        owner,
        {
            address: there[address].records[0].labels.get(labels.DECLARATION, "")
            for address in chosen
            if there[address].records
        },
    )
    facts = before.facts()
    applied = {cluster.address: cluster for cluster in lay_out(recorded, facts).clusters}
    clusters: dict[Address, Cluster] = {}
    notes: list[str] = []
    for evidence in before.evidence.clusters:
        address = evidence.address
        if evidence.records:
            cluster, more = _readable(recorded.realms[address.realm].clusters[address.cluster])
            more += differing(applied[address], evidence.nodes)
        elif evidence.nodes:
            done = imported(evidence, facts)
            cluster, more = done.cluster, [*done.notes]
        else:
            raise SindplanError(
                f"Of {address} only {left(there[address])} is left; there is no cluster to write down.",
                "Remove what is left, or see what `sindplan plan` says of it.",
            )
        clusters[address] = cluster
        notes += [f"{address}: {note}" for note in more]
    return Written(declaration=_declaration(engine, owner, clusters, facts), notes=tuple(notes))


def _chosen(wanted: Collection[Address], there: Mapping[Address, Found]) -> list[Address]:
    chosen = {address for address in there for one in wanted if one in (address, Address((address.realm,)))}
    missing = [one for one in wanted if not any(one in (address, Address((address.realm,))) for address in there)]
    if missing:
        found = ", ".join(map(str, sorted(there))) or "none"
        raise SindplanError(
            f"There is no cluster {', '.join(map(str, sorted(missing)))}.", f"Clusters on this engine: {found}."
        )
    return sorted(chosen)


def _owner(chosen: Mapping[Address, Found], name: str) -> str:
    owners = {owner for found in chosen.values() for owner in found.owners if owner}
    if len(owners) > 1:
        listed = ", ".join(f"{address} of {min(found.owners)!r}" for address, found in chosen.items())
        raise SindplanError(
            f"These clusters belong to several declarations: {listed}.", "Import them into a file each."
        )
    return next(iter(owners), name)


def _readable(cluster: Cluster) -> tuple[Cluster, list[str]]:
    """Return a recorded cluster with a reference where its password was, and what is hidden in its texts."""
    notes: list[str] = []
    db = cluster.db
    if db is not None and isinstance(db.storage_password, str):
        db = evolve(db, storage_password=SecretReference(env=STORAGE_SECRET))
        notes.append(f"The storage password is looked for in the variable {STORAGE_SECRET}; it was never recorded.")
    texts = [getattr(cluster.slurm, section.name) for section in Slurm.__attrs_attrs__]
    if any(HIDDEN in part for text in texts if text for part in ([text] if isinstance(text, str) else text.values())):
        notes.append(f"Passwords in Slurm's texts were never recorded: put them where {HIDDEN} stands.")
    return evolve(cluster, db=db), notes


def _declaration(engine: Engine, owner: str, clusters: Mapping[Address, Cluster], facts: Facts) -> Declaration:
    realms: dict[str, Realm] = {}
    for realm in sorted({address.realm for address in clusters}):
        own = {address.cluster: cluster for address, cluster in clusters.items() if address.realm == realm}
        realms[realm] = Realm(clusters=own)
    plain = Declaration(version=1, name=owner, realms=realms)
    images = {reference: look_up(engine, reference) for reference in images_of(plain)}
    return evolve(
        plain,
        realms={realm: evolve(spec, mesh=_mesh(realm, plain, facts, images)) for realm, spec in realms.items()},
    )


def _mesh(realm: str, plain: Declaration, facts: Facts, images: Mapping[str, ImageFacts]) -> Mesh:
    """Return the mesh's images where they are other than they would be."""
    seen = facts.meshes.get(realm, MeshFacts())
    fresh = evolve(facts, meshes={}, images={**facts.images, **images})
    would = next(mesh for mesh in lay_out(plain, fresh).meshes if mesh.realm == realm)
    relay = seen.relay_image if seen.relay_image not in ("", would.relay_image) else None
    if relay is not None:
        with_relay = evolve(plain, realms={realm: evolve(plain.realms[realm], mesh=Mesh(relay_image=relay))})
        would = lay_out(with_relay, fresh).meshes[0]
    dns = seen.dns_image if seen.dns_image not in ("", would.dns_image) else None
    return Mesh(dns_image=dns, relay_image=relay)
