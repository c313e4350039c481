"""A realm's SSH relay: the node image, asleep, with the realm's key and known hosts on a volume, on every cluster's network."""

from collections.abc import Iterator
from typing import ClassVar

from attrs import evolve, field, frozen

from sindplan.engine.records import ContainerSpec, Endpoint, Entry, Mount
from sindplan.errors import SindplanError
from sindplan.kinds import labels
from sindplan.kinds.dns import prove_records
from sindplan.kinds.evidence import Evidence
from sindplan.kinds.host_key import new_host_key, public_half
from sindplan.kinds.mesh_container import (
    MeshContainer,
    put_to_rest,
    seen_container,
    set_on_mesh,
    wake,
    wanted_container,
)
from sindplan.kinds.mesh_replacement import common, make_way, need_running, places, sides
from sindplan.kinds.mesh_replacing import is_up, mesh_steps
from sindplan.kinds.run import Run
from sindplan.kinds.volume import SSH
from sindplan.model import names
from sindplan.model.address import MESH, Address
from sindplan.model.kind import After, Kind, Phase, Step, Where
from sindplan.model.layout import Layout
from sindplan.model.resource import IN_PLACE, Resource
from sindplan.plan.plan import Action

HOME = "/root/.ssh"
KNOWN_HOSTS = f"{HOME}/known_hosts"
PUBLIC_KEY = f"{HOME}/id_ed25519.pub"
PRIVATE_KEY = f"{HOME}/id_ed25519"


@frozen(kw_only=True)
class Relay(MeshContainer):
    """The relay container. `key` says whether its public key can be read."""

    KIND: ClassVar[str] = "relay"

    key: bool = field(default=True, metadata=IN_PLACE)

    @property
    def needs(self) -> frozenset[Address]:
        """The mesh network, the DNS server whose address it is given, and the volume with its key."""
        mesh = Address((self.realm, MESH))
        return frozenset({mesh / "network", mesh / "dns", mesh / "volume" / SSH})


_START = Step(
    "relay.start",
    "starting",
    after=(
        *(After(step, Where.NEEDED) for step in ("dns.start", "dns.swap", "dns.rename", "dns.restore")),
        After("volume.create", Where.NEEDED),
    ),
)
_STEPS = mesh_steps(
    "relay",
    before=(
        *is_up("dns"),
        After("mesh-network.create", Where.NEEDED),
        After("volume.create", Where.NEEDED),
        # Its successor is made for the networks that there are.
        After("network.create", Where.NEEDING),
    ),
)

KIND = Kind(
    name="relay",
    resource=Relay,
    create=(_START,),
    update={**_STEPS.update, "running": (_START,), "on_mesh": (_START,), "key": (_START,)},
    replace=_STEPS.replace,
    delete=(
        Step(
            "relay.remove",
            "removing",
            Phase.REMOVE,
            after=(After("node.remove", Where.NEEDING), After("network.remove", Where.NEEDING)),
        ),
    ),
)


def wanted(layout: Layout) -> Iterator[tuple[Address, Resource]]:
    """Yield the relays that a layout wants."""
    for mesh in layout.meshes:
        yield mesh.address / "relay", wanted_container(Relay, mesh, "ssh", mesh.relay_image)


def seen(evidence: Evidence) -> Iterator[tuple[Address, Resource]]:
    """Yield the relays that exist."""
    for mesh in evidence.meshes:
        if mesh.relay is not None:
            found = seen_container(Relay, mesh.realm, mesh.relay, aside=mesh.relay_aside, half=mesh.relay_half)
            yield mesh.address / "relay", evolve(found, key=bool((mesh.relay_key or "").strip()))


def start(run: Run, action: Action) -> None:
    """Create the relay if need be, with a key unless its volume holds one, and bring it to the power wanted."""
    (change,) = action.changes
    relay = change.after
    assert isinstance(relay, Relay)
    if change.before is None:
        run.known.ids[change.address] = run.engine.create_container(_spec(run, relay))
    else:
        set_on_mesh(run, change.address, relay)
    if not relay.running:
        put_to_rest(run, run.id(change.address), relay)
        return
    if relay.key:
        run.known.relay_keys[relay.realm] = _key(run, run.id(change.address))
    wake(run, run.id(change.address))
    if not relay.key:
        run.slurm.remove_files(run.id(change.address), [PUBLIC_KEY])


