"""Random histories of one declaration: edits, damage by hands, applies that work, fail or are killed, and neighbours.

Each step is one line that says what was done, so that a history that fails can be read. The laws are checked after every apply.
"""

import copy
import re
from functools import cache
from typing import Any

from attrs import define, field
from hypothesis import note
from hypothesis import strategies as st

from sindplan.execute.apply import OnFailure, Settings
from sindplan.kinds import labels
from sindplan.kinds.key import FILES
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from sindplan.model.kind import Operation
from sindplan.workflow import Prepared, prepare_drift
from tests.faults import FaultyEngine, Mode
from tests.hands import DAMAGE, DoesNotFit, Hand
from tests.strategies import declared
from tests.world import IMAGE, World, failures, new_world

OURS = Address.parse("sind/dev")
THEIRS = Address.parse("sind/other")
NEIGHBOUR = declared(
    {
        "version": 1,
        "name": "their-own",
        "realms": {"sind": {"clusters": {"other": {"image": IMAGE, "subnet": "10.99.0.0/24"}}}},
    }
)
MODES: tuple[Mode, ...] = ("before", "after", "timeout", "timeout-before")

# What an edit may set, by where in the cluster's tables; None takes it away.
EDITS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("workers.cpu", ({"count": 0}, {"count": 1}, {"count": 2}, {"count": 3}, {"count": 2, "memory": "1g"}, None)),
    ("workers.gpu", ({"count": 1}, {"nodes": "worker-[5,7]"}, {"count": 1, "cpus": 2, "features": ["gpu"]}, None)),
    ("controller", ({}, {"backup": True}, {"memory": "1g"}, None)),
    ("submitter", ({}, {"cpus": 2}, None)),
    ("api", ({}, None)),
    ("db", ({}, {"storage_password": {"env": "SINDPLAN_SECRET_DB"}}, None)),
    ("slurm.main", ("MaxJobCount=7\n", {"10-a": "# a\n", "20-b": "MaxJobCount=8\n"}, None)),
    ("slurm.cgroup", ("ConstrainCores=yes\n", None)),
    ("users", ({"alice": {}}, {"alice": {}, "bob": {}}, {"alice": {"uid": 3000}}, None)),
    ("groups", ({"hpc": {}}, None)),
    ("accounts", ({"physics": {"limits": {"MaxJobs": 5}}}, {"physics": {}, "chemistry": {"parent": "physics"}}, None)),
    ("partitions", ({"batch": {"workers": ["cpu"]}}, None)),
    ("drain_timeout", ("0s", "60s", None)),
    ("prevent_destroy", (True, None)),
    ("identity", ("nss_slurm", None)),
)


def cluster_tables() -> dict[str, Any]:
    """Return where every history begins."""
    return {"image": IMAGE, "workers": {"cpu": {"count": 2}}}


def edited(tables: dict[str, Any], where: str, value: Any) -> dict[str, Any]:
    """Return tables with one thing set or taken away."""
    key, _, rest = where.partition(".")
    changed = dict(tables)
    if rest:
        inner = edited(changed.get(key) or {}, rest, value)
        # Of workers an empty table says that there are none.
        if inner or key == "workers":
            changed[key] = inner
        else:
            changed.pop(key, None)
    elif value is None:
        changed.pop(key, None)
    else:
        changed[key] = value
    return changed


def declaration_of(tables: dict[str, Any]) -> Declaration | None:
    """Return what the tables declare; None where the state file would be refused."""
    fixed = dict(tables)
    if "db" not in fixed:
        fixed.pop("accounts", None)
    groups = fixed.get("workers", {})
    if "partitions" in fixed and "cpu" not in groups:
        fixed.pop("partitions")
    return declared({"version": 1, "name": "lab", "realms": {"sind": {"clusters": {"dev": fixed}}}})


@cache
def _first_world(seed: int) -> World:
    world = new_world(seed=seed)
    assert world.apply(NEIGHBOUR).outcome.complete
    world.engine.create_volume("sind-dev-precious", {})
    return world


def _world(seed: int) -> World:
    """Return a world with a neighbour in the same realm, and a volume whose name begins like ours."""
    return copy.deepcopy(_first_world(seed))


