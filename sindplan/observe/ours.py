"""What of all that exists a plan is about: not the workers that another tool added, not what users put beside sindplan's own."""

from attrs import evolve

from sindplan.kinds import account, labels, slurm_user
from sindplan.kinds.boot import NodeBoot
from sindplan.kinds.cluster_record import ClusterRecord
from sindplan.kinds.config import File
from sindplan.kinds.key import FILES, Key
from sindplan.kinds.node_resource import Node
from sindplan.kinds.slurm_node import SlurmNode
from sindplan.model import names
from sindplan.model.address import MESH, Address
from sindplan.model.facts import ImageFacts
from sindplan.model.layout import Layout
from sindplan.model.resource import State
from sindplan.observe.observation import Observation
from sindplan.plan.diff import Observed

_IN_COMMON = ("file", "account", "slurm-user")
"""Kinds that live where people put things of their own too: /etc/slurm, Slurm's accounting."""


def own(state: State, wanted: State, before: Observation) -> State:
    """Leave out what neither the declaration nor the last apply has to do with: it is the users' own.

    Keys that nothing reads any more are left out too: tokens and credentials were made with them.
    """
    contents = {cluster.address / made for cluster in before.evidence.clusters for made in cluster.contents}
    recorded = {
        address: resource
        for cluster in before.evidence.clusters
        for address, resource in (*account.recorded(cluster), *slurm_user.recorded(cluster))
    }
    found = {
        address: resource
        for address, resource in state.items()
        if address in wanted or (resource.KIND != "key" and (resource.KIND not in _IN_COMMON or address in contents))
    }
    # Of an account, too, only what was ever declared of it.
    return {
        address: (
            resource.said_by(wanted.get(address), recorded.get(address))
            if isinstance(resource, account.Account | slurm_user.SlurmUser)
            else resource.said_by(wanted.get(address))
            if isinstance(resource, NodeBoot)
            else resource
        )
        for address, resource in found.items()
    }


def with_present_owners(wanted: State, seen: State, layout: Layout) -> State:
    """Let files and keys keep their owners where the image is not known to give them their ids.

    It may be gone from the engine, or have no munge, which somebody installed by hand then: root would lock the daemons out.
    """
    facts = {cluster.address: cluster.controller.facts for cluster in layout.clusters}
    return {
        address: (
            evolve(resource, uid=present.uid, gid=present.gid)
            if isinstance(resource, File | Key)
            and isinstance(present := seen.get(address), File | Key)
            and not _gives_its_owner(facts[address.scope], resource)
            else resource
        )
        for address, resource in wanted.items()
    }


def _gives_its_owner(facts: ImageFacts, resource: File | Key) -> bool:
    # Files are of clusters with Slurm: an image that is known has their user.
    return FILES[resource.name].owner in facts.ids if isinstance(resource, Key) else facts.probed


def with_workers_that_stay_off(observed: Observed, wanted: State, before: Observation) -> Observed:
    """Take workers that are off for such that slurmctld must be told of, where it does not run yet and an edit may have said so.

    What was applied before it has been told; as long as it is off itself, nothing is missed. One that goes off hears of new
    workers when it comes back.
    """
    unknown = set(observed.unknown)
    for cluster in before.evidence.clusters:
        records = cluster.address / "slurm/node"
        controller = wanted.get(cluster.address / "node" / names.CONTROLLER)
        comes_back = isinstance(controller, Node) and controller.power == "running"
        record = wanted.get(cluster.address / "record")
        said = cluster.records[0].labels.get(labels.DECLARATION, "") if cluster.records else ""
        is_edit = isinstance(record, ClusterRecord) and record.declaration != said
        if records not in unknown and isinstance(controller, Node) and controller.power == "stopped":
            unknown |= {address for address in wanted if address.below(records) and address not in observed.state}
        if records in unknown and comes_back and is_edit:
            unknown.remove(records)
            unknown |= {
                address
                for address, resource in wanted.items()
                if address.below(records) and isinstance(resource, SlurmNode) and resource.state != "powered off"
            }
    return Observed(state=observed.state, unknown=frozenset(unknown))


def without_guests(observed: Observed, layout: Layout) -> Observed:
    """Leave out workers that another tool added: they stay."""
    guests = {(cluster.address, short) for cluster in layout.clusters for short in cluster.guests}

    def guest(address: Address) -> bool:
        if address.cluster == MESH:
            short, _, cluster = address.name.partition(".")
            return (Address((address.realm, cluster)), short) in guests
        # Accounts and users may have any name.
        is_person = address.parts[2] == "slurm" and address.parts[3] != "node"
        return not is_person and any((address.scope, part) in guests for part in address.parts[3:])

    return Observed(
        state={address: resource for address, resource in observed.state.items() if not guest(address)},
        unknown=observed.unknown,
    )
