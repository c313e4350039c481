"""What each command does and how it ends, on the simulated engine."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from sindplan.cli import options
from sindplan.cli.main import run
from sindplan.engine.simulated import DEFAULT_INFO
from sindplan.errors import EngineUnreachable
from sindplan.model.facts import IMAGE_LABEL
from sindplan.statefile import read
from tests.cli.conftest import DIGEST, HEADING, STATE, Call, write_state
from tests.world import IMAGE_FACTS, NO_LIMITS, World, new_world

ROOT = Path(__file__).parents[2]


def test_the_engine_is_named_on_stderr(world: World, state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan"]) == 0

    assert DIGEST.sub("", capsys.readouterr().err) == HEADING


# plan


def test_plan_shows_what_would_change_and_changes_nothing(world: World, state: Path, call: Call) -> None:
    before = world.snapshot()

    said = call("plan")

    assert said.status == 0
    assert "  # sind/dev/node/controller\n  # sind/dev/node/worker-0 will be created (2 resources)\n" in said.out
    assert said.out.endswith("\nPlan: 29 to add, 0 to change, 0 to destroy.\n")
    assert said.err == ""
    assert world.snapshot() == before


def test_plan_with_detailed_exitcode_says_by_its_status_whether_there_are_changes(
    world: World, state: Path, call: Call
) -> None:
    assert call("plan", "--detailed-exitcode").status == 2
    world.apply(read([state]))

    said = call("plan", "--detailed-exitcode", "-f", str(state))

    assert (said.status, said.out) == (0, "No changes. Your clusters match the declaration.\n")


def test_a_blocked_plan_is_shown_and_ends_with_1(world: World, folder: Path, call: Call) -> None:
    world.apply(read([write_state(folder, 1)]))
    (folder / "sindplan.toml").write_text(STATE.format(count=1).replace('"lab"', '"other"'), encoding="utf-8")

    for arguments in (["plan"], ["plan", "--detailed-exitcode"], ["apply", "--auto-approve"]):
        said = call(*arguments)

        assert said.status == 1
        assert said.err.startswith(
            "Blocked: sind/dev exists and belongs to the declaration named 'lab'; it is left alone.\n"
        )


def test_plan_without_probing_runs_no_command_in_a_node_and_says_so(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    found = world.engine.inspect_container("sind-dev-worker-0")
    assert found is not None
    world.machine.stop_unit(found, "slurmd.service")

    assert "sind/dev/service/worker-0/slurmd" in call("plan").out
    said = call("plan", "--no-probe")

    assert said.out == "No changes. Your clusters match the declaration.\n"
    assert said.err == "Daemons and Slurm were not asked (--no-probe); what they need is not in this plan.\n"


def test_warnings_go_to_stderr_and_do_not_fail(
    folder: Path, call: Call, monkeypatch: pytest.MonkeyPatch, state: Path
) -> None:
    world = new_world(info=NO_LIMITS)
    monkeypatch.setattr(options, "connected", lambda: (world.engine, world.slurm))

    said = call("plan")

    assert said.status == 0
    assert said.err.startswith("Warning: The engine cannot hold CPU, memory, cpuset limits")
    assert "Warning" not in said.out


# apply


def test_apply_does_what_it_showed(world: World, state: Path, call: Call) -> None:
    said = call("apply", "--auto-approve")

    assert said.status == 0
    assert "Plan: 29 to add, 0 to change, 0 to destroy.\n" in said.out
    assert "\nApply complete! Resources: 29 added, 0 changed, 0 destroyed. (" in said.out
    assert "sind/dev/node/worker-0: starting took " in said.err
    assert " took " not in said.out
    assert world.plan(read([state])).changes == ()


def test_what_is_replaced_counts_as_added_and_destroyed(world: World, state: Path, call: Call) -> None:
    call("apply", "--auto-approve")

    said = call("apply", "--auto-approve", "--replace", "sind/dev/node/worker-0")

    assert "Plan: 1 to add, 0 to change, 1 to destroy.\n" in said.out
    assert "  # (asked for with --replace)\n" in said.out
    assert "\nApply complete! Resources: 1 added, 0 changed, 1 destroyed. (" in said.out


def test_apply_has_nothing_to_do_the_second_time(world: World, state: Path, call: Call) -> None:
    call("apply", "--auto-approve")
    before = world.snapshot()

    # No question: there is nothing to ask about.
    said = call("apply")

    assert (said.status, said.out, said.err) == (0, "No changes. Your clusters match the declaration.\n", "")
    assert world.snapshot() == before


def test_apply_without_a_terminal_and_without_approval_changes_nothing(world: World, state: Path, call: Call) -> None:
    before = world.snapshot()

    said = call("apply")

    assert said.status == 1
    assert said.err == (
        "There is no terminal to ask on: say --auto-approve to go on without a question.\nNothing was changed.\n"
    )
    assert world.snapshot() == before


@pytest.mark.parametrize("answer", ["no\n", "y\n", "YES\n", "yes please\n", "\n"])
def test_apply_goes_on_at_yes_only(answer: str, world: World, state: Path, call: Call, terminal: Any) -> None:
    before = world.snapshot()
    terminal(answer)

    said = call("apply")

    assert said.status == 1
    assert said.err.endswith("Nothing was changed.\n")
    assert world.snapshot() == before


def test_apply_goes_on_at_yes(world: World, state: Path, call: Call, terminal: Any) -> None:
    terminal("yes\n")

    said = call("apply")

    assert said.status == 0
    assert "Only 'yes' will be accepted to go on.\nDo this? " in said.err
    assert "Apply complete!" in said.out


def test_apply_asks_for_privileges_unless_they_are_allowed(world: World, folder: Path, call: Call) -> None:
    text = STATE.format(count=1) + '[realms.sind.clusters.dev.storage]\nhost_path = "/srv/data"\n'
    (folder / "sindplan.toml").write_text(text, encoding="utf-8")
    before = world.snapshot()

    refused = call("apply", "--auto-approve")

    assert refused.status == 1
    assert refused.out.startswith("! sind/dev: every node reads and writes the host's /srv/data\n")
    assert "--allow-privileged" in refused.err
    assert world.snapshot() == before
    assert call("apply", "--auto-approve", "--allow-privileged").status == 0
    # They hold for new nodes; what is there already was agreed to.
    assert call("plan").out == "No changes. Your clusters match the declaration.\n"


def test_a_failed_apply_is_taken_back_and_says_why(world: World, state: Path, call: Call) -> None:
    before = world.snapshot()
    world.machine.broken.add("sind-dev-worker-0")

    said = call("apply", "--auto-approve")

    assert said.status == 1
    assert "sind/dev/node/worker-0: starting failed\n" in said.err
    assert "Taking back what was done (" in said.err
    assert "\nsind/@mesh is as it was before.\nsind/dev is as it was before.\n" in said.err
    assert "Apply complete" not in said.out
    assert world.snapshot() == before


def test_a_failed_apply_may_be_left_half_way(world: World, state: Path, call: Call) -> None:
    world.machine.broken.add("sind-dev-worker-0")

    said = call("apply", "--auto-approve", "--on-failure", "stop")

    assert said.status == 1
    assert "sind/dev is left half way, with " in said.err
    assert "Run the same command again.\n" in said.err
    assert world.engine.inspect_container("sind-dev-worker-0") is not None
    world.machine.broken.clear()
    assert call("apply", "--auto-approve").status == 0


class Interrupting:
    """An engine at whose first container somebody presses Ctrl-C."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._pressed = False

    def __getattr__(self, verb: str) -> Any:
        return getattr(self._world.engine, verb)

    def create_container(self, spec: Any) -> str:
        if not self._pressed:
            self._pressed = True
            os.kill(os.getpid(), signal.SIGINT)
        return self._world.engine.create_container(spec)


