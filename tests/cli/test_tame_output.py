"""Whatever is printed is tame: one module prints, and each of its functions spells out what would command a terminal."""

import ast
import inspect
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sindplan
from sindplan.cli import options, output
from sindplan.cli.progress import Progress, tell_slowest
from sindplan.engine.records import NetworkSpec
from sindplan.errors import DeclarationInvalid, EngineRefused, NodeFailed, Problem, SindplanError
from sindplan.importing.toml import state_file
from sindplan.kinds import labels
from sindplan.model.address import Address
from sindplan.model.declaration import Cluster, Declaration, Realm, Slurm
from sindplan.model.kind import Phase
from sindplan.plan.plan import Action, Plan
from sindplan.preflight.finding import Finding, Severity
from sindplan.statefile import read
from tests.cli.conftest import Call, write_state
from tests.cli.test_output import EVIL, assert_tame
from tests.strategies import SETTINGS
from tests.world import World

PRINTS = {"print", "echo", "secho", "echo_via_pager", "write", "writelines"}


def test_one_module_prints() -> None:
    """`os.write` of a fixed text, in a signal's handler, is what else there is."""
    found = set()
    for file in (Path(sindplan.__file__).parent / "cli").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in PRINTS and not all(isinstance(one, ast.Constant) for one in node.args):
                    found.add(f"{file.stem}.{name}")

    # The others write files, draw anew what is tame already, and write events, which are JSON in ASCII.
    assert found == {
        "output.echo",
        "new_file.write",
        "rewrite.write",
        "whole_files.write",
        "progress.echo",
        "events.write",
    }


def _action(text: str) -> Action:
    return Action(
        id="a", step="s", says=text, phase=Phase.BUILD, scope=Address(("sind", text or "x")), changes=(), needs=()
    )


Prints = Callable[[str, World], object]
FUNCTIONS: dict[str, Prints] = {
    "data": lambda text, _: output.data(text),
    "json": lambda text, _: output.json({text: [text]}),
    "say": lambda text, _: output.say(text),
    "error": lambda text, _: [
        output.error(NodeFailed(text, text, text)),
        output.error(DeclarationInvalid((Problem(Path("x" + text.replace("\0", "")), 1, text, text, text),))),
    ],
    "engine": lambda text, world: output.engine(evolve(world.engine.info(), version=text, address=text)),
    "findings": lambda text, _: output.findings(
        Finding(check="x", severity=severity, what=text, fix=text) for severity in Severity
    ),
    "failures": lambda text, _: output.failures([(_action(text), SindplanError(text, text))]),
    "still": lambda text, _: Progress().still(_action(text), 1),
    "finished": lambda text, _: Progress().finished(_action(text), 1),
    "failed": lambda text, _: Progress().failed(_action(text), SindplanError(text)),
    "noted": lambda text, _: Progress().noted(text),
    "line": lambda text, _: [Progress().line(text, colour) for colour in ("", "red")],
    "started": lambda text, _: Progress(verbose=True).started(_action(text)),
    "slowest": lambda text, _: tell_slowest([text]),
    "taking_back": lambda _, __: Progress().taking_back(Plan(changes=(), actions=())),
}
# What is a document of ours already: see test_a_state_file_that_is_written_is_tame, and convert's below.
SILENT = {"use_colour", "stream", "styled"}
DOCUMENTS = {"document"}


def test_every_function_is_tried() -> None:
    own = {name for name, one in vars(output).items() if inspect.isfunction(one) and one.__module__ == output.__name__}
    methods = {name for name, one in vars(Progress).items() if inspect.isfunction(one)}

    assert {name for name in own | methods if not name.startswith("_")} - DOCUMENTS - SILENT == FUNCTIONS.keys()


HOSTILE = st.one_of(st.text(max_size=20), st.sampled_from((EVIL, "\x9b2J", "\x7f", "a\rb", "\x85\u2028", "\x1b[31m")))


