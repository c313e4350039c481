"""`pull = true`: images are fetched by an apply, before the plan that it shows, and by nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.cli import options
from sindplan.errors import SindplanError
from sindplan.model.declaration import Cluster, Declaration, Realm, Submitter, WorkerGroup
from sindplan.model.facts import IMAGE_LABEL
from sindplan.pulling import pull_images, pull_notice
from tests.cli.conftest import HEADING, Call
from tests.faults import FaultyEngine
from tests.world import IMAGE_FACTS, World, new_world

IMAGE = "registry.example/node:1"
PINNED = f"registry.example/node@sha256:{'0' * 64}"
STATE = f"""\
version = 1
name = "lab"

[realms.sind.clusters.dev]
image = "{IMAGE}"
pull = true
"""
SETTLED = "No changes. Your clusters match the declaration.\n"


def offer(world: World, reference: str = IMAGE, *, pulled: bool = False) -> str:
    """Give the registry (or the engine) another image of a node under a name."""
    labels = {"sind.slurm.version": "26.05.5", IMAGE_LABEL: json.dumps(IMAGE_FACTS)}
    return world.engine.add_image(reference, labels=labels, pulled=pulled)


@pytest.fixture
def watched(world: World, monkeypatch: pytest.MonkeyPatch) -> FaultyEngine:
    """The world's engine, with its calls written down."""
    watched = FaultyEngine(world.engine)
    monkeypatch.setattr(options, "connected", lambda: (watched, world.slurm))
    return watched


@pytest.fixture
def state(folder: Path) -> Path:
    file = folder / "sindplan.toml"
    file.write_text(STATE, encoding="utf-8")
    return file


def pulls(engine: FaultyEngine) -> list[str]:
    found = [name for verb, name in engine.calls if verb == "pull"]
    engine.calls.clear()
    return found


def nodes(world: World) -> dict[str, str]:
    """Return the image of each node by its name."""
    return {one.name: one.image_id for one in world.engine.containers() if one.labels.get("sind.role")}


def test_a_plan_pulls_nothing_and_says_that_apply_will(
    world: World, watched: FaultyEngine, state: Path, call: Call
) -> None:
    offer(world)

    said = call("plan")

    assert said.status == 0
    assert pulls(watched) == []
    notice = f"Apply pulls {IMAGE} first; what a tag that has moved changes is in its plan, and not in this one.\n"
    assert said.err.startswith(notice)


def test_every_apply_pulls_each_image_once_and_none_of_other_clusters(
    world: World, watched: FaultyEngine, state: Path, call: Call
) -> None:
    offer(world)
    offer(world, "registry.example/other:1")
    more = '[realms.sind.clusters.other]\nimage = "registry.example/other:1"\n'
    state.write_text(f"{STATE}submitter = {{}}\n{more}", encoding="utf-8")

    assert call("apply", "--auto-approve").status == 0
    # The other one is pulled as any image that the engine lacks.
    assert pulls(watched) == [IMAGE, "registry.example/other:1"]

    said = call("apply", "--auto-approve")

    assert (said.status, said.out, said.err) == (0, SETTLED, f"pulling {IMAGE}\n{HEADING}")
    assert pulls(watched) == [IMAGE]


def test_a_tag_that_moves_is_told_of_and_replaces_nothing(
    world: World, watched: FaultyEngine, state: Path, call: Call
) -> None:
    old = offer(world)
    call("apply", "--auto-approve")
    new = offer(world)

    said = call("apply", "--auto-approve")

    assert (said.status, said.out) == (0, SETTLED)
    assert f"{IMAGE} means another image than before\n" in said.err
    told = f"{IMAGE!r} means {new[7:19]} now; sind/dev/node/controller, sind/dev/node/worker-0 runs {old[7:19]}"
    assert told in said.err
    assert set(nodes(world).values()) == {old}


def test_the_plan_that_is_agreed_to_is_the_one_after_the_pull(
    world: World, state: Path, call: Call, terminal: Any
) -> None:
    state.write_text(f"{STATE}follow_tag = true\n", encoding="utf-8")
    old = offer(world)
    call("apply", "--auto-approve")
    new = offer(world)
    assert call("plan").out == SETTLED
    terminal("no\n")

    refused = call("apply")

    assert refused.status == 1
    assert "sind/dev/node/worker-0 must be replaced" in refused.out
    assert (old[7:19] in refused.out, new[7:19] in refused.out) == (True, True)
    assert set(nodes(world).values()) == {old}
    terminal("yes\n")

    said = call("apply")

    assert (said.status, said.out.count("Plan: ")) == (0, 1)
    assert "meanwhile" not in said.err
    assert set(nodes(world).values()) == {new}
    assert call("plan").out == SETTLED


def test_a_saved_plan_is_refused_when_the_pull_shows_another_image(
    world: World, state: Path, call: Call, folder: Path
) -> None:
    old = offer(world)
    call("apply", "--auto-approve")
    state.write_text(f"{STATE}workers.cpu.count = 2\n", encoding="utf-8")
    call("plan", "--out", "grow.plan")
    offer(world)

    said = call("apply", "grow.plan")

    assert said.status == 1
    assert "grow.plan was made from what is not so any more" in said.err
    assert set(nodes(world).values()) == {old}


