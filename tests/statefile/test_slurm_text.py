"""Rules of the user's text for Slurm's files: one case a rule, with its key and its whole message."""

import re
import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.statefile.context import Context
from sindplan.statefile.slurm_text import RULES
from sindplan.statefile.structure import structure
from sindplan.statefile.wording import key_path
from tests.slurm_files.test_files import SHAPES
from tests.slurm_files.test_text import TEXTS

NAME = "the cluster has its name from the state file, and its state and accounting know it by that."
PATH = ("realms", "sind", "clusters", "dev")
REMOVE = "Remove the line."
ONE = "Write one Key=value a line, with double quotes around a value that has blanks, and no blanks before `include`."
FILE_NAME = "Write letters, digits, underscores, dots and hyphens, at most 128, beginning with no dot or hyphen."
CONTROLLERS = "sindplan says which the controllers are, with their addresses."
DATABASE = "sindplan sets the database up and says where it is."
MUNGE = 'Remove the line, or write `identity = "client_ids"` for auth/slurm.'
CLIENT_IDS = 'Remove the line; with `identity = "client_ids"` sindplan writes what is needed.'
NSS = 'Remove the line; with `identity = "nss_slurm"` sindplan writes what is needed.'
API = "Add it, or remove the line: sindplan writes it."
NODES = "Remove it; `workers.{}` has `features`, `gres` and `weight`, and NodeName=DEFAULT is yours."
OTHER = 'Give yours another name, or declare `partitions`: then there is no "all".'
TYPES = "Add it there, or remove that line: sindplan writes it."
DEVICES = "List one in `devices` for each, or write gres.conf in `slurm.gres`."


def context(cluster: dict[str, object]) -> Context:
    structured = structure({"version": 1, "name": "lab", "realms": {"sind": {"clusters": {"dev": cluster}}}})
    found = structured.declaration.realms["sind"].clusters["dev"]
    return Context("dev", found, PATH, structured.dropped)


def faults(lines: str) -> Iterator[tuple[str, str, str]]:
    """Yield key, message and advice of each fault of a cluster that TOML declares."""
    # Literal strings of several lines have three quotes.
    cluster = context(tomllib.loads(re.sub(r"(= |, |\[)'([^']*)'", r"\1'''\2'''", lines)))
    for rule in RULES:
        for fault in rule(cluster):
            yield key_path(fault.path[len(PATH) :]), fault.what, fault.fix


