"""A cluster laid out exactly as sind does, with a job running, is taken over: no container is replaced and the job ends well.

Then it grows by a worker, which runs a job, changes its configuration, is stopped and mended, shrinks, and goes.
"""

import tomllib

import pytest
import tomli_w
from attrs import frozen

from sindplan.kinds.dns import DNSMASQ_SCRIPT
from sindplan.slurm.commands import SlurmCommands
from sindplan.statefile import read
from tests.real import Lab, new_lab
from tests.sind_cluster import Sind, make_all

pytestmark = pytest.mark.proof

# What one has to say to sind for this image, which has no pmix.
MORE = """
[CLUSTER.slurm]
main = "MpiDefault=none\\n"
"""


@frozen
class Taken:
    """The cluster, its lab, and what was before it was taken over."""

    lab: Lab
    realm: str
    made: dict[str, tuple[str, str]]
    job: str


def sind_of(lab, realm, *, old=False):
    """Return a sind whose DNS server is one that can be had here, with sind's file."""
    command = ("-c", DNSMASQ_SCRIPT, "sindplan-dns", f"{realm}.sind")
    return Sind(lab.engine, dns_image=lab.image, dns_command=command, dns_cap_add=("NET_ADMIN",), old=old)


@pytest.fixture(scope="module", params=[False, True], ids=["v0.11", "v0.9"])
def taken(request, tmp_path_factory):
    """A cluster of sind's with a job on worker-0, and the file that an import wrote."""
    with new_lab(tmp_path_factory.mktemp("adoption")) as lab:
        realm = lab.realm()
        lab.declare(lab.cluster(realm, workers="count = 2"), MORE.replace("CLUSTER", f"realms.{realm}.clusters.dev"))
        make_all(sind_of(lab, realm, old=request.param), SlurmCommands(lab.engine), read([lab.file]))
        lab.wait(f"{realm}-dev-controller", '[ "$(sinfo -hN -t idle -o %N | sort -u | wc -l)" = 2 ]')
        job = lab.submit(realm, "worker-0")
        made = lab.identity()
        lab.file.unlink()
        lab.sindplan("import", f"{realm}/dev", "-o", str(lab.file), "--name", lab.name)
        yield Taken(lab, realm, made, job)


def test_the_plan_adds_the_record_alone(taken):
    plan = taken.lab.plan(code=2)

    assert plan.counts == (1, 0, 0), plan.out
    assert f"{taken.realm}/dev/record" in plan.out


def test_applying_it_leaves_containers_and_job_alone(taken):
    lab = taken.lab
    ctld = lab.read(f"{taken.realm}-dev-controller", "pidof", "slurmctld")

    lab.apply()

    lab.settled()
    assert lab.identity() == taken.made
    assert lab.read(f"{taken.realm}-dev-controller", "pidof", "slurmctld") == ctld
    assert lab.job(taken.realm, taken.job) == "RUNNING"
    assert not lab.sindplan("drift", "--realm", taken.realm).out
    lab.enough(taken.realm, taken.job)
    lab.wait(f"{taken.realm}-dev-controller", f"grep -q 'done on worker-0' /data/{taken.job}.out", 90)


def test_it_grows_and_the_new_worker_runs_a_job(taken):
    lab = taken.lab
    text = lab.file.read_text(encoding="utf-8")
    lab.file.write_text(text.replace("count = 2", "count = 3"), encoding="utf-8")

    lab.apply()

    lab.settled()
    assert lab.states(taken.realm)["worker-2"] == "idle"
    ran = lab.read(f"{taken.realm}-dev-controller", "srun", "-w", "worker-[0-2]", "-N3", "hostname").splitlines()
    assert sorted(ran) == ["worker-0", "worker-1", "worker-2"]
    assert {name: lab.identity(name)[name] for name in taken.made} == taken.made
    relay, name = f"{taken.realm}-ssh", f"worker-2.dev.{taken.realm}.sind"
    assert lab.read(relay, "ssh", "-o", "StrictHostKeyChecking=yes", name, "hostname") == "worker-2"


