"""`sindplan drift`, as cron runs it."""

import json
import os
import stat
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from sindplan.engine.records import NetworkSpec
from sindplan.kinds import labels
from sindplan.statefile import read
from tests.cli.conftest import Call
from tests.world import World


def test_nothing_at_all_is_silent(world: World, call: Call) -> None:
    said = call("drift")

    assert (said.status, said.out, said.err) == (0, "", "")


def test_without_drift_it_is_silent_and_needs_no_file(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    state.unlink()

    said = call("drift")

    assert (said.status, said.out, said.err) == (0, "", "")


def test_drift_is_reported_with_2(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    world.engine.stop("sind-dev-worker-0")

    said = call("drift")

    assert said.status == 2
    assert said.out.startswith("Clusters of 'lab' drifted; an apply would do this:\n")
    assert "  # sind/dev/node/worker-0 will be updated in-place\n  # (changed outside sindplan)\n" in said.out
    assert said.out.endswith("\nPlan: 0 to add, 1 to change, 0 to destroy.\n")
    missing = call("drift", "--realm", "other")
    assert (missing.status, missing.out) == (1, "")
    assert missing.err == "Error: There is no realm other.\n  Realms on this engine: sind.\n"
    assert call("drift", "--realm", "sind").status == 2


def test_who_is_at_work_is_told_with_what_may_be_its_work(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    marks = {labels.REALM: "sind", "sind.lock.token": "t", "sind.lock.command": "sindplan apply", "sind.lock.pid": "7"}
    world.engine.create_network(NetworkSpec(name="sind-lock", labels=marks, config_only=True))
    assert call("drift").err == ""
    world.engine.stop("sind-dev-worker-0")

    said = call("drift")

    assert said.status == 2
    assert "Warning: 'sindplan apply' (pid 7 on ?) is at work on the realm 'sind': what it has not done yet" in said.err


def test_a_cluster_without_a_record_is_not_called_clean(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    world.engine.remove_network("sind-dev-record")

    said = call("drift")

    assert said.status == 2
    assert "Warning: Nothing says what was applied last to sind/dev" in said.err


def test_a_volume_that_a_hand_made_anew_is_told_with_its_remedy(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    for found in world.engine.containers():
        if found.name.startswith("sind-dev-"):
            world.engine.remove_container(found.id)
    world.engine.remove_volume("sind-dev-data")
    world.engine.create_volume("sind-dev-data", {})

    said = call("drift")

    assert said.status == 2
    assert "  # sind/dev/volume/data will be created\n  # (declared and applied before, and gone)\n" in said.out
    assert "Blocked: The volume 'sind-dev-data' is not the one that sindplan made for sind/dev" in said.err
    assert "docker volume rm sind-dev-data" in said.err
    assert "sind-dev-data" in {volume.name for volume in world.engine.volumes()}


def test_reports_for_programs_are_there_when_nothing_differs(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))

    assert json.loads(call("drift", "--format", "json").out)["drifted"] is False
    assert call("drift", "--format", "markdown").out == ""
    metrics = call("drift", "--format", "prometheus").out
    samples = [one for family in text_string_to_metric_families(metrics) for one in family.samples]
    clusters = {one.labels["cluster"] for one in samples if one.name == "sindplan_drift_changes"}
    assert clusters == {"@mesh", "dev"}
    assert sum(one.value for one in samples if one.name == "sindplan_drift_changes") == 0


def test_every_format_tells_of_the_same_drift(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    world.engine.stop("sind-dev-worker-0")

    content = json.loads(call("drift", "--format", "json").out)
    assert content["declarations"][0]["summary"] == {"create": 0, "update": 1, "replace": 0, "delete": 0}
    assert [one["address"] for one in content["declarations"][0]["resource_changes"]] == ["sind/dev/node/worker-0"]
    said = call("drift", "--format", "prometheus")
    assert (said.status, said.err) == (2, "")
    assert '\nsindplan_drift_changes{realm="sind",cluster="dev",operation="update"} 1\n' in said.out
    markdown = call("drift", "--format", "markdown").out
    assert "### Drift: 1 resource changed outside sindplan, 0 clusters without a record" in markdown
    assert "\n#### Declaration `lab`: 1 to update\n" in markdown
    assert "  # sind/dev/node/worker-0 will be updated in-place\n" in markdown


def test_a_file_is_written_whole_and_nothing_is_printed(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    world.engine.stop("sind-dev-worker-0")
    old = os.umask(0o077)
    try:
        for form, mode in (("prometheus", 0o644), ("text", 0o600), ("json", 0o600), ("markdown", 0o600)):
            # Each over the one before.
            said = call("drift", "--format", form, "--out", "report")
            assert (said.status, said.out, said.err) == (2, "", "")
            assert stat.S_IMODE((state.parent / "report").stat().st_mode) == mode
    finally:
        os.umask(old)
    world.engine.start("sind-dev-worker-0")
    assert world.apply(read([state])).outcome.complete
    for form in ("markdown", "text"):
        assert call("drift", "--format", form, "--out", "report").status == 0
        # What was told there is over.
        assert (state.parent / "report").read_bytes() == b""
    assert {one.name for one in state.parent.iterdir()} == {"sindplan.toml", "report"}


def test_a_report_in_a_file_has_what_speaks_against_an_apply(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    world.engine.remove_network("sind-dev-record")

    assert call("drift", "--out", "report").status == 2

    text = (state.parent / "report").read_text()
    assert text.startswith("sindplan drift, 20")
    assert "\nWarning: Nothing says what was applied last to sind/dev" in text
    assert "No record" in call("drift", "--format", "markdown").out
    assert json.loads(call("drift", "--format", "json").out)["without_record"][0]["cluster"] == "sind/dev"
    assert 'sindplan_drift_record_missing{realm="sind",cluster="dev"} 1' in call("drift", "--format", "prometheus").out


def test_one_realm_alone_has_its_own_time_stamp(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))

    said = call("drift", "--format", "prometheus", "--realm", "sind")

    assert '\nsindplan_drift_timestamp_seconds{realm="sind"} ' in said.out


def test_what_is_no_report_is_left_as_it_is(world: World, state: Path, call: Call) -> None:
    world.apply(read([state]))
    (state.parent / "mine.txt").write_text("mine")

    said = call("drift", "--out", "mine.txt")

    assert said.status == 1
    assert "exists and is not a report of drift" in said.err
    assert (state.parent / "mine.txt").read_text() == "mine"
