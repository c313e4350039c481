"""Trials of a configuration: the simulated slurmctld takes and refuses what the real ones do, and nothing of a trial stays."""

import time
import uuid
from collections.abc import Iterator

import pytest
from attrs import evolve, field, frozen

from sindplan.engine.port import Engine
from sindplan.engine.records import Entry, NetworkSpec
from sindplan.errors import Conflict, NodeFailed
from sindplan.slurm.trial import LABEL, SECONDS, Trial, _refusal, run_trial, sweep_trial
from tests.contract.stage import IMAGE
from tests.real import OLD_IMAGE
from tests.world import new_world

MAIN = """\
ClusterName=dev
SlurmctldHost=controller(10.9.8.10)
{hosts}SlurmUser=slurm
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
PlugStackConfig=/etc/slurm/plugstack.conf
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
{said}
include sind-nodes.conf
"""
NODES = """\
NodeName=worker-0 NodeAddr=10.9.8.20 CPUs=1 RealMemory=512 State=UNKNOWN
PartitionName=all Nodes=worker-0 Default=YES MaxTime=INFINITE State=UP
"""


@frozen
class Court:
    """An engine, and the image whose slurmctld tries."""

    engine: Engine
    image: str
    name: str = field(factory=lambda: f"t{uuid.uuid4().hex[:10]}-try")

    def trial(self, said: str = "", *, hosts: str = "", nodes: str = NODES, **more: str) -> Trial:
        texts = {"slurm.conf": MAIN.format(said=said, hosts=hosts), "sind-nodes.conf": nodes, **more}
        texts.setdefault("cgroup.conf", "CgroupPlugin=disabled\n")
        return Trial(
            name=self.name,
            about="sind/dev",
            image=self.image,
            hostname="controller",
            labels={"sindplan.test": self.name},
            files=[Entry(path=f"/etc/slurm/{path}", content=text.encode()) for path, text in texts.items()],
        )

    def left(self) -> list[str]:
        """Return what is there by the trial's name."""
        there = [one.name for one in self.engine.containers()] + [one.name for one in self.engine.networks()]
        return [name for name in there if name == self.name]


@pytest.fixture(
    params=["simulated", pytest.param("real", marks=pytest.mark.engine), pytest.param("old", marks=pytest.mark.engine)]
)
def court(request: pytest.FixtureRequest) -> Iterator[Court]:
    """An engine with an image: each test runs on all."""
    if request.param == "simulated":
        world = new_world(seed=1)
        yield Court(world.engine, IMAGE)
        return
    engine = request.getfixturevalue("real_engine")
    reference = IMAGE if request.param == "real" else OLD_IMAGE
    found = engine.image(reference)
    assert found is not None, reference
    made = Court(engine, found.id)
    yield made
    sweep_trial(engine, made.name)


ACCEPTED = {
    "as it is": "",
    "munge": "AuthType=auth/munge\nCredType=cred/munge\nAuthInfo=ttl=99",
    "a key of Slurm's own": "AuthType=auth/slurm\nCredType=cred/slurm\nAuthInfo=use_client_ids",
    "a database that does not answer": "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=10.9.8.12\n"
    "AccountingStorageEnforce=limits\nJobAcctGatherType=jobacct_gather/linux",
    "tokens": "AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key",
    "a log that says nothing": "SlurmctldDebug=quiet\nSlurmctldLogFile=/var/log/slurm/slurmctld.log",
    "other ports": "SlurmctldPort=7000\nSlurmdPort=7001",
    "a password with a hash": 'JobCompPass="a b"',
    "a line that is continued": "MaxJobCount=\\\n7",
}


@pytest.mark.parametrize("case", ACCEPTED)
def test_what_slurmctld_starts_with_is_accepted(court: Court, case: str) -> None:
    run_trial(court.engine, court.trial(ACCEPTED[case]))

    assert court.left() == []


def test_a_backup_controller_is_no_matter(court: Court) -> None:
    run_trial(court.engine, court.trial(hosts="SlurmctldHost=controller-backup(10.9.8.11)\n"))

    assert court.left() == []


