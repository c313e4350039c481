"""What is secret is put into nodes closed: with its mode at once, never opened to others for a moment, and never as an argument."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sindplan.engine.records import ContainerSpec, Entry
from sindplan.statefile import read
from tests.world import PASSWORD, World, failures, new_world

ROOT = Path(__file__).parents[2]
EXAMPLES = [("kitchen-sink.toml", {"slurm.key", "jwt_hs256.key", "slurmdbd.conf"}), ("accounting.toml", {"munge.key"})]
KEYS = ("munge.key", "slurm.key", "jwt_hs256.key")
PRIVATE = b"PRIVATE KEY"
OTHERS, GROUPS_WRITE = 0o007, 0o020


class Noting:
    """An engine that notes what is put into it, and with which words."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.put: list[tuple[str, Entry]] = []
        self.words: list[str] = []

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._world.engine, verb)

    def put_files(self, container: str, entries: Sequence[Entry]) -> None:
        self.put += [(container, entry) for entry in entries]
        self._world.engine.put_files(container, entries)

    def execute(self, container: str, command: Sequence[str], *more: Any, **named: Any) -> Any:
        self.words += command
        return self._world.engine.execute(container, command, *more, **named)

    def create_container(self, spec: ContainerSpec) -> str:
        self.words.append(repr(spec))
        return self._world.engine.create_container(spec)


def _is_secret(entry: Entry) -> bool:
    return entry.kind == "file" and (
        any(entry.path.partition(".sindplan")[0].endswith(key) for key in KEYS)
        or PRIVATE in entry.content
        or PASSWORD.encode() in entry.content
    )


@pytest.mark.parametrize(("example", "keys"), EXAMPLES)
def test_secrets_are_closed_from_the_start_and_never_words(example: str, keys: set[str]) -> None:
    world = new_world(seed=1)
    engine = Noting(world)
    declaration = read([ROOT / "examples" / example])

    applied = world.apply(declaration, engine=engine)

    assert failures(applied) == []
    secret = [(container, entry) for container, entry in engine.put if _is_secret(entry)]
    names = {Path(entry.path).name.partition(".sindplan")[0] for _, entry in secret}
    assert {*keys, "id_ed25519", "ssh_host_ed25519_key"} <= names, names
    for container, entry in secret:
        # A group of the daemon's own may read.
        assert not entry.mode & (OTHERS | GROUPS_WRITE), (container, entry.path, oct(entry.mode))
        assert not entry.mode & 0o070 or entry.gid != 0, (container, entry.path, oct(entry.mode))
        said = entry.content.decode("latin-1")
        assert not [word for word in engine.words if said in word or PASSWORD in word]
