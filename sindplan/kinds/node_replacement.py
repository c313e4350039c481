"""Replacing a node: its successor takes over its name, its addresses, its SSH host key and what no volume holds."""

from contextlib import suppress

from attrs import evolve, frozen

from sindplan.engine.records import Container
from sindplan.errors import NotFound, SindplanError
from sindplan.kinds.controllers import answering
from sindplan.kinds.draining import drained
from sindplan.kinds.host_key import HOST_KEY, HostKey, new_host_key
from sindplan.kinds.node_boot import bring_up
from sindplan.kinds.node_creation import build
from sindplan.kinds.node_keeping import existing, sides
from sindplan.kinds.node_resource import Node
from sindplan.kinds.node_wanted import MARIADB_FOLDER
from sindplan.kinds.powering import is_server
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.plan.plan import Action
from sindplan.slurm.files import STATE
from sindplan.slurm.port import DRAIN_REASON, OFF_REASON


@frozen
class _Moves:
    """A folder that a node's successor needs."""

    short: str
    path: str


# Of our own clusters volumes hold them; sind gives no volume to a database, and to the state only where there is a backup.
_MOVES = (
    _Moves(names.CONTROLLER, STATE),
    _Moves(names.BACKUP, STATE),
    _Moves(names.DB, MARIADB_FOLDER),
)


def drain(run: Run, action: Action) -> None:
    """Have a worker finish its jobs; those that wait for it may go on waiting."""
    address, _, after = sides(action)
    drained(run, address.scope, address.name, DRAIN_REASON if after.power == "running" else OFF_REASON)


def make(run: Run, action: Action) -> None:
    """Set the old container aside, which runs on, and make its successor beside it."""
    address, before, after = sides(action)
    old = existing(run, run.id(address))
    for left in (before.half, before.aside):
        # Of an earlier replacement that was killed: names are never stacked.
        if left:
            with suppress(NotFound):
                run.engine.remove_container(left)
    if old.name != names.aside(after.name):
        run.engine.rename(old.id, names.aside(after.name))
    run.known.aside[address] = old.id
    run.known.successors[address] = build(run, address, after, _host_key(run, old))


def _host_key(run: Run, old: Container) -> HostKey:
    """Return the old container's host key, so that nobody is warned of another; a new one if it has none of that type."""
    private, public = (run.engine.get_files(old.id, path).get(path) for path in (HOST_KEY, f"{HOST_KEY}.pub"))
    if private is None or public is None:
        return new_host_key()
    kind, _, rest = public.content.decode("ascii", "replace").strip().partition(" ")
    return HostKey(private.content, f"{kind} {rest.partition(' ')[0]}")


def swap(run: Run, action: Action) -> None:
    """Stop the old container, move over what no volume holds, and start its successor in its place."""
    address, before, after = sides(action)
    old, new = run.known.aside[address], run.known.successors[address]
    run.engine.stop(old)
    held = {mount.target for mount in before.mounts}
    for move in _MOVES:
        if move.short == address.name and move.path not in held and run.engine.has_file(old, move.path):
            run.engine.copy_files(old, new, move.path)
    run.known.ids[address] = new
    if _serves_on(run, address, after):
        # Powered off it is when nobody needs it any more, as it would be without a successor.
        bring_up(run, address, evolve(after, power="running"))
        return
    bring_up(run, address, after)
    if after.power == "stopped":
        run.engine.stop(new)


def _serves_on(run: Run, address: Address, after: Node) -> bool:
    """Say whether a node that goes off is needed until then: Slurm is asked for the jobs of the workers that go with it."""
    return after.power == "stopped" and is_server(after) and address.scope in run.going_off


def prove(run: Run, action: Action) -> None:
    """Wait until Slurm uses a successor: a worker is back in service, a controller answers."""
    address, _, after = sides(action)
    manner = after.manner(after)
    controls = "slurmctld.service" in after.units
    serves = after.power == "running" or _serves_on(run, address, after)
    if not serves or (manner != "worker" and not controls):
        return
    controller = answering(run, address.scope)
    if controller is None:
        raise SindplanError(
            f"No slurmctld of {address.scope} answers, so nobody can say whether {address.name} works.",
            "Look at the controller (docker logs, journalctl -u slurmctld), then apply again.",
        )
    joining = {address.name: run.id(address)} if manner == "worker" else {}
    run.slurm.join(controller, joining, run.wait)
    view = run.slurm.view(controller) if joining else None
    state = view.nodes.get(address.name) if view is not None else None
    if state is not None and state.leaving:
        run.slurm.resume(controller, [*joining])
        # Until it has answered once more Slurm gives it no job, and the next of its group would be drained meanwhile.
        run.slurm.join(controller, joining, run.wait)


def discard(run: Run, action: Action) -> None:
    """Remove the container whose successor has proved itself."""
    address, before, _ = sides(action)
    with suppress(NotFound):
        run.engine.remove_container(run.known.aside.get(address, before.aside))


def rename(run: Run, action: Action) -> None:
    """Give a node its name back; a successor that was never started makes way for it."""
    address, before, after = sides(action)
    if before.half:
        with suppress(NotFound):
            run.engine.remove_container(before.half)
    run.engine.rename(run.id(address), after.name)


def restore(run: Run, action: Action) -> None:
    """Put the container back that was set aside, in the power that it had."""
    address, before, after = sides(action)
    with suppress(NotFound):
        run.engine.remove_container(before.successor)
    run.engine.rename(after.id, after.name)
    run.known.ids[address] = after.id
    if after.power == "stopped":
        return
    bring_up(run, address, after)
    if after.power == "paused":
        run.engine.pause(after.id)


PERFORM = {
    "node.drain": drain,
    "node.succeed": make,
    "node.swap": swap,
    "node.upgrade": swap,
    "node.prove": prove,
    "node.discard": discard,
    "node.forget": discard,
    "node.rename": rename,
    "node.restore": restore,
}
