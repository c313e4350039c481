"""What somebody else wrote, state file or plan, makes sindplan run nothing, and read nothing but what the command names.

The interpreter itself tells what is opened and run (PEP 578), whatever module does it.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.cli.conftest import Call, write_state
from tests.cli.test_saved_plans import _paths
from tests.strategies import SETTINGS
from tests.world import World

RUNS = {
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.forkpty",
    "pty.spawn",
    "ctypes.dlopen",
}
CONNECTS = {
    "socket.connect",
    "socket.bind",
    "socket.sendto",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "urllib.Request",
}
CHANGES = {
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "os.link",
    "os.symlink",
    "os.chmod",
    "os.chown",
    "os.truncate",
}
# What runs anyway: Python's own files, and what sindplan looks at of the machine and of itself.
OWN = (sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(__file__).parents[2] / "sindplan"), "/proc/sys", "/sys")


class _Watch:
    """What was opened, and what was done that must not be."""

    def __init__(self) -> None:
        self.on = False
        self.opened: set[str] = set()
        self.done: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event in ("open", "os.listdir", "os.scandir") and isinstance(arguments[0], str | bytes | os.PathLike):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if not path.startswith(OWN) and "__pycache__" not in path:
                self.opened.add(path)
        if event in RUNS | CONNECTS | CHANGES or (event == "exec" and "<string>" in str(arguments[0])):
            self.done.append(f"{event} {arguments}")


_WATCH: list[_Watch] = []


def _watcher() -> _Watch:
    """Return the one hook: the interpreter keeps it for good."""
    if not _WATCH:
        _WATCH.append(_Watch())
        sys.addaudithook(_WATCH[0])
    return _WATCH[0]


@pytest.fixture
def watch() -> Iterator[_Watch]:
    """Watch while `on` is true."""
    made = _watcher()
    made.opened, made.done = set(), []
    yield made
    made.on = False


def test_the_watch_sees(watch: _Watch, tmp_path: Path) -> None:
    watch.on = True
    (tmp_path / "a").write_text("x")
    (tmp_path / "a").unlink()
    watch.on = False

    assert watch.opened == {str(tmp_path / "a")}
    assert len(watch.done) == 1


SECRET = '{"auths": {"registry": {"auth": "c0rrect-horse"}}}'
CLUSTER: dict[str, Any] = {
    "image": "sindplan-node:26.05",
    "controller": {"security_opt": ["label=disable"], "cap_add": ["SYS_NICE"], "devices": ["/dev/null"]},
    "db": {"storage_password": {"env": "SINDPLAN_SECRET_X"}},
    "storage": {"host_path": "/srv/data", "mount_path": "/data"},
    "slurm": {"main": "MaxJobCount=7\n", "plugstack": "", "cgroup": ""},
    "workers": {"cpu": {"count": 1}},
}
DOCUMENT = {"version": 1, "name": "lab", "realms": {"sind": {"clusters": {"dev": CLUSTER}}}}


def _texts(outside: str) -> st.SearchStrategy[Any]:
    return st.sampled_from(
        [
            outside,
            f"seccomp={outside}",
            f"file://{outside}",
            f"include {outside}\n",
            f"@{outside}",
            f"$(cat {outside})",
            f"`cat {outside}`",
            "${HOME}",
            "$HOME",
            "~/.docker/config.json",
            "../key.json",
            "seccomp=../key.json",
            "seccomp=link.json",
            "unix:///var/run/docker.sock",
            "ssh://me@host",
        ]
    ).flatmap(
        lambda text: st.sampled_from(
            [
                text,
                [text],
                {"file": text},
                {"env": text},
                {"file": "../key.json"},
                {"env": "HOME"},
                {text: text},
                {text: {}},
            ]
        )
    )


def _put(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(document))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return copy


@pytest.fixture
def repository(folder: Path) -> Path:
    """A folder as a pull request fills it, with something of the user's beside it."""
    (folder / "key.json").write_text(SECRET)
    made = folder / "repository"
    made.mkdir()
    (made / "link.json").symlink_to("../key.json")
    os.chdir(made)
    return made


def _check(watch: _Watch, said: Any, *named: Path) -> None:
    assert not watch.done, watch.done
    assert watch.opened <= {os.path.realpath(path) for path in named}
    assert "c0rrect-horse" not in said.out + said.err


def test_a_state_file_makes_plan_read_nothing_else(world: World, repository: Path, call: Call, watch: _Watch) -> None:
    state = repository / "sindplan.toml"

    @settings(SETTINGS, max_examples=150, suppress_health_check=[*HealthCheck])
    @given(st.sampled_from([path for path in _paths(DOCUMENT) if path]), _texts(str(repository.parent / "key.json")))
    @example(("realms", "sind", "clusters", "dev", "controller", "security_opt"), ["seccomp=../key.json"])
    @example(("realms", "sind", "clusters", "dev", "workers", "cpu"), {"security_opt": ["seccomp=link.json"]})
    def law(path: tuple[Any, ...], value: Any) -> None:
        state.write_text(tomli_w.dumps(_put(DOCUMENT, path, value)))
        for command in (["validate"], ["plan"], ["plan", "--no-probe", "--format", "json"]):
            watch.opened.clear()
            watch.on = True
            said = call(*command)
            watch.on = False
            _check(watch, said, state)

    call("plan")
    law()


def test_a_plan_file_makes_apply_run_and_read_nothing(
    world: World, repository: Path, call: Call, watch: _Watch
) -> None:
    """One that is not what its declaration says is refused, whatever it says; no action in it is ever looked up."""
    write_state(repository, 1)
    saved = repository / "a.plan"
    assert call("plan", "--out", "a.plan").status == 0
    content = json.loads(saved.read_bytes())
    before = world.snapshot()

    @settings(SETTINGS, max_examples=150, suppress_health_check=[*HealthCheck])
    @given(st.sampled_from([path for path in _paths(content) if path]), _texts(str(repository.parent / "key.json")))
    @example(
        ("sindplan", "declaration", "realms", "sind", "clusters", "dev", "controller"),
        {"security_opt": ["seccomp=sindplan.toml"]},
    )
    def law(path: tuple[Any, ...], value: Any) -> None:
        saved.write_text(json.dumps(_put(content, path, value)))
        watch.opened.clear()
        watch.on = True
        # Whatever it says, it is for another engine: nothing that it says may have been done until then.
        said = call("apply", "a.plan")
        watch.on = False
        _check(watch, said, saved)
        assert said.status == 1
        assert world.snapshot() == before

    content["sindplan"]["engine"] = "another"
    saved.write_text(json.dumps(content))
    call("apply", "a.plan")
    law()


def test_the_graph_of_a_plan_file_is_for_readers_only(world: World, folder: Path, call: Call) -> None:
    """What is done comes from the declaration: a graph that says otherwise changes nothing of it."""
    write_state(folder, 1)
    assert call("plan", "--out", "a.plan").status == 0
    content = json.loads((folder / "a.plan").read_bytes())
    for action in content["sindplan"]["graph"]:
        action |= {"step": "network.remove", "says": "owned", "changes": ["sind/dev/volume/munge"]}
    (folder / "a.plan").write_text(json.dumps(content))

    said = call("apply", "a.plan")

    assert said.status == 0
    assert "owned" not in said.out + said.err
    assert call("plan").out == "No changes. Your clusters match the declaration.\n"
