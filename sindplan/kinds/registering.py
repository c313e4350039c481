"""Registering slurmctld with its database, under the id by which the database knows the cluster.

slurmctld gives itself an id while it has no database, and remembers it. It refuses a database that knows the cluster by another one
(CLUSTER ID MISMATCH), and slurmdbd 24.11 gives a new cluster one of its own, where 26.05 takes what it is offered (measured).
Accounting goes by the cluster's name, so nothing hangs on the id that is given up.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from attrs import evolve, frozen

from sindplan.engine.records import Entry
from sindplan.errors import SindplanError
from sindplan.kinds import labels
from sindplan.kinds.controllers import is_running
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.slurm.effective import below, keeps_accounts
from sindplan.slurm.files import CONFIG, STATE

REMEMBERED = f"{STATE}/clustername"
"""Where slurmctld remembers its cluster: `name|id`. With the name alone it takes the id that slurmdbd says (24.11, 26.05)."""


@frozen
class _Ids:
    """Two ids of a cluster.

    Attributes:
        entry: The file that holds slurmctld's.
        own: slurmctld's.
        given: The database's; 0 where it does not know the cluster.
    """

    entry: Entry
    own: str
    given: int


@contextmanager
def registering(run: Run, cluster: Address, controller: str) -> Iterator[None]:
    """Have slurmctld come up with the id of its database, within; it keeps its own when it does not come up to be given one.

    Args:
        controller: A container with slurmctld's state and configuration.

    Raises:
        SindplanError: The state cannot be written.
    """
    ids = _differing(run, cluster, controller)
    if ids is None:
        yield
        return
    _remember(run, cluster, controller, ids)
    try:
        yield
    except SindplanError:
        # Without any id it would wait for the database at every start.
        if not ids.given and _read(run, controller) == _without_id(ids.entry):
            _write(run, cluster, controller, ids.entry)
        raise


def take_id(run: Run, cluster: Address) -> None:
    """Have slurmctld's next start find the id by which a database that has just come up knows the cluster, if it knows it."""
    controller = run.known.ids.get(cluster / "node" / names.CONTROLLER)
    ids = _differing(run, cluster, controller) if controller is not None else None
    if controller is not None and ids is not None and ids.given:
        _remember(run, cluster, controller, ids)


def _differing(run: Run, cluster: Address, controller: str) -> _Ids | None:
    """Return the ids where slurmctld will talk to a database that answers and knows the cluster by another id, or does not."""
    db = run.known.ids.get(cluster / "node" / names.DB)
    found = run.engine.inspect_container(db) if db is not None else None
    if found is None or found.state != "running" or not labels.is_managed(found.labels):
        return None
    entry = _read(run, controller)
    name, _, own = (
        entry.content.decode("utf-8", "replace").strip().partition("|") if entry is not None else ("", "", "")
    )
    # A cluster that was renamed is another matter, of which slurmctld says enough itself.
    if entry is None or not own or name != cluster.cluster or not _has_database(run, controller):
        return None
    given = run.slurm.cluster_id(found.id, cluster.cluster)
    return None if given is None or str(given) == own else _Ids(entry, own, given)


def _has_database(run: Run, controller: str) -> bool:
    files = run.engine.get_files(controller, CONFIG)
    return keeps_accounts(
        {below(path): entry.content.decode("utf-8", "replace") for path, entry in files.items() if entry.kind == "file"}
    )


def _read(run: Run, controller: str) -> Entry | None:
    if not run.engine.has_file(controller, REMEMBERED):
        return None
    return run.engine.get_files(controller, REMEMBERED).get(REMEMBERED)


def _without_id(entry: Entry) -> Entry:
    return evolve(entry, content=entry.content.partition(b"|")[0])


def _remember(run: Run, cluster: Address, controller: str, ids: _Ids) -> None:
    bare = _without_id(ids.entry)
    _write(
        run, cluster, controller, evolve(bare, content=bare.content + f"|{ids.given}".encode()) if ids.given else bare
    )
    takes = f"takes the id {ids.given}, by which its database knows the cluster," if ids.given else "takes a new id"
    run.say(f"{cluster}: slurmctld {takes} in place of {ids.own}.")


def _write(run: Run, cluster: Address, controller: str, entry: Entry) -> None:
    try:
        if is_running(run, controller):
            # Whole at once: a backup may read it.
            run.slurm.install(controller, [entry])
        else:
            run.engine.put_files(controller, [entry])
    except SindplanError as error:
        raise SindplanError(
            f"slurmctld of {cluster} does not go by the id of its database, and {REMEMBERED} cannot be written: "
            f"{error.summary}",
            f"See that {STATE} on the controller can be written (docker exec …-controller ls -la {STATE}), then apply again.",
        ) from error
