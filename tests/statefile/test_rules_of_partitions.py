"""Rules of partitions, features and generic resources: the key and the whole message."""

from pathlib import Path

import pytest

from tests.statefile.reading import CLUSTER, HEAD, read_text, said_of_cluster

ANOTHER_NAME = "Choose another name."
ONCE = "Name it once."
TIME = 'Write minutes, or "M:S", "H:M:S", "D-H", "D-H:M", "D-H:M:S", or "INFINITE".'
VALUE = "Write printable ASCII without blanks, quotes, # or backslashes."
PAIRS = 'Write parameters of a partition on one line, such as "MaxTime=1:00:00 OverSubscribe=NO".'
FEATURE = "A feature is of letters, digits, underscores, dots, equals signs and hyphens."
GRES = 'Write name, name:type, name:count or name:type:count, separated by commas, such as "gpu:a100:2,fpga:1".'


@pytest.mark.parametrize(
    ("lines", "key", "what", "fix"),
    [
        (
            "partitions.P.workers = []",
            "partitions.P",
            '"P" is not a name.',
            "A partition's name is 1 to 63 of a-z, 0-9 and hyphens, beginning with a letter.",
        ),
        (
            "partitions.default.workers = []",
            "partitions.default",
            '"default" is reserved: Slurm reads it as the template of all partitions.',
            ANOTHER_NAME,
        ),
        ("partitions.p = {}", "partitions.p.workers", "This key is required and missing.", ""),
        (
            "partitions.p.workers = 7",
            "partitions.p.workers",
            "This must be an array of strings, not the integer 7.",
            "",
        ),
        (
            "partitions.p.workers = ['a', 7]",
            "partitions.p.workers[1]",
            "This must be a string, not the integer 7.",
            "",
        ),
        (
            "partitions.p.workers = ['none']",
            "partitions.p.workers",
            'There is no worker group "none".',
            'The worker groups are "default".',
        ),
        (
            "workers.cpu = {}\npartitions.p.workers = ['cpu', 'cpu']",
            "partitions.p.workers",
            'The worker group "cpu" is named 2 times.',
            ONCE,
        ),
        (
            "workers.cpu.managed = false\npartitions.p.workers = ['cpu']",
            "partitions.p.workers",
            'The group "cpu" is not managed: Slurm does not know its workers.',
            "Name managed groups.",
        ),
        (
            "partitions = { p = { workers = [], default = true }, q = { workers = [], default = true } }",
            "partitions.q.default",
            '"p" is the default partition already.',
            "A cluster has one default partition.",
        ),
        (
            "workers.cpu.partition = 'Default=YES'\npartitions.p = { workers = [], default = true }",
            "partitions.p.default",
            '"cpu" is the default partition already.',
            "A cluster has one default partition.",
        ),
        (
            "partitions.p = { workers = [], state = 'UP' }",
            "partitions.p.state",
            'This must be "up", "down", "drain" or "inactive", not the string "UP".',
            "",
        ),
        (
            "partitions.p = { workers = [], max_time = '' }",
            "partitions.p.max_time",
            '"" is not a time of Slurm\'s.',
            TIME,
        ),
        (
            "partitions.p = { workers = [], max_time = 60 }",
            "partitions.p.max_time",
            "This must be a string, not the integer 60.",
            "",
        ),
        (
            "partitions.p = { workers = [], max_time = '1h' }",
            "partitions.p.max_time",
            '"1h" is not a time of Slurm\'s.',
            TIME,
        ),
        (
            "partitions.p = { workers = [], max_time = '1:2:3:4' }",
            "partitions.p.max_time",
            '"1:2:3:4" is not a time of Slurm\'s.',
            TIME,
        ),
        (
            "partitions.p = { workers = [], max_time = '1-' }",
            "partitions.p.max_time",
            '"1-" is not a time of Slurm\'s.',
            TIME,
        ),
        (
            "partitions.p = { workers = [], max_time = '-1' }",
            "partitions.p.max_time",
            '"-1" is not a time of Slurm\'s.',
            TIME,
        ),
        (
            "partitions.p = { workers = [], max_time = 'forever' }",
            "partitions.p.max_time",
            '"forever" is not a time of Slurm\'s.',
            TIME,
        ),
        (
            "partitions.p = { workers = [], options.'Over Subscribe' = 'NO' }",
            'partitions.p.options."Over Subscribe"',
            '"Over Subscribe" is not a name.',
            'Write a parameter of a partition as slurm.conf has it, such as "OverSubscribe".',
        ),
        (
            "partitions.p = { workers = [], options.Nodes = 'x' }",
            "partitions.p.options.Nodes",
            '"Nodes" has a key of its own in the state file.',
            "It is `workers`.",
        ),
        (
            "partitions.p = { workers = [], options.NODES = 'x' }",
            "partitions.p.options.NODES",
            '"NODES" has a key of its own in the state file.',
            "It is `workers`.",
        ),
        (
            "partitions.p = { workers = [], options.PartitionName = 'x' }",
            "partitions.p.options.PartitionName",
            '"PartitionName" has a key of its own in the state file.',
            "It is the table's own name.",
        ),
        (
            "partitions.p = { workers = [], options.default = 'YES' }",
            "partitions.p.options.default",
            '"default" has a key of its own in the state file.',
            "It is `default`.",
        ),
        (
            "partitions.p = { workers = [], options.MaxTime = '1' }",
            "partitions.p.options.MaxTime",
            '"MaxTime" has a key of its own in the state file.',
            "It is `max_time`.",
        ),
        (
            "partitions.p = { workers = [], options.State = 'UP' }",
            "partitions.p.options.State",
            '"State" has a key of its own in the state file.',
            "It is `state`.",
        ),
        (
            "partitions.p = { workers = [], options = { QOS = 'a', Qos = 'b' } }",
            "partitions.p.options.Qos",
            "This is said already, as `QOS`.",
            "Keep one: Slurm takes any case.",
        ),
        (
            "partitions.p = { workers = [], options.QOS = '' }",
            "partitions.p.options.QOS",
            '"" is not a value for slurm.conf.',
            VALUE,
        ),
        (
            "partitions.p = { workers = [], options.QOS = 'a b' }",
            "partitions.p.options.QOS",
            '"a b" is not a value for slurm.conf.',
            VALUE,
        ),
        (
            "partitions.p = { workers = [], options.QOS = 'a#b' }",
            "partitions.p.options.QOS",
            '"a#b" is not a value for slurm.conf.',
            VALUE,
        ),
        (
            'partitions.p = { workers = [], options.QOS = "a\\nb" }',
            "partitions.p.options.QOS",
            '"a\\u000ab" is not a value for slurm.conf.',
            VALUE,
        ),
        (
            "partitions.p = { workers = [], options.QOS = 'a\"b' }",
            "partitions.p.options.QOS",
            '"a\\"b" is not a value for slurm.conf.',
            VALUE,
        ),
        (
            "partitions.p = { workers = [], options.QOS = 5 }",
            "partitions.p.options.QOS",
            "This must be a string, not the integer 5.",
            "",
        ),
        ("workers.a.partition = 'x'", "workers.a.partition", '"x" is not Key=value.', PAIRS),
        ("workers.a.partition = '=x'", "workers.a.partition", '"=x" is not Key=value.', PAIRS),
        ("workers.a.partition = 'QOS='", "workers.a.partition", '"QOS=" is not Key=value.', PAIRS),
        (
            "workers.a.partition = 'QOS=a Nodes=x'",
            "workers.a.partition",
            '"Nodes" is given: the partition has the group\'s name and workers.',
            "Remove it; `partitions` has partitions of other names and groups.",
        ),
        (
            "workers.a.partition = 'partitionname=x'",
            "workers.a.partition",
            '"partitionname" is given: the partition has the group\'s name and workers.',
            "Remove it; `partitions` has partitions of other names and groups.",
        ),
        ("workers.a.partition = 'QOS=a qos=b'", "workers.a.partition", '"qos" is said more than once.', "Keep one."),
        ("workers.a.partition = 'QOS=a # b'", "workers.a.partition", '"#" is not Key=value.', PAIRS),
        (
            'workers.a.partition = "QOS=a\\nQOS=b"',
            "workers.a.partition",
            '"QOS=a\\u000aQOS=b" is not Key=value.',
            PAIRS,
        ),
        (
            "workers.default.partition = ''",
            "workers.default.partition",
            'The partition would be called "default": Slurm reads it as the template of all partitions.',
            "Rename the group, or write a table in `partitions`.",
        ),
        (
            "workers.a.partition = ''\npartitions.a.workers = []",
            "partitions.a",
            'The worker group "a" has a partition of its own of this name.',
            "Rename the partition, or remove the group's `partition`.",
        ),
        ("workers.a.features = ['x,y']", "workers.a.features[0]", '"x,y" is not a feature.', FEATURE),
        ("workers.a.features = ['x&y']", "workers.a.features[0]", '"x&y" is not a feature.', FEATURE),
        ("workers.a.features = ['']", "workers.a.features[0]", '"" is not a feature.', FEATURE),
        ("workers.a.features = ['x', 'x y']", "workers.a.features[1]", '"x y" is not a feature.', FEATURE),
        ("workers.a.features = ['x', 'y', 'x']", "workers.a.features", 'The feature "x" is named 2 times.', ONCE),
        ("workers.a.gres = ''", "workers.a.gres", '"" is not a list of generic resources.', GRES),
        ("workers.a.gres = 'tpu:'", "workers.a.gres", '"tpu:" is not a list of generic resources.', GRES),
        ("workers.a.gres = ':2'", "workers.a.gres", '":2" is not a list of generic resources.', GRES),
        ("workers.a.gres = 'tpu:2:2'", "workers.a.gres", '"tpu:2:2" is not a list of generic resources.', GRES),
        ("workers.a.gres = 'tpu:a:b'", "workers.a.gres", '"tpu:a:b" is not a list of generic resources.', GRES),
        ("workers.a.gres = 'tpu,'", "workers.a.gres", '"tpu," is not a list of generic resources.', GRES),
        ("workers.a.gres = 'tpu:2,,x'", "workers.a.gres", '"tpu:2,,x" is not a list of generic resources.', GRES),
        ("workers.a.gres = 'tpu 2'", "workers.a.gres", '"tpu 2" is not a list of generic resources.', GRES),
        ("workers.a.gres = 'tpu:-1'", "workers.a.gres", '"tpu:-1" is not a list of generic resources.', GRES),
        ("workers.a.gres = 'tpu:2(S:0)'", "workers.a.gres", '"tpu:2(S:0)" is not a list of generic resources.', GRES),
        (
            "workers.a.gres = 'tpu:a:2, fpga:1'",
            "workers.a.gres",
            '"tpu:a:2, fpga:1" is not a list of generic resources.',
            GRES,
        ),
        ("workers.a.gres = 'tpu:a:2,tpu:a:1'", "workers.a.gres", 'The resource "tpu:a" is named 2 times.', ONCE),
        ("workers.a.gres = '2tpu'", "workers.a.gres", '"2tpu" is not a list of generic resources.', GRES),
        (
            "workers.a.weight = -1",
            "workers.a.weight",
            "-1 is out of bounds.",
            "Write a whole number from 0 to 4294967295.",
        ),
        (
            "workers.a.weight = 4294967296",
            "workers.a.weight",
            "4294967296 is out of bounds.",
            "Write a whole number from 0 to 4294967295.",
        ),
    ],
)
def test_partitions(tmp_path: Path, lines: str, key: str, what: str, fix: str) -> None:
    assert said_of_cluster(tmp_path, lines) == [(key, what, fix)]


