"""What must hold of a world before and after an apply: what stays the same, and what may have changed."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from sindplan.kinds import labels
from sindplan.kinds.dns import COREFILE
from sindplan.kinds.key import FILES
from sindplan.kinds.node_resource import Node
from sindplan.kinds.relay import KNOWN_HOSTS
from sindplan.model import names
from sindplan.model.address import MESH, Address
from sindplan.model.kind import Operation
from sindplan.plan.plan import Change, Plan
from tests.world import World

OURS = Address.parse("sind/dev")
TWO = Address.parse("sind/two")
PRECIOUS = "sind-dev-precious"
"""A volume of somebody's whose name begins as ours do."""
_UNTOUCHED = ("sind-other-", PRECIOUS)


@frozen(kw_only=True)
class Seen:
    """A world at one moment.

    Attributes:
        containers: Id and start time by name.
        jobs: Where each job runs: the id of its node's container and when that was started; None where it waits or hangs.
    """

    snapshot: Any
    containers: Mapping[str, tuple[str, str]]
    volumes: Mapping[str, str]
    jobs: Mapping[str, tuple[str, str] | None]
    keys: Mapping[str, bytes]
    lines: frozenset[str]


def look(world: World) -> Seen:
    """Return a world as it is."""
    containers = {}
    for summary in world.engine.containers():
        container = world.engine.inspect_container(summary.id)
        assert container is not None
        containers[container.name] = (container.id, container.started_at)
    return Seen(
        snapshot=world.snapshot(),
        containers=containers,
        volumes={volume.name: volume.created for volume in world.engine.volumes()},
        jobs=places(world),
        keys=dict(_keys(world)),
        lines=frozenset(_lines_of_others(world)),
    )


def places(world: World) -> dict[str, tuple[str, str] | None]:
    """Return id and start time of the node of each job that is on one; None where that does not run."""
    found: dict[str, tuple[str, str] | None] = {}
    for job, said in world.machine.jobs.items():
        if not said.waiting:
            container = world.engine.inspect_container(_node_of(said.node))
            alive = container is not None and container.state in ("running", "paused")
            found[job] = (container.id, container.started_at) if container is not None and alive else None
    return found


def _node_of(key: str) -> str:
    """Return the container's name of a job's node, by its cluster's config volume and its own name."""
    volume, _, short = key.rpartition("/")
    return f"{volume.removesuffix('config')}{short}"


def _keys(world: World) -> Any:
    controller = names.container(*OURS.parts, names.CONTROLLER)
    if world.engine.inspect_container(controller) is not None:
        for name, file in FILES.items():
            if world.engine.has_file(controller, file.path):
                yield name, world.engine.get_files(controller, file.path)[file.path].content


def _lines_of_others(world: World) -> Any:
    """Yield the lines of DNS and known hosts that are about clusters of others, by the container that has them."""
    for container, path in ((names.dns_container("sind"), COREFILE), (names.relay_container("sind"), KNOWN_HOSTS)):
        found = world.engine.inspect_container(container)
        if found is not None:
            text = (world.engine.read(container, path) or b"").decode()
            yield from (f"{found.id} {line.strip()}" for line in text.splitlines() if ".other.sind" in line)


def others_are_untouched(before: Seen, after: Seen) -> None:
    """Nothing of others is touched: not their objects, not what a mesh that stayed says of them."""
    for kind in ("containers", "volumes", "networks"):
        was, now = before.snapshot[0][kind], after.snapshot[0][kind]
        theirs = {name: found for name, found in was.items() if name.startswith(_UNTOUCHED)}
        assert {name: now.get(name) for name in theirs} == theirs
    theirs = {name: found for name, found in before.containers.items() if name.startswith(_UNTOUCHED)}
    assert {name: after.containers.get(name) for name in theirs} == theirs
    mesh = {after.containers[name][0] for name in ("sind-dns", "sind-ssh") if name in after.containers}
    assert {line for line in before.lines if line.partition(" ")[0] in mesh} <= after.lines


def only_what_it_named(plan: Plan, before: Seen, after: Seen) -> None:
    """No container or volume comes, goes or is made anew, and none is started, but those that the plan named."""
    changes = {name: change for change in plan.changes for name in _containers_of(change)}
    gone = {
        was
        for change in plan.changes
        if isinstance(change.before, Node)
        for was in (change.before.aside, change.before.half)
    }
    for name, (was, started) in before.containers.items():
        if name == names.trial(*OURS.parts) or was in gone:
            # What an apply that was killed has left.
            continue
        change = changes.get(name)
        if change is None or not _makes(change):
            assert name in after.containers, name
            now, restarted = after.containers[name]
            assert now == was, name
            assert change is not None or restarted == started, name
    named = {change.address for change in plan.changes}
    for name, created in before.volumes.items():
        if name.startswith("sind-dev-") and OURS / "volume" / name.removeprefix("sind-dev-") not in named:
            assert after.volumes.get(name) == created, name


