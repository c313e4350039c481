"""`sindplan import` as it is called."""

import tomllib

from tests.cli.conftest import STATE


def test_to_stdout_it_writes_what_was_applied(call, state, world):
    call("apply", "--auto-approve")

    said = call("import", "sind/dev")

    assert said.status == 0
    assert tomllib.loads(said.out) == {
        **tomllib.loads(STATE.format(count=1)),
        "realms": {
            "sind": {
                "clusters": {
                    "dev": {
                        "image": "sindplan-node:26.05",
                        "controller": {},
                        "workers": {"cpu": {"count": 1}},
                    }
                }
            }
        },
    }


def test_a_file_is_written_once(call, state, folder, world):
    call("apply", "--auto-approve")

    assert call("import", "sind", "-o", "again.toml").status == 0
    assert call("plan", "-f", "again.toml", "--detailed-exitcode").status == 0
    said = call("import", "sind", "-o", "again.toml")

    assert said.status == 1
    assert "again.toml exists; it was left as it is." in said.err


def test_what_is_no_address_is_wrong_usage(call, folder, world):
    for wrong in ("sind/dev/node/worker-0", "Sind", "", "sind/"):
        assert call("import", wrong).status == 64
    assert call("import").status == 64


def test_what_is_not_there_is_an_error(call, folder, world):
    said = call("import", "sind/dev")

    assert said.status == 1
    assert "There is no cluster sind/dev." in said.err