@pytest.mark.parametrize("print_", FUNCTIONS.values(), ids=FUNCTIONS)
def test_each_of_them_is_tame(world: World, print_: Prints, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    @settings(SETTINGS, suppress_health_check=[*HealthCheck])
    @given(HOSTILE)
    def law(text: str) -> None:
        print_(text, world)
        said = capsysbinary.readouterr()
        assert_tame(said.out.decode(), said.err.decode())

    law()


@SETTINGS
@given(HOSTILE, HOSTILE)
def test_a_state_file_that_is_written_is_tame(text: str, note: str) -> None:
    content = text.encode("utf-8", "replace").decode().replace("\r", "")
    cluster = Cluster(image="x", slurm=Slurm(main=content))
    declaration = Declaration(version=1, name="lab", realms={"sind": Realm(clusters={"dev": cluster})})

    written = state_file(declaration, [note.encode("utf-8", "replace").decode()])

    assert_tame(written)
    assert tomllib.loads(written)["realms"]["sind"]["clusters"]["dev"].get("slurm", {}).get("main", "") == content


def test_json_is_json_in_any_encoding(world: World, call: Call, folder: Path) -> None:
    file = write_state(folder, 1)
    file.write_text(file.read_text() + '[realms.sind.clusters.dev.storage]\nhost_path = "/srv/日本\U0001f600"\n')

    said = call("plan", "--format", "json")

    assert said.out.isascii()
    assert "/srv/日本\U0001f600" in str(json.loads(said.out))


@pytest.mark.parametrize(
    "command", [["apply", "--auto-approve", "--lock-timeout", "0s"], ["unlock", "sind"]], ids=" ".join
)
def test_who_holds_a_lock_cannot_command_the_terminal(
    world: World, state: Path, call: Call, command: list[str]
) -> None:
    marks = {labels.REALM: "sind", **{f"sind.lock.{key}": EVIL for key in ("token", "command", "host", "pid")}}
    world.engine.create_network(NetworkSpec(name="sind-lock", labels=marks, config_only=True))

    said = call(*command)

    assert "\\x1b]0;owned" in said.err
    assert_tame(said.out, said.err)


class Refusing:
    """An engine that says no to everything that would change it, in words of its own."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __getattr__(self, verb: str) -> Any:
        if verb.startswith(("create", "remove")):
            return self._refuse
        return getattr(self._world.engine, verb)

    def _refuse(self, *_: object, **__: object) -> None:
        raise EngineRefused("create_network", EVIL, 500, EVIL)


def test_an_engine_that_refuses_cannot_command_the_terminal(
    world: World, state: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "connected", lambda: (Refusing(world), world.slurm))

    said = call("apply", "--auto-approve")

    assert said.status == 1
    assert "owned" in said.err
    assert_tame(said.out, said.err)


def test_what_is_printed_of_what_runs_is_tame(world: World, folder: Path, call: Call) -> None:
    world.apply(read([write_state(folder, 1)]))
    world.engine.write("sind-dev-controller", "/etc/slurm/slurm.conf", f"# {EVIL}\n".encode())

    for arguments in (["plan", "--format", "json"], ["import", "sind/dev"], ["drift"], ["doctor", "-o", "json"]):
        said = call(*arguments)

        assert said.out
        assert_tame(said.out, said.err)


def test_a_name_says_no_line_of_its_own(world: World, folder: Path, call: Call) -> None:
    forged = "x\nNo changes. Your clusters match the declaration.\n"
    world.apply(read([write_state(folder, 1)]))
    model = world.engine.inspect_container("sind-dev-worker-0")
    assert model is not None
    world.engine.remove_container("sind-dev-worker-0")
    world.engine.create_container(
        evolve(model.spec, endpoints=(), labels={**model.labels, labels.SLURM_VERSION: forged, labels.HOST_KEY: forged})
    )

    said = call("plan")

    assert "No changes." not in (said.out + said.err).splitlines()
    assert not [line for line in said.out.splitlines() if line.startswith("No changes")]


@pytest.mark.parametrize(("text", "status"), [(EVIL, 1), ("\u202e", 0)])
def test_converting_is_tame(folder: Path, call: Call, text: str, status: int) -> None:
    spelled = text.encode("unicode_escape").decode()
    (folder / "c.yaml").write_text(
        f'kind: Cluster\nname: dev\nslurm:\n  main: "# {spelled}\\nA=1"\nnodes:\n  - controller\n  - worker: 1\n'
    )

    said = call("convert", "c.yaml")

    assert_tame(said.out, said.err)
    assert said.status == status, said.err
    assert status or text in tomllib.loads(said.out)["realms"]["sind"]["clusters"]["dev"]["slurm"]["main"]
