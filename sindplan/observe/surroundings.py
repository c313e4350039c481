"""What is looked at beside engine and Slurm: the clock, this machine, and what is remembered of images."""

import time
from collections.abc import Callable

from attrs import field, frozen

from sindplan.engine.records import EngineInfo
from sindplan.observe.machine import Machine, read_machine
from sindplan.observe.probes import cached_probe


@frozen(kw_only=True)
class Surroundings:
    """Where the rest of an observation comes from.

    Attributes:
        now: Returns seconds since 1970.
        machine: Returns what the engine's host says.
        probe: Returns what an earlier probe of an image found, by its id; empty when there was none.
    """

    now: Callable[[], float] = field(default=time.time)
    machine: Callable[[EngineInfo], Machine] = field(default=read_machine)
    probe: Callable[[str], str] = field(default=cached_probe)


HERE = Surroundings()
"""This machine, now."""
