"""Where secrets are looked up, and what is said when one cannot be had: everything at once, and nothing of it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sindplan.errors import SindplanError
from sindplan.model.address import Address
from sindplan.model.declaration import Declaration
from sindplan.statefile.secret_values import LARGEST_SECRET, Places, storage_passwords
from sindplan.statefile.secrets import fault_of_password
from sindplan.workflow import clusters_of
from tests.strategies import SETTINGS, declared
from tests.world import IMAGE

DEV = Address.parse("sind/dev")
BY_ENV, BY_FILE = {"env": "SINDPLAN_SECRET_DB"}, {"file": "lab/db"}


def declaration(**passwords: Any) -> Declaration:
    clusters = {name: {"image": IMAGE, "db": {"storage_password": said}} for name, said in passwords.items()}
    return declared({"version": 1, "name": "lab", "realms": {"sind": {"clusters": clusters}}})


PREFIX = "Secrets are missing; nothing was changed. sind/dev: db.storage_password: "


def looked_up(wanted: Declaration, environment: Mapping[str, str] | None = None, folder: Path | None = None) -> str:
    """Return the secret of the only cluster, or why there is none."""
    places = Places(environment=environment or {}, folder=folder)
    try:
        found = storage_passwords(wanted, clusters_of(wanted), places, fault_of_password).demand()
    except SindplanError as error:
        return error.summary.removeprefix(PREFIX) if error.fix else "no advice"
    return found[DEV].value


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of secrets."""
    (tmp_path / "secrets" / "lab").mkdir(parents=True)
    return tmp_path / "secrets"


def in_file(folder: Path, content: bytes) -> str:
    (folder / "lab/db").write_bytes(content)
    return looked_up(declaration(dev=BY_FILE), folder=folder)


def test_the_three_places(folder: Path) -> None:
    assert looked_up(declaration(dev="pl4in!")) == "pl4in!"
    assert looked_up(declaration(dev=BY_ENV), {"SINDPLAN_SECRET_DB": "of-env"}) == "of-env"
    assert in_file(folder, b"of-file") == "of-file"


def test_what_was_looked_up_is_hidden() -> None:
    wanted = declaration(dev="pl4in!")

    looked = storage_passwords(wanted, [DEV], Places(environment={}), fault_of_password)

    assert looked.demand()[DEV].value == "pl4in!"
    assert "pl4in" not in f"{looked} {looked!r} {looked.found[DEV]} {looked.found}"


def test_only_the_clusters_that_are_asked_for_are_looked_up() -> None:
    wanted = declaration(dev=BY_ENV, other="x")
    places = Places(environment={})

    found = storage_passwords(wanted, [Address.parse("sind/other")], places, fault_of_password).demand()

    assert {str(address): secret.value for address, secret in found.items()} == {"sind/other": "x"}


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "the environment variable SINDPLAN_SECRET_DB is not set."),
        ({"SINDPLAN_SECRET_DB": ""}, "the environment variable SINDPLAN_SECRET_DB is empty."),
        ({"sindplan_secret_db": "x"}, "the environment variable SINDPLAN_SECRET_DB is not set."),
    ],
)
def test_a_variable_that_is_not_there(environment: dict[str, str], said: str) -> None:
    assert looked_up(declaration(dev=BY_ENV), environment) == said


def test_a_file_without_a_folder_to_look_in() -> None:
    assert (
        looked_up(declaration(dev=BY_FILE)) == "the file 'lab/db' is looked for below --secrets-dir, which is not said."
    )


def test_a_file_that_is_not_there(folder: Path) -> None:
    said = looked_up(declaration(dev=BY_FILE), folder=folder)

    assert said == f"{folder}/lab/db cannot be read: No such file or directory."


# The reader refuses the first of these; whoever comes here by another way is stopped too.
@pytest.mark.parametrize("name", ["../outside", "lab/../../outside", "lab/link", "link-of-folder/outside"])
def test_a_file_outside_of_the_folder_is_not_read(name: str, folder: Path) -> None:
    (folder.parent / "outside").write_text("precious")
    (folder / "lab/link").symlink_to(folder.parent / "outside")
    (folder / "link-of-folder").symlink_to(folder.parent)

    said = looked_up(declaration(dev={"file": name}), folder=folder)

    assert said == f"the file {name!r} leads out of {folder}."


