"""One observation: from evidence to the state the planner compares, and to the facts that a declaration is expanded with."""

from collections.abc import Collection, Mapping

from attrs import field, frozen

from sindplan.engine.port import Engine
from sindplan.engine.records import Container
from sindplan.kinds import labels
from sindplan.kinds.cluster_record import members_of
from sindplan.kinds.dns import dns_address
from sindplan.kinds.evidence import ClusterEvidence, Evidence, MeshEvidence
from sindplan.kinds.known_host import lines_of
from sindplan.kinds.registry import seen
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.facts import IMAGE_LABEL, ClusterFacts, Facts, ImageFacts, Member, MeshFacts, image_facts
from sindplan.model.layout import COREDNS
from sindplan.model.network import is_free
from sindplan.model.people import Ids, ids_in, ids_of
from sindplan.observe.gather import gather, take_inventory
from sindplan.observe.inventory import Inventory
from sindplan.observe.surroundings import HERE, Surroundings
from sindplan.observe.threads import pool
from sindplan.plan.diff import Observed
from sindplan.slurm.files import NODES_FILE, node_lines
from sindplan.slurm.port import Slurm


@frozen(kw_only=True)
class Observation:
    """What there is.

    Attributes:
        inventory: Everything on the engine.
        evidence: What was found of the clusters that were asked for.
        images: What is known of images, by reference.
        running: What is known of the images that nodes were made from, by id.
    """

    inventory: Inventory
    evidence: Evidence
    images: Mapping[str, ImageFacts] = field(factory=dict)
    running: Mapping[str, ImageFacts] = field(factory=dict)

    def facts(self) -> Facts:
        """Return what a declaration must be expanded with."""
        known_hosts = {mesh.realm: lines_of(mesh.known_hosts or "") for mesh in self.evidence.meshes}
        return Facts(
            engine=self.inventory.engine,
            images=self.images,
            clusters={
                cluster.address: _cluster_facts(
                    cluster, self.inventory, self.running, known_hosts.get(cluster.realm, {})
                )
                for cluster in self.evidence.clusters
            },
            meshes={mesh.realm: _mesh_facts(mesh) for mesh in self.evidence.meshes},
        )

    def observed(self) -> Observed:
        """Return what the planner compares."""
        return Observed(state=seen(self.evidence), unknown=frozenset(self._unknown()))

    def _unknown(self) -> Collection[Address]:
        unknown: set[Address] = set()
        for cluster in self.evidence.clusters:
            for short in cluster.nodes:
                if short not in cluster.boots:
                    unknown.add(cluster.address / "boot" / short)
                if short not in cluster.services:
                    unknown.add(cluster.address / "service" / short)
            if cluster.view is None:
                unknown.add(cluster.address / "slurm/node")
            if cluster.accounting is None:
                # What was never made is missed all the same.
                kinds = ("slurm/account/", "slurm/user/")
                unknown |= {cluster.address / made for made in cluster.contents if made.startswith(kinds)}
            # Without any node the volumes cannot be looked into; what is wanted there is written, or found, then.
            if cluster.files is None and cluster.nodes:
                unknown.add(cluster.address / "file")
            if cluster.keys is None and cluster.nodes:
                unknown.add(cluster.address / "key")
        return unknown


def observe(
    engine: Engine,
    slurm: Slurm,
    clusters: Collection[Address],
    *,
    images: Collection[str] = (),
    probe: bool = True,
    surroundings: Surroundings = HERE,
) -> Observation:
    """Look at the engine.

    Args:
        clusters: Clusters to look at closely.
        images: References to look up; those of the realms' meshes come on top.
        probe: Whether commands may be run in nodes to read daemon and Slurm states.
        surroundings: What is looked at beside them.
    """
    inventory = take_inventory(engine)
    evidence = gather(engine, slurm, inventory, clusters, probe=probe, now=surroundings.now)
    mesh_images = {
        container.spec.image for mesh in evidence.meshes for container in (mesh.dns, mesh.relay) if container
    }
    references = sorted({*images, *mesh_images, COREDNS})
    with pool() as threads:
        looked_up = {one: threads.submit(look_up, engine, one, surroundings) for one in references}
        known = {reference: found.result() for reference, found in looked_up.items()}
    nodes = [node for cluster in evidence.clusters for node in cluster.nodes.values()]
    return Observation(
        inventory=inventory,
        evidence=evidence,
        images=known,
        running={node.image_id: _known_of(node.image_id, node.labels, surroundings) for node in nodes},
    )


def look_up(engine: Engine, reference: str, surroundings: Surroundings = HERE) -> ImageFacts:
    """Return what is known of an image without running it: its label, or what an earlier probe found."""
    image = engine.image(reference)
    if image is None:
        return ImageFacts()
    return _known_of(image.id, image.labels, surroundings)


