"""Whether daemons run, by what the kernel says: cheaper than asking systemd, and right while it boots or hangs, too.

A daemon that reconfigures itself goes on as a new process (slurmctld and slurmd since 23.11). Whoever reads the processes'
numbers before that and their names after it sees neither, as Docker's `top` does: measured on 26.05, 3 of 7,400 looks beside
180 reconfigures, and no second look after one of these. So what is not there is looked for twice.
"""

from collections.abc import Mapping, Sequence

from sindplan.engine.port import Engine
from sindplan.slurm.port import PROGRAMS

RUNS = """\
runs() {
    for _ in 1 2; do
        grep -qsx "$1" /proc/[0-9]*/comm && return
    done
    return 1
}
"""
"""A shell function: whether a program runs in the node."""


def running(engine: Engine, node: str, units: Sequence[str]) -> Mapping[str, bool]:
    """Say of each unit whether its daemon runs. Raises `EngineError` as `Engine.processes` does."""
    found = set(engine.processes(node))
    if any(PROGRAMS[unit] not in found for unit in units):
        found |= set(engine.processes(node))
    return {unit: PROGRAMS[unit] in found for unit in units}