def test_links_within_the_folder_are_followed(folder: Path) -> None:
    # Kubernetes and others lay secrets out like this.
    (folder / "..data").mkdir()
    (folder / "..data/db").write_text("s3cret")
    (folder / "lab/db").symlink_to("../..data/db")

    assert looked_up(declaration(dev=BY_FILE), folder=folder) == "s3cret"


def test_the_folder_itself_may_be_a_link(folder: Path) -> None:
    (folder / "lab/db").write_text("s3cret")
    (folder.parent / "link").symlink_to(folder)

    assert looked_up(declaration(dev=BY_FILE), folder=folder.parent / "link") == "s3cret"


def test_a_folder_is_no_secret(folder: Path) -> None:
    (folder / "lab/db").mkdir()

    assert looked_up(declaration(dev=BY_FILE), folder=folder) == f"{folder}/lab/db is not a regular file."


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_not_waited_for(linked: bool, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "lab/db").symlink_to("../pipe") if linked else (folder / "pipe").rename(folder / "lab/db")
    # Nobody ever writes into it: opening it would hang.
    real = folder / ("pipe" if linked else "lab/db")

    assert looked_up(declaration(dev=BY_FILE), folder=folder) == f"{real} is not a regular file."


def test_a_loop_of_links_ends(folder: Path) -> None:
    (folder / "lab/db").symlink_to("db")

    said = looked_up(declaration(dev=BY_FILE), folder=folder)

    assert said.startswith(f"{folder}/lab/db cannot be read: ")


def test_a_file_that_is_too_large(folder: Path) -> None:
    assert in_file(folder, b"x" * (LARGEST_SECRET + 1)) == f"{folder}/lab/db is larger than {LARGEST_SECRET} bytes."
    # As a file it is small enough; as a password too long.
    assert "cannot be a password" in in_file(folder, b"x" * LARGEST_SECRET)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"\r\n", "is empty"),
        (b"\xff\xfe\x00s", "is not UTF-8"),
    ],
)
def test_a_file_that_holds_no_secret(content: bytes, said: str, folder: Path) -> None:
    assert in_file(folder, content) == f"{folder}/lab/db {said}."


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_the_newline_that_editors_write_is_not_meant(end: str, folder: Path) -> None:
    assert in_file(folder, f"s3cret{end}".encode()) == "s3cret"


@pytest.mark.parametrize(
    "wrong", ["two words", " s3cret", "s3cret\n\n", 'quo"te', "apos'trophe", "back\\slash", "ha#sh", "ü", "x" * 80]
)
def test_characters_that_a_password_cannot_have(wrong: str, folder: Path) -> None:
    of_file = in_file(folder, wrong.encode())
    of_environment = looked_up(declaration(dev=BY_ENV), {"SINDPLAN_SECRET_DB": wrong})

    for said in (of_file, of_environment):
        assert said.startswith("what is there cannot be a password. ")
        assert wrong not in said


_TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1)


@SETTINGS
@given(_TEXT)
def test_what_is_said_holds_nothing_of_the_secret(text: str) -> None:
    needle = f"Zq{text}7Kx"

    said = looked_up(declaration(dev=BY_ENV), {"SINDPLAN_SECRET_DB": needle})

    assert said == needle or (needle not in said and "Zq" not in said and "7Kx" not in said)


def test_everything_that_is_missing_is_said_at_once(folder: Path) -> None:
    wanted = declaration(dev=BY_ENV, other=BY_FILE, third={"env": "SINDPLAN_SECRET_BAD"}, fine="x")
    places = Places(environment={"SINDPLAN_SECRET_BAD": "no good"}, folder=folder)

    looked = storage_passwords(wanted, clusters_of(wanted), places, fault_of_password)

    assert {str(address): secret.value for address, secret in looked.found.items()} == {"sind/fine": "x"}
    with pytest.raises(SindplanError) as caught:
        looked.demand()

    said = caught.value.summary
    assert [name for name in ("sind/dev: ", "sind/other: ", "sind/third: ", "sind/fine: ") if name in said] == [
        "sind/dev: ",
        "sind/other: ",
        "sind/third: ",
    ]
    assert "no good" not in said + str(caught.value)
    assert ".." not in said
    assert caught.value.__cause__ is None