def test_an_interrupted_apply_is_taken_back_and_ends_with_130(
    world: World, state: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(options, "connected", lambda: (Interrupting(world), world.slurm))
    before = world.snapshot()
    handler = signal.getsignal(signal.SIGINT)

    assert run(["apply", "--auto-approve", "--parallelism", "1"]) == 130

    assert "Interrupted: what runs is finished, then what was done is taken back." in capfd.readouterr().err
    assert world.snapshot() == before
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_interrupted_plan_ends_with_130(state: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(options, "connected", interrupted)

    assert call("plan").status == 130


def test_an_apply_pulls_and_looks_into_images_first(world: World, folder: Path, call: Call) -> None:
    (folder / "sindplan.toml").write_text(STATE.format(count=1).replace("sindplan-node:26.05", "nowhere:1"), "utf-8")

    said = call("apply", "--auto-approve")

    assert said.status == 1
    assert "pulling nowhere:1\nError: The image 'nowhere:1' is not on the engine and could not be pulled: " in said.err
    assert not world.engine.containers()


# destroy


def test_destroy_leaves_nothing(world: World, state: Path, call: Call) -> None:
    before = world.engine.snapshot()
    call("apply", "--auto-approve")

    said = call("destroy", "--auto-approve")

    assert said.status == 0
    assert "Plan: 0 to add, 0 to change, 29 to destroy.\n" in said.out
    assert world.engine.snapshot() == before


def test_destroy_by_address_needs_no_file(world: World, folder: Path, call: Call) -> None:
    world.apply(read([write_state(folder, 1)]))
    (folder / "sindplan.toml").unlink()

    assert call("destroy", "sind/dev", "--auto-approve").status == 0

    assert not world.engine.containers()


def test_destroy_does_not_ask_in_vain(world: World, state: Path, call: Call, terminal: Any) -> None:
    world.apply(read([state]))
    before = world.snapshot()
    terminal("no\n")

    assert call("destroy").status == 1
    assert world.snapshot() == before


def test_destroy_keeps_running_jobs_unless_told(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    world.machine.submit("sind-dev-controller", "worker-0", "17")

    refused = call("destroy", "--auto-approve")

    assert refused.status == 1
    assert "Blocked: sind/dev has the jobs 17; they would be lost.\n" in refused.err
    said = call("destroy", "--auto-approve", "--allow-job-loss")
    assert said.status == 0
    assert "Warning: sind/dev has the jobs 17; they would be lost.\n" in said.err


def test_destroy_keeps_what_is_protected_or_somebody_elses(world: World, folder: Path, call: Call) -> None:
    text = STATE.format(count=1) + "prevent_destroy = true\n"
    text = text.replace("workers.cpu.count = 1\nprevent_destroy = true\n", "prevent_destroy = true\n")
    (folder / "sindplan.toml").write_text(text, encoding="utf-8")
    world.apply(read([folder / "sindplan.toml"]))
    before = world.snapshot()

    assert "sind/dev is protected by prevent_destroy." in call("destroy", "--auto-approve").err
    assert "sind/dev is protected by prevent_destroy." in call("destroy", "sind/dev", "--auto-approve").err
    (folder / "sindplan.toml").write_text(text.replace('"lab"', '"other"'), encoding="utf-8")
    assert "belongs to the declaration named 'lab'" in call("destroy", "--auto-approve").err
    assert world.snapshot() == before


# validate, init, schema, doctor


def test_validate_needs_no_engine(state: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable() -> None:
        raise AssertionError

    monkeypatch.setattr(options, "connected", unreachable)

    said = call("validate")

    assert (said.status, said.out, said.err) == (0, "The declaration 'lab' is valid: 1 cluster.\n", "")


def test_validate_lists_every_error_with_its_line(folder: Path, call: Call) -> None:
    (folder / "a.toml").write_text(
        'version = 1\nname = "lab"\n[realms.sind.clusters.dev]\nimag = "x"\nworkers.cpu.count = "4"\n', "utf-8"
    )
    (folder / "b.toml").write_text('version = 2\nname = "lab"\n', "utf-8")

    for command in ("validate", "plan", "apply", "destroy"):
        said = call(command, "-f", "a.toml", "-f", "b.toml")

        assert said.status == 1
        assert said.out == ""
        assert "a.toml:4: realms.sind.clusters.dev.imag: There is no such key here.\n" in said.err
        assert "a.toml:5: realms.sind.clusters.dev.workers.cpu.count: " in said.err
        assert "b.toml:1: version: " in said.err
        assert "Error: The declaration is not valid: " in said.err


def test_init_writes_a_file_that_is_valid_and_applies(world: World, folder: Path, call: Call) -> None:
    said = call("init")

    assert said.status == 0
    assert said.out == ""
    assert said.err == "Wrote sindplan.toml. Next: sindplan plan -f sindplan.toml\n"
    assert call("validate").status == 0
    assert call("apply", "--auto-approve").status == 0
    declared = read([folder / "sindplan.toml"])
    assert declared.name.startswith("lab-")


def test_init_mints_another_name_each_time(folder: Path, call: Call) -> None:
    for number in range(3):
        call("init", "-f", f"{number}.toml")

    assert len({read([folder / f"{number}.toml"]).name for number in range(3)}) == 3


def test_init_takes_a_name_and_an_image(folder: Path, call: Call) -> None:
    assert call("init", "-f", "x.toml", "--name", "mine", "--image", "other:1").status == 0

    declaration = read([folder / "x.toml"])
    assert declaration.name == "mine"
    assert declaration.realms["sind"].clusters["dev"].image == "other:1"


def test_init_leaves_an_existing_file_alone(folder: Path, call: Call) -> None:
    (folder / "sindplan.toml").write_text("# mine\n", encoding="utf-8")

    said = call("init")

    assert said.status == 1
    assert said.err == "Error: sindplan.toml exists; it was left as it is.\n  Name another with -f.\n"
    assert (folder / "sindplan.toml").read_text(encoding="utf-8") == "# mine\n"


def test_init_says_why_it_cannot_write(folder: Path, call: Call) -> None:
    said = call("init", "-f", "no/such/folder.toml")

    assert said.status == 1
    assert said.err == "Error: no/such/folder.toml cannot be written: No such file or directory.\n"


@pytest.mark.parametrize("option", ["--name", "--image"])
@pytest.mark.parametrize("value", ["a b", 'quo"te', "new\nline", "\x1b[31m", "Ünï"])
def test_init_writes_nothing_that_would_not_be_valid(option: str, value: str, folder: Path, call: Call) -> None:
    said = call("init", option, value)

    assert said.status == 1
    assert said.err.startswith("Error: ")
    assert " is not a" in said.err
    assert value not in said.err or value == "a b"
    assert list(folder.iterdir()) == []


def test_schema_prints_the_published_one(call: Call) -> None:
    said = call("schema")

    assert said.status == 0
    assert json.loads(said.out) == json.loads((ROOT / "schemas/state.schema.json").read_text(encoding="utf-8"))
    assert said.err == ""


def test_doctor_shows_the_checks_of_the_engine(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    good = new_world()
    monkeypatch.setattr(options, "connected", lambda: (good.engine, good.slurm))
    said = call("doctor")
    assert (said.status, said.err) == (0, "")
    assert said.out == "Docker 28.5.2 (API 1.51) at sim:\nThis engine can run nodes.\n"

    bad = new_world(info=evolve(DEFAULT_INFO, version="27.0.1", cgroup_version="1", memory_limit=False))
    monkeypatch.setattr(options, "connected", lambda: (bad.engine, bad.slurm))
    said = call("doctor")
    assert said.status == 1
    assert said.out.endswith("This engine cannot run nodes.\n")
    assert said.err.count("Blocked: ") == 2
    assert said.err.count("Warning: ") == 1

    said = call("doctor", "-o", "json")
    assert said.status == 1
    assert [(row["check"], row["status"]) for row in json.loads(said.out)] == [
        ("engine version", "blocks"),
        ("cgroup v2", "blocks"),
        ("limits", "warns"),
    ]
    assert set(json.loads(said.out)[0]) == {"check", "status", "what", "fix"}


@pytest.mark.parametrize("command", ["plan", "apply", "destroy", "doctor"])
def test_no_engine_is_one_clear_line(command: str, state: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable() -> None:
        raise EngineUnreachable("No engine answers at unix:///nowhere.", "Start it.")

    monkeypatch.setattr(options, "connected", unreachable)

    said = call(command)

    assert (said.status, said.out) == (1, "")
    assert said.err == "Error: No engine answers at unix:///nowhere.\n  Start it.\n"


# Wrong usage


@pytest.mark.parametrize(
    "arguments",
    [
        ["unknown"],
        ["--unknown"],
        ["plan", "--unknown"],
        ["plan", "argument"],
        ["plan", "-f"],
        ["apply", "--parallelism", "0"],
        ["apply", "--parallelism", "many"],
        ["apply", "--on-failure", "perhaps"],
        ["apply", "--wait", "5 minutes"],
        ["apply", "--wait", "-1"],
        ["doctor", "-o", "yaml"],
        ["destroy", "sind"],
        ["destroy", "sind/dev/node/worker-0"],
        ["destroy", "sind//dev"],
        ["destroy", "sind/other", "-f", "sindplan.toml"],
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_64(arguments: list[str], world: World, state: Path, call: Call) -> None:
    before = world.snapshot()

    said = call(*arguments)

    assert said.status == 64
    assert said.out == ""
    assert said.err
    assert world.snapshot() == before


def test_no_command_shows_the_help(call: Call) -> None:
    said = call()

    assert said.status == 64
    assert "Commands:" in said.err + said.out


@pytest.mark.parametrize("wait", ["0", "90s", "1h"])
def test_wait_takes_durations(wait: str, world: World, state: Path, call: Call) -> None:
    assert call("apply", "--auto-approve", "--wait", wait).status == 0


# Images


def test_a_dns_image_is_not_asked_which_slurm_it_has(world: World, folder: Path, call: Call) -> None:
    (folder / "sindplan.toml").write_text(STATE.format(count=1) + '[realms.sind.mesh]\ndns_image = "dns:1"\n', "utf-8")

    said = call("apply", "--auto-approve")

    assert said.status == 0
    assert "looking into" not in said.err
    assert call("plan").out == "No changes. Your clusters match the declaration.\n"


def test_an_image_that_is_not_needed_is_not_pulled(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    world.engine._images.clear()
    world.engine.stop("sind-dev-worker-0")

    said = call("apply", "--auto-approve")

    assert said.status == 0
    assert "pulling" not in said.err


def test_coredns_is_not_pulled_when_the_node_image_serves(world: World, folder: Path, call: Call) -> None:
    """What a node image has shows only when it is there: then the plan is made anew."""
    labels = {IMAGE_LABEL: json.dumps(IMAGE_FACTS)}
    world.engine.add_image("registry.example/node:1", labels=labels, pulled=False)
    (folder / "sindplan.toml").write_text(
        STATE.format(count=1).replace("sindplan-node:26.05", "registry.example/node:1"), "utf-8"
    )

    assert "coredns" in call("plan").out
    said = call("apply", "--auto-approve")

    assert said.status == 0
    assert said.err.startswith("pulling registry.example/node:1\n")
    assert "coredns" not in said.err + said.out


def test_data_that_would_be_lost_must_be_named(world: World, folder: Path, call: Call) -> None:
    """Blocked, whole and with the words that would allow it; then gone."""
    state = folder / "sindplan.toml"
    text = 'version = 1\nname = "lab"\n[realms.sind.clusters.dev]\nimage = "sindplan-node:26.05"\n'
    state.write_text(f"{text}[realms.sind.clusters.dev.db]\n", encoding="utf-8")
    assert call("apply", "--auto-approve").status == 0
    state.write_text(text, encoding="utf-8")

    said = call("apply", "--auto-approve")
    assert said.status == 1
    assert "volume/db will be destroyed" in said.out
    assert "--allow-data-loss sind/dev/volume/db" in said.err
    assert call("plan").status == 1
    assert call("plan", "--allow-data-loss", "sind/dev").status == 0

    said = call("apply", "--auto-approve", "--allow-data-loss", "sind/dev/volume/db")
    assert said.status == 0
    assert "Warning: sind/dev/volume/db would be removed with everything in it" in said.err
    assert "sind-dev-db" not in {volume.name for volume in world.engine.volumes()}


@pytest.mark.parametrize("address", ["sind", "a//b", ""])
def test_what_may_be_lost_is_named_within_a_cluster(address: str, state: Path, call: Call) -> None:
    assert call("plan", "--allow-data-loss", address).status == 64


def test_prune_takes_what_is_no_longer_declared(world: World, folder: Path, call: Call) -> None:
    state = folder / "sindplan.toml"
    tables = {name: f'[realms.{name}.clusters.dev]\nimage = "sindplan-node:26.05"\n' for name in ("sind", "ci")}
    head = 'version = 1\nname = "lab"\n'
    state.write_text(head + "".join(tables.values()), encoding="utf-8")
    assert call("apply", "--auto-approve").status == 0
    state.write_text(head + tables["sind"], encoding="utf-8")
    world.machine.submit("ci-dev-controller", "worker-0", "17", endless=True)

    said = call("plan", "--detailed-exitcode")
    assert (said.status, "Remove it with --prune" in said.err) == (0, True)
    assert call("apply", "--auto-approve", "--prune").status == 1
    assert call("plan", "--detailed-exitcode", "--prune", "--allow-job-loss").status == 2
    assert call("apply", "--auto-approve", "--prune", "--allow-job-loss").status == 0

    assert not [found.name for found in world.engine.containers() if found.name.startswith("ci-")]
    assert call("plan", "--detailed-exitcode", "--prune").status == 0
