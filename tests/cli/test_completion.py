"""Completion in real shells: what is offered, at once, and nothing on the terminal whatever is wrong."""

import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import frozen

from sindplan.cli.completion import VARIABLE
from tests.cli.conftest import ROOT, Call, write_state
from tests.programs import installed

SHELLS = ("bash", "zsh", "fish")
Words = tuple[str, ...]


@frozen
class Shell:
    """A shell in which completion is set up, and the program on its path."""

    name: str
    folder: Path

    def offers(self, *words: str, module: str = "sindplan", **environment: str) -> tuple[list[str], str]:
        """Return what is offered for the last word, and what came on the terminal."""
        program = self.folder / "bin" / "sindplan"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n', encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        done = subprocess.run(
            [self.name, *(["-f"] if self.name == "zsh" else []), "-c", SCRIPTS[self.name](words)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=self.folder,
            env={
                **os.environ,
                "PATH": f"{program.parent}:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "DOCKER_HOST": "unix:///nowhere",
                **environment,
            },
        )
        return done.stdout.split(), done.stderr


def _bash(words: Words) -> str:
    quoted = " ".join(f"'{word}'" for word in ("sindplan", *words))
    return (
        'eval "$(sindplan completion bash)"\n'
        f"COMP_WORDS=({quoted}) COMP_CWORD={len(words)}\n"
        '_sindplan_completion sindplan\nprintf "%s\\n" "${COMPREPLY[@]}"'
    )


def _zsh(words: Words) -> str:
    quoted = " ".join(f"'{word}'" for word in ("sindplan", *words))
    # What the completion system is given to offer is printed.
    return (
        "compdef() { }; compadd() { print -l -- ${(P)5} }; _describe() { print -l -- ${${(P)3}%%:*} }\n"
        f'eval "$(sindplan completion zsh)"\nwords=({quoted}) CURRENT={len(words) + 1}\n_sindplan_completion'
    )


def _fish(words: Words) -> str:
    return f"sindplan completion fish | source; complete --do-complete 'sindplan {' '.join(words)}'"


SCRIPTS: dict[str, Callable[[Words], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, folder: Path) -> Shell:
    installed(request.param)
    (folder / "bin").mkdir()
    return Shell(request.param, folder)


def test_commands_options_and_addresses_are_offered(shell: Shell) -> None:
    write_state(shell.folder, 2)

    assert "plan" in shell.offers("pl")[0]
    assert "--target" in shell.offers("plan", "--tar")[0]
    offered, said = shell.offers("plan", "--target", "sind/dev/node/w")
    assert [word for word in offered if word.startswith("sind/")] == [
        "sind/dev/node/worker-0",
        "sind/dev/node/worker-1",
    ]
    assert "sind/dev" in shell.offers("destroy", "si")[0]
    assert "sind" in shell.offers("drift", "--realm", "")[0]
    assert said == ""


def test_nothing_is_said_whatever_is_wrong(shell: Shell) -> None:
    (shell.folder / "sindplan.toml").write_text("version = \n", encoding="utf-8")
    assert shell.offers("plan", "--target", "s") == ([], "")
    assert shell.offers("plan", "--nonsense", "")[1] == ""
    (shell.folder / "sindplan.toml").write_text('[realms."a b; $(touch owned)".clusters."$x"]\n', encoding="utf-8")
    assert shell.offers("plan", "--target", "") == ([], "")


def test_what_runs_is_offered_too(folder: Path) -> None:
    (folder / "bin").mkdir()
    write_state(folder, 1)
    bash = Shell("bash", folder)
    (folder / "applied.py").write_text(APPLIED, encoding="utf-8")
    (folder / "sindplan.toml").rename(folder / "other.toml")

    offered, said = bash.offers(
        "plan", "--allow-data-loss", "sind/dev/v", module="applied", PYTHONPATH=f"{ROOT}:{folder}"
    )

    assert "sind/dev/volume/config" in offered
    assert said == ""


APPLIED = """\
from pathlib import Path
from sindplan.cli import candidates, main
from sindplan.statefile import read
from tests.cli.simulated import put_in
from tests.world import new_world
world = new_world(seed=1)
world.apply(read([Path("other.toml")]))
put_in(world)
candidates._may_answer = lambda: True
main.main()
"""


def ask(folder: Path, words: str, host: str) -> tuple[str, float]:
    """Return what is offered, and how many seconds it took."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "sindplan"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            VARIABLE: "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split())),
            "DOCKER_HOST": host,
        },
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout, time.monotonic() - began


def test_an_engine_that_hangs_is_left_out(folder: Path) -> None:
    write_state(folder, 1)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "engine"))
        # It takes connections, and never says a word.
        server.listen()

        offered, took = ask(folder, "sindplan plan --target", f"unix://{folder}/engine")

    assert "plain,sind/dev\n" in offered
    # A second of waiting; Python's start is not what is measured, and machines are busy.
    assert took < 3


def test_without_an_engine_its_sdk_is_not_loaded(folder: Path) -> None:
    write_state(folder, 1)
    code = (
        "import sys; from sindplan.cli.main import run\n"
        "try: run([])\n"
        "except SystemExit: pass\n"
        "print(sorted({'docker', 'cattrs', 'cryptography', 'requests', 'ssl'} & set(sys.modules)))"
    )
    environment = {
        VARIABLE: "bash_complete",
        "COMP_WORDS": "sindplan plan --target",
        "COMP_CWORD": "3",
        "DOCKER_HOST": "unix:///nowhere",
        "PYTHONPATH": str(ROOT),
    }

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**os.environ, **environment},
        timeout=60,
    )

    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", SHELLS)
def test_the_script_needs_no_such_shell(name: str, folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    said = call("completion", name)

    assert said.status == 0
    assert said.err == ""
    assert f"{VARIABLE}={name}_complete" in said.out