@define
class History:
    """A world, and what was done in it.

    Attributes:
        tables: What the state file says of the cluster now.
        running: What was applied last without a fault; None when nothing is there.
        said: One line a step.
    """

    seed: int = 0
    tables: dict[str, Any] = field(factory=cluster_tables)
    running: Declaration | None = None
    said: list[str] = field(factory=list)
    world: World = field(init=False)
    keys: dict[str, bytes] = field(factory=dict)
    jobs: int = 0
    _back: dict[str, Any] = field(factory=cluster_tables, init=False)

    def __attrs_post_init__(self) -> None:
        self.world = _world(self.seed)
        self._back = self.tables

    def tell(self, line: str) -> None:
        """Write a line of the history, which hypothesis prints if it fails."""
        self.said.append(line)
        note(f"{len(self.said)}. {line}")

    @property
    def declaration(self) -> Declaration:
        """What the state file declares."""
        found = declaration_of(self.tables)
        assert found is not None
        return found

    # Steps

    def edit(self, where: str, value: Any) -> None:
        """Edit the state file."""
        self.tell(f"edit {where} = {value!r}")
        self.tables = edited(self.tables, where, value)

    def damage(self, name: str) -> None:
        """Let a hand do something."""
        try:
            DAMAGE[name].do(Hand(self.world, OURS))
        except DoesNotFit:
            return
        self.tell(f"a hand: {name}")
        # Jobs that it ended are its own loss.
        for job in [job for job, node in self._places().items() if node is None]:
            del self.world.machine.jobs[job]

    def _places(self) -> dict[str, tuple[str, str] | None]:
        """Return id and start time of the node of each job; None where it does not run."""
        places: dict[str, tuple[str, str] | None] = {}
        for job, found in self.world.machine.jobs.items():
            name = names.container(*OURS.parts, found.node.rpartition("/")[2])
            container = self.world.engine.inspect_container(name)
            alive = container is not None and container.state in ("running", "paused")
            places[job] = (container.id, container.started_at) if container is not None and alive else None
        return places

    def submit(self, worker: str) -> None:
        """Start a job, which ends when it is waited for."""
        controller = names.container(*OURS.parts, names.CONTROLLER)
        found = self.world.engine.inspect_container(controller)
        view = self.world.slurm.view(controller) if found is not None and found.state == "running" else None
        if view is None or worker not in view.nodes or view.nodes[worker].states != "idle":
            return
        self.jobs += 1
        self.tell(f"job {self.jobs} on {worker}")
        self.world.machine.submit(controller, worker, f"{self.jobs}")

    def apply(self) -> None:
        """Apply, and check the laws."""
        prepared = self._prepared()
        if prepared is None:
            return
        self.tell("apply: " + ", ".join(_shown(prepared)))
        before, places = self._all(), self._places()
        applied = self.world.run(prepared, self.declaration, settings=_settings(prepared))
        assert failures(applied) == [], applied.outcome.failed
        self._arrived(prepared, before)
        # Those that were waited for are done; of the others no one ends.
        assert {job: places[job] for job in self._places()} == self._places()

    def apply_with_a_fault(self, at: int, mode: Mode) -> None:
        """Apply while the engine's call of that number fails; what was done is taken back, exactly."""
        prepared = self._prepared()
        if prepared is None or prepared.plan.empty:
            return
        before, all_before = self.world.snapshot(), self._all()
        faulty = FaultyEngine(self.world.engine, fail_at=at, mode=mode)
        applied = self.world.run(prepared, self.declaration, engine=faulty, settings=_settings(prepared))
        ended = "done" if applied.outcome.complete else "taken back" if not applied.kept else "left half way"
        self.tell(f"apply with call {at} failing ({mode}), {ended}: " + ", ".join(_shown(prepared)))
        scopes = {action.scope for action in prepared.plan.actions}
        if applied.outcome.complete:
            self._arrived(prepared, all_before)
        elif applied.restored >= scopes and not applied.leftovers and not _halves(prepared):
            assert _told(self.world.snapshot()) == _told(before)
        self._others(all_before)

    def apply_killed(self, at: int, mode: Mode) -> None:
        """Apply, and kill it there: nothing is taken back."""
        prepared = self._prepared()
        if prepared is None or prepared.plan.empty:
            return
        self.tell(f"apply killed at call {at} ({mode}): " + ", ".join(_shown(prepared)))
        before = self._all()
        faulty = FaultyEngine(self.world.engine, fail_at=at, mode=mode)
        self.world.run(prepared, self.declaration, engine=faulty, settings=_settings(prepared, "stop"))
        self._others(before)

    def destroy(self) -> None:
        """Destroy the cluster, and remove what a hand put in its place."""
        if OURS not in self.world.observe(self.declaration).inventory.clusters() or self.tables.get("prevent_destroy"):
            return
        if self.running is not None and self.running.realms["sind"].clusters["dev"].prevent_destroy:
            return
        self.tell("destroy")
        before = self._all()
        applied = self.world.destroy(self.declaration, OURS)
        assert failures(applied) == [], applied.outcome.failed
        self._others(before)
        self.world.machine.jobs.clear()
        left = {key for key in self._all() if "sind-dev-" in key} - {"volume sind-dev-precious"}
        assert left == set()
        self.running, self.keys = None, {}

    # Laws

    def _prepared(self) -> Prepared | None:
        """Plan; return None when the plan is blocked, in which case nothing may have been touched."""
        before = self.world.snapshot()
        prepared = self.world.prepare(self.declaration)
        assert self.world.snapshot() == before
        if prepared.blocked:
            self.tell("blocked: " + "; ".join(sorted({finding.check for finding in prepared.findings})))
            # A plan that is blocked says what to do; here the edit is put back.
            if self.running is not None:
                self.tables = self._back
        return None if prepared.blocked else prepared

    def _arrived(self, prepared: Prepared, before: dict[str, object]) -> None:
        declaration = self.declaration
        left = self.world.plan(declaration)
        assert left.changes == (), [str(change.address) for change in left.changes]
        # A mesh that was damaged may have lost what others had there: theirs to mend.
        drifted = [one.plan for one in prepare_drift(self.world.engine, self.world.slurm) if one.owner == "lab"]
        assert [str(change.address) for plan in drifted for change in plan.changes] == []
        self._only_what_it_named(prepared, before)
        self._others(before)
        self._keys_stay(prepared)
        self.running, self._back = declaration, self.tables

    def _only_what_it_named(self, prepared: Prepared, before: dict[str, object]) -> None:
        """No container is another one that the plan did not say it would make."""
        made = {
            names.container(*OURS.parts, change.address.name)
            for change in prepared.plan.changes
            if change.address.parts[2:3] == ("node",)
            and (change.operation is not Operation.UPDATE or any(f.name == "made" for f in change.fields))
        }
        now = self._all()
        for key, was in before.items():
            if key.startswith("container sind-dev-") and key.removeprefix("container ") not in made:
                assert key in now
                assert now[key] == was, key

    def _others(self, before: dict[str, object]) -> None:
        """Nothing of others is touched."""
        theirs = {
            key: value for key, value in before.items() if "sind-other-" in key or key == "volume sind-dev-precious"
        }
        now = self._all()
        assert {key: now.get(key) for key in theirs} == theirs

    def _keys_stay(self, prepared: Prepared) -> None:
        made = {change.address.name for change in prepared.plan.changes if change.address.parts[2:3] == ("key",)}
        controller = names.container(*OURS.parts, names.CONTROLLER)
        for name, file in FILES.items():
            if self.world.engine.has_file(controller, file.path):
                content = self.world.engine.get_files(controller, file.path)[file.path].content
                if name in self.keys and name not in made:
                    assert content == self.keys[name], f"key {name}"
                self.keys[name] = content

    def _all(self) -> dict[str, object]:
        """Return the id of every container, and start times of others' nodes; networks and volumes."""
        found: dict[str, object] = {}
        for summary in self.world.engine.containers():
            container = self.world.engine.inspect_container(summary.id)
            assert container is not None
            other = container.labels.get(labels.CLUSTER) == "other"
            found[f"container {container.name}"] = (container.id, container.started_at if other else "")
        for network in self.world.engine.networks():
            found[f"network {network.name}"] = network.id
        for volume in self.world.engine.volumes():
            found[f"volume {volume.name}"] = volume.created
        return found


