"""The Slurm port: what sindplan asks of the inside of nodes, systemd and Slurm. Commands run where Docker's verbs end.

Adapters: `commands` (through the engine's `execute`) and `simulated`. Nodes are named by container id.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from attrs import field, frozen

from sindplan.engine.records import Entry
from sindplan.slurm.accounting import AccountingChange, AccountingView
from sindplan.slurm.trial import Trial

DRAIN_REASON = "sindplan: leaving"
"""Why nodes that sindplan drains are drained; a drain with another reason is somebody's own and never lifted."""
OFF_REASON = "sindplan: powered off"
"""The same for nodes that are declared to be off: they come back when they are powered on."""

_OURS = "sindplan:"

PROGRAMS = {
    "munge.service": "munged",
    "sshd.service": "sshd",
    "slurmctld.service": "slurmctld",
    "slurmd.service": "slurmd",
    "mariadb.service": "mariadbd",
    "slurmdbd.service": "slurmdbd",
    "slurmrestd.service": "slurmrestd",
    "sackd.service": "sackd",
}
"""The daemon of each systemd unit, as the kernel names its process."""


@frozen(kw_only=True)
class SlurmNodeState:
    """What slurmctld says of a node.

    Attributes:
        states: Its state's parts in lower case as `sinfo -o %T` spells them, such as `idle`, `draining`, `down`.
        reason: Why it is drained or down.
        jobs: Ids of jobs on it, completing ones included.
        waiting: Ids of pending jobs that asked for it by name; Slurm fails them when it goes.
    """

    states: str
    reason: str = ""
    jobs: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()

    @property
    def leaving(self) -> bool:
        """Whether sindplan drains it to take it out."""
        return self.drained_by_us and not self.powered_off

    @property
    def powered_off(self) -> bool:
        """Whether sindplan has drained it to power it off."""
        # After SlurmdTimeout slurmctld adds its own words: "sindplan: powered off : Not responding" (26.05).
        return self.drained and self.reason.startswith(OFF_REASON)

    @property
    def drained(self) -> bool:
        """Whether it was told to take no new jobs: `drained` and `draining`, whatever sign stands behind, such as in `drained*`.

        `fail` and `failing` are the same with less hope; Slurm itself sets a node to neither (scontrol(1)).
        """
        return self.states.startswith(("drain", "fail"))

    @property
    def drained_by_us(self) -> bool:
        """Whether that is sindplan's doing."""
        # The reason alone says nothing: Slurm 24.11 keeps it when a node is resumed.
        return self.drained and self.reason.startswith(_OURS)

    @property
    def drained_by_others(self) -> bool:
        """Whether that is somebody else's decision."""
        return self.drained and not self.drained_by_us

    @property
    def down(self) -> bool:
        """Whether Slurm has given it up."""
        return self.states.startswith(("down", "unknown", "inval"))


@frozen(kw_only=True)
class SlurmView:
    """What slurmctld says of its cluster: nodes by name, ids of all jobs that run or wait.

    Attributes:
        partitions: The ids of the jobs that run or wait in a partition, by its name.
    """

    nodes: Mapping[str, SlurmNodeState] = field(factory=dict)
    running_jobs: tuple[str, ...] = ()
    pending_jobs: tuple[str, ...] = ()
    partitions: Mapping[str, tuple[str, ...]] = field(factory=dict)


class Slurm(Protocol):
    """Inside of nodes."""

    def services(self, node: str, units: Sequence[str]) -> Mapping[str, bool]:
        """Say of each systemd unit whether its daemon runs: one call, and no command in the node."""

    def view(self, controller: str) -> SlurmView | None:
        """Return what slurmctld says, or None when it does not answer: one command."""

    def boot(self, node: str, units: Sequence[str], timeout: float) -> None:
        """Wait until a started container's systemd is up and the units are active.

        Raises `NodeFailed` with diagnostics as soon as the container ends or a unit fails, or after `timeout` seconds.
        """

    def start_units(self, node: str, units: Sequence[str], timeout: float, *, restart: bool = False) -> None:
        """Start units of a running node, masked ones too, and wait until they are active. Raises `NodeFailed`."""

    def stop_units(self, node: str, units: Sequence[str]) -> None:
        """Stop units of a running node. Raises `NodeFailed`."""

    def reload_units(self, node: str, units: Sequence[str]) -> None:
        """Unmask units of a running node, and have systemd read its files again. Raises `NodeFailed`."""

    def set_people(
        self,
        node: str,
        *,
        users: Mapping[str, int],
        gone_users: Sequence[str],
        gone_groups: Sequence[str],
        gone_files: Sequence[str],
    ) -> None:
        """Have a running node make the users, groups and homes that its files of sysusers.d and tmpfiles.d say.

        Args:
            users: The user ids that must be there afterwards, by name: an id that was taken gives a user another.
            gone_users, gone_groups: Names to remove; homes stay.
            gone_files: Files of the two folders to remove.

        Raises:
            NodeFailed: A user has another id, or works right now and cannot be removed.
        """

    def dump_database(self, node: str, path: str) -> None:
        """Write all that a running node's MariaDB holds into a file that its owner alone can read, whole or not at all.

        Raises `NodeFailed`.
        """

    def install(self, node: str, entries: Sequence[Entry]) -> None:
        """Put files in the place of others in a running node, each whole at once for who reads meanwhile; folders first."""

    def remove_files(self, node: str, paths: Sequence[str]) -> None:
        """Remove files of a running node, and folders that this leaves empty; gone ones are success. Raises `NodeFailed`."""

    def reconfigure(self, controller: str) -> None:
        """Have slurmctld and all slurmds read their files again (scontrol(1)). Raises `NodeFailed` when it refuses."""

    def try_configuration(self, trial: Trial) -> None:
        """Start a throwaway slurmctld with files that nobody reads yet, and take it away again.

        Raises `NodeFailed` with Slurm's own words when it does not come up with them.
        """

    def join(self, controller: str, nodes: Mapping[str, str], timeout: float) -> None:
        """Wait until slurmctld knows the nodes and can use them; drained ones count.

        Args:
            nodes: Their containers, by name.
            timeout: In seconds.

        Raises:
            NodeFailed: It never will, or did not in time.
        """

    def drain(self, controller: str, nodes: Sequence[str], reason: str) -> None:
        """Let nodes finish their jobs and take no new ones."""

    def resume(self, controller: str, nodes: Sequence[str]) -> None:
        """Let drained or down nodes take jobs again."""

    def requeue(self, controller: str, jobs: Sequence[str]) -> tuple[str, ...]:
        """Put running jobs back into the queue; return those that Slurm does not: interactive ones, and those that forbid it."""

    def cancel(self, controller: str, jobs: Sequence[str]) -> None:
        """Tell jobs to end; those that are gone are success."""

    def wait_empty(self, controller: str, nodes: Sequence[str], timeout: float) -> tuple[str, ...]:
        """Wait until no job is left on the nodes; return the ids of those that are after `timeout` seconds."""

    def wait_resolved(self, relay: str, addresses: Mapping[str, str], timeout: float) -> None:
        """Wait until names resolve to their addresses as seen from the relay. Raises `NodeFailed`."""

    def accounting(self, controller: str) -> AccountingView | None:
        """Return what slurmdbd says of the controller's cluster, or None when it could not be asked: one command."""

    def change_accounting(self, controller: str, change: AccountingChange) -> None:
        """Bring accounts and users about; what is so already is success.

        Waits until slurmdbd answers and knows the cluster, two minutes at most. Raises `NodeFailed` with sacctmgr's words when
        it refuses, and when an account that shall go still holds what others put there.
        """
