"""What is gathered: who is in control of a pair, and which units a node says it has."""

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.kinds import labels
from sindplan.kinds.controllers import in_control
from sindplan.observe.gather import units_said
from sindplan.slurm.port import PROGRAMS
from tests.strategies import SETTINGS

_NOW = st.integers(1_000_000_000, 4_000_000_000)


def beat(written: int, place: int) -> bytes:
    """Return a heartbeat file as slurmctld writes it: both numbers in network order."""
    return struct.pack(">QQ", written, place)


@SETTINGS
@given(_NOW, st.integers(-60, 60), st.integers(0, 2**64 - 1))
def test_a_fresh_heartbeat_names_its_place_in_the_pair(now: int, age: int, place: int) -> None:
    # A clock that runs a little ahead is none to be angry with.
    assert in_control(beat(now - age, place), now) == {0: "controller", 1: "controller-backup"}.get(place, "")


@SETTINGS
@given(_NOW, st.integers(61, 900_000_000), st.sampled_from((1, -1)), st.integers(0, 1))
def test_an_old_heartbeat_says_nothing(now: int, age: int, sign: int, place: int) -> None:
    assert in_control(beat(now + sign * age, place), now) == ""


@SETTINGS
@given(st.binary(max_size=64), _NOW)
def test_a_file_of_any_other_size_says_nothing(content: bytes, now: int) -> None:
    said = in_control(content, now)

    assert said == "" or len(content) == 16


@pytest.mark.parametrize("content", [b"", beat(0, 0)[:-1], beat(0, 0) + b"\0", beat(2**64 - 1, 2**64 - 1)])
def test_half_a_heartbeat_says_nothing(content: bytes) -> None:
    assert in_control(content, 0.0) == ""


WORKER = {labels.ROLE: "worker", labels.MANAGED: "true"}
BY_ROLE = ("munge.service", "sshd.service", "slurmd.service")


@SETTINGS
@given(st.one_of(st.text(), st.from_regex(r'\{"units": .*\}', fullmatch=True)))
def test_a_spec_that_makes_no_sense_leaves_the_role_to_say(text: str) -> None:
    found = units_said({**WORKER, labels.SPEC: text})

    assert set(found) <= PROGRAMS.keys()
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    if not isinstance(said, dict) or not isinstance(said.get("units"), list):
        assert found == BY_ROLE


_SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.sampled_from(sorted(PROGRAMS)))
_JSON = st.one_of(_SCALARS, st.lists(_SCALARS, max_size=3), st.dictionaries(st.text(max_size=3), _SCALARS, max_size=3))


@SETTINGS
@given(_JSON)
def test_units_are_a_list_of_known_units_or_the_roles(units: Any) -> None:
    found = units_said({**WORKER, labels.SPEC: json.dumps({"v": 1, "units": units})})

    known = isinstance(units, list) and all(isinstance(unit, str) and unit in PROGRAMS for unit in units)
    assert found == (tuple(units) if known else BY_ROLE)


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, "null", "[]", "3", '"units"', '{"units": null}', '{"units": ["cron"]}']
)
def test_nonsense_is_no_spec(text: str) -> None:
    assert units_said({**WORKER, labels.SPEC: text}) == BY_ROLE


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        # A node of sind's says no units.
        ({labels.ROLE: "controller"}, ("munge.service", "sshd.service", "slurmctld.service")),
        ({labels.ROLE: "controller", labels.MANAGED: "false"}, ("munge.service", "sshd.service")),
        ({labels.ROLE: "db"}, ("munge.service", "sshd.service", "mariadb.service", "slurmdbd.service")),
        ({labels.ROLE: "api"}, ("munge.service", "sshd.service", "slurmrestd.service")),
        ({labels.ROLE: "submitter"}, ("munge.service", "sshd.service")),
        ({labels.ROLE: "submitter", labels.IDENTITY: "clientIds"}, ("sshd.service", "sackd.service")),
        ({labels.ROLE: "worker", labels.IDENTITY: "clientIds"}, ("sshd.service", "slurmd.service")),
        ({labels.ROLE: "worker", labels.IDENTITY: "nonsense"}, BY_ROLE),
        ({}, BY_ROLE),
        ({**WORKER, labels.SPEC: '{"units": []}'}, ()),
    ],
)
def test_the_role_says_what_the_spec_does_not(marks: dict[str, str], expected: tuple[str, ...]) -> None:
    assert units_said(marks) == expected