def test_its_configuration_changes_in_place(taken):
    lab = taken.lab
    document = tomllib.loads(lab.file.read_text(encoding="utf-8"))
    slurm = document["realms"][taken.realm]["clusters"]["dev"].setdefault("slurm", {})
    slurm["main"] = slurm.get("main", "") + "SchedulerParameters=bf_continue\n"
    lab.file.write_text(tomli_w.dumps(document), encoding="utf-8")

    lab.apply()

    lab.settled()
    shown = lab.read(f"{taken.realm}-dev-controller", "scontrol", "show", "config")
    assert "bf_continue" in shown
    assert {name: lab.identity(name)[name] for name in taken.made} == taken.made


def test_a_node_of_sinds_that_stopped_is_started(taken):
    lab = taken.lab
    for short in ("worker-1", "controller"):
        lab.docker.stop(f"{taken.realm}-dev-{short}")
    assert lab.sindplan("drift", "--realm", taken.realm, code=2).out

    lab.apply()

    lab.settled()
    ran = lab.read(f"{taken.realm}-dev-controller", "srun", "-N3", "hostname").splitlines()
    assert len(ran) == 3
    assert {name: lab.identity(name)[name][0] for name in taken.made} == {
        name: made[0] for name, made in taken.made.items()
    }


def test_it_shrinks_to_what_sind_made(taken):
    lab = taken.lab
    text = lab.file.read_text(encoding="utf-8")
    lab.file.write_text(text.replace("count = 3", "count = 1"), encoding="utf-8")

    lab.apply()

    lab.settled()
    assert lab.states(taken.realm) == {"worker-0": "idle"}


def test_destroying_it_leaves_nothing(taken):
    lab = taken.lab

    lab.destroy()

    assert lab.names() == set()


DATABASE = """
mariadb -e "CREATE DATABASE IF NOT EXISTS slurm_acct_db; CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED VIA unix_socket;
GRANT ALL ON slurm_acct_db.* TO slurm@localhost"
systemctl reset-failed slurmdbd; systemctl restart slurmdbd
until (exec 3<>/dev/tcp/127.0.0.1/6819) 2> /dev/null; do sleep 0.1; done
"""


def test_one_with_accounting_is_imported_with_its_accounts_and_what_is_stopped_stays_so(tmp_path):
    with new_lab(tmp_path) as lab:
        realm = lab.realm()
        more = MORE.replace("CLUSTER", f"realms.{realm}.clusters.dev")
        where = f"[realms.{realm}.clusters.dev"
        users = f"{where}.db]\n{where}.submitter]\n{where}.users]\nalice = {{}}\n"
        lab.declare(lab.cluster(realm), more, users)
        make_all(sind_of(lab, realm), SlurmCommands(lab.engine), read([lab.file]))
        controller = f"{realm}-dev-controller"
        lab.wait(f"{realm}-dev-db", "systemctl -q is-active mariadb")
        lab.read(f"{realm}-dev-db", "bash", "-c", DATABASE)
        lab.read(controller, "systemctl", "restart", "slurmctld")
        lab.wait(controller, '[ -n "$(sacctmgr -n -P show cluster format=cluster)" ]')
        for command in ("add account physics MaxJobs=5", "add user alice account=physics"):
            lab.read(controller, "sacctmgr", "-i", *command.split())
        lab.wait(controller, "sinfo -hN -t idle -o %N | grep -q worker-0")
        for short in ("submitter", "worker-0"):
            lab.docker.stop(f"{realm}-dev-{short}")
        before = lab.identity()
        lab.file.unlink()

        lab.sindplan("import", realm, "-o", str(lab.file), "--name", lab.name)

        written = tomllib.loads(lab.file.read_text(encoding="utf-8"))["realms"][realm]["clusters"]["dev"]
        assert written["accounts"] == {"physics": {"limits": {"MaxJobs": "5"}}}
        assert written["users"]["alice"]["accounts"] == ["physics"]
        assert (written["powered_off"], written["workers"]) == ("submitter", {"default": {"count": 1, "power": "off"}})
        assert lab.plan(code=2).counts == (1, 0, 0)
        lab.apply()
        lab.settled()
        text = lab.file.read_text(encoding="utf-8")
        lab.file.write_text(text.replace('MaxJobs = "5"', 'MaxJobs = "6"'), encoding="utf-8")
        lab.apply()
        lab.settled()
        assert lab.identity() == before
        text = lab.file.read_text(encoding="utf-8")
        on = text.replace('powered_off = "submitter"', "").replace('power = "off"', 'power = "on"')
        lab.file.write_text(on, encoding="utf-8")
        lab.apply()
        lab.settled()
        assert lab.states(realm) == {"worker-0": "idle"}
        assert {name: found[0] for name, found in lab.identity().items()} == {
            name: found[0] for name, found in before.items()
        }
        lab.destroy()
        assert lab.names() == set()


