"""Files that commands write: closed from the start where they should be, never over another, whole or not at all."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sindplan.cli.new_file import AS_USUAL, OWNER_ONLY, write_new
from sindplan.errors import SindplanError
from sindplan.statefile import read
from tests.cli.conftest import Call, write_state
from tests.world import World

YAML = "kind: Cluster\nname: dev\nnodes:\n  - controller\n  - worker: 1\n"


@pytest.fixture(autouse=True)
def _open_to_all() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def modes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The modes that files are made with: what they have in the end may have been put right late."""
    made: list[int] = []
    opened = os.open

    def noting(path: object, flags: int, mode: int = 0o777, **more: int) -> int:
        if flags & os.O_CREAT:
            made.append(mode)
        return opened(path, flags, mode, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "open", noting)
    return made


@pytest.mark.parametrize(
    ("arguments", "file", "mode"),
    [
        (["import", "sind/dev", "-o", "out"], "out", 0o600),
        (["convert", "c.yaml", "-o", "out"], "out", 0o600),
        (["plan", "--out", "out"], "out", 0o600),
        (["init", "-f", "out"], "out", 0o666),
    ],
)
def test_modes(
    arguments: list[str], file: str, mode: int, world: World, folder: Path, call: Call, modes: list[int]
) -> None:
    world.apply(read([write_state(folder, 1)]))
    write_state(folder, 2)
    (folder / "c.yaml").write_text(YAML)
    modes.clear()

    said = call(*arguments)

    assert said.status == 0, said.err
    assert modes == [mode]
    assert stat.S_IMODE((folder / file).stat().st_mode) == mode


def test_the_realms_lock_is_its_owners(world: World, state: Path, call: Call, modes: list[int]) -> None:
    assert call("apply", "--auto-approve").status == 0

    assert modes == [0o600]
    assert stat.S_IMODE((state.parent / "state/sind/sind").stat().st_mode) == 0o700


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("victim")

    with pytest.raises(SindplanError, match="exists; it was left as it is"):
        write_new(tmp_path / "link", "x", OWNER_ONLY, "-o")

    assert not (tmp_path / "victim").exists()


def test_what_cannot_be_written_whole_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SindplanError, match="cannot be written"):
        write_new(tmp_path / "file", "\ud800", AS_USUAL, "-o")

    assert not (tmp_path / "file").exists()
