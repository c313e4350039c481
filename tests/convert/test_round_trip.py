"""What a translation says is what sind's file says: read by our own reader, and said again independently."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sindplan.convert import convert
from sindplan.statefile import read
from tests.convert import normal
from tests.convert.documents import documents
from tests.strategies import SETTINGS

DATA = Path(__file__).parent / "data"
FILES = sorted(DATA.glob("*.yaml"))

KEYS = re.findall(
    r"\w+",
    """
    kind name realm defaults storage users groups accounts identity slurm nodes
    image cpus memory tmpSize capAdd capDrop devices securityOpt
    role count managed backupController
    dataStorage cvmfs type hostPath mountPath
    uid group coordinator adminLevel gid parent limits mode controllerUsers
    main cgroup gres topology plugstack slurmdbd
""",
)
"""Every key that sind has (sind v0.11)."""


def test_the_examples_use_every_key_of_sinds() -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in FILES)

    assert not [key for key in KEYS if not re.search(rf"\b{key}:", text)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_example_says_the_same_afterwards(file: Path, tmp_path: Path) -> None:
    data = file.read_bytes()

    assert _again(convert(data, file, name="lab", image=normal.IMAGE), tmp_path) == normal.of_sind(
        yaml.safe_load(data), str(tmp_path)
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_example_is_written_as_a_person_would(file: Path, request: pytest.FixtureRequest) -> None:
    written = convert(file.read_bytes(), file, name="lab", image=normal.IMAGE)
    golden = file.with_suffix(".toml")
    if request.config.getoption("--update-golden"):
        golden.write_text(written, encoding="utf-8")

    assert written == golden.read_text(encoding="utf-8")


@settings(SETTINGS, max_examples=150)
@given(document=documents(), flow=st.sampled_from((None, True, False)), plain=st.booleans())
def test_any_document_says_the_same_afterwards(
    document: dict[str, Any], flow: bool | None, plain: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    text = yaml.safe_dump(document, default_flow_style=flow, allow_unicode=plain, sort_keys=False)

    written = convert(text.encode(), Path("cluster.yaml"), name="lab", image=normal.IMAGE)

    assert _again(written, folder) == normal.of_sind(yaml.safe_load(text), str(folder))


def _again(written: str, folder: Path) -> normal.Normal:
    file = folder / "sindplan.toml"
    file.write_text(written, encoding="utf-8", newline="")
    return normal.of_declaration(read([file]))
