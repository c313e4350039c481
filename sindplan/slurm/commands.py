"""The real Slurm port: commands in nodes, through the engine.

Names go into commands as arguments of a fixed script, never into its text. Every command that could hang is ended by
`timeout` inside the node. What comes back is untrusted text.
"""

import time
from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from sindplan.engine.port import Engine
from sindplan.engine.records import Entry, Executed
from sindplan.errors import EngineError, EngineRefused, EngineTimeout, NodeFailed
from sindplan.model.boot import BOOTING, prints
from sindplan.slurm import inside
from sindplan.slurm.accounting import AccountingChange, AccountingView, parse_accounting
from sindplan.slurm.accounting_commands import check, check_removals, operations
from sindplan.slurm.accounting_scripts import AWAIT, OPERATE, REFUSED, VIEW, encoded, refusal
from sindplan.slurm.joining import wait_joined
from sindplan.slurm.node_set import expanded, folded
from sindplan.slurm.port import SlurmNodeState, SlurmView
from sindplan.slurm.running import RUNS, running
from sindplan.slurm.trial import Trial, run_trial

_ASK = 10.0
"""Seconds that a question to slurmctld may take; a healthy one answers in hundredths."""
_DUMPED_WITHIN = 3600.0
"""Seconds that a dump of the database may take."""
_ACCOUNTING = 120.0
"""Seconds that a batch of accounts may take: sind's limit."""
_GLANCE = 0.05
"""Seconds between looks at a node that has no way to say that systemd has begun."""
_SEPARATOR = "--"
_NEW = ".sindplan-new"

# A masked unit never starts, and one whose alias is asked for fails to load. Links are looked at first, since most are none.
_UNMASK = """\
masked=
for unit; do
    alias=$(readlink "/etc/systemd/system/$unit")
    for folder in /etc /run; do
        for file in "$folder/systemd/system/$unit" "$folder/systemd/system/${alias##*/}"; do
            [ "$(readlink "$file")" = /dev/null ] && rm -f -- "$file" && masked=yes
        done
    done
done
"""
_RELOAD_IF_MASKED = '[ -z "$masked" ] || systemctl daemon-reload || exit 1\n'

# The first exec waits for systemd's private socket; `systemctl start` then joins the boot's own jobs and returns when the
# units have notified that they are ready. No D-Bus is needed for it.
_BOOT = f'until [ -S /run/systemd/private ]; do sleep 0.02; done\n{_UNMASK}{_RELOAD_IF_MASKED}exec systemctl start "$@"'

# Asking a slurmctld that does not run takes Slurm's commands as long as they may; the kernel says it at once. A node that
# still boots is waited for: a plan made then would say that slurmctld is down, and that nobody knows its jobs.
_VIEW = f"""\
{RUNS}until runs slurmctld; do
    [ ! -S /run/systemd/private ] || case $(systemctl is-system-running 2> /dev/null) in
        initializing | starting) ;;
        *) exit 1 ;;
    esac
    sleep 0.05
done
sinfo -h -N -o '%N|%T|%E' || exit 1
echo '{_SEPARATOR}'
squeue -h -t pending,running,suspended,completing,configuring,stopped -o '%A|%t|%N|%n|%P' || exit 1
"""

# A squeue that fails says nothing: only an answer without jobs counts as empty.
_EMPTY = """\
while :; do
    jobs=$(squeue -h -w "$1" -o %A) && [ -z "$jobs" ] && exit 0
    sleep 0.2
done
"""

# One by one, since a job that is refused would hide what became of the others.
_REQUEUE = 'for job; do scontrol requeue "$job" > /dev/null 2>&1 || echo "$job"; done'

# A slurmctld that is just taking or giving over control forgets a signal that comes then.
_STOP = """\
for _ in 1 2 3 4 5 6; do
    timeout 15 systemctl stop "$@" && exit 0
    systemctl kill -s TERM "$@"
done
exit 1
"""

# An empty folder in the place of a file would swallow it.
_MOVE = f'for path; do rmdir -- "$path" 2> /dev/null; mv -fT -- "$path{_NEW}" "$path" || exit 1; done'

