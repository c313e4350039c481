"""What images have: out of a label, out of what an earlier probe found, or not known."""

import json
from pathlib import Path
from typing import Any

import pytest

from sindplan.engine.records import Container
from sindplan.engine.simulated import SimulatedEngine
from sindplan.engine.simulated_machine import PlainMachine
from sindplan.errors import EngineTimeout, SindplanError
from sindplan.execute.lock import state_folder
from sindplan.model.facts import IMAGE_LABEL, ImageFacts, image_facts
from sindplan.observe.observation import look_up
from sindplan.observe.probes import cached_probe, probe_image

FACTS = {
    "v": 1,
    "slurm_version": "26.05.5",
    "plugins": ["mpi_pmix", "task_cgroup"],
    "uids": {"slurm": [64030, 64031], "munge": [900, 901]},
    "tools": ["dnsmasq"],
}
TEXT = json.dumps(FACTS)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_an_image_says_is_read() -> None:
    facts = image_facts("sha256:1", TEXT)

    assert facts is not None
    assert (facts.id, facts.slurm_version, facts.probed) == ("sha256:1", "26.05.5", True)
    assert facts.plugins == {"mpi_pmix", "task_cgroup"}
    assert facts.tools == {"dnsmasq"}
    assert facts.owner("slurm") == (64030, 64031)
    assert facts.owner("nobody") == (0, 0)


def test_keys_that_a_later_version_adds_do_not_matter() -> None:
    assert image_facts("x", json.dumps({**FACTS, "more": {"a": 1}})) == image_facts("x", TEXT)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "3",
        '"v"',
        "{}",
        "[" * 100_000,
        json.dumps({**FACTS, "v": 2}),
        json.dumps({**FACTS, "v": "1"}),
        json.dumps({**FACTS, "plugins": None}),
        json.dumps({**FACTS, "plugins": 3}),
        json.dumps({**FACTS, "uids": []}),
        json.dumps({**FACTS, "uids": {"slurm": 5}}),
        json.dumps({**FACTS, "uids": {"slurm": [5]}}),
        json.dumps({**FACTS, "uids": {"slurm": ["a", "b"]}}),
        json.dumps({**FACTS, "uids": {"slurm": [None, 1]}}),
        TEXT.replace("64030", "1e999"),
        TEXT.replace("64030", "NaN"),
        TEXT.replace("64030", "9" * 5000),
        json.dumps({key: value for key, value in FACTS.items() if key != "tools"}),
        "\x00\x1b[2J",
    ],
)
def test_what_makes_no_sense_says_nothing(text: str) -> None:
    assert image_facts("x", text) is None


class Printing(PlainMachine):
    """Containers print a line and end, or run on when there is none."""

    def __init__(self, line: str | None) -> None:
        super().__init__()
        self._line = line

    def started(self, container: Container) -> int | None:
        self._output[container.id] = [self._line or ""]
        return None if self._line is None else 0


def engine_with(line: str | None, **labels: str) -> tuple[SimulatedEngine, str]:
    engine = SimulatedEngine(machine=Printing(line))
    return engine, engine.add_image("plain:1", labels=labels)


def test_an_image_is_looked_into_once_and_remembered_by_its_id(cache: Path) -> None:
    engine, image = engine_with(TEXT)
    assert look_up(engine, "plain:1") == ImageFacts(id=image)

    probe_image(engine, "plain:1", image, "token")

    assert look_up(engine, "plain:1") == image_facts(image, TEXT)
    assert engine.containers() == ()
    (file,) = (cache / "sindplan" / "images").iterdir()
    assert file.name == f"{image.removeprefix('sha256:')}.json"
    # A tag that moved on is another image.
    assert engine.add_image("plain:1") != image
    assert not look_up(engine, "plain:1").probed


def test_the_label_goes_before_what_was_found(cache: Path) -> None:
    engine, image = engine_with(TEXT, **{IMAGE_LABEL: TEXT.replace("26.05.5", "24.11.5")})
    probe_image(engine, "plain:1", image, "token")

    assert look_up(engine, "plain:1").slurm_version == "24.11.5"


def test_an_image_that_is_not_there_is_not_known() -> None:
    assert look_up(SimulatedEngine(), "none:1") == ImageFacts()


@pytest.mark.parametrize("line", ["", "sh: find: not found", "{}", "[" * 100_000])
def test_an_image_that_tells_nothing_is_no_node(line: str, cache: Path) -> None:
    engine, image = engine_with(line)

    with pytest.raises(SindplanError, match="'plain:1' cannot be a node") as caught:
        probe_image(engine, "plain:1", image, "token")

    assert caught.value.fix
    assert engine.containers() == ()
    assert not cache.exists()


def test_an_image_that_hangs_leaves_no_container() -> None:
    engine, image = engine_with(None)

    with pytest.raises((SindplanError, EngineTimeout)):
        probe_image(engine, "plain:1", image, "token")

    assert engine.containers() == ()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b'{"v": 1}'])
def test_a_spoilt_memory_is_no_memory(content: bytes, cache: Path) -> None:
    engine, image = engine_with(TEXT)
    folder = cache / "sindplan" / "images"
    folder.mkdir(parents=True)
    (folder / f"{image.removeprefix('sha256:')}.json").write_bytes(content)

    assert not look_up(engine, "plain:1").probed
    probe_image(engine, "plain:1", image, "token")
    assert look_up(engine, "plain:1").probed


def test_a_memory_that_cannot_be_read_is_none(cache: Path) -> None:
    (cache / "sindplan" / "images" / "1.json").mkdir(parents=True)

    assert cached_probe("sha256:1") == ""
    assert cached_probe("sha256:2") == ""


@pytest.mark.parametrize("value", ["", "relative"])
def test_the_memory_is_in_the_home_folder_unless_said(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setenv("HOME", str(tmp_path))
    engine, image = engine_with(TEXT)

    probe_image(engine, "plain:1", image, "token")

    found: list[Any] = list((tmp_path / ".cache" / "sindplan" / "images").iterdir())
    assert [file.name for file in found] == [f"{image.removeprefix('sha256:')}.json"]


def test_a_user_without_any_home_remembers_nothing_and_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under cron, or in a container that runs as a number."""
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def nobody(_: int) -> None:
        raise KeyError

    monkeypatch.setattr("pwd.getpwuid", nobody)

    assert cached_probe("sha256:1") == ""
    with pytest.raises(SindplanError, match="no home folder") as caught:
        state_folder("sind")
    assert caught.value.fix == "Set HOME or XDG_STATE_HOME to a folder of yours."