def test_a_blocked_plan_is_made_anew_with_what_was_pulled(world: World, state: Path, call: Call) -> None:
    """The image on the engine lacks what is declared, and the newer one in the registry has it."""
    bare = {**IMAGE_FACTS, "nss_slurm": False}
    world.engine.add_image(IMAGE, labels={IMAGE_LABEL: json.dumps(bare)})
    state.write_text(f'{STATE}identity = "nss_slurm"\n', encoding="utf-8")
    offer(world)

    assert call("plan").status == 1
    assert call("apply", "--auto-approve").status == 0


# What cannot be pulled


def test_an_image_that_was_made_here_is_used_with_a_warning(world: World, state: Path, call: Call) -> None:
    offer(world, pulled=True)

    said = call("apply", "--auto-approve")

    assert said.status == 0
    assert f"Warning: No registry that may be read has {IMAGE!r}, which every apply is to pull" in said.err
    assert len(nodes(world)) == 2


def test_a_registry_that_does_not_answer_fails_the_apply_before_anything_is_changed(
    world: World, state: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(world, pulled=True)
    before = world.snapshot()
    for mode in ("before", "timeout-before"):
        down = FaultyEngine(world.engine, 1, mode, frozenset({"pull"}))  # type: ignore[arg-type]
        monkeypatch.setattr(options, "connected", lambda down=down: (down, world.slurm))

        said = call("apply", "--auto-approve")

        assert (said.status, said.out) == (1, "")
        assert f"Error: The image {IMAGE!r} could not be pulled, as `pull = true` wants it: " in said.err
        assert "say pull = false to go on with the image that the engine has." in said.err
        assert world.snapshot() == before


def test_an_image_that_is_nowhere_is_an_error(world: World, state: Path, call: Call) -> None:
    said = call("apply", "--auto-approve")

    assert said.status == 1
    assert f"Error: The image {IMAGE!r} is not on the engine and could not be pulled: " in said.err


def test_what_is_pinned_is_pulled_where_it_is_missing_only(
    world: World, watched: FaultyEngine, state: Path, call: Call
) -> None:
    offer(world, PINNED)
    state.write_text(STATE.replace(IMAGE, PINNED), encoding="utf-8")

    assert call("plan").err.count("Apply pulls") == 0
    for expected in ([PINNED], []):
        assert call("apply", "--auto-approve").status == 0
        assert pulls(watched) == expected


# Laws

NAMES = st.sampled_from(["a:1", "b:1", "registry.example/c", PINNED, f"sha256:{'1' * 64}"])
CLUSTERS = st.builds(
    lambda image, pull, login, workers: Cluster(
        image=image,
        pull=pull,
        submitter=Submitter(image=login),
        workers={f"g{number}": WorkerGroup(image=worker) for number, worker in enumerate(workers)},
    ),
    NAMES,
    st.booleans(),
    st.none() | NAMES,
    st.lists(st.none() | NAMES, max_size=3),
)


@settings(deadline=None)
@given(clusters=st.lists(CLUSTERS, min_size=1, max_size=3), there=st.sets(NAMES), offered=st.sets(NAMES))
def test_what_is_to_be_pulled_is_pulled_once_and_nothing_else(
    clusters: list[Cluster], there: set[str], offered: set[str]
) -> None:
    realm = Realm(clusters={f"c{number}": cluster for number, cluster in enumerate(clusters)})
    declaration = Declaration(version=1, name="lab", realms={"sind": realm})
    world = new_world()
    for name in offered:
        offer(world, name)
    for name in there:
        offer(world, name, pulled=True)
    said: dict[str, set[str | None]] = {"always": set(), "never": set()}
    for cluster in clusters:
        options_ = (*([cluster.submitter] if cluster.submitter else []), *cluster.workers.values())
        said["always" if cluster.pull else "never"] |= {cluster.image, *(one.image for one in options_)}
    wanted = {name for name in said["always"] if name and not name.startswith("sha256:")}
    wanted -= {PINNED} & there
    engine = FaultyEngine(world.engine)

    if wanted <= there | offered:
        findings = pull_images(engine, declaration, lambda _: None)
        assert len(findings) == len(wanted - offered)
        assert sorted(pulls(engine)) == sorted(wanted)
    else:
        with pytest.raises(SindplanError, match="is not on the engine and could not be pulled"):
            pull_images(engine, declaration, lambda _: None)
    tags = wanted - {PINNED}
    assert all(name in pull_notice(declaration) for name in tags)
    assert tags or not pull_notice(declaration)
    none = evolve(declaration, realms={"sind": Realm(clusters={"c": evolve(clusters[0], pull=False)})})
    assert (pull_images(engine, none, lambda _: None), pull_notice(none)) == ((), "")
