"""Texts out of nodes, and labels, are anybody's: whatever they say, commands that only look end well or with an error of ours.

Readers of single texts have laws of their own where they are; here all of them get it at once, through the commands.
"""

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.engine.records import Entry, Network, NetworkSpec
from sindplan.errors import Conflict, EngineRefused, SindplanError
from sindplan.importing.imports import import_clusters
from sindplan.kinds import labels
from sindplan.kinds.dns import COREFILE
from sindplan.kinds.relay import KNOWN_HOSTS
from sindplan.model.declaration import Declaration
from sindplan.observe.gather import take_inventory
from sindplan.preflight.finding import Finding
from sindplan.render.document import Context, document
from sindplan.render.escape import escaped
from sindplan.render.text import render_text
from sindplan.statefile import read
from sindplan.workflow import Prepared, clusters_of, prepare_destroy, prepare_drift, without_records
from tests.sind_cluster import Sind, make_all, sind_world
from tests.strategies import SETTINGS
from tests.world import World

LAW = settings(SETTINGS, max_examples=60)
KITCHEN_SINK = Path(__file__).parents[2] / "examples/kitchen-sink.toml"
FULL = read([KITCHEN_SINK])
SINDS = """
version = 1
name = "lab"
[realms.sind.clusters.full]
image = "sindplan-node:26.05"
[realms.sind.clusters.full.controller]
backup = true
[realms.sind.clusters.full.db]
[realms.sind.clusters.full.workers.cpu]
count = 2
[realms.sind.clusters.full.users]
alice = {}
"""

LONG = "9" * 5000
_WORDS = (
    "=",
    "NodeName=worker-0",
    "Include x",
    "\\\n",
    "worker-[0-99999999]",
    "\0",
    "\x1b[2J",
    "\u202e",
    "\ud800",
    LONG,
    "@all",
    "{",
    "hosts {",
)
# What stands in a label or a line has colons, commas and numbers.
_SOUP = st.text('ab:1,/+ -=[]{}"\\\n\t\0\u2028²٣', max_size=40)
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 10**20), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(("v", "image", "workers", "power", "count", "limits", "units", "users", "a")),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=8,
).map(json.dumps)
TEXTS = st.one_of(
    _SOUP, st.sampled_from(_WORDS), _JSON, st.just(f"alice:{LONG}:{LONG} b:1:{LONG}"), st.just("[" * 100_000)
)
LABELS = sorted(
    {value for name, value in vars(labels).items() if name.isupper() and isinstance(value, str)}
    | {"sindplan.image", "sind.data.mountpath"}
)


_PLACES = st.integers(0, 999)


def _one_of(draw: st.DrawFn, there: Iterable[str]) -> str:
    """Draw one of what there is, by a number: how much there is, threads may have a say in."""
    found = sorted(there)
    return found[draw(_PLACES) % len(found)]


def _mixed(draw: st.DrawFn, text: str) -> str:
    """Draw a text in the place of another: all of it, or of one of its lines or words."""
    new = draw(TEXTS)
    between = draw(st.sampled_from(("", "\n", " ", ",")))
    if not between:
        return new
    parts = text.split(between)
    parts[draw(_PLACES) % len(parts)] = new
    return between.join(parts)


def _files(world: World, draw: st.DrawFn) -> None:
    """Write something into a file of a container."""
    container = _one_of(draw, (one.name for one in world.engine.containers()))
    folders = (
        "/etc/slurm",
        "/etc/systemd/system",
        "/etc/sysusers.d",
        "/etc/tmpfiles.d",
        "/etc/ssh",
        "/root/.ssh",
        COREFILE,
        KNOWN_HOSTS,
    )
    there = {}
    for folder in folders:
        there |= world.engine.get_files(container, folder)
    files = sorted(path for path, entry in there.items() if entry.kind == "file")
    if not files:
        return
    entry = there[_one_of(draw, files)]
    before = entry.content.decode("utf-8", "replace")
    content = draw(st.binary(max_size=20)) if draw(st.booleans()) else _mixed(draw, before).encode("utf-8", "replace")
    how = draw(st.sampled_from(("content", "link", "dir")))
    made = {
        "content": Entry(path=entry.path, content=content, mode=entry.mode, uid=entry.uid, gid=entry.gid),
        "link": Entry(path=entry.path, kind="link", link="../../../etc/passwd\n"),
        "dir": Entry(path=entry.path, kind="dir"),
    }
    # A hand cannot write either what is mounted read-only.
    with contextlib.suppress(EngineRefused):
        world.engine.delete(container, entry.path)
        world.engine.put_files(container, [made[how]])


