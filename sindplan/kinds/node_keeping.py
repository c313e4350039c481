"""What is kept before a newer Slurm: a dump of the database and a copy of slurmctld's state, which the older one could read."""

from collections.abc import Iterator, Mapping

from attrs import evolve

from sindplan.engine.records import Container, Entry
from sindplan.errors import SindplanError
from sindplan.kinds.controllers import backup_controls
from sindplan.kinds.node_networks import put_on
from sindplan.kinds.node_resource import Node
from sindplan.kinds.node_wanted import MARIADB_FOLDER
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.plan.plan import Action
from sindplan.slurm.files import STATE

KEPT = "sindplan-before-{}"
"""What a copy of the state, or a dump of the database, is called: by the version that comes after it."""
_STATE_LIMIT = 512 * 1024 * 1024
"""Bytes of state that a copy is made of; slurmctld's is a few MiB with thousands of jobs."""
_MARIADB = "mariadb.service"


def sides(action: Action) -> tuple[Address, Node, Node]:
    """Return the node that an action is about, as it was and as it will be."""
    (change,) = action.changes
    before, after = change.before, change.after
    assert isinstance(before, Node)
    assert isinstance(after, Node)
    return change.address, before, after


def existing(run: Run, container: str) -> Container:
    """Return a container that must be there."""
    found = run.engine.inspect_container(container)
    if found is None:
        raise SindplanError("A node went away while it was replaced.", "Plan again and look at what is there.")
    return found


def keep(run: Run, action: Action) -> None:
    """Stop what writes and keep a copy of what it wrote: the newer Slurm converts it, and the older one reads that no more."""
    address, before, after = sides(action)
    container = existing(run, run.id(address))
    name = KEPT.format(after.slurm_version or "unknown")
    if address.name == names.DB:
        _have_mariadb_run(run, container, before, after)
        run.slurm.stop_units(container.id, ["slurmdbd.service"])
        folder = next((mount.target for mount in before.mounts if mount.source.endswith("-db")), MARIADB_FOLDER)
        run.slurm.dump_database(container.id, f"{folder}/{name}.sql")
        return
    if backup_controls(run, address.scope):
        # It would take over, and meet a state that it cannot read when its turn comes.
        run.slurm.stop_units(run.id(address.scope / "node" / names.BACKUP), ["slurmctld.service"])
    if container.state == "running":
        run.slurm.stop_units(container.id, ["slurmctld.service"])
    run.engine.put_files(container.id, list(_copies(run.engine.get_files(container.id, STATE, _STATE_LIMIT), name)))


def _have_mariadb_run(run: Run, container: Container, before: Node, after: Node) -> None:
    """Start what a dump needs: the node may be off, by a hand or by an apply that was killed while it was replaced."""
    match container.state:
        case "running" | "restarting":
            run.slurm.start_units(container.id, [_MARIADB], run.wait)
        case "paused":
            run.engine.unpause(container.id)
            run.slurm.start_units(container.id, [_MARIADB], run.wait)
        case _:
            # With a network that is gone it would not start.
            put_on(run, container.id, before, after)
            run.engine.start(container.id)
            run.slurm.boot(container.id, [_MARIADB], run.wait)


def _copies(state: Mapping[str, Entry], name: str) -> Iterator[Entry]:
    earlier = f"{STATE}/{KEPT.format('')}"
    for path, entry in state.items():
        if not path.startswith(earlier):
            yield evolve(entry, path=f"{STATE}/{name}{path.removeprefix(STATE)}")


PERFORM = {"node.keep": keep}
