"""Waiting until slurmctld can use nodes, and no longer than there is hope."""

import time
from collections.abc import Mapping
from contextlib import suppress

from sindplan.engine.port import Engine
from sindplan.errors import EngineError, EngineTimeout
from sindplan.slurm import inside
from sindplan.slurm.node_set import folded

_LONG = 20.0
"""Seconds after which nodes are looked at that have not joined; healthy ones take less than five."""
_ASK = 10.0
"""Seconds that a question to systemd may take."""

# `sinfo -r` leaves out nodes that do not respond.
_JOIN = """\
wanted=$1
nodes=$2
polls=0
# Not by ping: that waits for a standby, which answers nobody in its first seconds.
# It notifies that it is ready before it has read all of its files, so it may still give up.
until sinfo -h > /dev/null 2>&1; do
    if systemctl is-failed -q slurmctld; then
        echo 'it gave up' >&2
        exit 1
    fi
    sleep 0.1
done
until [ "$wanted" -eq 0 ] || [ "$(sinfo -h -N -r -n "$nodes" -o '%N %t' 2> /dev/null |
    awk '$2 !~ /^(down|unk|inval|boot|no_resp)/ { print $1 }' | sort -u | wc -l)" -ge "$wanted" ]
do
    if systemctl is-failed -q slurmctld; then
        echo 'it gave up' >&2
        exit 1
    fi
    # A node with less than its line says is refused until somebody acts; one from before a restart, until it registers anew.
    refused=$(sinfo -h -n "$nodes" -o '%t|%N has %E' 2> /dev/null | sed -n 's/^inval[^|]*|//p' | sort -u)
    if [ -z "$refused" ]; then
        polls=0
    elif [ $((polls += 1)) -ge 100 ]; then
        echo "$refused" | paste -s -d ';' | sed 's/;/; /g' >&2
        exit 1
    fi
    sleep 0.1
done
# A slurmctld that was started anew hears from the other workers within seconds; silent ones are no reason to fail.
for _ in $(seq 100); do
    sinfo -h -N -o %t | grep -q '^unk' || break
    sleep 0.1
done
"""

# One that is started anew after a while is neither.
_GAVE_UP = "case $(systemctl is-active slurmd) in failed | inactive) ;; *) exit 1 ;; esac"
_SLURMCTLD = ("slurmctld",)
_SLURMD = ("slurmd",)


def wait_joined(engine: Engine, controller: str, nodes: Mapping[str, str], timeout: float) -> None:
    """Wait in the controller until slurmctld answers and can use the nodes.

    Args:
        nodes: Their containers, by name. They are looked at every 20 seconds: who has ended is not waited for.
        timeout: Seconds in all.

    Raises:
        NodeFailed: slurmctld or a slurmd gave up, a container does not run, Slurm refuses a node, or time is over.
    """
    what = f"slurmctld cannot use {folded(nodes)}" if nodes else "slurmctld does not answer"
    arguments = [str(len(nodes)), ",".join(nodes)]
    end = time.monotonic() + timeout
    while True:
        left = max(1.0, end - time.monotonic())
        with suppress(EngineTimeout):
            inside.succeed(engine, controller, _JOIN, arguments, min(left, _LONG), what, _SLURMCTLD)
            return
        for node in nodes.values():
            _look_at(engine, node, what)
        if left <= _LONG:
            raise inside.failure(engine, controller, f"{what} within {timeout:.0f} seconds", _SLURMCTLD)


def _look_at(engine: Engine, node: str, what: str) -> None:
    """Raise `NodeFailed` when a node will not join any more."""
    container = engine.inspect_container(node)
    if container is None or container.state != "running":
        raise inside.failure(engine, node, f"{what}: the node does not run", _SLURMD)
    # What cannot be asked may yet join.
    with suppress(EngineError):
        if inside.run(engine, node, _GAVE_UP, (), _ASK).code == 0:
            raise inside.failure(engine, node, f"{what}: slurmd gave up", _SLURMD)
