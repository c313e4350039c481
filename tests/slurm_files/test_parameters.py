"""What a change of a parameter costs, and what Slurm's files say together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.slurm.effective import hosts, in_force, keys_of_tokens, nodes, partitions, read_at_start
from sindplan.slurm.parameters import KNOWN, ORDER, RECORDS, RESTARTS, UNKNOWN, rule_of
from tests.strategies import SETTINGS


def test_rules_are_about_parameters_that_slurm_knows_and_daemons_that_there_are() -> None:
    assert {name.lower() for name in RESTARTS} <= KNOWN.keys()
    assert all(set(rule.daemons) <= set(ORDER) and rule.daemons and rule.source for rule in RESTARTS.values())
    assert not RECORDS & KNOWN.keys()


@pytest.mark.parametrize("key", ["SchedulerParameters", "schedulerparameters", "NodeName", "include", "Licenses"])
def test_what_is_read_again_needs_no_restart(key: str) -> None:
    assert rule_of(key) is None


@pytest.mark.parametrize("key", ["SlurmctldPort", "slurmctldport", "AUTHTYPE"])
def test_names_have_no_case(key: str) -> None:
    found = rule_of(key)

    assert found is not None
    assert set(found.daemons) >= {"slurmctld", "slurmd"}


def test_what_nobody_knows_takes_the_safe_path() -> None:
    assert rule_of("FlyingCarpets") is UNKNOWN
    assert read_at_start({"slurm.conf": "flyingcarpets=3\n"}, "slurmd") == {"flyingcarpets": "3"}


def test_of_several_values_the_last_counts_through_all_files() -> None:
    texts = {
        "slurm.conf": "SlurmctldPort=1\ninclude slurm.conf.d/a.conf\nSlurmdPort=5\ninclude missing.conf\n",
        "slurm.conf.d/a.conf": "SLURMCTLDPORT=2\ninclude slurm.conf.d/b.conf\n",
        "slurm.conf.d/b.conf": "slurmctldport = 3  # said last\n",
    }

    assert in_force(texts) == {"SlurmctldPort": "3", "SlurmdPort": "5"}


def test_files_that_include_each_other_come_to_an_end() -> None:
    assert in_force({"slurm.conf": "include slurm.conf\nSlurmdPort=7\n"}) == {"SlurmdPort": "7"}


def test_every_controller_counts() -> None:
    one, two = "SlurmctldHost=controller(10.0.0.10)\n", "SlurmctldHost=controller-backup(10.0.0.11)\n"

    assert read_at_start({"slurm.conf": one}, "slurmrestd") != read_at_start({"slurm.conf": one + two}, "slurmrestd")
    assert read_at_start({"slurm.conf": one}, "slurmctld") == read_at_start({"slurm.conf": one + two}, "slurmctld")


def test_nodes_have_what_is_said_before_them_for_all() -> None:
    text = "NodeName=DEFAULT CPUs=2\nNodeName=a[0-1] RealMemory=5\nNodeName=DEFAULT CPUs=3\nNodeName=b CPUs=4\nNodeName=c\n"

    assert nodes({"slurm.conf": text}) == {
        "a0": {"cpus": "2", "realmemory": "5"},
        "a1": {"cpus": "2", "realmemory": "5"},
        "b": {"cpus": "4"},
        "c": {"cpus": "3"},
    }


def test_hosts_are_names_and_no_addresses() -> None:
    text = (
        "SlurmctldHost=controller(10.0.0.10)\nSlurmctldHost=backup\n"
        "NodeName=a[0-1] NodeAddr=b[0-1]\nNodeName=c NodeAddr=10.0.0.7 NodeHostname=d\n"
    )

    assert hosts({"slurm.conf": text}) == {"controller", "backup", "a0", "a1", "b0", "b1", "c", "d"}


def test_partitions_by_name() -> None:
    assert partitions({"slurm.conf": "PartitionName=DEFAULT State=UP\nPartitionName=a,b Nodes=ALL\n"}) == {"a", "b"}


def test_keys_of_tokens() -> None:
    assert keys_of_tokens({"slurm.conf": "AuthAltParameters=jwt_key=/etc/slurm/x.key,use_jwt_client_ids\n"}) == {
        "/etc/slurm/x.key"
    }


KEYS = st.sampled_from([*sorted(KNOWN.values()), "Unheard", "NodeName", "PartitionName"])


@SETTINGS
@given(st.lists(st.tuples(KEYS, st.sampled_from("12345")), max_size=6), st.sampled_from(ORDER), st.data())
def test_only_what_a_daemon_reads_once_tells_two_texts_apart(
    said: list[tuple[str, str]], daemon: str, data: st.DataObject
) -> None:
    """Comments, blank lines, order of others, fragments: none of it restarts anybody."""
    text = "".join(f"{key}={value}\n" for key, value in said)
    free = data.draw(st.lists(KEYS.filter(lambda key: rule_of(key) is None), max_size=3))
    other = "# a comment\n\n" + "".join(f"{key}=9\n" for key in free) + "include slurm.conf.d/x.conf\n"

    again = read_at_start({"slurm.conf": other, "slurm.conf.d/x.conf": text}, daemon)

    assert again == read_at_start({"slurm.conf": text}, daemon)
