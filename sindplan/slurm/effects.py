"""What a change of Slurm's files costs beside single parameters, and what jobs see of it: tables for people, each row with its source."""

from attrs import frozen

PROVED = "proved on 24.11 and 26.05"


@frozen
class Effect:
    """What one kind of change does.

    Attributes:
        change: What changes.
        cost: What apply does for it.
        jobs: What becomes of jobs that run.
        source: Where the rule is from.
    """

    change: str
    cost: str
    jobs: str
    source: str


_RECONFIGURE = "`scontrol reconfigure`"
_GO_ON = "go on"
RECORDS: tuple[Effect, ...] = (
    Effect("a node comes", _RECONFIGURE, _GO_ON, PROVED),
    Effect("a worker goes", f"drained and waited for, then {_RECONFIGURE}", "end by themselves", PROVED),
    Effect(
        "a node goes that sindplan did not declare, or all of them",
        _RECONFIGURE,
        "**are lost**: needs `--allow-job-loss`",
        "proved on 26.05",
    ),
    Effect("`RealMemory`, `Weight`, `Features`, `Gres`", _RECONFIGURE, _GO_ON, PROVED),
    Effect(
        "`CPUs`, `Boards`, `Sockets`, `CoresPerSocket`, `ThreadsPerCore`",
        _RECONFIGURE,
        "on that node **begin anew**: needs `--allow-job-loss`",
        PROVED,
    ),
    Effect("a partition comes or changes", _RECONFIGURE, _GO_ON, PROVED),
    Effect(
        "a partition goes",
        _RECONFIGURE,
        "that run or wait in it **fail** (NODE_FAIL): needs `--allow-job-loss`",
        PROVED,
    ),
)
"""Lines of nodes and partitions."""

FILES: tuple[Effect, ...] = (
    Effect("`slurm.conf` and its fragments", "by parameter, see above", _GO_ON, "scontrol(1)"),
    Effect("`cgroup.conf`, `gres.conf`, `topology.conf`", _RECONFIGURE, _GO_ON, "scontrol(1): new processes read them"),
    Effect("`plugstack.conf`", _RECONFIGURE, "keep what they began with", "spank(8): read at each start of a job step"),
    Effect("`slurmdbd.conf`", "restart of slurmdbd", _GO_ON, "slurmdbd.conf(5): most is read at its start only"),
    Effect("a file's mode or owner alone", "written anew, nobody is told", _GO_ON, "nothing new is said"),
)
"""Whole files."""