def test_controller_and_database_of_sinds_are_replaced_with_what_only_their_containers_hold(tmp_path):
    """sind gives a volume neither to slurmctld's state nor to the database: queue and history move over, or are lost."""
    with new_lab(tmp_path) as lab:
        realm = lab.realm()
        controller, db = f"{realm}-dev-controller", f"{realm}-dev-db"
        more = MORE.replace("CLUSTER", f"realms.{realm}.clusters.dev")
        lab.declare(lab.cluster(realm), more, f"[realms.{realm}.clusters.dev.db]\n")
        make_all(sind_of(lab, realm), SlurmCommands(lab.engine), read([lab.file]))
        lab.wait(db, "systemctl -q is-active mariadb")
        lab.read(db, "bash", "-c", DATABASE)
        lab.read(controller, "systemctl", "restart", "slurmctld")
        lab.wait(controller, '[ -n "$(sacctmgr -n -P show cluster format=cluster)" ]')
        lab.read(controller, "sacctmgr", "-i", "add", "account", "physics", "MaxJobs=5")
        lab.wait(controller, "sinfo -hN -t idle -o %N | grep -q worker-0")
        job = ("sbatch", "--parsable", "-D", "/data", "--wrap", "hostname")
        done = lab.read(controller, *job, "--wait")
        lab.wait(controller, f"sacct -X -n -P -j {done} -o state | grep -qx COMPLETED")
        told = ("sacct", "-n", "-P", "-j", done, "-o", "jobid,state,submit,start,end,nodelist")
        history = lab.read(controller, *told)
        running = lab.submit(realm, "worker-0", 600)
        held = lab.read(controller, *job, "--hold", "-J", "held-by-hand", "--comment", "kept")
        lab.file.unlink()
        lab.sindplan("import", realm, "-o", str(lab.file), "--name", lab.name)
        lab.apply()
        before = lab.identity()
        mounted = {mount["Destination"] for name in (controller, db) for mount in lab.inspect(name)["Mounts"]}
        assert not mounted & {"/var/spool/slurmctld", "/var/lib/mysql"}

        lab.apply("--replace", f"{realm}/dev/node/controller", "--replace", f"{realm}/dev/node/db", seconds=240)

        lab.settled()
        after = lab.identity()
        assert {name for name in before if after[name] != before[name]} == {controller, db}
        assert after.keys() == before.keys()
        assert lab.job(realm, running) == "RUNNING"
        waiting = lab.read(controller, "squeue", "-h", "-j", held, "-o", "%T %r %j %k")
        assert waiting == "PENDING JobHeldUser held-by-hand kept"
        shown = ("sacctmgr", "-n", "-P", "show", "assoc", "account=physics", "format=account,maxjobs")
        assert lab.read(controller, *shown).splitlines() == ["physics|5"]
        assert lab.read(controller, *told) == history
        # Both go on where they were: the next job has the next number, and gets into the same history.
        lab.read(controller, "scancel", running)
        lab.read(controller, "scontrol", "release", held)
        lab.wait(controller, f"sacct -X -n -P -j {held} -o state | grep -qx COMPLETED")
        assert lab.read(controller, *job, "--wait") == str(int(held) + 1)
