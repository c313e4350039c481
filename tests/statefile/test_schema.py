"""The schema in the repository is what the code makes, and agrees with the reader about documents."""

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from sindplan.statefile.schema import FILE_NAME, state_schema, write_schemas
from tests.statefile.reading import HEAD, problems, write
from tests.strategies import SETTINGS, documents

ROOT = Path(__file__).parents[2]
EXAMPLES = ("minimal", "two-realms")
VALIDATOR = jsonschema.Draft202012Validator(state_schema())


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(state_schema())


def test_the_file_is_what_the_code_makes(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--update-golden"):
        write_schemas(ROOT / "schemas")
    write_schemas(tmp_path)
    assert (ROOT / "schemas" / FILE_NAME).read_bytes() == (tmp_path / FILE_NAME).read_bytes()
    assert json.loads((tmp_path / FILE_NAME).read_text()) == state_schema()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    file = ROOT / "examples" / f"{name}.toml"
    text = file.read_text()
    document = tomllib.loads(text)
    VALIDATOR.validate(document)
    assert not problems(file)
    assert document["name"] == name
    assert text.startswith("#:schema ../schemas/state.schema.json\n")


def test_the_examples_go_together() -> None:
    minimal, two_realms = (tomllib.loads((ROOT / "examples" / f"{name}.toml").read_text()) for name in EXAMPLES)
    assert set(minimal["realms"]["sind"]["clusters"]["dev"]["workers"]) == {"cpu"}
    assert {realm: list(content["clusters"]) for realm, content in two_realms["realms"].items()} == {
        "alpha": ["dev"],
        "beta": ["dev"],
    }


@SETTINGS
@given(documents())
def test_what_is_read_is_valid(document: dict[str, Any]) -> None:
    VALIDATOR.validate(document)


@pytest.mark.parametrize(
    "lines",
    [
        "zzz = 1",
        "image = 5",
        "image = 'a b'",
        "identity = 'nobody'",
        "controller.cpus = 0",
        "controller.cpus = '1'",
        "controller.cpus = true",
        "controller.memory = 512",
        "controller.memory = '1e9'",
        "controller.memory = ''",
        "controller.tmp_size = '1.5g'",
        "drain_timeout = '10'",
        "drain_timeout = ''",
        "workers.CPU = {}",
        "workers.a.count = -1",
        "workers.a = { count = 1, nodes = 'worker-1' }",
        "partitions.p = {}",
        "slurm.main = 5",
        "slurm.main = { a = 5 }",
        "accounts.a.limits.MaxJobs = 1.5",
        "users.a.uid = 5",
        "users.a.uid = 65534",
        "controller.cap_add = ['CAP_CHOWN']",
        "defaults.cap_drop = ['chown']",
        "workers.a.features = ['x,y']",
        "workers.a.gres = 'gpu:'",
        "partitions.p = { workers = [], max_time = '1h' }",
        "partitions.p = { workers = [], options.QOS = 'a b' }",
        "partitions.p = { workers = [], options.'Q S' = 'a' }",
        "db.storage_password = 'a b'",
        "db.storage_password = 5",
        "db.storage_password = {}",
        "db.storage_password.env = 'HOME'",
        "db.storage_password = { env = 'SINDPLAN_SECRET_A', file = 'x' }",
    ],
)
def test_bad_documents_are_refused_by_both(tmp_path: Path, lines: str) -> None:
    image = "" if lines.startswith("image") else "image = 'x'\n"
    text = f"{HEAD}[realms.r.clusters.c]\n{image}{lines}"
    assert not VALIDATOR.is_valid(tomllib.loads(text))
    assert problems(*write(tmp_path, state=text))


@pytest.mark.parametrize(
    "lines",
    [
        "drain_timeout = '1h30m'",
        "drain_timeout = '1h5s'",
        "controller.memory = '2GiB'",
        "controller.memory = '1.5 g'",
        "controller.tmp_size = '10%'",
        "slurm = { main = 'x', cgroup = { a = 'y' } }",
        "accounts.a.limits = { MaxJobs = 5, MaxWall = '1:00:00' }",
        "db = {}",
        "db.storage_password = 'x'",
        "db.storage_password.env = 'SINDPLAN_SECRET_A'",
        "workers.a = { features = ['gpu'], gres = 'gpu:1g.5gb:2,fpga:1', cap_add = ['ALL'] }",
    ],
)
def test_good_documents_are_accepted(lines: str) -> None:
    VALIDATOR.validate(tomllib.loads(f"{HEAD}[realms.r.clusters.c]\nimage = 'x'\n{lines}"))


@pytest.mark.parametrize(
    "text", ["", "version = 1", "name = 'x'", "version = 2\nname = 'x'", "version = 1\nname = 'X'"]
)
def test_bad_tops_are_refused(text: str) -> None:
    assert not VALIDATOR.is_valid(tomllib.loads(text))
