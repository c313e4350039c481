"""Replacing the containers of a mesh: what is the same for the DNS server and the relay."""

from contextlib import suppress

from sindplan.engine.records import Container, Endpoint
from sindplan.errors import NotFound, SindplanError
from sindplan.kinds.mesh_container import MeshContainer, wake
from sindplan.kinds.run import Perform, Run
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.plan.plan import Action


def sides(action: Action) -> tuple[Address, MeshContainer, MeshContainer]:
    """Return address, old and new side of the one change of an action."""
    (change,) = action.changes
    before, after = change.before, change.after
    assert isinstance(before, MeshContainer)
    assert isinstance(after, MeshContainer)
    return change.address, before, after


def make_way(run: Run, action: Action) -> Container:
    """Set the old container aside, which runs on, and return it as it is."""
    address, before, after = sides(action)
    old = inspected(run, run.id(address))
    for left in (before.half, before.aside):
        # Of an earlier replacement that was killed: names are never stacked.
        _remove(run, left)
    if old.name != names.aside(after.name):
        run.engine.rename(old.id, names.aside(after.name))
    run.known.aside[address] = old.id
    return old


def places(run: Run, old: Container, mesh: Endpoint) -> tuple[Endpoint, ...]:
    """Return where a successor has to be: on the mesh, and wherever else its predecessor is.

    The relay is on the networks of clusters that nobody declares here, too. One that was removed is left out: with it the
    successor would not start.
    """
    others = [
        Endpoint(network=place.network, address=place.fixed, gw_priority=place.gw_priority)
        for place in old.spec.endpoints
        if place.network != mesh.network
        and (found := run.engine.inspect_network(place.network)) is not None
        and place.network_id in ("", found.id)
    ]
    return (mesh, *others)


def inspected(run: Run, container: str) -> Container:
    """Return a container that must be there. Raises SindplanError when it is not."""
    found = run.engine.inspect_container(container)
    if found is None:
        raise SindplanError(
            "A container of the mesh went away while it was replaced.", "Plan again and look at what is there."
        )
    return found


def need_running(run: Run, container: str) -> None:
    """Demand that a container runs. Raises SindplanError with its last words when it does not."""
    found = inspected(run, container)
    if found.state != "running":
        said = run.engine.logs(container, tail=5).strip()
        raise SindplanError(
            f"{found.name} does not run with the image {found.spec.image!r}: {said or found.state}.",
            "Use an image that can do this, or leave the key out of the state file.",
        )


def discard(run: Run, action: Action) -> None:
    """Remove the container whose successor has proved itself."""
    address, before, _ = sides(action)
    _remove(run, run.known.aside.get(address, before.aside))


def rename(run: Run, action: Action) -> None:
    """Give a container its name back; a successor that was never started makes way for it."""
    address, before, after = sides(action)
    _remove(run, before.half)
    run.engine.rename(run.id(address), after.name)


def restore(run: Run, action: Action) -> None:
    """Put the container back that was set aside, doing what it did."""
    address, before, after = sides(action)
    _remove(run, before.successor)
    run.engine.rename(after.id, after.name)
    run.known.ids[address] = after.id
    if after.running or after.paused:
        wake(run, after.id)
    if after.paused:
        run.engine.pause(after.id)


def remove(run: Run, action: Action) -> None:
    """Remove a container, and what a replacement that did not finish has left of it."""
    (change,) = action.changes
    before = change.before
    assert isinstance(before, MeshContainer)
    for container in (before.half, before.aside, run.id(change.address)):
        _remove(run, container)


def _remove(run: Run, container: str) -> None:
    if container:
        with suppress(NotFound):
            run.engine.remove_container(container)


def common(kind: str) -> dict[str, Perform]:
    """Return what the steps do that are the same for all kinds."""
    return {
        f"{kind}.discard": discard,
        f"{kind}.forget": discard,
        f"{kind}.rename": rename,
        f"{kind}.restore": restore,
        f"{kind}.remove": remove,
    }
