"""What reaches the terminal: which stream, which bytes, and that nothing that is printed ends in a traceback."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from click import unstyle

from sindplan.cli import options
from sindplan.cli.main import _COMMANDS
from sindplan.errors import NodeFailed
from sindplan.kinds.relay import KNOWN_HOSTS
from sindplan.statefile import read
from tests.cli.conftest import DIGEST, HEADING, STATE, Call, program, write_state
from tests.world import World

ESC = "\x1b"


# Help


@pytest.mark.parametrize("command", [[], *([name] for name in _COMMANDS)], ids=" ".join)
def test_help_loads_only_what_it_needs_and_is_there_at_once(command: list[str]) -> None:
    code = (
        "import sys, time; began = time.process_time()\n"
        "from sindplan.cli.main import run\n"
        "status = run(sys.argv[1:]); took = time.process_time() - began\n"
        "heavy = {'docker', 'cattrs', 'cryptography', 'requests'} & set(sys.modules)\n"
        "print(f'{status} {sorted(heavy)} {took < 1}', file=sys.stderr)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, *command, "--help"], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stderr == "0 [] True\n"
    assert done.stdout.startswith("Usage: ")
    assert "--help" in done.stdout


def test_short_help_and_version(call: Call) -> None:
    assert call("-h").out == call("--help").out
    assert re.fullmatch(r"sindplan [0-9.]+\n", call("--version").out)


# Colour


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """Return what a program prints when both of its streams are a terminal."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.simulated", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        env={**{name: value for name, value in os.environ.items() if name != "NO_COLOR"}, **environment},
        cwd=Path(__file__).parents[2],
    )
    os.close(theirs)
    pieces = []
    while piece := _read(ours):
        pieces.append(piece)
    os.close(ours)
    child.wait(timeout=60)
    return b"".join(pieces).decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        # A terminal whose other end is gone.
        return b""


def test_colour_is_for_terminals_and_says_nothing_by_itself(state: Path, world: World, call: Call) -> None:
    coloured = on_a_terminal("plan", "-f", str(state), COLUMNS="200")

    assert f"{ESC}[32m  + node{ESC}[0m" in coloured
    assert DIGEST.sub("", unstyle(coloured)) == HEADING + call("plan").out


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [(["--no-color", "plan"], {}), (["plan"], {"NO_COLOR": "1"})],
)
def test_no_colour_where_it_is_not_wanted(arguments: list[str], environment: dict[str, str], state: Path) -> None:
    assert ESC not in on_a_terminal(*arguments, "-f", str(state), **environment)
    assert ESC not in on_a_terminal(*arguments, "-f", str(state.parent / "none.toml"), **environment)


def test_no_colour_without_a_terminal(state: Path, world: World, call: Call) -> None:
    for arguments in (["plan"], ["apply", "--auto-approve"], ["doctor"], ["plan", "-f", "none.toml"], ["nonsense"]):
        said = call(*arguments)

        assert ESC not in said.out + said.err


# Pipes and full disks


def assert_no_traceback(done: "subprocess.CompletedProcess[bytes]") -> None:
    for word in (b"Traceback", b"Exception ignored", b"Error:"):
        assert word not in done.stderr, done.stderr.decode()