def _containers_of(change: Change) -> tuple[str, ...]:
    address = change.address
    if address.cluster == MESH:
        called = {"dns": names.dns_container, "relay": names.relay_container}.get(address.name, str)
        return (called(address.realm),)
    if address.parts[2:3] != ("node",):
        return (str(address),)
    # One that was renamed, by a hand or by a replacement that was cut off, is the one that is meant; in its place may be a half.
    place = names.container(*address.parts[:2], address.name)
    return (place, change.before.name) if isinstance(change.before, Node) else (place,)


def _makes(change: Change) -> bool:
    return change.operation is not Operation.UPDATE or any(field.name in ("made", "name") for field in change.fields)


def jobs_are_kept(plan: Plan, before: Seen, after: Seen, waiting: set[str], given_up: str) -> None:
    """No job is lost but those of nodes that the plan takes out of service, which were waited for.

    Args:
        waiting: Jobs that wait by now.
        given_up: What the plan said of jobs that were given up for it.
    """
    emptied = {
        change.before.id if isinstance(change.before, Node) else ""
        for change in plan.changes
        if change.operation in (Operation.DELETE, Operation.REPLACE) or _goes_off(change)
    }
    for job, place in before.jobs.items():
        if place is None or job in waiting or after.jobs.get(job) == place:
            continue
        assert place[0] in emptied or f" {job}" in given_up.replace(",", " "), f"job {job} was lost"
        assert job not in after.jobs, f"job {job} hangs"


def _goes_off(change: Change) -> bool:
    before, after = change.before, change.after
    return isinstance(before, Node) and isinstance(after, Node) and before.power != "stopped" == after.power


def keys_stay(plan: Plan, before: Seen, after: Seen) -> None:
    """No key is another one but those that were gone."""
    made = {change.address.name for change in plan.changes if change.address.parts[2:3] == ("key",)}
    kept = {name: key for name, key in before.keys.items() if name in after.keys and name not in made}
    assert {name: after.keys[name] for name in kept} == kept


def had_halves(plan: Plan) -> bool:
    """Say whether there were halves before: they are not gone back to, nor is what volumes hold that no node could show."""
    changes = {change.address: change for change in plan.changes}
    first = changes.get(OURS / "node/controller")
    unseen = first is not None and first.operation is Operation.CREATE
    kept = [OURS / "volume" / kind for kind in ("config", "munge", "data", "state")]
    return (unseen and not all(volume in changes for volume in kept)) or any(
        change.before is not None and not change.before.finished for change in changes.values()
    )


def differences(before: Any, after: Any, path: str = "") -> list[str]:
    """Return where two values of mappings and tuples differ: a line each."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        keys = sorted({*before, *after}, key=str)
        return [line for key in keys for line in differences(before.get(key), after.get(key), f"{path}/{key}")]
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        pairs = enumerate(zip(before, after, strict=True))
        return [line for number, pair in pairs for line in differences(*pair, f"{path}/{number}")]
    return [] if before == after else [f"{path}: {before!s:.200} -> {after!s:.200}"]


def told(seen: Seen) -> Any:
    """Leave out of a snapshot what nobody can put back, and nobody misses.

    What systemd reads in a node's own layer: one that was stopped by then keeps what was put back there. Networks that are
    gone, to which containers that stopped hold on. Folders of a node that are empty.
    """
    engine, memory = seen.snapshot
    there = {"", *(network.id for network in engine["networks"].values())}
    containers = {}
    for name, container in engine["containers"].items():
        layer = container["layer"].items()
        containers[name] = {
            **container,
            "layer": {
                path: entry
                for path, entry in layer
                if entry.kind != "dir" and not path.startswith("/etc/systemd/system")
            },
            "places": [place for place in container["places"] if place[3] in there],
        }
    return {**engine, "containers": containers}, memory


def ours(world: World, cluster: Address) -> set[str]:
    """Return the names of all that there is of a cluster."""
    prefix = f"{names.project(*cluster.parts)}-"
    found = {*world.snapshot()[0]["containers"], *world.snapshot()[0]["networks"], *world.snapshot()[0]["volumes"]}
    labelled = {one.name for one in world.engine.containers() if labels.of_cluster(one.labels, *cluster.parts)}
    return ({name for name in found if name.startswith(prefix)} | labelled) - {PRECIOUS}
