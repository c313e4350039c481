"""`sindplan fmt`: files in their place, standard input, and nothing touched that could not be read."""

import os
from pathlib import Path

import pytest

from sindplan.cli.rewrite import rewrite
from sindplan.errors import SindplanError
from tests.cli.conftest import STATE, Call, program

TIDY = STATE.format(count=1)
UNTIDY = TIDY.replace(" = ", "=") + "# the end\n"


def test_a_file_is_formatted_in_its_place_with_its_mode(folder: Path, call: Call) -> None:
    file = folder / "sindplan.toml"
    file.write_text(UNTIDY, encoding="utf-8")
    file.chmod(0o640)

    assert call("fmt", "--check").status == 1
    assert file.read_text(encoding="utf-8") == UNTIDY
    said = call("fmt")

    assert (said.status, said.out, said.err) == (0, "sindplan.toml\n", "")
    assert file.read_text(encoding="utf-8") == TIDY + "# the end\n"
    assert file.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in folder.iterdir()] == ["sindplan.toml"]
    assert call("fmt", "--check") == call("fmt")
    assert call("fmt").out == ""


def test_a_link_stays_a_link(folder: Path, call: Call) -> None:
    (folder / "there").mkdir()
    (folder / "there" / "lab.toml").write_text(UNTIDY, encoding="utf-8")
    (folder / "sindplan.toml").symlink_to("there/lab.toml")

    assert call("fmt").status == 0

    assert (folder / "sindplan.toml").readlink() == Path("there/lab.toml")
    assert (folder / "there" / "lab.toml").read_text(encoding="utf-8").startswith(TIDY)


def test_a_file_and_a_link_to_it_are_one(folder: Path, call: Call) -> None:
    (folder / "a.toml").write_text(UNTIDY, encoding="utf-8")
    (folder / "b.toml").symlink_to("a.toml")

    assert call("fmt", ".").status == 0

    assert (folder / "a.toml").read_text(encoding="utf-8").startswith(TIDY)
    assert call("fmt", "--check", ".").status == 0


def test_a_folder_is_all_its_files_and_a_mistake_in_one_keeps_all(folder: Path, call: Call) -> None:
    for name in ("a.toml", "b.toml"):
        (folder / name).write_text(UNTIDY, encoding="utf-8")
    (folder / "c.toml").write_text("version = \n", encoding="utf-8")

    said = call("fmt", ".", "none.toml")

    assert said.status == 1
    assert "c.toml:1: Not TOML" in said.err
    assert "none.toml: There is no such file." in said.err
    assert (folder / "a.toml").read_text(encoding="utf-8") == UNTIDY
    (folder / "c.toml").unlink()
    assert call("fmt", ".").out == "a.toml\nb.toml\n"


def test_a_file_that_cannot_be_replaced_is_left_as_it_is(folder: Path, call: Call) -> None:
    file = folder / "sindplan.toml"
    file.write_text(UNTIDY, encoding="utf-8")
    # What is in the way of the new contents.
    (folder / f".sindplan.toml.{os.getpid()}").write_text("mine", encoding="utf-8")

    said = call("fmt")

    assert said.status == 1
    assert said.err == "Error: sindplan.toml cannot be written: File exists.\n  It was left as it is.\n"
    assert file.read_text(encoding="utf-8") == UNTIDY
    assert (folder / f".sindplan.toml.{os.getpid()}").read_text(encoding="utf-8") == "mine"


def test_what_somebody_wrote_meanwhile_is_kept(folder: Path) -> None:
    file = folder / "sindplan.toml"
    file.write_text("new", encoding="utf-8")

    with pytest.raises(SindplanError, match="was changed meanwhile"):
        rewrite(file, b"old", b"formatted")

    assert [(one.name, one.read_text(encoding="utf-8")) for one in folder.iterdir()] == [("sindplan.toml", "new")]


def test_standard_input_goes_to_standard_output(folder: Path) -> None:
    text = folder / "text"
    text.write_text(UNTIDY.replace("lab", "läb"), encoding="utf-8")
    for arguments, status, out in (
        (["-"], 0, TIDY.replace("lab", "läb") + "# the end\n"),
        (["-", "--check"], 1, "<stdin>\n"),
    ):
        with text.open("rb") as stdin:
            done = program("fmt", *arguments, stdin=stdin, environment={"LC_ALL": "C"})
        assert (done.returncode, done.stdout.decode()) == (status, out)
    text.write_bytes(b"\xff")
    with text.open("rb") as stdin:
        done = program("fmt", "-", stdin=stdin)
    assert done.returncode == 1
    assert done.stderr.startswith(b"<stdin>:1: The file is not UTF-8")