@pytest.mark.parametrize("backup", ["", "SlurmctldHost=controller-backup\n"])
def test_names_need_not_be_those_of_anybody(court: Court, backup: str) -> None:
    """sind's clusters know their nodes by name alone."""
    named = "NodeName=worker-[0-4] CPUs=1 State=UNKNOWN\nNodeName=x NodeAddr=host.elsewhere State=CLOUD\n"
    nodes = f"{named}PartitionName=all Nodes=worker-[0-4] Default=YES\n"
    began = time.monotonic()

    run_trial(court.engine, court.trial(hosts=backup, nodes=nodes))

    assert time.monotonic() - began < SECONDS / 2
    assert court.left() == []


def test_files_that_a_hand_closed_are_read(court: Court) -> None:
    trial = court.trial()

    run_trial(court.engine, evolve(trial, files=[evolve(entry, mode=0o600) for entry in trial.files]))

    assert court.left() == []


def test_included_files_are_read(court: Court) -> None:
    files = {"slurm.conf.d/a.conf": "include slurm.conf.d/b.conf\n", "slurm.conf.d/b.conf": "MaxJobCount=7\n"}

    run_trial(court.engine, court.trial("include slurm.conf.d/a.conf", **files))

    broken = {**files, "slurm.conf.d/b.conf": "MaxJobCount=7\nNonsense=7\n"}
    with pytest.raises(NodeFailed, match=r"(?i)Nonsense.* \(line 2 of slurm\.conf\.d/b\.conf\)"):
        run_trial(court.engine, court.trial("include slurm.conf.d/a.conf", **broken))
    assert court.left() == []


REFUSED = {
    "an unknown key": ("MaxJobCount=7\nNonsense=1", r"(?i)unrecognized key: Nonsense \(line 10 of slurm\.conf\)"),
    "an unknown scheduler": ("SchedulerType=sched/nope", "sched/nope"),
    "an unknown authentication": ("AuthType=auth/nope", "auth/nope"),
    "a file that is missing": ("include mine.conf", "cannot stat file /etc/slurm/mine.conf"),
    "a partition of nobody": ("PartitionName=x Nodes=worker-9", "worker-9|partition x"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_slurmctld_does_not_start_with_is_refused_in_its_own_words(court: Court, case: str) -> None:
    said, words = REFUSED[case]

    with pytest.raises(NodeFailed, match=words) as refused:
        run_trial(court.engine, court.trial(said))

    assert refused.value.summary.startswith("slurmctld refuses the new configuration of sind/dev: ")
    assert refused.value.diagnostics
    assert court.left() == []


def test_that_the_machine_is_busy_is_not_why() -> None:
    trial = Court(new_world(seed=1).engine, IMAGE).trial()
    said = (
        "slurmctld: error: High latency for 1000 calls to gettimeofday(): 2326 microseconds",
        "slurmctld: error: cannot find auth plugin for auth/nope",
        "slurmctld: fatal: cannot create auth context",
    )

    assert "dev: cannot find auth plugin for auth/nope." in _refusal(trial, said).summary


def test_what_an_earlier_trial_left_is_removed_and_what_is_somebody_elses_is_not(court: Court) -> None:
    court.engine.create_network(NetworkSpec(name=court.name, labels={LABEL: "sind/dev"}, internal=True))
    run_trial(court.engine, court.trial())
    assert court.left() == []

    theirs = court.engine.create_network(NetworkSpec(name=court.name, labels={}, internal=True))
    try:
        with pytest.raises(Conflict):
            run_trial(court.engine, court.trial())
        assert court.left() == [court.name]
    finally:
        court.engine.remove_network(theirs)


def test_an_image_that_is_gone_is_no_words_of_slurms(court: Court) -> None:
    with pytest.raises(Exception, match="image"):
        run_trial(court.engine, evolve(court.trial(), image="sha256:" + "0" * 64))
    assert court.left() == []