def _settings(prepared: Prepared, on_failure: OnFailure = "rollback") -> Settings:
    """Return settings of an apply that does one thing after the other: a history that fails fails again."""
    return Settings(parallelism=1, drain_timeouts=prepared.drain_timeouts, on_failure=on_failure)


def _halves(prepared: Prepared) -> bool:
    """Say whether there were halves before: they are not gone back to, nor is what volumes hold that no node could show."""
    changes = {str(change.address): change for change in prepared.plan.changes}
    unseen = f"{OURS}/node/controller" in changes and changes[f"{OURS}/node/controller"].operation is Operation.CREATE
    kept = [f"{OURS}/volume/{kind}" for kind in ("config", "munge", "data", "state")]
    return (unseen and not all(volume in changes for volume in kept)) or any(
        change.before is not None and not change.before.finished for change in changes.values()
    )


def _shown(prepared: Prepared) -> list[str]:
    signs = {Operation.CREATE: "+", Operation.UPDATE: "~", Operation.DELETE: "-", Operation.REPLACE: "-/+"}
    return [
        f"{signs[change.operation]}{re.sub('^sind/(dev/)?', '', str(change.address))}"
        for change in prepared.plan.changes
    ]


def _told(snapshot: Any) -> Any:
    """Leave out what nobody can put back, and nobody misses.

    What systemd reads in a node's own layer: one that was stopped by then keeps what was put back there. Networks that are
    gone, to which containers that stopped hold on. Folders of a node that are empty.
    """
    engine, memory = snapshot
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


# What is not undone to the byte when an apply is taken back: a key that was emptied is gone then, and nonsense stays mended.
HANDS = sorted(set(DAMAGE) - {"empty the munge key", "break the Corefile"})


_STEPS = ("edit", "edit", "damage", "damage", "apply", "apply", "fault", "killed", "job", "destroy")


@st.composite
def steps(draw: st.DrawFn, history: History) -> None:
    """Draw a few steps and do them."""
    for _ in range(draw(st.integers(2, 5))):
        match draw(st.sampled_from(_STEPS)):
            case "edit":
                where, values = draw(st.sampled_from(EDITS))
                history.edit(where, draw(st.sampled_from(values)))
            case "damage":
                history.damage(draw(st.sampled_from(HANDS)))
            case "apply":
                history.apply()
            case "fault":
                history.apply_with_a_fault(draw(st.integers(1, 40)), draw(st.sampled_from(MODES)))
            case "killed":
                history.apply_killed(draw(st.integers(1, 40)), draw(st.sampled_from(MODES)))
            case "job":
                history.submit(draw(st.sampled_from(("worker-0", "worker-1"))))
            case "destroy":
                if draw(st.integers(0, 3)) == 0:
                    history.destroy()