def succeed(run: Run, action: Action) -> None:
    """Set the old relay aside, which runs on, and make its successor beside it, for all the networks that it is on."""
    address, _, relay = sides(action)
    assert isinstance(relay, Relay)
    old = make_way(run, action)
    spec = _spec(run, relay)
    run.known.successors[address] = run.engine.create_container(
        evolve(spec, endpoints=places(run, old, spec.endpoints[0]))
    )


def swap(run: Run, action: Action) -> None:
    """Stop the old relay and start its successor; key and known hosts are on the volume that both have."""
    address, _, relay = sides(action)
    new = run.known.successors[address]
    run.engine.stop(run.known.aside[address])
    run.known.ids[address] = new
    run.known.relay_keys[relay.realm] = _key(run, new)
    wake(run, new)


def prove(run: Run, action: Action) -> None:
    """Wait until a relay can do what it is for: it has ssh, and resolves the names of nodes."""
    address, _, relay = sides(action)
    container = run.id(address)
    need_running(run, container)
    done = run.engine.execute(container, ["ssh", "-V"])
    if done.code != 0:
        raise SindplanError(
            f"The image {relay.image!r} has no ssh that runs, so it cannot be the relay: {done.err.strip() or done.code}.",
            "Use the image of the nodes, or another with OpenSSH's client.",
        )
    prove_records(run, relay.realm, container)


def _key(run: Run, relay: str) -> str:
    """Return the relay's public key, having made a pair on a fresh volume."""
    found = run.engine.get_files(relay, PUBLIC_KEY).get(PUBLIC_KEY) if run.engine.has_file(relay, PUBLIC_KEY) else None
    text = found.content.decode("ascii", "replace").strip() if found is not None else ""
    if text:
        return text
    if run.engine.has_file(relay, PRIVATE_KEY):
        return _public_again(run, relay)
    key = new_host_key()
    run.engine.put_files(
        relay,
        [
            Entry(path=HOME, kind="dir", mode=0o700),
            Entry(path=PRIVATE_KEY, content=key.private, mode=0o600),
            Entry(path=PUBLIC_KEY, content=f"{key.public}\n".encode()),
            Entry(path=KNOWN_HOSTS),
        ],
    )
    return key.public


def _public_again(run: Run, relay: str) -> str:
    """Write the public key anew, which the private one tells."""
    private = run.engine.get_files(relay, PRIVATE_KEY)[PRIVATE_KEY].content
    try:
        public = public_half(private)
    except ValueError as error:
        raise SindplanError(
            f"The realm's SSH volume has no {PUBLIC_KEY}, and its private key cannot be read: it was half written or edited.",
            "Remove the realm's -ssh-config volume if nothing needs that key, and apply again.",
        ) from error
    run.engine.put_files(relay, [Entry(path=PUBLIC_KEY, content=f"{public}\n".encode())])
    return public


def _spec(run: Run, relay: Relay) -> ContainerSpec:
    return ContainerSpec(
        name=names.relay_container(relay.realm),
        image=relay.image,
        labels={**labels.mesh_container(relay.realm, "ssh"), **labels.own("", run.token)},
        endpoints=(Endpoint(network=names.mesh_network(relay.realm)),),
        entrypoint=("/bin/sleep",),
        command=("infinity",),
        # Without an init PID 1 would ignore SIGTERM and every stop would take its ten seconds.
        init=True,
        mounts=(
            Mount(
                target=HOME,
                kind="volume",
                source=names.ssh_volume(relay.realm),
                no_copy=True,
                # As in `sindplan.kinds.volume.marked`.
                labels={**labels.mesh_volume(relay.realm), **labels.own("", run.token)},
            ),
        ),
        dns=(run.known.dns[relay.realm],) if run.known.dns.get(relay.realm) else (),
    )


PERFORM = {
    **common("relay"),
    "relay.start": start,
    "relay.succeed": succeed,
    "relay.swap": swap,
    "relay.prove": prove,
}
