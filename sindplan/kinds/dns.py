"""A realm's DNS server: CoreDNS, or dnsmasq out of the node image where CoreDNS cannot be had.

`/Corefile` in it is the record of DNS either way, since sind reads and edits it; who changed it sends SIGUSR1. CoreDNS reloads
at that, and the dnsmasq variant derives its hosts file from it anew.
"""

from collections.abc import Iterator
from typing import ClassVar

from attrs import evolve, field, frozen

from sindplan.engine.records import Container, ContainerSpec, Endpoint, Entry
from sindplan.kinds import labels
from sindplan.kinds.evidence import Evidence
from sindplan.kinds.mesh_container import (
    MeshContainer,
    put_to_rest,
    seen_container,
    set_on_mesh,
    wake,
    wanted_container,
)
from sindplan.kinds.mesh_replacement import common, make_way, need_running, places, sides
from sindplan.kinds.mesh_replacing import mesh_steps
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import MESH, Address
from sindplan.model.corefile import corefile, records_of
from sindplan.model.kind import After, Kind, Phase, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import IGNORED, Resource
from sindplan.plan.plan import Action

COREFILE = "/Corefile"
RESOLVED_WITHIN = 10.0
"""Seconds within which the DNS server must answer with what was written."""
_ASKED = 20
"""Records that a new server is asked for: it has all or none."""

# PID 1 of the container: derives the hosts file from the Corefile at every SIGUSR1. dnsmasq takes a changed file below
# --hostsdir without a signal (dnsmasq(8)); names of other zones go on to the container's own resolver. Signal 37 is
# SIGRTMIN+3, with which Docker stops containers of an image that is made for systemd.
DNSMASQ_SCRIPT = """\
hosts=/run/sindplan-hosts
mkdir -p "$hosts"
derive() {
    awk '$1 == "hosts" { inside = 1; next } $1 == "}" { inside = 0 } inside && $1 ~ /^[0-9.]+$/ { print $1, $2 }' \
        /Corefile > "$hosts/.new" && mv -f "$hosts/.new" "$hosts/records"
}
trap derive USR1
trap 'kill "$server"; exit 0' TERM INT 37
derive
dnsmasq --keep-in-foreground --no-hosts --hostsdir="$hosts" --local="/$1/" --user=root --log-facility=- &
server=$!
while kill -0 "$server" 2> /dev/null; do wait "$server"; done
"""


@frozen(kw_only=True)
class Dns(MeshContainer):
    """The DNS container. `dnsmasq` says which of the two servers its image has."""

    KIND: ClassVar[str] = "dns"

    dnsmasq: bool = field(default=False, metadata=IGNORED)

    @property
    def needs(self) -> frozenset[Address]:
        """The mesh network."""
        return frozenset({Address((self.realm, MESH, "network"))})


_BEFORE = (After("mesh-network.create", Where.NEEDED),)
_START = Step("dns.start", "starting", after=_BEFORE)
# The relay asks it, which must run for that.
_STEPS = mesh_steps("dns", before=_BEFORE, prove_after=(After("relay.start", Where.NEEDING),))

KIND = Kind(
    name="dns",
    resource=Dns,
    create=(_START,),
    update={**_STEPS.update, "running": (_START,), "on_mesh": (_START,)},
    replace=_STEPS.replace,
    delete=(Step("dns.remove", "removing", Phase.REMOVE, after=(After("node.remove", Where.NEEDING),)),),
)


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the DNS servers that a layout wants."""
    for mesh in layout.meshes:
        plain = wanted_container(Dns, mesh, "dns", mesh.dns_image)
        yield mesh.address / "dns", evolve(plain, dnsmasq=mesh.dnsmasq)


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the DNS servers that exist."""
    for mesh in evidence.meshes:
        if mesh.dns is not None:
            found = seen_container(Dns, mesh.realm, mesh.dns, aside=mesh.dns_aside, half=mesh.dns_half)
            yield mesh.address / "dns", found


