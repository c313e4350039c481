"""What slurmctld prints, read: whatever it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.slurm.commands import parse_view
from sindplan.slurm.node_set import folded
from sindplan.slurm.port import SlurmNodeState


def test_nodes_and_jobs() -> None:
    view = parse_view(
        "worker-0|idle|none\n"
        "worker-1|draining|sindplan: leaving\n"
        "worker-2|down*|Not responding\n"
        "--\n"
        "7|R|worker-[0-1]||all\n"
        "8|CG|worker-1\n"
        "9|PD||worker-[1-2]|gpu\n"
        "10|PD|||all,gpu\n"
    )

    assert dict(view.nodes) == {
        "worker-0": SlurmNodeState(states="idle", jobs=("7",)),
        "worker-1": SlurmNodeState(states="draining", reason="sindplan: leaving", jobs=("7", "8"), waiting=("9",)),
        "worker-2": SlurmNodeState(states="down*", reason="Not responding", waiting=("9",)),
    }
    assert view.running_jobs == ("7", "8")
    assert dict(view.partitions) == {"all": ("7", "10"), "gpu": ("9", "10")}
    assert [name for name, node in view.nodes.items() if node.leaving] == ["worker-1"]
    assert [name for name, node in view.nodes.items() if node.down] == ["worker-2"]


@pytest.mark.parametrize(
    ("state", "down"),
    [
        ("idle", False),
        ("drained", False),
        ("allocated+drain", False),
        ("down", True),
        ("down*", True),
        ("unknown", True),
        ("fail", False),
        ("failing", False),
        ("inval", True),
        ("", False),
    ],
)
def test_states(state: str, down: bool) -> None:
    assert SlurmNodeState(states=state).down is down


@pytest.mark.parametrize(
    ("reason", "ours"),
    [
        ("sindplan: leaving", True),
        ("sindplan: x", True),
        ("sindplan", False),
        ("Sindplan: x", False),
        ("by sindplan: x", False),
    ],
)
def test_whose_drain_it_is(reason: str, ours: bool) -> None:
    assert SlurmNodeState(states="drained", reason=reason).leaving is ours


def test_a_reason_may_hold_anything_but_lines() -> None:
    view = parse_view("worker-0|drained|sindplan: a|b -- c; $(x)\n--\n")

    assert view.nodes["worker-0"].reason == "sindplan: a|b -- c; $(x)"


@pytest.mark.parametrize("nodes", ["worker-[0-", "[", "worker-[0-99999999999]x]", "@all", "%", "worker-[2-1]"])
def test_a_list_of_nodes_that_makes_no_sense_is_none(nodes: str) -> None:
    view = parse_view(f"worker-0|idle|none\n--\n7|R|{nodes}\n")

    assert view.nodes["worker-0"].jobs == ()
    assert view.running_jobs == ("7",)


@given(st.text("worker-0|\n- []19,none:\0\x1b", max_size=60))
def test_no_text_is_too_odd(text: str) -> None:
    view = parse_view(text)

    assert all(isinstance(job, str) for node in view.nodes.values() for job in node.jobs)


def test_names_are_folded() -> None:
    assert folded(["worker-2", "worker-0", "worker-1"]) == "worker-[0-2]"


@pytest.mark.parametrize(
    ("line", "ours", "off", "others"),
    [
        ("w0|idle|none", False, False, False),
        # What 24.11 shows of a node that was resumed.
        ("w0|idle*|sindplan: leaving", False, False, False),
        ("w0|allocated|sindplan: powered off", False, False, False),
        ("w0|drained|sindplan: leaving", True, False, False),
        ("w0|draining|sindplan: powered off", True, True, False),
        # slurmctld adds its own words after SlurmdTimeout (26.05).
        ("w0|drained*|sindplan: powered off : Not responding", True, True, False),
        ("w0|drained*|sindplan: leaving : Not responding", True, False, False),
        ("w0|drained|disk is broken", False, False, True),
        ("w0|draining@|to be rebooted", False, False, True),
        ("w0|drained$|disk is broken", False, False, True),
        ("w0|failing|disk is broken", False, False, True),
        ("w0|fail*|disk is broken", False, False, True),
        ("w0|down*|Not responding", False, False, False),
        ("w0|maint|none", False, False, False),
        ("w0|planned|none", False, False, False),
        ("w0|mixed#|none", False, False, False),
    ],
)
def test_whose_a_drain_is(line: str, ours: bool, off: bool, others: bool) -> None:
    state = parse_view(f"{line}\n--\n").nodes["w0"]

    assert (state.drained_by_us, state.powered_off, state.drained_by_others) == (ours, off, others)
    assert state.leaving == (ours and not off)
