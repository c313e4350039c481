"""The Slurm port to simulated nodes. Waiting takes no time: what has not come to be when it is waited for never will."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from attrs import frozen

from sindplan.engine.port import Engine
from sindplan.engine.records import Container, Entry
from sindplan.errors import NodeFailed
from sindplan.model.boot import BOOTING, prints
from sindplan.model.corefile import records_of
from sindplan.slurm.accounting import AccountingChange, AccountingView, parse_accounting
from sindplan.slurm.accounting_commands import check, check_removals, operations
from sindplan.slurm.accounting_scripts import in_one_line
from sindplan.slurm.node_set import folded
from sindplan.slurm.port import PROGRAMS, SlurmNodeState, SlurmView
from sindplan.slurm.simulated_accounting import Refused, rendered
from sindplan.slurm.simulated_configuration import refusal
from sindplan.slurm.simulated_machine import UNITS, SlurmMachine
from sindplan.slurm.trial import Trial, run_trial


@frozen
class SimulatedSlurm:
    """The Slurm port to simulated nodes."""

    engine: Engine
    machine: SlurmMachine

    def services(self, node: str, units: Sequence[str]) -> Mapping[str, bool]:
        """Look which daemons run."""
        running = self.engine.processes(node)
        return {unit: PROGRAMS[unit] in running for unit in units}

    def view(self, controller: str) -> SlurmView | None:
        """Ask the machine, if slurmctld runs there."""
        with self._in(controller) as container:
            if not self.machine.active(container, "slurmctld.service") or not self.machine.reachable(container):
                return None
            known = self.machine.controller(container)
            nodes = {
                name: SlurmNodeState(
                    states=self.machine.state_of(container, name),
                    reason=self.machine.reason_of(container, name),
                    jobs=self.machine.jobs_on(container, name),
                    waiting=self.machine.jobs_for(container, name),
                )
                for name in known.addresses
            }
            return SlurmView(
                nodes=nodes,
                running_jobs=tuple(job for node in nodes.values() for job in node.jobs),
                pending_jobs=(
                    *self.machine.jobs_for(container, ""),
                    *(job for node in nodes.values() for job in node.waiting),
                ),
                partitions=self.machine.jobs_by_partition(container),
            )

    def boot(self, node: str, units: Sequence[str], timeout: float) -> None:
        """Check that the boot started the units; what it could not start then, it may now."""
        found = self.engine.inspect_container(node)
        says_so = found is not None and prints(found.spec.command)
        if says_so and not self.engine.wait_output(node, BOOTING, timeout):
            raise NodeFailed("systemd was not started")
        with self._in(node) as container:
            self._start(container, units)

    def start_units(self, node: str, units: Sequence[str], timeout: float, *, restart: bool = False) -> None:
        """Start units."""
        with self._in(node) as container:
            for unit in units if restart else ():
                self.machine.stop_unit(container, unit)
            self._start(container, units)

    def stop_units(self, node: str, units: Sequence[str]) -> None:
        """Stop units."""
        with self._in(node) as container:
            for unit in units:
                self.machine.stop_unit(container, unit)

    def reload_units(self, node: str, units: Sequence[str]) -> None:
        """Take masks away."""
        with self._in(node) as container:
            self._unmask(container, units)

    def set_people(
        self,
        node: str,
        *,
        users: Mapping[str, int],
        gone_users: Sequence[str],
        gone_groups: Sequence[str],
        gone_files: Sequence[str],
    ) -> None:
        """Remove the files that go; refuse to remove a user who works."""
        container = self._reach(node)
        working = sorted({*gone_users} & self.machine.working)
        if working:
            raise NodeFailed(f"{container.name}: user {working[0]} is currently used by a process")
        for path in gone_files:
            self.machine.engine.delete(node, path)

    def dump_database(self, node: str, path: str) -> None:
        """Write a file, if MariaDB runs there."""
        container = self._reach(node)
        if not self.machine.active(container, "mariadb.service"):
            raise NodeFailed(f"{container.name}: the database could not be dumped")
        self.engine.put_files(node, [Entry(path=path, content=b"-- MariaDB dump\n", mode=0o600)])

    def install(self, node: str, entries: Sequence[Entry]) -> None:
        """Put files."""
        self._reach(node)
        self.engine.put_files(node, entries)

    def remove_files(self, node: str, paths: Sequence[str]) -> None:
        """Remove files, and folders that are no mounts and have nothing left in them."""
        container = self._reach(node)
        for path in paths:
            self.machine.engine.delete(node, path)
        mounts = {mount.target for mount in container.spec.mounts}
        for folder in {posixpath.dirname(path) for path in paths} - mounts:
            if self.engine.has_file(node, folder) and not self.engine.get_files(node, folder).keys() - {folder}:
                self.machine.engine.delete(node, folder)

    def reconfigure(self, controller: str) -> None:
        """Have the files read again."""
        with self._in(controller) as container:
            if not self.machine.active(container, "slurmctld.service"):
                raise NodeFailed(f"{container.name}: slurmctld does not answer")
            if not self.machine.reachable(container):
                raise NodeFailed(f"{container.name}: slurmctld refused its new configuration: unable to contact it")
            if refused := refusal(self.machine.texts(container)):
                raise NodeFailed(f"{container.name}: slurmctld refused its new configuration: {refused[0]}")
            self.machine.reconfigured += 1
            self.machine.read_configuration(container)

    def try_configuration(self, trial: Trial) -> None:
        """Run it, by the engine alone; the machine says how it ends."""
        run_trial(self.engine, trial)

    def join(self, controller: str, nodes: Mapping[str, str], timeout: float) -> None:
        """Check that the nodes are usable."""
        view = self.view(controller)
        if view is None:
            raise NodeFailed("slurmctld does not answer")
        missing = [name for name in nodes if name not in view.nodes or view.nodes[name].states.endswith("*")]
        for name in missing:
            container = self.engine.inspect_container(nodes[name])
            if container is None or container.state != "running":
                raise NodeFailed(f"{nodes[name]}: slurmctld cannot use {folded(nodes)}: the node does not run")
            if not self.machine.active(container, "slurmd.service"):
                raise NodeFailed(f"{container.name}: slurmctld cannot use {folded(nodes)}: slurmd gave up")
        if missing:
            raise NodeFailed(f"slurmctld cannot use {folded(missing)}")

    def drain(self, controller: str, nodes: Sequence[str], reason: str) -> None:
        """Drain nodes."""
        with self._in(controller) as container:
            known = self.machine.controller(container)
            for node in nodes:
                known.reasons[node] = reason

    def resume(self, controller: str, nodes: Sequence[str]) -> None:
        """Resume nodes."""
        with self._in(controller) as container:
            known = self.machine.controller(container)
            for node in nodes:
                known.reasons.pop(node, None)
                known.down.discard(node)

    def requeue(self, controller: str, jobs: Sequence[str]) -> tuple[str, ...]:
        """Have jobs wait for any node."""
        with self._in(controller) as container:
            return tuple(job for job in jobs if not self.machine.requeue(container, job))

    def cancel(self, controller: str, jobs: Sequence[str]) -> None:
        """End jobs."""
        with self._in(controller):
            for job in jobs:
                self.machine.jobs.pop(job, None)

    def wait_empty(self, controller: str, nodes: Sequence[str], timeout: float) -> tuple[str, ...]:
        """Let all jobs end that do."""
        with self._in(controller) as container:
            for name in nodes:
                for job in self.machine.jobs_on(container, name):
                    if not self.machine.jobs[job].endless:
                        del self.machine.jobs[job]
            return tuple(job for name in nodes for job in self.machine.jobs_on(container, name))

    def wait_resolved(self, relay: str, addresses: Mapping[str, str], timeout: float) -> None:
        """Read the records where the DNS server has them."""
        container = self._reach(relay)
        dns = container.name.removesuffix("-ssh") + "-dns"
        records = records_of((self.machine.engine.read(dns, "/Corefile") or b"").decode())
        wrong = [name for name, address in addresses.items() if records.get(name) != address]
        if wrong:
            raise NodeFailed(f"the DNS server does not answer for {', '.join(wrong)}")

    def accounting(self, controller: str) -> AccountingView | None:
        """Ask the database of the cluster, if it is served."""
        with self._in(controller) as container:
            volume = self.machine.database(container)
            if volume is None:
                return None
            return parse_accounting(rendered(self.machine.accounting.on(volume).view(volume.name)))

    def change_accounting(self, controller: str, change: AccountingChange) -> None:
        """Tell the database what the real sacctmgr is told."""
        container = self._reach(controller)
        volume, view = self.machine.database(container), self.accounting(controller)
        if volume is None or view is None:
            raise NodeFailed(f"{container.name}: slurmdbd does not answer, or does not know the cluster")
        check_removals(view, change.gone)
        for operation in operations(view, change):
            try:
                with self.machine.engine.held():
                    self.machine.accounting.on(volume).run(operation)
            except Refused as refused:
                raise NodeFailed(f"{container.name}: sacctmgr refused: {in_one_line(str(refused))}") from None
        check(self.accounting(controller), change)

    def _unmask(self, container: Container, units: Sequence[str]) -> None:
        for unit in units:
            if self.machine.masked(container, unit):
                self.machine.engine.delete(container.id, f"{UNITS}/{unit}")

    def _start(self, container: Container, units: Sequence[str]) -> None:
        self._unmask(container, units)
        for unit in units:
            if not self.machine.active(container, unit):
                self.machine.start_unit(container, unit)
        failed = [unit for unit in units if not self.machine.active(container, unit)]
        if failed:
            raise NodeFailed(f"{container.name}: {', '.join(failed)} did not start")

    @contextmanager
    def _in(self, node: str) -> Iterator[Container]:
        """Reach a node, and keep everyone else out of the machine: actions run side by side."""
        container = self._reach(node)
        with self.machine.engine.held():
            yield container

    def _reach(self, node: str) -> Container:
        # Refused as any exec is: when the container is gone, does not run, or is frozen.
        self.engine.execute(node, ["true"])
        container = self.engine.inspect_container(node)
        assert container is not None
        return container