# systemd-sysusers makes what is missing and changes nothing; it gives another id, in silence, where one is taken.
_PEOPLE = """\
while [ "$1" != -- ]; do rm -f -- "$1" || exit 1; shift; done; shift
while [ "$1" != -- ]; do
    if getent passwd "$1" > /dev/null; then
        # userdel asks the list of logins, where jobs are not.
        [ -z "$(find /proc -maxdepth 1 -user "$1" -name '[0-9]*')" ] || { echo "$1 has processes" >&2; exit 1; }
        userdel -- "$1" || exit 1
    fi
    shift
done; shift
while [ "$1" != -- ]; do
    # Where a user's own group went with the user, there is none left.
    getent group "$1" > /dev/null && { groupdel -- "$1" || exit 1; }
    shift
done; shift
systemd-sysusers || exit 1
[ ! -e /etc/tmpfiles.d/sindplan.conf ] || systemd-tmpfiles --create /etc/tmpfiles.d/sindplan.conf || exit 1
for user; do
    [ "$(id -u "${user%%:*}")" = "${user#*:}" ] || { echo "the id ${user#*:} of ${user%%:*} is taken" >&2; exit 1; }
done
"""

_DUMP = """\
umask 077
set -e
rm -f -- "$1.part"
mariadb-dump --all-databases --single-transaction --quick > "$1.part"
mv -fT -- "$1.part" "$1"
"""

_RESOLVED = """\
while [ $# -gt 0 ]; do
    until getent ahostsv4 "$1" | grep -q "^$2 "; do sleep 0.05; done
    shift 2
done
"""


