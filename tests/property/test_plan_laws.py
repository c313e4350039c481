"""Laws of planning, on the simulated engine (design section 9): what a plan says, and that every order of it arrives."""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

from attrs import evolve, frozen
from cryptography.hazmat.primitives.serialization import load_ssh_private_key
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.execute.apply import known_from
from sindplan.kinds import labels
from sindplan.kinds.key import FILES, KeyFile
from sindplan.kinds.known_host import lines_of
from sindplan.kinds.node_resource import going_off
from sindplan.kinds.registry import PERFORM
from sindplan.kinds.relay import KNOWN_HOSTS, PRIVATE_KEY
from sindplan.kinds.run import Run
from sindplan.model import names
from sindplan.model.address import Address
from sindplan.model.corefile import records_of
from sindplan.model.declaration import Declaration, WorkerGroup
from sindplan.model.hidden import Hidden
from sindplan.model.kind import Operation
from sindplan.plan.graph import BARRIER
from sindplan.render.reading import document_review
from sindplan.render.text import SYMBOLS, render_text
from sindplan.saved import Options, describe
from sindplan.slurm.simulated import SimulatedSlurm
from sindplan.workflow import Prepared, clusters_of, prepare, prepare_destroy
from tests.edits import DAMAGE, MESH_DAMAGE, edited, nodes_of
from tests.faults import MUTATING, FaultyEngine
from tests.render.read_back import FORMATS
from tests.strategies import SETTINGS, declarations, declared, documents
from tests.world import PASSWORD, World, new_world

LAW = settings(SETTINGS, max_examples=25)


@frozen
class Situation:
    """A world, what is declared in it, and whether that is to be made or destroyed."""

    world: World
    declaration: Declaration
    destroy: bool = False

    def prepare(self) -> Prepared:
        """Plan."""
        if not self.destroy:
            return self.world.prepare(self.declaration)
        clusters = clusters_of(self.declaration)
        return prepare_destroy(self.world.engine, self.world.slurm, clusters, declaration=self.declaration)


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    """Draw a world where something was applied (or nothing), then edited, damaged or to be destroyed."""
    first = draw(declarations())
    world = new_world(seed=draw(st.integers(0, 99)))
    what = draw(st.sampled_from(("first", "edit", "damage", "destroy")))
    if what != "first":
        world.apply(first)
    if what == "damage":
        cluster = draw(st.sampled_from(clusters_of(first)))
        DAMAGE[draw(st.sampled_from(sorted(DAMAGE)))](world, draw(st.sampled_from(nodes_of(world, cluster))))
        MESH_DAMAGE[draw(st.sampled_from(sorted(MESH_DAMAGE)))](world, cluster.realm)
    return Situation(world, draw(edited(first)) if what == "edit" else first, destroy=what == "destroy")


def shuffled(draw: st.DrawFn, value: Any) -> Any:
    """Return equal tables whose keys stand in another order."""
    if not isinstance(value, dict):
        return value
    return {key: shuffled(draw, value[key]) for key in draw(st.permutations(sorted(value)))}


@LAW
@given(st.data(), documents())
def test_a_plan_does_not_depend_on_the_order_of_keys(data: st.DataObject, document: dict[str, Any]) -> None:
    other = shuffled(data.draw, document)
    worlds = new_world(seed=1), new_world(seed=2)

    one, two = (world.prepare(declared(tables)) for world, tables in zip(worlds, (document, other), strict=True))

    assert render_text(one.plan) == render_text(two.plan)
    assert one.plan == two.plan
    assert (one.findings, one.privileges) == (two.findings, two.privileges)


@LAW
@given(situations())
def test_a_plan_does_not_depend_on_the_order_of_lists(situation: Situation) -> None:
    # The engine shuffles every list that it is asked for.
    plans = [situation.prepare() for _ in range(3)]

    assert len({render_text(prepared.plan) for prepared in plans}) == 1
    assert plans[0].plan == plans[1].plan == plans[2].plan
    assert plans[0].findings == plans[1].findings == plans[2].findings


@LAW
@given(situations())
def test_the_graph_is_sound(situation: Situation) -> None:
    prepared = situation.prepare()
    before: set[str] = set()
    for action in prepared.plan.actions:
        # Each need exists and comes first: in this order at least there is no cycle.
        assert before.issuperset(action.needs), action.id
        assert action.id not in before
        assert action.step in PERFORM or action.step == BARRIER
        before.add(action.id)
    phases = {action.id: (action.scope, action.phase) for action in prepared.plan.actions}
    for action in prepared.plan.actions:
        for need in action.needs:
            scope, phase = phases[need]
            assert scope != action.scope or phase <= action.phase