@pytest.mark.parametrize("arguments", [["plan"], ["apply"], ["validate"]])
def test_a_reader_that_is_gone_leaves_no_traceback(arguments: list[str], state: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    done = program(*arguments, "-f", str(state), stdout=writer)

    os.close(writer)
    assert_no_traceback(done)
    assert done.returncode == 1


def test_head_leaves_no_traceback(state: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m tests.cli.simulated plan -f {state} | head -n 1",
        shell=True,
        capture_output=True,
        check=False,
        cwd=Path(__file__).parents[2],
        timeout=60,
    )

    assert done.stdout == b"sindplan will perform the following actions:\n"
    assert_no_traceback(done)


def test_an_apply_goes_on_when_nobody_reads_its_progress(state: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    # As with `2>&1 | head`: the progress on stderr breaks in the middle of the work.
    done = program("apply", "--auto-approve", "-f", str(state), stderr=writer)

    os.close(writer)
    assert done.returncode == 0
    assert b"Apply complete! Resources: 29 added" in done.stdout


@pytest.mark.parametrize("arguments", [["plan"], ["schema"], ["--help"]])
def test_a_full_disk_is_one_clear_line(arguments: list[str], state: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = program(*arguments, *(["-f", str(state)] if arguments[0] in ("plan", "validate") else []), stdout=full)

    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr
    assert b"Error: The output could not be written: No space left on device.\n" in done.stderr


def test_a_terminal_gets_no_line_that_is_wider_than_it_is(state: Path, world: World, call: Call) -> None:
    coloured = on_a_terminal("plan", "-f", str(state), COLUMNS="64")

    shown = DIGEST.sub("", unstyle(coloured))
    assert max(map(len, shown.splitlines())) <= 64
    # Without a terminal nothing is folded, and in either the same is said.
    assert shown.split() == (HEADING + call("plan").out).split()
    assert f"{ESC}[32m      + NodeName=worker-0 NodeAddr=<address of worker-0> CPUs=1{ESC}[0m\n" in coloured
    assert f"{ESC}[32m          RealMemory=512 State=UNKNOWN{ESC}[0m\n" in coloured


@pytest.mark.parametrize(
    ("encoding", "locale"), [("ascii", "C.UTF-8"), ("latin-1", "C.UTF-8"), ("utf-8", "C.UTF-8"), ("", "C")]
)
def test_any_encoding_of_the_terminal_will_do(encoding: str, locale: str, folder: Path) -> None:
    file = folder / "sindplan.toml"
    text = STATE.format(count=1) + '[realms.sind.clusters.dev.storage]\nhost_path = "/srv/é/日本"\n'
    file.write_text(text, encoding="utf-8")

    done = program("plan", "-f", str(file), environment={"PYTHONIOENCODING": encoding, "LC_ALL": locale})
    document = program(
        "plan", "-f", str(file), "--format", "json", environment={"PYTHONIOENCODING": encoding, "LC_ALL": locale}
    )

    assert done.returncode == document.returncode == 0, done.stderr.decode()
    assert document.stdout.isascii()
    assert json.loads(document.stdout)["sindplan"]["privileges"] == [
        "sind/dev: every node reads and writes the host's /srv/é/日本"
    ]
    expected = {"latin-1": b"\xe9/\\u65e5\\u672c", "utf-8": "é/日本".encode()}.get(encoding, b"\\xe9/\\u65e5\\u672c")
    assert done.stdout.startswith(b"! sind/dev: every node reads and writes the host's /srv/" + expected + b"\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("arguments", ["plan", "apply"])
def test_closed_streams_are_no_fault(closed: str, arguments: str, state: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m tests.cli.simulated {arguments} -f {state} {closed}",
        shell=True,
        capture_output=True,
        check=False,
        cwd=Path(__file__).parents[2],
        timeout=60,
    )

    assert b"Traceback" not in done.stderr
    # No stdin is no terminal.
    assert done.returncode == (1 if arguments == "apply" else 0)


# Interrupting


def test_a_second_interrupt_ends_the_program_at_once(state: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.simulated", "--hanging", "apply", "--auto-approve", "-f", str(state)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert child.stderr is not None
    said = _until(child.stderr, "hanging\n")
    child.send_signal(2)
    said += _until(
        child.stderr, "Interrupted: what runs is finished, then what was done is taken back. Again: stop now.\n"
    )
    child.send_signal(2)

    assert child.wait(timeout=60) == 130
    assert "Traceback" not in "".join(said) + child.stderr.read()
    child.stderr.close()


def _until(stream: Iterator[str], wanted: str) -> list[str]:
    lines = []
    for line in stream:
        lines.append(line)
        if line == wanted:
            return lines
    raise AssertionError(lines)


# Bad files


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "The file is empty."),
        (b"# nothing\n", "The file is empty."),
        (b"version = \n", "Not TOML: "),
        (b"\xff\xfe\x00", "The file begins with a UTF-16 byte order mark."),
        (b'version = 1\nname = "\xe9"\n', "The file is not UTF-8: byte 20 is 0xe9."),
        (b"[" * 5000, ":1: "),
        (b"\x00\x01\x02", "Not TOML: "),
    ],
)
def test_a_bad_file_is_said_so(content: bytes, what: str, folder: Path, call: Call) -> None:
    (folder / "sindplan.toml").write_bytes(content)

    said = call("plan")

    assert said.status == 1
    assert said.out == ""
    assert what in said.err
    assert said.err.startswith("sindplan.toml")
    assert said.err.endswith("\nError: The declaration is not valid: 1 problem.\n")


def test_a_path_that_is_no_file_is_said_so(folder: Path, call: Call) -> None:
    os.mkfifo(folder / "pipe.toml")
    (folder / "empty").mkdir()
    (folder / "loop.toml").symlink_to("loop.toml")
    for name, what in (
        ("pipe.toml", "It cannot be read: it is not a regular file."),
        ("empty", "The folder holds no *.toml."),
        ("none.toml", "There is no such file."),
        ("loop.toml", "It cannot be read: "),
        ("/dev/zero", "It cannot be read: it is not a regular file."),
    ):
        said = call("validate", "-f", name)

        assert said.status == 1
        assert what in said.err


def test_a_folder_of_state_files_is_one_declaration(folder: Path, call: Call) -> None:
    (folder / "states").mkdir()
    for name in ("a", "b"):
        text = STATE.format(count=1).replace("clusters.dev", f"clusters.{name}")
        (folder / "states" / f"{name}.toml").write_text(text, encoding="utf-8")

    assert call("validate", "-f", "states").out == "The declaration 'lab' is valid: 2 clusters.\n"


# What others wrote never commands the terminal

EVIL = "\x1b]0;owned\x07\x1b[2J\u202e"


def assert_tame(*texts: str) -> None:
    for text in texts:
        assert not [char for char in text if char not in "\n\t" and not char.isprintable()], repr(text)


@pytest.mark.parametrize(
    "line",
    [
        f'"{EVIL}" = 1',
        f'name = "{EVIL}"',
        f'realms."{EVIL}".clusters.dev.image = "x"',
        f'realms.sind.clusters."{EVIL}".image = "x"',
        f'realms.sind.clusters.dev.image = "{EVIL}"',
        f'realms.sind.clusters.dev = {{ image = "x", storage.host_path = "/{EVIL}" }}',
        f'realms.sind.clusters.dev = {{ image = "x", storage.mount_path = "/{EVIL}" }}',
        f'realms.sind.clusters.dev = {{ image = "x", workers."{EVIL}" = {{}} }}',
        f'realms.sind.clusters.dev = {{ image = "x", workers.cpu.nodes = "{EVIL}" }}',
        f'realms.sind.clusters.dev = {{ image = "x", workers.cpu.memory = "{EVIL}" }}',
        f'realms.sind.clusters.dev = {{ image = "x", subnet = "{EVIL}" }}',
        f"= {EVIL}",
    ],
)
def test_a_state_file_cannot_command_the_terminal(line: str, world: World, folder: Path, call: Call) -> None:
    escaped = "".join(f"\\u{ord(char):04x}" if not char.isprintable() else char for char in line)
    name = "" if line.startswith("name") else 'name = "lab"\n'
    for text in (line, escaped):
        (folder / "sindplan.toml").write_text(f"version = 1\n{name}{text}\n", encoding="utf-8")

        for command in ("validate", "plan"):
            said = call(command)

            assert_tame(said.out, said.err)


def test_names_of_files_cannot_command_the_terminal(world: World, folder: Path, call: Call) -> None:
    file = f"{EVIL}.toml"
    for arguments in (["validate", "-f", file], ["init", "-f", file], ["validate", "-f", file], ["init", "-f", file]):
        said = call(*arguments)

        assert_tame(said.out, said.err)
    assert (folder / file).exists()
    for arguments in (["init", "-f", f"no/{EVIL}"], [EVIL], [f"--{EVIL}"], ["plan", EVIL], ["destroy", EVIL]):
        said = call(*arguments)

        assert said.status != 0
        assert_tame(said.out, said.err)
    said = call("destroy", f"sind/{EVIL}")
    assert_tame(said.out, said.err)


def test_what_runs_cannot_command_the_terminal(world: World, folder: Path, call: Call) -> None:
    world.apply(read([write_state(folder, 1)]))
    engine = world.engine
    model = engine.inspect_container("sind-dev-worker-0")
    assert model is not None
    # Lines in files that others write, a label, and the text of an error.
    engine.write("sind-ssh", KNOWN_HOSTS, f"{EVIL}.dev.sind.sind ssh-ed25519 {EVIL}\n".encode())
    engine.write("sind-dns", "/Corefile", b"x {\n  hosts {\n  1.2.3.4 \x1b[2J.dev.sind.sind\n  }\n}\n")
    engine.write("sind-dev-controller", "/etc/slurm/slurm.conf", f"# {EVIL}\n".encode())
    engine.create_container(
        evolve(model.spec, name="stray", endpoints=(), mounts=(), labels={**model.labels, "x": EVIL})
    )

    for arguments in (["plan"], ["apply", "--auto-approve"], ["destroy", "--auto-approve"]):
        said = call(*arguments)

        assert_tame(said.out, said.err)
        assert said.status == 0, said.err


def test_an_owner_cannot_command_the_terminal(world: World, folder: Path, call: Call) -> None:
    declaration = read([write_state(folder, 1)])
    world.apply(evolve(declaration, name=EVIL))

    for arguments in (["plan"], ["destroy"], ["destroy", "sind/dev"]):
        said = call(*arguments)

        assert_tame(said.out, said.err)


class Failing:
    """Slurm in whose nodes nothing starts."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._world.slurm, verb)

    def boot(self, *_: object) -> None:
        raise NodeFailed(f"sum {EVIL}", f"out {EVIL}\nmore {EVIL}", f"fix {EVIL}")


def test_diagnostics_cannot_command_the_terminal(
    world: World, state: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "connected", lambda: (world.engine, Failing(world)))

    said = call("apply", "--auto-approve")

    assert said.status == 1
    assert "\n  | out " in said.err
    assert_tame(said.out, said.err)