def _known_of(image_id: str, marks: Mapping[str, str], surroundings: Surroundings) -> ImageFacts:
    """Return what is known of an image, by its labels; a container made from it carries them too, and may outlive it."""
    text = marks.get(IMAGE_LABEL) or surroundings.probe(image_id)
    return (image_facts(image_id, text) if text else None) or ImageFacts(id=image_id)


def _cluster_facts(
    cluster: ClusterEvidence,
    inventory: Inventory,
    images: Mapping[str, ImageFacts],
    known_hosts: Mapping[str, str],
) -> ClusterFacts:
    found = inventory.clusters()[cluster.address]
    entry = (cluster.files or {}).get(NODES_FILE)
    lines = node_lines(entry.content.decode("utf-8", "replace")) if entry else {}
    # All nodes of a cluster say the same of these.
    marks = next((node.labels for node in cluster.nodes.values()), {})
    taken = members_of(cluster.contents)
    return ClusterFacts(
        owners=found.owners,
        recorded=bool(cluster.records),
        by_name=cluster.by_name,
        foreign=cluster.foreign,
        bare=cluster.bare,
        addresses={
            short: endpoint.address
            for short, container in cluster.nodes.items()
            if (endpoint := container.endpoint(names.network(*cluster.address.parts))) is not None and endpoint.address
        },
        subnet=_subnet(cluster, inventory),
        members={
            short: Member(
                group=container.labels.get(labels.GROUP) or taken.get(short, ""),
                ours=bool(container.labels.get(labels.OWNER)) or short in taken,
                busy=_busy(cluster, short),
                line=lines.get(short, ""),
            )
            for short, container in cluster.nodes.items()
            if names.worker_index(short) is not None
        },
        people=_ids(cluster, marks),
        cvmfs=marks.get(labels.CVMFS, ""),
        images={
            short: images[container.image_id]
            for short, container in cluster.nodes.items()
            # One that was never started is made anew, from what the reference means now.
            if container.state != "created" and container.image_id in images
        },
        references={
            short: container.spec.image for short, container in cluster.nodes.items() if container.state != "created"
        },
        host_keys={
            short: key
            for short, container in cluster.nodes.items()
            # One that was never started is made anew, with another key.
            if container.state != "created"
            and ((key := _host_key(cluster, container, known_hosts)) or short in cluster.foreign)
        },
    )


def _host_key(cluster: ClusterEvidence, node: Container, known_hosts: Mapping[str, str]) -> str:
    """Return a node's host key, as its label says, as it lies in it, or else as the relay knows it."""
    said = node.labels.get(labels.HOST_KEY) or cluster.host_keys.get(node.spec.hostname)
    return said or known_hosts.get(names.fqdn(cluster.realm, cluster.name, node.spec.hostname), "")


def _subnet(cluster: ClusterEvidence, inventory: Inventory) -> str:
    """Return the subnet of a cluster's network, or the one it had when a hand has removed it and nobody has taken it."""
    if cluster.network is not None:
        # One of ours that is not pinned is made anew, and may get another.
        return cluster.network.subnet if cluster.network.ip_range or cluster.by_name else ""
    said = cluster.records[0].labels.get(labels.SUBNET, "") if cluster.records else ""
    return said if is_free(said, [other.subnet for other in inventory.networks if other.subnet]) else ""


def _ids(cluster: ClusterEvidence, marks: Mapping[str, str]) -> Ids:
    """Return the ids that were given: as the labels say for the time when the nodes were made, then as they are now."""
    found = [ids_of(marks.get(labels.USERS, ""), marks.get(labels.GROUPS, ""))]
    found += [ids_in(users) for users, _ in cluster.people.values()]
    return Ids(
        users={name: uid for ids in found for name, uid in ids.users.items()},
        groups={name: gid for ids in found for name, gid in ids.groups.items()},
    )


def _busy(cluster: ClusterEvidence, short: str) -> bool:
    if not cluster.managed:
        # Whose jobs run there, only the people know who installed Slurm in it.
        return False
    if cluster.view is None:
        return True
    state = cluster.view.nodes.get(short)
    return state is not None and bool(state.jobs or state.waiting)


def _mesh_facts(mesh: MeshEvidence) -> MeshFacts:
    pinned = mesh.network.labels.get(labels.DNS_ADDRESS, "") if mesh.network else ""
    return MeshFacts(
        subnet=mesh.network.subnet if mesh.network else "",
        dns_address=pinned or dns_address(mesh.realm, mesh.dns),
        dns_image=mesh.dns.spec.image if mesh.dns else "",
        relay_image=mesh.relay.spec.image if mesh.relay else "",
    )