@LAW
@given(situations())
def test_every_change_is_acted_on_or_carried(situation: Situation) -> None:
    prepared = situation.prepare()
    acted = {change.address for action in prepared.plan.actions for change in action.changes}
    going = {change.address for change in prepared.plan.changes if change.operation is Operation.DELETE}
    coming = {change.address for change in prepared.plan.changes if change.operation is Operation.CREATE}
    for change in prepared.plan.changes:
        host = change.resource.host
        carried = host in going if change.operation is Operation.DELETE else host in coming
        assert change.address in acted or carried or change.operation is Operation.REPLACE, str(change.address)


def run_in_order(world: World, prepared: Prepared, pick: Any) -> None:
    """Execute a plan one action after another; `pick` chooses among those that are ready."""
    run = Run(
        engine=world.engine,
        slurm=world.slurm,
        owner=prepared.owner,
        token="feedfacefeedface",
        wait=1,
        known=known_from(prepared.before),
        drain_timeouts=prepared.drain_timeouts,
        on_timeouts=prepared.on_timeouts,
        secrets=dict.fromkeys(prepared.clusters, Hidden(PASSWORD)),
        going_off=going_off(prepared.plan),
    )
    left = {action.id: action for action in prepared.plan.actions}
    while left:
        ready = [action for action in left.values() if not left.keys() & set(action.needs)]
        action = pick(ready)
        if action.step != BARRIER:
            PERFORM[action.step](run, action)
        del left[action.id]


@settings(SETTINGS, max_examples=40)
@given(st.data(), situations())
def test_every_order_that_the_graph_allows_arrives(data: st.DataObject, situation: Situation) -> None:
    order = data.draw(st.randoms(use_true_random=False))

    run_in_order(situation.world, situation.prepare(), order.choice)

    assert situation.prepare().plan.changes == ()
    if situation.destroy:
        assert not situation.world.engine.containers()


@LAW
@given(situations())
def test_planning_only_reads(situation: Situation) -> None:
    world, declaration = situation.world, situation.declaration
    before = world.snapshot()
    # Asking daemons for their state runs commands; with probe=False not even those.
    for probe, verbs in ((True, MUTATING - {"execute"}), (False, MUTATING)):
        engine = FaultyEngine(world.engine, fail_at=0, verbs=verbs)
        slurm = SimulatedSlurm(engine, world.machine)

        prepare(engine, slurm, declaration, probe=probe)
        if probe:
            prepare_destroy(engine, slurm, clusters_of(declaration), declaration=declaration)

        assert engine.calls == []
    assert world.snapshot() == before


@LAW
@given(st.data())
def test_no_secret_is_ever_told(data: st.DataObject) -> None:
    first = data.draw(declarations())
    second = data.draw(edited(first))
    world = new_world(seed=3)
    told = [repr(world.prepare(first))]
    world.apply(first)
    told += [repr(world.prepare(first)), *_told(world, second)]
    world.apply(second)
    told += _told(world, first)

    needles = {piece for secret in _secrets(world) for piece in _pieces(secret)}
    pieces = {text[start : start + _PIECE] for text in told for start in range(len(text) - _PIECE + 1)}

    assert needles
    leaked = sorted(needles & pieces)[:3]
    assert leaked == []


_PIECE = 16


def _told(world: World, declaration: Declaration) -> Iterator[str]:
    """Yield everything that people or other programs get to see: plans, findings, labels and command lines."""
    prepared = world.prepare(declaration)
    yield render_text(prepared.plan)
    document = describe(prepared, declaration, Options(), "")
    yield json.dumps(document)
    yield from (render(document_review(document)) for render, _ in FORMATS.values())
    yield repr(prepared)
    for summary in world.engine.containers():
        yield repr(world.engine.inspect_container(summary.id))
    yield repr((world.engine.networks(), world.engine.volumes()))


def _secrets(world: World) -> Iterator[bytes]:
    for summary in world.engine.containers():
        for path in (FILES["munge"].path, "/etc/ssh/ssh_host_ed25519_key", PRIVATE_KEY):
            entry = world.engine.get_files(summary.id, path).get(path)
            if entry is not None and path == FILES["munge"].path:
                yield entry.content
            elif entry is not None:
                # The file holds the public half too; the seed is what must stay private.
                seed = load_ssh_private_key(entry.content, None).private_bytes_raw()
                yield seed
                yield from _spelt_in(entry.content.decode(), seed)