@frozen
class SlurmCommands:
    """Slurm by commands. See the port for what each method promises."""

    engine: Engine

    def services(self, node: str, units: Sequence[str]) -> Mapping[str, bool]:
        """Look at the processes."""
        return running(self.engine, node, units)

    def view(self, controller: str) -> SlurmView | None:
        """Ask slurmctld for nodes and jobs."""
        try:
            if not self._runs_systemd(controller, _ASK):
                return None
            done = self._run(controller, _VIEW, (), _ASK)
        except EngineError:
            return None
        return parse_view(done.out) if done.code == 0 else None

    def boot(self, node: str, units: Sequence[str], timeout: float) -> None:
        """Start units as soon as systemd can be asked to.

        A command before the boot script has moved PID 1 would spoil the cgroup tree: so its line is waited for first, or
        systemd itself on a node whose script says nothing.
        """
        began = time.monotonic()
        found = self.engine.inspect_container(node)
        try:
            if found is not None and prints(found.spec.command):
                booted = self.engine.wait_output(node, BOOTING, timeout)
            else:
                booted = self._runs_systemd(node, timeout)
        except EngineTimeout:
            booted = False
        if not booted:
            raise self._failure(node, "systemd was not started", units)
        timeout = max(1.0, timeout - (time.monotonic() - began))
        self._wait(node, _BOOT, units, timeout, f"{', '.join(units)} did not start", units)

    def _runs_systemd(self, node: str, timeout: float) -> bool:
        """Wait until a node's first process has become systemd, without a command in it; False when it ends before."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            try:
                if "systemd" in self.engine.processes(node):
                    return True
            except EngineRefused:
                return False
            time.sleep(_GLANCE)
        return False

    def start_units(self, node: str, units: Sequence[str], timeout: float, *, restart: bool = False) -> None:
        """Start or restart units."""
        # A unit that was started often, or failed often, is started no more until it is forgiven (systemd.unit(5)).
        script = _UNMASK + _RELOAD_IF_MASKED
        script += f'systemctl reset-failed "$@" 2> /dev/null; exec systemctl {"restart" if restart else "start"} "$@"'
        self._wait(node, script, units, timeout, f"{', '.join(units)} did not start", units)

    def reload_units(self, node: str, units: Sequence[str]) -> None:
        """Run `systemctl daemon-reload`."""
        self._wait(node, f"{_UNMASK}exec systemctl daemon-reload", units, 60, "systemd did not read its files", ())

    def stop_units(self, node: str, units: Sequence[str]) -> None:
        """Stop units."""
        self._wait(node, _STOP, units, 120, f"{', '.join(units)} did not stop", units)

    def set_people(
        self,
        node: str,
        *,
        users: Mapping[str, int],
        gone_users: Sequence[str],
        gone_groups: Sequence[str],
        gone_files: Sequence[str],
    ) -> None:
        """Run userdel, groupdel, systemd-sysusers and systemd-tmpfiles, in one command."""
        expected = [f"{name}:{uid}" for name, uid in users.items()]
        arguments = [*gone_files, "--", *gone_users, "--", *gone_groups, "--", *expected]
        self._wait(node, _PEOPLE, arguments, 60, "users could not be made or removed", ())

    def dump_database(self, node: str, path: str) -> None:
        """Run `mariadb-dump`: one transaction, so that what it writes fits together (mariadb-dump(1))."""
        self._wait(node, _DUMP, [path], _DUMPED_WITHIN, "the database could not be dumped", ("mariadb",))

    def install(self, node: str, entries: Sequence[Entry]) -> None:
        """Put the files beside the old ones and move them over those."""
        files = [entry for entry in entries if entry.kind != "dir"]
        folders = [entry for entry in entries if entry.kind == "dir"]
        self.engine.put_files(node, [*folders, *(evolve(entry, path=entry.path + _NEW) for entry in files)])
        self._wait(node, _MOVE, [entry.path for entry in files], _ASK, "files could not be moved into place", ())

    def remove_files(self, node: str, paths: Sequence[str]) -> None:
        """Run `rm -f`, and `rmdir` where nothing is left; what is mounted stays."""
        script = 'rm -f -- "$@" || exit 1; for path; do rmdir -- "${path%/*}" 2> /dev/null; done; exit 0'
        self._wait(node, script, paths, _ASK, "files could not be removed", ())

    def reconfigure(self, controller: str) -> None:
        """Run `scontrol reconfigure`."""
        self._wait(
            controller, "exec scontrol reconfigure", (), 60, "slurmctld refused its new configuration", ("slurmctld",)
        )

    def try_configuration(self, trial: Trial) -> None:
        """Run it, by the engine alone."""
        run_trial(self.engine, trial)

    def join(self, controller: str, nodes: Mapping[str, str], timeout: float) -> None:
        """Wait in the controller, and look at the nodes when it takes long."""
        wait_joined(self.engine, controller, nodes, timeout)

    def drain(self, controller: str, nodes: Sequence[str], reason: str) -> None:
        """Run `scontrol update … state=drain`."""
        self._update(controller, nodes, "state=drain", f"reason={reason}")

    def resume(self, controller: str, nodes: Sequence[str]) -> None:
        """Run `scontrol update … state=resume`."""
        self._update(controller, nodes, "state=resume")

    def requeue(self, controller: str, jobs: Sequence[str]) -> tuple[str, ...]:
        """Run `scontrol requeue`, which refuses interactive jobs and those submitted with --no-requeue."""
        done = self._wait(controller, _REQUEUE, jobs, 60, "jobs could not be requeued", ("slurmctld",))
        return tuple(job for job in jobs if job in done.out.split())

    def cancel(self, controller: str, jobs: Sequence[str]) -> None:
        """Run `scancel`."""
        # It fails for jobs that have just ended.
        self._wait(controller, 'scancel -- "$@"; exit 0', jobs, 60, "jobs could not be cancelled", ("slurmctld",))

    def wait_empty(self, controller: str, nodes: Sequence[str], timeout: float) -> tuple[str, ...]:
        """Wait in the controller, in one command."""
        try:
            done = self._run(controller, _EMPTY, [",".join(nodes)], timeout)
        except EngineTimeout:
            left = self._run(controller, 'exec squeue -h -w "$1" -o %A', [",".join(nodes)], _ASK)
            return tuple(left.out.split()) or (() if left.code == 0 else ("unknown: squeue failed",))
        return () if done.code == 0 else ("unknown: squeue failed",)

    def wait_resolved(self, relay: str, addresses: Mapping[str, str], timeout: float) -> None:
        """Ask the relay's resolver until it answers right."""
        pairs = [word for name, address in addresses.items() for word in (name, address)]
        self._wait(relay, _RESOLVED, pairs, timeout, "the realm's DNS server does not answer with the new records", ())

    def accounting(self, controller: str) -> AccountingView | None:
        """Ask sacctmgr."""
        try:
            done = self._run(controller, VIEW, (), _ASK)
        except EngineError:
            return None
        return parse_accounting(done.out) if done.code == 0 else None

    def change_accounting(self, controller: str, change: AccountingChange) -> None:
        """Ask sacctmgr what is there, and tell it what shall be."""
        began = time.monotonic()
        what = "slurmdbd does not answer, or does not know the cluster,"
        view = parse_accounting(self._wait(controller, AWAIT, (), _ACCOUNTING, what, ("slurmctld",)).out)
        if view is None:
            raise self._failure(controller, "sacctmgr says nothing of the cluster", ("slurmctld",))
        check_removals(view, change.gone)
        told = operations(view, change)
        if not told:
            return
        left = max(_ASK, _ACCOUNTING - (time.monotonic() - began))
        try:
            done = self._run(controller, OPERATE, encoded(told), left)
        except EngineTimeout:
            raise self._failure(controller, f"sacctmgr did not finish within {left:.0f} seconds", ()) from None
        if done.code == REFUSED:
            raise NodeFailed(f"{inside.name_of(self.engine, controller)}: {refusal(done.err)}")
        check(parse_accounting(done.out) if done.code == 0 else None, change, done.err)

    def _update(self, controller: str, nodes: Sequence[str], *settings: str) -> None:
        done = self._run(controller, 'exec scontrol update "$@"', [f"nodename={','.join(nodes)}", *settings], _ASK)
        # Resuming a node that is in service, and draining one that Slurm forgot, are errors to scontrol and no harm.
        if done.code != 0 and not any(text in done.err for text in ("Invalid node state", "Invalid node name")):
            raise NodeFailed(f"scontrol could not set {folded(nodes)} to {settings[0]}: {done.err.strip()}")

    def _run(self, node: str, script: str, arguments: Sequence[str], timeout: float) -> Executed:
        return inside.run(self.engine, node, script, arguments, timeout)

    def _wait(
        self, node: str, script: str, arguments: Sequence[str], timeout: float, failure: str, units: Sequence[str]
    ) -> Executed:
        return inside.wait(self.engine, node, script, arguments, timeout, failure, units)

    def _failure(self, node: str, what: str, units: Sequence[str]) -> NodeFailed:
        return inside.failure(self.engine, node, what, units)