@pytest.mark.parametrize(
    "lines",
    [
        *(
            f"partitions.p = {{ workers = [], max_time = '{time}' }}"
            for time in ("0", "1:2", "100:00:00", "1-0", "7-1:2")
        ),
        "partitions.p = { workers = [], max_time = '1-2:03:04', state = 'drain' }",
        "partitions.p = { workers = [], max_time = 'Unlimited' }",
        "workers.cpu = {}\npartitions.all = { workers = ['cpu'], max_time = '60' }",
        "partitions.p = { workers = ['default'], options = { TRESBillingWeights = 'CPU=1.0,Mem=0.25G', QOS = 'a' } }",
        "workers.a.partition = ''\nworkers.b.partition = ' Default=YES  QOS=a '\npartitions.all-of-them.workers = ['a', 'b']",
        "workers.a.partition = 'Default=NO'\npartitions.p = { workers = ['a'], default = true }",
        "workers.a.features = ['gpu', 'ib-hdr', 'a.b_c', 'rack=1']",
        "workers.a = { weight = 4294967295, gres = 'tpu' }",
        "workers.a.gres = 'tpu:a100:2,tpu:1g.5gb:4,tpu:no_consume:1,fpga:1,disk:10G,tpu:t4:no_consume:2'",
    ],
)
def test_what_is_allowed(tmp_path: Path, lines: str) -> None:
    read_text(tmp_path, f'{HEAD}[{CLUSTER}]\nimage = "x"\n{lines}')
