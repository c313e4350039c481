"""`sindplan convert` itself: where it reads, where it writes, and how it ends."""

import os
from pathlib import Path

import pytest

from sindplan.cli.main import run
from sindplan.statefile import read
from tests.cli.conftest import program

EVERYTHING = Path(__file__).parent / "data" / "everything.yaml"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_prints_a_state_file_with_a_minted_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", str(EVERYTHING)]) == 0

    streams = capsys.readouterr()
    (folder / "a.toml").write_text(streams.out, encoding="utf-8")
    assert streams.err == ""
    assert read([folder / "a.toml"]).name.startswith("lab-")


def test_it_writes_a_new_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", str(EVERYTHING), "--name", "mine", "-o", "sindplan.toml"]) == 0

    assert capsys.readouterr() == ("", "Wrote sindplan.toml. Next: sindplan plan -f sindplan.toml\n")
    assert read([folder / "sindplan.toml"]).name == "mine"


def test_it_leaves_a_file_that_exists(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.toml").write_text("mine", encoding="utf-8")

    assert run(["convert", str(EVERYTHING), "-o", "a.toml"]) == 1

    assert capsys.readouterr().err == "Error: a.toml exists; it was left as it is.\n  Name another with -o.\n"
    assert (folder / "a.toml").read_text(encoding="utf-8") == "mine"


def test_it_reads_standard_input_and_speaks_utf_8(folder: Path) -> None:
    (folder / "a.yaml").write_text("kind: Cluster\nslurm: {main: '# grüße'}", encoding="utf-8")
    with (folder / "a.yaml").open("rb") as stdin:
        said = program("convert", "-", module="sindplan", environment={"LC_ALL": "C", "PYTHONUTF8": "0"}, stdin=stdin)

    assert said.returncode == 0
    assert 'main = "# grüße"' in said.stdout.decode()


def test_it_lists_every_problem_and_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yaml").write_text("kind: Cluster\nnam: x\nnodes: [worker]", encoding="utf-8")

    assert run(["convert", "a.yaml", "-o", "a.toml"]) == 1

    assert capsys.readouterr() == (
        "",
        (
            "a.yaml:2: nam: There is no such key here.\n    Did you mean `name`?\n"
            "a.yaml:3: nodes: There is no controller.\n    Write `- controller` as an item.\n"
            "\nError: The declaration is not valid: 2 problems.\n"
        ),
    )
    assert not (folder / "a.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing"], "Error: missing cannot be read: No such file or directory.\n"),
        (["."], "Error: . is not a regular file.\n  `-` reads standard input.\n"),
        (["pipe"], "Error: pipe is not a regular file.\n  `-` reads standard input.\n"),
        (["a.yaml", "-o", "no/folder"], "Error: no/folder cannot be written: No such file or directory.\n"),
        (
            ["a.yaml", "--name", "No!"],
            'Error: "No!" is not a name.\n  The name is 1 to 63 of a-z, 0-9 and hyphens, beginning with no hyphen.\n',
        ),
    ],
)
def test_what_cannot_be_done_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    os.mkfifo("pipe")
    (folder / "a.yaml").write_text("kind: Cluster", encoding="utf-8")

    assert run(["convert", *arguments]) == 1

    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.startswith(said)