def start(run: Run, action: Action) -> None:
    """Create the DNS server if need be, bring it to the power wanted, and learn its address."""
    (change,) = action.changes
    dns = change.after
    assert isinstance(dns, Dns)
    address = change.address
    pinned = _pinned(run, dns.realm)
    if change.before is None:
        run.known.ids[address] = run.engine.create_container(_spec(run, dns, pinned))
    else:
        set_on_mesh(run, address, dns, pinned)
    if not dns.running:
        put_to_rest(run, run.id(address), dns)
        return
    _serve(run, address, dns)


def _pinned(run: Run, realm: str) -> str:
    mesh = run.engine.inspect_network(run.id(Address((realm, MESH, "network"))))
    return mesh.labels.get(labels.DNS_ADDRESS, "") if mesh else ""


def _serve(run: Run, address: Address, dns: MeshContainer) -> None:
    """Start a DNS server, with records if it has none, and learn its address."""
    if not run.engine.has_file(run.id(address), COREFILE):
        run.engine.put_files(run.id(address), [Entry(path=COREFILE, content=corefile(dns.realm, {}).encode())])
    wake(run, run.id(address))
    container = run.engine.inspect_container(run.id(address))
    run.known.dns[dns.realm] = dns_address(dns.realm, container)


def succeed(run: Run, action: Action) -> None:
    """Set the old server aside, which serves on, and make its successor beside it."""
    address, _, dns = sides(action)
    assert isinstance(dns, Dns)
    old = make_way(run, action)
    spec = _spec(run, dns, _pinned(run, dns.realm))
    run.known.successors[address] = run.engine.create_container(
        evolve(spec, endpoints=places(run, old, spec.endpoints[0]))
    )


def swap(run: Run, action: Action) -> None:
    """Stop the old server and start its successor with the records and the address that it had."""
    address, _, dns = sides(action)
    old, new = run.known.aside[address], run.known.successors[address]
    run.engine.stop(old)
    if run.engine.has_file(old, COREFILE):
        run.engine.copy_files(old, new, COREFILE)
    run.known.ids[address] = new
    _serve(run, address, dns)


def prove(run: Run, action: Action) -> None:
    """Wait until a server answers with the records that it has, as far as a relay is there to ask."""
    address, _, dns = sides(action)
    need_running(run, run.id(address))
    prove_records(run, dns.realm, run.known.ids.get(Address((dns.realm, MESH, "relay")), ""))
    need_running(run, run.id(address))


def prove_records(run: Run, realm: str, relay: str) -> None:
    """Wait until some of a realm's records can be resolved from the relay. Raises NodeFailed when they cannot."""
    asking = run.engine.inspect_container(relay) if relay else None
    if asking is None or asking.state != "running":
        return
    entry = run.engine.get_files(run.id(Address((realm, MESH, "dns"))), COREFILE).get(COREFILE)
    records = records_of(entry.content.decode("utf-8", "replace")) if entry else {}
    run.slurm.wait_resolved(relay, dict(sorted(records.items())[:_ASKED]), RESOLVED_WITHIN)


def dns_address(realm: str, container: Container | None) -> str:
    """Return the address of a DNS container on its mesh; empty when it has none."""
    endpoint = container.endpoint(names.mesh_network(realm)) if container else None
    return (endpoint.fixed or endpoint.address) if endpoint else ""


def _spec(run: Run, dns: Dns, pinned: str) -> ContainerSpec:
    plain = ContainerSpec(
        name=names.dns_container(dns.realm),
        image=dns.image,
        labels={**labels.mesh_container(dns.realm, "dns"), **labels.own("", run.token)},
        endpoints=(Endpoint(network=names.mesh_network(dns.realm), address=pinned),),
    )
    if not dns.dnsmasq:
        return plain
    return ContainerSpec(
        name=plain.name,
        image=plain.image,
        labels=plain.labels,
        endpoints=plain.endpoints,
        entrypoint=("/bin/sh",),
        command=("-c", DNSMASQ_SCRIPT, "sindplan-dns", names.dns_zone(dns.realm)),
        cap_add=("NET_ADMIN",),
    )


PERFORM = {**common("dns"), "dns.start": start, "dns.succeed": succeed, "dns.swap": swap, "dns.prove": prove}