@pytest.mark.parametrize(
    ("lines", "key", "what", "fix"),
    [
        # Texts that can be carried
        ("slurm.main = ''", "slurm.main", "The text is empty.", "Write text for slurm.conf, or remove the key."),
        (
            "slurm.gres = {}",
            "slurm.gres",
            "The table has no fragments.",
            "Write text for gres.conf, or remove the key.",
        ),
        (
            "slurm.cgroup.a = ''",
            "slurm.cgroup.a",
            "The fragment is empty.",
            "Write its text, or remove the key.",
        ),
        (
            "slurm.main.'../x' = '#'",
            'slurm.main."../x"',
            '"../x" does not do as a file\'s name: the fragment becomes slurm.conf.d/<name>.conf.',
            FILE_NAME,
        ),
        (
            "slurm.plugstack.'.hidden' = '#'",
            'slurm.plugstack.".hidden"',
            '".hidden" does not do as a file\'s name: the fragment becomes plugstack.conf.d/<name>.conf.',
            FILE_NAME,
        ),
        (
            'slurm.plugstack = "# a\\n# \\u0000"',
            "slurm.plugstack",
            'Line 2 of the text holds the control character "\\u0000".',
            "Remove it.",
        ),
        (
            'slurm.topology.x = "\\ufeffSwitchName=a"',
            "slurm.topology.x",
            "The text begins with a byte order mark, which Slurm takes for a part of the first word.",
            "Remove this character, which editors do not show.",
        ),
        ("slurm.main = 'A=1\n include x'", "slurm.main", "Line 2 of the text cannot be read by Slurm.", ONE),
        (
            "db = {}\nslurm.slurmdbd = 'StoragePass=my secret'",
            "slurm.slurmdbd",
            "Line 1 of the text cannot be read by Slurm.",
            ONE,
        ),
        (
            "slurm.main = '#\ninclude conf.d/*.conf'",
            "slurm.main",
            'Line 2 of the text includes "conf.d/*.conf": Slurm knows no wildcards here.',
            "Name each file, or write fragments.",
        ),
        (
            "slurm.main = 'Include ./sind-nodes.conf'",
            "slurm.main",
            'Line 1 of the text includes "./sind-nodes.conf", which sindplan writes and Slurm reads anyway.',
            REMOVE,
        ),
        (
            # Beside slurm.conf, also from a fragment in another folder (proved on 24.11 and 26.05).
            "slurm.main.a = 'include sind-nodes.conf'",
            "slurm.main.a",
            'Line 1 of the text includes "sind-nodes.conf", which sindplan writes and Slurm reads anyway.',
            REMOVE,
        ),
        # Parameters that are taken
        (
            "slurm.main = '#\nclustername = dev'",
            "slurm.main",
            f"Line 2 of the text sets ClusterName: {NAME}",
            REMOVE,
        ),
        *(
            (f"slurm.main.a = '{key}=x'", "slurm.main.a", f"Line 1 of the text sets {key}: {CONTROLLERS}", REMOVE)
            for key in ("SlurmctldHost", "ControlMachine", "ControlAddr", "BackupController", "BackupAddr")
        ),
        (
            "slurm.main = 'SlurmUser=root'",
            "slurm.main",
            "Line 1 of the text sets SlurmUser: keys and state belong to slurm.",
            REMOVE,
        ),
        (
            "slurm.main = 'SlurmdUser=slurm'",
            "slurm.main",
            "Line 1 of the text sets SlurmdUser: slurmd runs as root.",
            REMOVE,
        ),
        (
            "slurm.main = 'STATESAVELOCATION = /x'",
            "slurm.main",
            "Line 1 of the text sets StateSaveLocation: the controllers have their volume at /var/spool/slurmctld.",
            REMOVE,
        ),
        (
            "db = {}\nslurm.slurmdbd = 'DbdHost=x'",
            "slurm.slurmdbd",
            "Line 1 of the text sets DbdHost: slurmdbd runs on the node `db`.",
            REMOVE,
        ),
        (
            "db = {}\nslurm.slurmdbd = 'SlurmUser=x'",
            "slurm.slurmdbd",
            "Line 1 of the text sets SlurmUser: the file and the keys belong to slurm.",
            REMOVE,
        ),
        *(
            (
                f"db = {{}}\nslurm.slurmdbd = '{key}=x'",
                "slurm.slurmdbd",
                f"Line 1 of the text sets {key}: {DATABASE}",
                REMOVE,
            )
            for key in ("StorageType", "StorageHost", "StorageLoc", "StorageUser")
        ),
        # Identity
        (
            "slurm.main = 'AuthType=auth/slurm'",
            "slurm.main",
            'Line 1 of the text sets AuthType, which with `identity = "local"` is auth/munge.',
            MUNGE,
        ),
        (
            "slurm.main = 'CredType=cred/none'",
            "slurm.main",
            'Line 1 of the text sets CredType, which with `identity = "local"` is cred/munge.',
            MUNGE,
        ),
        (
            "db = {}\nslurm.slurmdbd = 'AuthType=auth/slurm'",
            "slurm.slurmdbd",
            'Line 1 of the text sets AuthType, which with `identity = "local"` is auth/munge.',
            MUNGE,
        ),
        (
            "identity = 'nss_slurm'\nslurm.main = 'LaunchParameters=x'",
            "slurm.main",
            'Line 1 of the text sets LaunchParameters, which with `identity = "nss_slurm"` lists enable_nss_slurm.',
            NSS,
        ),
        *(
            (
                f"identity = 'client_ids'\nslurm.main = '{key}=x'",
                "slurm.main",
                f'Line 1 of the text sets {key}, which with `identity = "client_ids"` {wanted}.',
                CLIENT_IDS,
            )
            for key, wanted in (
                ("AuthType", "is auth/slurm"),
                ("CredType", "is cred/slurm"),
                ("AuthInfo", "lists use_client_ids"),
                ("LaunchParameters", "lists enable_nss_slurm"),
            )
        ),
        *(
            (
                f"identity = 'client_ids'\ndb = {{}}\nslurm.slurmdbd = '{key}=x'",
                "slurm.slurmdbd",
                f'Line 1 of the text sets {key}, which with `identity = "client_ids"` {wanted}.',
                CLIENT_IDS,
            )
            for key, wanted in (("AuthType", "is auth/slurm"), ("AuthInfo", "lists use_client_ids"))
        ),
        # API and database
        (
            "api = {}\nslurm.main = 'AuthAltTypes=auth/x'",
            "slurm.main",
            "Line 1 of the text sets AuthAltTypes, which with the node `api` lists auth/jwt.",
            API,
        ),
        (
            "api = {}\ndb = {}\nslurm.slurmdbd = 'AuthAltTypes=auth/x'",
            "slurm.slurmdbd",
            "Line 1 of the text sets AuthAltTypes, which with the node `api` lists auth/jwt.",
            API,
        ),
        (
            "api = {}\nslurm.main = 'AuthAltParameters=disable_token_creation'",
            "slurm.main",
            "Line 1 of the text sets AuthAltParameters without the key of tokens, which the node `api` needs.",
            "Add jwt_key=/etc/slurm/jwt_hs256.key.",
        ),
        (
            "slurm.slurmdbd = 'PurgeJobAfter=1month'",
            "slurm.slurmdbd",
            "There is no managed db node, so there is no slurmdbd to read this.",
            "Remove it, or add a table `db`.",
        ),
        (
            "db.storage_password = 'x'\nslurm.slurmdbd.a = '#\nStoragePass=x'",
            "slurm.slurmdbd.a",
            "Line 2 of the text sets StoragePass, and `db.storage_password` does, too.",
            "Remove the line: a text cannot keep a secret.",
        ),
        (
            "slurm.main = 'PlugStackConfig=/x'\nslurm.plugstack = 'optional x.so'",
            "slurm.main",
            "Line 1 of the text sets PlugStackConfig: nobody reads `slurm.plugstack` then.",
            "Remove one of them.",
        ),
        # Nodes and partitions
        (
            "workers.cpu.count = 2\nslurm.main = '#\n\nNodeName=login-1,worker-[7,0-3] State=UNKNOWN'",
            "slurm.main",
            'Line 3 of the text defines worker-0, which is in group "cpu": sindplan defines it.',
            NODES.format("cpu"),
        ),
        (
            "workers.'a'.nodes = 'worker-[8-9]'\nslurm.main = 'nodename = worker-9'",
            "slurm.main",
            'Line 1 of the text defines worker-9, which is in group "a": sindplan defines it.',
            NODES.format("a"),
        ),
        (
            "slurm.main = 'PartitionName=all Nodes=ALL'",
            "slurm.main",
            'Line 1 of the text defines the partition "all", and sindplan does, over all workers, too.',
            OTHER,
        ),
        (
            "workers.cpu.partition = ''\nslurm.main = '#\nPartitionName=cpu Nodes=ALL'",
            "slurm.main",
            'Line 2 of the text defines the partition "cpu", and `workers.cpu.partition` does, too.',
            "Remove one of them.",
        ),
        (
            "partitions.p.workers = []\nslurm.main = 'PartitionName=p Nodes=ALL'",
            "slurm.main",
            'Line 1 of the text defines the partition "p", and `partitions.p` does, too.',
            "Remove one of them.",
        ),
        (
            "slurm.main.a = 'PartitionName=p Nodes=ALL'\nslurm.main.b = '#\nPartitionName=p MaxTime=5'",
            "slurm.main.b",
            'Line 2 of the text defines the partition "p" once more.',
            "Slurm takes one line a partition: write them as one.",
        ),
        (
            "partitions.p = { workers = [], default = true }\nslurm.main = 'PartitionName=q Default=YES'",
            "partitions.p.default",
            '"q" in `slurm.main` is the default partition already.',
            "A cluster has one default partition.",
        ),
        (
            "workers.w.partition = 'Default=yes'\nslurm.main = 'PartitionName=q Default=YES'",
            "workers.w.partition",
            '"q" in `slurm.main` is the default partition already.',
            "A cluster has one default partition.",
        ),
        # Resources
        (
            "workers.w.gres = 'fpga:2,nic'\nslurm.main.a = '#\nGresTypes=nic,gpu'",
            "workers.w.gres",
            'GresTypes (`slurm.main.a`, line 2 of the text) does not list "fpga".',
            TYPES,
        ),
        (
            "workers.w = { gres = 'gpu:a:2', devices = ['/dev/nvidia0'] }",
            "workers.w.gres",
            "Slurm ignores a gpu without a device file; 2 are said here, and 1 devices.",
            DEVICES,
        ),
        (
            "workers.w.gres = 'mps:100,shard'",
            "workers.w.gres",
            "In Slurm mps and shard are parts of gpu, and there is none.",
            "Add gpu.",
        ),
    ],
)
def test_rules(lines: str, key: str, what: str, fix: str) -> None:
    assert list(faults(lines)) == [(key, what, fix)]


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "slurm.main = '# nothing'",
        "slurm.main = ' \n\n'",
        "slurm.main.10-a_B = 'A=1 \\'",
        "slurm.plugstack = 'optional /x.so a=b *.c\n include y.d/*'",
        "slurm.main = 'include /srv/x.conf\nInclude sub.conf'",
        "slurm.gres.a = 'include b.conf'\nslurm.gres.b = '#'",
        "slurm.main = 'SlurmctldParameters=enable_configless\nSlurmctldTimeout=10\nSlurmdSpoolDir=/x'",
        "slurm.main = 'AuthType=auth/munge\nCredType=munge\nAuthInfo=ttl=60'",
        "slurm.main = 'LaunchParameters=x'",
        "identity = 'nss_slurm'\nslurm.main = 'LaunchParameters=x,enable_nss_slurm'",
        "identity = 'client_ids'\nslurm.main = 'AuthType=auth/slurm\nCredType=cred/slurm\nAuthInfo=ttl=9,use_client_ids'",
        "identity = 'client_ids'\ndb = {}\nslurm.slurmdbd = 'AuthInfo=use_client_ids\nAuthType=AUTH/SLURM'",
        # Of several, Slurm takes the last.
        "slurm.main.a = 'AuthType=auth/none'\nslurm.main.b = 'AuthType=auth/munge'",
        "slurm.main = 'AuthAltTypes=auth/x'",
        "api.managed = false\nslurm.main = 'AuthAltTypes=auth/x'",
        "api = {}\nslurm.main = 'AuthAltTypes=x,jwt\nAuthAltParameters=jwks=/x'",
        "db = {}\nslurm.slurmdbd = 'StoragePass=x'",
        "db.storage_password = 'x'\nslurm.slurmdbd = '# StoragePass=x'",
        "slurm.main = 'PlugStackConfig=/x'",
        "slurm.main = 'PlugStackConfig=/etc/slurm/plugstack.conf'\nslurm.plugstack = 'optional x.so'",
        # Nodes that sindplan does not define
        "workers.cpu.count = 2\nslurm.main = 'NodeName=DEFAULT CPUs=2\nNodeName=worker-[2-9],worker-00,xworker-0 State=FUTURE'",
        "workers.cpu.count = 0\nslurm.main = 'NodeName=worker-0'",
        "workers.a = { nodes = 'worker-5', managed = false }\nworkers.b = {}\nslurm.main = 'NodeName=worker-5'",
        "slurm.main = 'NodeName=worker-[1-99999999999999999999]'",
        "workers.a.nodes = 'nonsense'\nslurm.main = 'NodeName=worker-0'",
        "workers.a.count = 99999999999\nworkers.b.count = -7\nslurm.main = '#'",
        "partitions.p.workers = []\nslurm.main = 'PartitionName=all Nodes=ALL'",
        "workers.cpu = { managed = false, partition = '' }\nslurm.main = 'PartitionName=cpu Nodes=ALL'",
        "slurm.main = 'PartitionName=DEFAULT MaxTime=5\nPartitionName=DEFAULT State=UP\nPartitionName=x Default=YES'",
        # Resources
        "workers.w.gres = 'FPGA:2'\nslurm.main = 'gresTypes=fpga'",
        "workers.w = { gres = 'gpu:2', devices = ['/dev/a', '/dev/null:/dev/b:rw'] }",
        "workers.w = { gres = 'gpu:2,mps:4', devices = ['/dev/b'] }\ndefaults.devices = ['/dev/a', '/dev/b']",
        "workers.w.gres = 'gpu:2'\nslurm.gres = 'AutoDetect=off'",
        "workers.w.gres = 'gpu:0'",
        "workers.w.gres = 'mps:2'\nslurm.main = 'GresTypes=gpu,mps'",
        "workers.w = { gres = 'gpu:2', managed = false }",
        # What was left out of the declaration is nothing to go by.
        "workers.w = { gres = 'gpu:2', devices = 7 }",
        "workers.w.gres = 'gpu:2'\nslurm.gres = 7",
        "identity = 'odd'\nslurm.main = 'AuthType=auth/slurm'",
        "db = 7\nslurm.slurmdbd = 'PurgeJobAfter=1month'",
        "managed = false\nslurm.slurmdbd = 'PurgeJobAfter=1month'",
        "slurm.main.a = 7",
        "slurm.plugstack = { a = [], b = true }",
    ],
)
def test_there_is_nothing_wrong_with(lines: str) -> None:
    assert list(faults(lines)) == []


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)
def test_shapes_that_people_have_are_fine(text: str) -> None:
    assert [fault for rule in RULES for fault in rule(context({"slurm": {"main": text}}))] == []


@given(st.one_of(TEXTS, st.text()), st.sampled_from(["main", "cgroup", "gres", "topology", "plugstack", "slurmdbd"]))
def test_no_text_is_too_odd(text: str, section: str) -> None:
    cluster = {"db": {}, "api": {}, "slurm": {section: text}, "workers": {"a": {"gres": text, "partition": text}}}

    assert all(fault.what for rule in RULES for fault in rule(context(cluster)))