def _with_label(draw: st.DrawFn, found: dict[str, str]) -> dict[str, str]:
    key = _one_of(draw, {*found, *LABELS})
    return {**found, key: _mixed(draw, found.get(key, ""))}


def _container(world: World, draw: st.DrawFn) -> None:
    """Make a container anew with another label, or a second one beside it."""
    name = _one_of(draw, (one.name for one in world.engine.containers()))
    found = world.engine.inspect_container(name)
    assert found is not None
    spec = evolve(found.spec, labels=_with_label(draw, dict(found.labels)), endpoints=())
    beside = draw(st.booleans())
    if beside:
        spec = evolve(spec, name=f"{spec.name}-{draw(st.sampled_from(('1', 'x', 'replaced')))}")
    else:
        world.engine.remove_container(name)
    starts = draw(st.booleans())
    # One of the same name may be there from the hand's last visit.
    with contextlib.suppress(Conflict):
        made = world.engine.create_container(spec)
        if starts:
            world.engine.start(made)


def _network(world: World, draw: st.DrawFn) -> None:
    """Make a record, or a network of nobody's, with any label."""
    records = {network.name: network for network in world.engine.networks() if network.config_only}
    found = records[_one_of(draw, records)] if records else Network(id="", name="stranger", labels={})
    if found.id and draw(st.booleans()):
        world.engine.remove_network(found.id)
    name = draw(st.sampled_from((found.name, f"{found.name}-next", "stranger")))
    if all(network.name != name for network in world.engine.networks()):
        marks = _with_label(draw, dict(found.labels))
        world.engine.create_network(NetworkSpec(name=name, labels=marks, config_only=True))


def _volume(world: World, draw: st.DrawFn) -> None:
    """Make a volume with any label."""
    volumes = {volume.name: volume for volume in world.engine.volumes()}
    found = volumes[_one_of(draw, volumes)]
    world.engine.create_volume(f"{found.name}-2", _with_label(draw, dict(found.labels)))


TOUCHES = (_files, _files, _container, _network, _network, _volume)


def _said(prepared: Prepared | tuple[Finding, ...]) -> Iterator[str]:
    if isinstance(prepared, Prepared):
        yield render_text(prepared.plan)
        yield json.dumps(
            document(
                prepared.plan,
                Context(drifted=lambda _: False, images={}, extra={}),
                version="1",
                timestamp="",
                blocked=False,
            )
        )
        prepared_findings = prepared.findings
    else:
        prepared_findings = prepared
    for finding in prepared_findings:
        yield escaped(finding.what + finding.fix)


def look(world: World, declaration: Declaration) -> None:
    """Run every command that only looks, and write down what it says."""
    said: list[Any] = []
    ways = (
        lambda: [world.prepare(declaration)],
        lambda: prepare_drift(world.engine, world.slurm),
        lambda: [tuple(without_records(world.engine).values())],
        lambda: [prepare_destroy(world.engine, world.slurm, clusters_of(declaration), declaration=declaration)],
        lambda: [
            import_clusters(world.engine, world.slurm, [*take_inventory(world.engine).clusters()], name="lab").text
        ],
    )
    for way in ways:
        try:
            said += way()
        except SindplanError as error:
            said.append(escaped(f"{error.summary} {error.fix}"))
    for one in said:
        for text in (one,) if isinstance(one, str) else _said(one):
            text.encode()


@LAW
@given(st.data())
def test_nothing_in_a_cluster_of_ours_makes_looking_fail(data: st.DataObject) -> None:
    world = sind_world(seed=1)
    world.apply(FULL)
    for _ in range(data.draw(st.integers(1, 3))):
        data.draw(st.sampled_from(TOUCHES))(world, data.draw)

    look(world, FULL)


@LAW
@given(st.data())
def test_nothing_in_a_cluster_of_sinds_makes_looking_fail(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    file = tmp_path_factory.getbasetemp() / "sinds.toml"
    file.write_text(SINDS, encoding="utf-8")
    declaration = read([file])
    world = sind_world(seed=1)
    make_all(Sind(world.engine, old=data.draw(st.booleans())), world.slurm, declaration)
    for _ in range(data.draw(st.integers(1, 3))):
        data.draw(st.sampled_from(TOUCHES))(world, data.draw)

    look(world, declaration)