def _spelt_in(pem: str, seed: bytes) -> Iterator[bytes]:
    """Yield the parts of a PEM file's lines that spell a seed: the file may leak whole, in an encoding of its own."""
    lines = pem.splitlines()[1:-1]
    at = base64.b64decode("".join(lines)).index(seed)
    first, last = -(-at * 4 // 3), (at + len(seed)) * 4 // 3
    start = 0
    for line in lines:
        part = line[max(0, first - start) : max(0, last - start)]
        if len(part) >= _PIECE:
            yield part.encode()
        start += len(line)


def _pieces(secret: bytes) -> Iterator[str]:
    """Yield pieces of the spellings in which a secret could leak."""
    spelt = [secret.hex(), secret.hex().upper(), repr(secret)[2:-1], secret.decode("latin-1")]
    for offset in range(3):
        whole = secret[offset : offset + (len(secret) - offset) // 3 * 3]
        spelt += [base64.b64encode(whole).decode(), base64.urlsafe_b64encode(whole).decode()]
    for text in spelt:
        yield from (text[start : start + _PIECE] for start in range(len(text) - _PIECE + 1))


_BLOCK = re.compile(r"^  # .* (will be|must be) .*?(?: \(([0-9]+) resources\))?$")
_SUMMARY = re.compile(r"Plan: ([0-9]+) to add, ([0-9]+) to change, ([0-9]+) to destroy\.")


@LAW
@given(situations())
def test_the_summary_counts_what_the_blocks_show(situation: Situation) -> None:
    plan = situation.prepare().plan
    text = render_text(plan)
    found = _SUMMARY.search(text)
    if found is None:
        assert plan.empty
        return
    added, changed, destroyed = map(int, found.groups())
    shown = _shown(text)

    assert shown["+"] + shown["-/+"] == added
    assert shown["~"] == changed
    assert shown["-"] + shown["-/+"] == destroyed
    assert sum(shown.values()) == len(plan.changes)


def _shown(text: str) -> dict[str, int]:
    """Count the resources in the blocks of a plan, by symbol."""
    shown = dict.fromkeys(SYMBOLS.values(), 0)
    waiting = 0
    for line in text.splitlines():
        if block := _BLOCK.match(line):
            waiting = int(block[2] or 1)
        elif waiting and (symbol := line.split(" ")[-2] if line.count(" ") else "") in shown and line[:5].strip():
            shown[symbol] += waiting
            waiting = 0
    return shown


@settings(SETTINGS, max_examples=60)
@given(st.data())
def test_groups_do_not_touch_each_other(data: st.DataObject) -> None:
    first = data.draw(declarations())
    world = new_world(seed=4)
    world.apply(first)
    cluster = data.draw(st.sampled_from(clusters_of(first)))
    spec = first.realms[cluster.realm].clusters[cluster.cluster]
    kept = data.draw(st.sampled_from([*sorted(spec.workers), ""]))
    workers = {name: group for name, group in spec.workers.items() if name == kept or data.draw(st.booleans())}
    workers |= {
        name: evolve(group, count=data.draw(st.integers(0, 3)))
        for name, group in workers.items()
        if name != kept and not group.nodes
    }
    workers["other"] = WorkerGroup(count=data.draw(st.integers(0, 2)))
    realm = first.realms[cluster.realm]
    clusters = {**realm.clusters, cluster.cluster: evolve(spec, workers=workers)}
    second = evolve(first, realms={**first.realms, cluster.realm: evolve(realm, clusters=clusters)})
    before = _members(world, cluster, kept)
    plan = world.plan(second)

    world.apply(second)

    assert _members(world, cluster, kept) == before
    touched = {change.address for change in plan.changes}
    assert not touched & {cluster / "node" / short for short in before}


def _members(world: World, cluster: Address, group: str) -> dict[str, str]:
    """Return the container id of each node of a group by short name."""
    return {
        found.name.removeprefix(names.container(cluster.realm, cluster.cluster, "")): found.id
        for found in world.engine.containers()
        if labels.of_cluster(found.labels, cluster.realm, cluster.cluster)
        and found.labels.get(labels.GROUP, "") == group
        and found.labels.get(labels.ROLE) == "worker"
    }


@LAW
@given(st.data())
def test_what_is_on_the_engine_has_values_and_no_symbols(data: st.DataObject) -> None:
    first = data.draw(declarations())
    world = new_world(seed=5)
    world.apply(first)
    world.apply(data.draw(edited(first)))
    entries = [
        entry
        for place in (
            *(layer["layer"] for layer in world.engine.snapshot()["containers"].values()),
            *(tree for _, tree in world.engine.snapshot()["volumes"].values()),
        )
        for entry in place.values()
    ]

    assert entries
    assert not [entry.path for entry in entries if re.search(rb"<(address|host key) of", entry.content)]
    assert "<address of" not in repr(world.engine.snapshot()["containers"])
    assert "<host key of" not in repr(world.engine.snapshot())


@LAW
@given(st.data())
def test_dns_and_known_hosts_have_a_line_for_each_node_and_no_other(data: st.DataObject) -> None:
    first = data.draw(declarations())
    second = data.draw(edited(first))
    world = new_world(seed=6)
    world.apply(first)
    world.apply(second)

    for realm, spec in second.realms.items():
        nodes = {}
        for cluster in spec.clusters:
            for name in nodes_of(world, Address((realm, cluster))):
                found = world.engine.inspect_container(name)
                assert found is not None
                endpoint = found.endpoint(names.network(realm, cluster))
                assert endpoint is not None
                fqdn = names.fqdn(realm, cluster, found.spec.hostname)
                nodes[fqdn] = (endpoint.fixed or endpoint.address, found.labels[labels.HOST_KEY])
        corefile = world.engine.read(names.dns_container(realm), "/Corefile") or b""
        known = world.engine.read(names.relay_container(realm), KNOWN_HOSTS) or b""
        assert records_of(corefile.decode()) == {name: address for name, (address, _) in nodes.items()}
        assert lines_of(known.decode()) == {name: key for name, (_, key) in nodes.items()}
        assert len(known.splitlines()) == len(nodes)


@LAW
@given(st.data())
def test_keys_stay_what_they_are(data: st.DataObject) -> None:
    declaration = data.draw(declarations())
    world = new_world(seed=7)
    world.apply(declaration)
    keys = _keys(world, declaration)

    for _ in range(2):
        cluster = data.draw(st.sampled_from(clusters_of(declaration)))
        DAMAGE[data.draw(st.sampled_from(sorted(DAMAGE)))](world, data.draw(st.sampled_from(nodes_of(world, cluster))))
        # Mended first: no worker leaves while its Slurm cannot be asked.
        world.apply(declaration)
        declaration = data.draw(edited(declaration))
        world.apply(declaration)

    # A REST API that came has brought one more.
    found = _keys(world, declaration)
    assert keys.items() <= found.items()
    assert {key.scope for key in found} == set(clusters_of(declaration))
    assert len(set(found.values())) == len(found)


def _keys(world: World, declaration: Declaration) -> dict[Address, bytes]:
    """Return the content of every key by its address; each has its length, and is closed to others."""
    keys = {}
    for cluster in clusters_of(declaration):
        container = names.container(cluster.realm, cluster.cluster, names.CONTROLLER)
        for name, file in FILES.items():
            entry = (
                world.engine.get_files(container, file.path).get(file.path) if _has(world, container, file) else None
            )
            if entry is not None:
                keys[cluster / "key" / name] = entry.content
                assert (len(entry.content), entry.mode) == (file.size, file.mode)
    return keys


def _has(world: World, container: str, file: KeyFile) -> bool:
    return world.engine.has_file(container, file.path)


@LAW
@given(declarations())
def test_the_record_holds_the_declaration_and_nothing_is_lost_in_it(declaration: Declaration) -> None:
    world = new_world(seed=8)
    world.apply(declaration)

    found = {
        Address((network.labels[labels.RECORD_REALM], network.labels[labels.RECORD_CLUSTER])): network.labels
        for network in world.engine.networks()
        if network.config_only
    }

    assert set(found) == set(clusters_of(declaration))
    for address, marks in found.items():
        cluster = declaration.realms[address.realm].clusters[address.cluster]
        said = json.loads(marks[labels.DECLARATION])
        assert marks[labels.OWNER] == declaration.name
        assert marks[labels.PROTECTED] == ("true" if cluster.prevent_destroy else "false")
        assert said.get("image") == cluster.image
        assert said.get("subnet") == cluster.subnet
        if "workers" in said:
            assert {name: group.get("count") for name, group in said["workers"].items()} == {
                name: group.count for name, group in cluster.workers.items()
            }
