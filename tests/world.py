"""A simulated world for tests: an engine with a node image, Slurm in its nodes, and the commands as functions."""

import json
import threading

from attrs import evolve, frozen

from sindplan.engine.records import EngineInfo
from sindplan.engine.simulated import DEFAULT_INFO, SimulatedEngine
from sindplan.execute.apply import Applied, Settings, apply
from sindplan.execute.reporter import Reporter
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from sindplan.model.facts import IMAGE_LABEL
from sindplan.model.hidden import Hidden
from sindplan.model.layout import images_of
from sindplan.observe.observation import Observation, observe
from sindplan.plan.plan import Plan
from sindplan.preflight.finding import Severity
from sindplan.slurm.simulated import SimulatedSlurm
from sindplan.slurm.simulated_machine import SlurmMachine
from sindplan.workflow import Prepared, clusters_of, prepare, prepare_destroy
from tests.strategies import IMAGES

IMAGE = "sindplan-node:26.05"
PASSWORD = "correct-horse-battery"
"""What every secret that a declaration refers to is, here, unless settings say otherwise."""
HOST_PATHS = ("/srv/data", "/srv/a b:c,d/é")
IMAGE_FACTS = {
    "v": 1,
    "slurm_version": "26.05.5",
    "plugins": [
        "auth_jwt",
        "auth_munge",
        "auth_slurm",
        "jobacct_gather_cgroup",
        "jobacct_gather_linux",
        "priority_basic",
        "priority_multifactor",
        "proctrack_cgroup",
        "proctrack_linuxproc",
        "sched_backfill",
        "sched_builtin",
        "select_cons_tres",
        "select_linear",
        "task_affinity",
        "task_cgroup",
        "task_none",
    ],
    "uids": {"slurm": [64030, 64030], "munge": [900, 900], "mysql": [902, 902], "slurmrestd": [903, 903]},
    "tools": ["dnsmasq"],
    "daemons": ["mariadbd", "munged", "sackd", "slurmctld", "slurmd", "slurmdbd", "slurmrestd", "sshd"],
    "nss_slurm": True,
    "db_dir": "/var/lib/mysql",
    "users": {"root": 0, "slurm": 64030, "munge": 900, "mysql": 902, "slurmrestd": 903, "nobody": 65534},
    "groups": {
        "root": 0,
        "users": 100,
        "slurm": 64030,
        "munge": 900,
        "mysql": 902,
        "slurmrestd": 903,
        "nogroup": 65534,
    },
}


@frozen
class World:
    """An engine, its Slurm, and what the tests do to them."""

    engine: SimulatedEngine
    machine: SlurmMachine
    slurm: SimulatedSlurm

    def prepare(self, declaration: Declaration) -> Prepared:
        """Plan."""
        return prepare(self.engine, self.slurm, declaration)

    def plan(self, declaration: Declaration) -> Plan:
        """Plan, and return the plan alone."""
        return self.prepare(declaration).plan

    def pending(self, declaration: Declaration) -> list[str]:
        """Plan, and return what would change, a line each: nothing after an apply."""
        return [
            f"{change.operation.value} {change.address} "
            + ", ".join(
                f"{field.name}: {str(field.before)[:150]} -> {str(field.after)[:150]}" for field in change.fields
            )
            for change in self.plan(declaration).changes
        ]

    def can_ask(self, declaration: Declaration) -> bool:
        """Say whether Slurm can be asked for the jobs that a plan is about: else workers stay, and the plan is blocked."""
        findings = self.prepare(declaration).findings
        return not any(one.check == "jobs" and one.severity is Severity.BLOCKS for one in findings)

    def observe(self, declaration: Declaration) -> Observation:
        """Observe what a declaration is about."""
        return observe(self.engine, self.slurm, clusters_of(declaration), images=images_of(declaration))

    def apply(
        self,
        declaration: Declaration,
        *,
        engine: object = None,
        reporter: Reporter | None = None,
        stop: threading.Event | None = None,
        settings: Settings | None = None,
    ) -> Applied:
        """Plan and apply. `engine` may be a faulty one around this world's."""
        prepared = self.prepare(declaration)
        assert not prepared.blocked, prepared.findings
        return self.run(prepared, declaration, engine=engine, reporter=reporter, stop=stop, settings=settings)

    def run(
        self,
        prepared: Prepared,
        declaration: Declaration,
        *,
        engine: object = None,
        reporter: Reporter | None = None,
        stop: threading.Event | None = None,
        settings: Settings | None = None,
    ) -> Applied:
        """Apply a plan that was made before."""
        secrets = (settings.secrets if settings else {}) or dict.fromkeys(clusters_of(declaration), Hidden(PASSWORD))
        return apply(
            prepared.plan,
            prepared.before,
            engine=engine or self.engine,
            slurm=SimulatedSlurm(engine, self.machine) if engine else self.slurm,
            owner=prepared.owner,
            observe_again=lambda: self.observe(declaration),
            reporter=reporter or Reporter(),
            settings=evolve(
                settings
                or Settings(parallelism=4, drain_timeouts=prepared.drain_timeouts, on_timeouts=prepared.on_timeouts),
                secrets=secrets,
            ),
            stop=stop,
        )

    def destroy(self, declaration: Declaration, *clusters: Address) -> Applied:
        """Destroy clusters, all that are declared unless some are named."""
        prepared = prepare_destroy(
            self.engine, self.slurm, clusters or clusters_of(declaration), declaration=declaration, allow_job_loss=True
        )
        assert not prepared.blocked, prepared.findings
        return self.run(prepared, declaration, settings=Settings(on_failure="stop", parallelism=4))

    def snapshot(self) -> object:
        """Return everything there is, comparable."""
        return self.engine.snapshot(), self.machine.memory()


def new_world(*, seed: int | None = None, info: EngineInfo = DEFAULT_INFO, image: str = IMAGE) -> World:
    """Return an engine with nothing but the node image."""
    machine = SlurmMachine()
    engine = SimulatedEngine(machine=machine, seed=seed, info=info)
    labels = {"sind.slurm.version": "26.05.5", IMAGE_LABEL: json.dumps(IMAGE_FACTS)}
    for reference in sorted({image, *IMAGES}):
        engine.add_image(reference, labels=labels)
    engine.add_image("dns:1")
    for path in (*HOST_PATHS, "/cvmfs"):
        engine.host_paths[path] = {}
    return World(engine, machine, SimulatedSlurm(engine, machine))


NO_LIMITS = evolve(DEFAULT_INFO, memory_limit=False, cpu_limit=False, cpuset=False, pids_limit=False)
"""An engine whose cgroup tree has no controllers, as a private one on a cgroup v1 host."""


def failures(applied: Applied) -> list[str]:
    """Return what failed in an apply, a line each."""
    return [f"{action.id}: {error.summary}" for action, error in applied.outcome.failed]
