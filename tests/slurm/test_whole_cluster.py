"""A cluster with everything: two controllers, accounting with a password, the REST API, users, accounts, two partitions.

The example kitchen-sink, whose users Slurm carries (client_ids), and the same with munge and local users, on both releases of Slurm.
"""

import json
from pathlib import Path

import pytest
from attrs import frozen

from tests.real import OLD_IMAGE, Lab, new_lab

pytestmark = pytest.mark.proof

EXAMPLE = Path(__file__).parents[2] / "examples/kitchen-sink.toml"
PASSWORD = "tray-of-glasses"
DATA_PARSER = "v0.0.42"
"""The version of the REST API that both releases speak."""


@frozen
class Whole:
    """The cluster, by its lab and realm."""

    lab: Lab
    realm: str

    def name(self, short):
        """Return a node's container."""
        return f"{self.realm}-full-{short}"

    def on(self, short, *command, seconds=60):
        """Return what a command says that must succeed."""
        return self.lab.read(self.name(short), *command, seconds=seconds)

    def as_user(self, user, script, seconds=60):
        """Run a script as a user on the login node."""
        command = ("setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "env", f"HOME=/home/{user}")
        return self.lab.execute(self.name("submitter"), *command, "sh", "-c", f"cd && {script}", seconds=seconds)

    def apply(self, **environment):
        """Apply the file, which needs no secret once the cluster stands."""
        return self.lab.apply(**environment)


@pytest.fixture(
    scope="module",
    params=[("client_ids", ""), ("local", ""), ("client_ids", OLD_IMAGE)],
    ids=["client_ids", "local", "client_ids-old"],
)
def whole(request, tmp_path_factory):
    """The cluster, made once for all tests of this file."""
    identity, image = request.param
    with new_lab(tmp_path_factory.mktemp("whole")) as lab:
        realm = lab.realm()
        text = EXAMPLE.read_text(encoding="utf-8").replace("[realms.sind.", f"[realms.{realm}.")
        text = text.replace('name = "kitchen-sink"', f'name = "{lab.name}"')
        text = text.replace('identity = "client_ids"', f'identity = "{identity}"')
        text = text.replace("sindplan-node:26.05", image or lab.image)
        lab.file.write_text(text, encoding="utf-8")
        applied = lab.apply(SINDPLAN_SECRET_STORAGE=PASSWORD)
        assert PASSWORD not in applied.out + applied.err
        lab.settled()
        yield Whole(lab, realm)


def test_both_controllers_are_up(whole):
    said = whole.on("controller", "scontrol", "ping").splitlines()

    assert [line.split(" at ")[1] for line in said] == ["controller is UP", "controller-backup is UP"]


def test_a_job_of_a_user_is_accounted(whole):
    done = whole.as_user("alice", "sbatch --wait --parsable --account physics -o out --wrap 'id -u; pwd' && cat out")
    assert done.code == 0, done
    job, uid, folder = done.out.split()
    assert (uid, folder) == ("1000", "/home/alice")

    # slurmdbd hears of it within seconds.
    query = f"sacct -X -nP -j {job} -o user,account,partition,state"
    found = whole.as_user("alice", f"timeout 60 sh -c 'until {query} | grep COMPLETED; do sleep 0.2; done'", seconds=90)
    assert found.out.split() == ["alice|physics|day|COMPLETED"]


def test_accounts_are_enforced(whole):
    refused = whole.as_user("alice", "srun --account chemistry true")
    assert refused.code != 0
    assert "Invalid account" in refused.err
    assert whole.as_user("bob", "srun --account chemistry --partition debug id -u").out.split() == ["1001"]


def test_accounts_are_as_declared(whole):
    show = ("sacctmgr", "-nP", "show", "assoc", "format=account,user,parentname,grptres,maxjobs,fairshare")
    lines = whole.on("controller", *show).splitlines()

    assert {"science||root|cpu=8||1", "physics||science||20|2", "chemistry||science|||1"} <= set(lines)
    users = whole.on(
        "controller", "sacctmgr", "-nP", "show", "user", "withcoord", "format=user,defaultaccount,adminlevel,coord"
    )
    assert {"alice|physics|None|physics", "bob|chemistry|Operator|"} <= set(users.splitlines())


def test_the_rest_api_answers_to_a_token(whole):
    token = whole.on("controller", "scontrol", "token", "username=alice", "lifespan=600").removeprefix("SLURM_JWT=")

    def get(path, key=token):
        curl = ("curl", "-s", "-w", "\n%{http_code}", "-H", f"X-SLURM-USER-TOKEN: {key}")
        text, _, code = whole.on("submitter", *curl, f"http://api:6820/{path}").rpartition("\n")
        return int(code), text

    code, text = get(f"slurm/{DATA_PARSER}/nodes")
    assert code == 200
    assert {node["name"] for node in json.loads(text)["nodes"]} == {"worker-0", "worker-1", "worker-2"}
    code, text = get(f"slurmdb/{DATA_PARSER}/accounts")
    assert code == 200
    assert {"physics", "chemistry", "science"} <= {account["name"] for account in json.loads(text)["accounts"]}
    assert get(f"slurm/{DATA_PARSER}/nodes", "nonsense")[0] != 200


def test_groups_of_workers_and_partitions(whole):
    lines = whole.on("controller", "sinfo", "-hN", "-o", "%N %P %c %m %f %G %w %t").splitlines()

    assert set(lines) == {
        "worker-0 day* 2 1024 large license:3 50 idle",
        "worker-1 day* 1 512 small (null) 1 idle",
        "worker-2 day* 1 512 small (null) 1 idle",
        "worker-1 debug 1 512 small (null) 1 idle",
        "worker-2 debug 1 512 small (null) 1 idle",
    }
    shown = whole.on("controller", "scontrol", "show", "config")
    assert "SchedulerParameters     = bf_continue,bf_interval=15" in shown


def test_secrets_are_where_they_belong_and_nowhere_else(whole):
    seen = [whole.lab.inspect(name) for name in whole.lab.containers()]
    seen += [whole.lab.docker.inspect_network(network["Id"]) for network in whole.lab.networks().values()]
    seen += list(whole.lab.volumes().values())
    assert PASSWORD not in json.dumps(seen)
    assert PASSWORD not in whole.lab.plan().out

    # Command lines, logs and files of all nodes; the brackets keep the search from finding itself.
    search = f"grep -rlsa -D skip '[{PASSWORD[0]}]{PASSWORD[1:]}' --exclude-dir=slurm"
    places = "/proc/[0-9]*/cmdline /proc/[0-9]*/environ /var/log /run /etc"
    for short in ("controller", "controller-backup", "db", "api", "submitter", "worker-0"):
        assert whole.on(short, "sh", "-c", f"{search} {places} || true") == ""
    assert (
        whole.on("db", "sh", "-c", f"{search.replace(' --exclude-dir=slurm', '')} /etc") == "/etc/slurm/slurmdbd.conf"
    )
    # All nodes mount the folder with the one file that has it, which slurm alone may read.
    assert whole.on("worker-0", "stat", "-c", "%a %U", "/etc/slurm/slurmdbd.conf") == "600 slurm"
    unreadable = whole.as_user("alice", "cat /etc/slurm/slurmdbd.conf")
    assert unreadable.code != 0


def test_a_backup_takes_over_and_gives_back(whole):
    """The last test: it stops the first controller."""
    whole.lab.docker.stop(whole.name("controller"))

    done = whole.as_user("alice", "timeout 100 srun --account physics hostname", seconds=130)
    assert done.code == 0, done
    assert done.out.strip().startswith("worker-")
    assert (
        whole.on("controller-backup", "sh", "-c", "od -An -tx1 -j15 -N1 /var/spool/slurmctld/heartbeat").strip() == "01"
    )

    planned = whole.lab.plan(code=2)
    assert planned.counts == (0, 1, 0)
    assert "The backup controller is in control" in planned.err
    applied = whole.apply()
    assert applied.seconds < 30, "control was not given back the fast way"
    whole.lab.settled()
    whole.lab.wait(whole.name("controller"), '[ "$(scontrol ping | grep -c "is UP")" = 2 ]')
    done = whole.as_user("alice", "timeout 60 srun --account physics hostname", seconds=90)
    assert done.code == 0, done
