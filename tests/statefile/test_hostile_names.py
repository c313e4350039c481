"""A name out of a state file, be it from a stranger's pull request, is no option and no shell's business: such are refused.

And what sindplan runs in nodes is of fixed text: whatever it works on comes as arguments.
"""

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from sindplan.engine.records import Executed
from sindplan.engine.simulated import SimulatedEngine
from sindplan.model import names
from sindplan.slurm.commands import SlurmCommands
from sindplan.statefile.bounds import NAMES
from tests.statefile.reading import problems, write
from tests.strategies import SETTINGS

# All that means something to sh, to Slurm's or systemd's lists, to a path or to a terminal.
META = "$`;|&<>()'\"\\ \n\t*?[]{}!~#=%,/:@^\0\x1b\u202e"
WORDS = (
    "-",
    "--help",
    "-rf",
    "--",
    "..",
    ".",
    "",
    "$(reboot)",
    "`reboot`",
    "a;reboot",
    "a b",
    "../../etc",
    "a\nb",
    "@all",
)
HOSTILE = st.one_of(
    st.sampled_from(WORDS),
    st.builds(lambda rest: f"-{rest}", st.text("abc-=019", max_size=5)),
    st.builds(
        lambda left, sign, right: left + sign + right,
        st.text("ab0-_", max_size=3),
        st.sampled_from(META),
        st.text("ab0", max_size=3),
    ),
)
DOCUMENT = {
    "version": 1,
    "name": "lab",
    "realms": {
        "sind": {
            "clusters": {
                "dev": {
                    "image": "node:1",
                    "db": {},
                    "workers": {"cpu": {}},
                    "partitions": {"day": {"workers": ["cpu"], "options": {"PriorityTier": "1"}}},
                    "groups": {"lab": {}},
                    "accounts": {"physics": {}},
                    "users": {"alice": {}},
                }
            }
        }
    },
}
CLUSTER = ("realms", "sind", "clusters", "dev")
PLACES: dict[str, tuple[str, ...]] = {
    "realms": ("realms",),
    "clusters": ("realms", "sind", "clusters"),
    **{field: (*CLUSTER, field) for field in ("workers", "partitions", "users", "groups", "accounts")},
    "options": (*CLUSTER, "partitions", "day", "options"),
}


def test_every_table_of_names_is_tried() -> None:
    assert {field for _, field in NAMES} == PLACES.keys()


@SETTINGS
@given(st.sampled_from(sorted(PLACES)), HOSTILE)
def test_a_name_that_is_an_option_or_means_something_to_a_shell_is_refused(
    scratch: Path, place: str, name: str
) -> None:
    document: dict[str, Any] = copy.deepcopy(DOCUMENT)
    assert problems(*write(scratch, state=tomli_w.dumps(document))) == []
    table: Any = document
    for key in PLACES[place]:
        table = table[key]
    (old,) = table
    table[name] = table.pop(old)

    found = problems(*write(scratch, state=tomli_w.dumps(document)))

    assert found
    assert all(str(problem).replace("\n", "").replace("…", "").isprintable() for problem in found)


@SETTINGS
@given(HOSTILE)
def test_a_declaration_of_such_a_name_is_refused(scratch: Path, name: str) -> None:
    assert problems(*write(scratch, state=tomli_w.dumps({**DOCUMENT, "name": name})))


class Recording(SimulatedEngine):
    """An engine on which every command succeeds in silence, and is written down."""

    def __init__(self) -> None:
        super().__init__()
        self.commands: list[tuple[str, ...]] = []

    def execute(self, container: str, command: Sequence[str], timeout: float = 60, user: str = "") -> Executed:
        self.commands.append(tuple(command))
        return Executed(code=0, out="", err="")


Do = Callable[[SlurmCommands, str], object]
DOINGS: dict[str, Do] = {
    "start_units": lambda slurm, text: slurm.start_units("n", [text], 1),
    "restart": lambda slurm, text: slurm.start_units("n", [text], 1, restart=True),
    "reload_units": lambda slurm, text: slurm.reload_units("n", [text]),
    "stop_units": lambda slurm, text: slurm.stop_units("n", [text]),
    "set_people": lambda slurm, text: slurm.set_people(
        "n", users={text: 1000}, gone_users=[text], gone_groups=[text], gone_files=[text]
    ),
    "dump_database": lambda slurm, text: slurm.dump_database("n", text),
    "remove_files": lambda slurm, text: slurm.remove_files("n", [text]),
    "reconfigure": lambda slurm, _: slurm.reconfigure("n"),
    # These are always sindplan's own names.
    "join": lambda slurm, text: slurm.join("n", {names.worker(len(text)): "n"}, 1),
    "drain": lambda slurm, text: slurm.drain("n", [text], text),
    "resume": lambda slurm, text: slurm.resume("n", [text]),
    "requeue": lambda slurm, text: slurm.requeue("n", [text]),
    "cancel": lambda slurm, text: slurm.cancel("n", [text]),
    "wait_empty": lambda slurm, text: slurm.wait_empty("n", [text], 1),
    "wait_resolved": lambda slurm, text: slurm.wait_resolved("n", {text: text}, 1),
    "accounting": lambda slurm, _: slurm.accounting("n"),
}
# What runs no command of its own, or is looked at where it is: the trial's script and sacctmgr's in their own tests.
ELSEWHERE = {"services", "view", "boot", "install", "try_configuration", "change_accounting"}


def test_every_method_is_tried() -> None:
    there = {name for name, value in vars(SlurmCommands).items() if callable(value) and not name.startswith("_")}

    assert there - ELSEWHERE == DOINGS.keys() - {"restart"}


@pytest.mark.parametrize("do", DOINGS.values(), ids=DOINGS)
def test_scripts_are_the_same_whatever_they_work_on(do: Do) -> None:
    @SETTINGS
    @given(HOSTILE)
    def law(text: str) -> None:
        scripts = []
        for word in ("worker-0", text):
            engine = Recording()
            do(SlurmCommands(engine), word)
            scripts.append([(*command[:2], command[2], command[3]) for command in engine.commands])
        assert scripts[0] == scripts[1]
        assert all(script[:2] == ("/bin/sh", "-c") and script[3] == "sindplan" for script in scripts[0])

    law()
