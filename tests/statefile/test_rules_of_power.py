"""Rules of which nodes may be off: the key and the whole message."""

from pathlib import Path

import pytest

from tests.statefile.reading import said_of_cluster

WHOLE = 'Take it out, or power the whole cluster off: power = "off".'
SET = 'Write nodes by name, such as "submitter", "worker-[2-3]" or "api,worker-0".'


@pytest.mark.parametrize(
    ("lines", "what", "fix"),
    [
        ("powered_off = ''", '"" is not a node set of 1 to 4096 characters', SET),
        ("powered_off = 'login'", '"login" is not a node set of a cluster\'s nodes', SET),
        ("powered_off = 'api,api'\napi = {}", '"api,api" names a node twice', SET),
        ("powered_off = 'worker-[3-1]'", "the range 3-1 is backwards", SET),
        ("powered_off = 'submitter'", 'The cluster has no node "submitter".', "Take it out of the node set."),
        (
            "powered_off = 'controller-backup'",
            'The cluster has no node "controller-backup".',
            "Take it out of the node set.",
        ),
        (
            "powered_off = 'controller,worker-0'",
            "Without the controller there is no Slurm: its files, keys and records are written through it.",
            WHOLE,
        ),
        ("powered_off = 'db'\ndb = {}", "slurmctld needs the db node to be started or reconfigured.", WHOLE),
    ],
)
def test_powered_off(tmp_path: Path, lines: str, what: str, fix: str) -> None:
    ((key, said, remedy),) = said_of_cluster(tmp_path, lines)

    assert (key, said.rstrip(".").casefold(), remedy) == ("powered_off", what.rstrip(".").casefold(), fix)