def parse_view(text: str) -> SlurmView:
    """Read what the view script prints."""
    lines = iter(text.splitlines())
    states: dict[str, tuple[str, str]] = {}
    for line in lines:
        if line == _SEPARATOR:
            break
        name, _, rest = line.partition("|")
        state, _, reason = rest.partition("|")
        states[name.strip()] = (state.strip().lower(), "" if reason.strip() == "none" else reason.strip())
    jobs: dict[str, list[str]] = {}
    waiting: dict[str, list[str]] = {}
    running: list[str] = []
    pending: list[str] = []
    partitions: dict[str, list[str]] = {}
    for line in lines:
        job, state, used, asked, where, *_ = [*line.split("|"), "", "", "", ""]
        for partition in filter(None, where.split(",")):
            partitions.setdefault(partition, []).append(job)
        if state == "PD":
            pending.append(job)
            for node in expanded(asked):
                waiting.setdefault(node, []).append(job)
            continue
        running.append(job)
        for node in expanded(used):
            jobs.setdefault(node, []).append(job)
    return SlurmView(
        nodes={
            name: SlurmNodeState(
                states=state, reason=reason, jobs=tuple(jobs.get(name, ())), waiting=tuple(waiting.get(name, ()))
            )
            for name, (state, reason) in states.items()
        },
        running_jobs=tuple(dict.fromkeys(running)),
        pending_jobs=tuple(dict.fromkeys(pending)),
        partitions={name: tuple(dict.fromkeys(there)) for name, there in partitions.items()},
    )
