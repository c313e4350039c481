"""A seccomp profile is read from beside the state file, and comes back as docker's own command sends it."""

import json
from pathlib import Path

import pytest

from sindplan.errors import DeclarationInvalid
from sindplan.statefile import read
from sindplan.statefile.read import read_tables
from sindplan.statefile.seccomp import LARGEST_PROFILE
from tests.statefile.reading import CLUSTER, HEAD, problems, write

PROFILE = {"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["read", "é"], "args": [{"value": 2**64 - 1}]}]}
COMPACT = json.dumps(PROFILE, separators=(",", ":"))
ADVICE = "Write a seccomp profile as Docker's documentation has it."
KIB = LARGEST_PROFILE // 1024


def state(folder: Path, option: str) -> Path:
    (file,) = write(
        folder,
        state=f'{HEAD}[{CLUSTER}]\nimage = "x"\nworkers.a.security_opt = [\n  "label=disable",\n  \'{option}\',\n]',
    )
    return file


@pytest.mark.parametrize(
    "option", ["seccomp=p.json", "seccomp:p.json", "seccomp=./a/../p.json", "seccomp=FOLDER/p.json"]
)
def test_a_path_becomes_the_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    (tmp_path / "p.json").write_text(json.dumps(PROFILE, indent=2))
    (tmp_path / "a").mkdir()
    state(tmp_path, option.replace("FOLDER", str(tmp_path)))
    monkeypatch.chdir(tmp_path)
    for file in (Path("state.toml"), tmp_path / "state.toml"):
        group = read([file]).realms["sind"].clusters["dev"].workers["a"]
        assert group.security_opt == ("label=disable", f"seccomp={COMPACT}")


@pytest.mark.parametrize(
    "option",
    [
        "seccomp=unconfined",
        "seccomp:builtin",
        f"seccomp={COMPACT}",
        "seccomp={}",
        "apparmor=p.json",
        "no-new-privileges",
    ],
)
def test_what_is_no_path_stays(tmp_path: Path, option: str) -> None:
    group = read([state(tmp_path, option)]).realms["sind"].clusters["dev"].workers["a"]
    assert group.security_opt == ("label=disable", option)


@pytest.mark.parametrize("where", ["defaults", "controller", "submitter", "db", "api", "workers.a"])
def test_every_node_can_have_one(tmp_path: Path, where: str) -> None:
    (tmp_path / "p.json").write_text("{ }")
    text = f'{HEAD}[{CLUSTER}]\nimage = "x"\n{where}.security_opt = ["seccomp=p.json"]'
    assert "seccomp={}" in repr(read(write(tmp_path, state=text)))


@pytest.mark.parametrize(
    ("content", "what", "fix"),
    [
        (None, 'There is no file "FOLDER/p.json".', "A profile's path is seen from the state file's folder."),
        (b"{", f'"p.json" is not a JSON object of at most {KIB} KiB.', ADVICE),
        (b"[]", f'"p.json" is not a JSON object of at most {KIB} KiB.', ADVICE),
        (b'{"a": NaN}', f'"p.json" is not a JSON object of at most {KIB} KiB.', ADVICE),
        (b"[" * 100_000, f'"p.json" is not a JSON object of at most {KIB} KiB.', ADVICE),
        (b"\xff", '"FOLDER/p.json" is not UTF-8.', ""),
        (b" " * (LARGEST_PROFILE + 1), f'"FOLDER/p.json" is larger than {KIB} KiB.', "Name a seccomp profile."),
    ],
    ids=["missing", "cut", "array", "nan", "deep", "binary", "large"],
)
def test_what_is_no_profile(tmp_path: Path, content: bytes | None, what: str, fix: str) -> None:
    if content is not None:
        (tmp_path / "p.json").write_bytes(content)
    (problem,) = problems(state(tmp_path, "seccomp=p.json"))
    assert (problem.line, problem.key) == (7, f"{CLUSTER}.workers.a.security_opt[1]")
    assert (problem.what.replace(str(tmp_path), "FOLDER"), problem.fix) == (what, fix)


@pytest.mark.parametrize("setting", ["../key.json", "FOLDER/../key.json", "link.json", "a/up/key.json", "../none.json"])
def test_what_lies_elsewhere_is_not_read(tmp_path: Path, setting: str) -> None:
    (tmp_path / "key.json").write_text('{"auth": "secret"}')
    folder = tmp_path / "repository"
    (folder / "a").mkdir(parents=True)
    (folder / "link.json").symlink_to("../key.json")
    (folder / "a/up").symlink_to("../..")
    (problem,) = problems(state(folder, "seccomp=" + setting.replace("FOLDER", str(folder))))
    assert problem.what.endswith("leads out of the state file's folder; it was not read.")


def test_a_link_within_the_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(COMPACT)
    (tmp_path / "link.json").symlink_to("p.json")
    group = read([state(tmp_path, "seccomp=link.json")]).realms["sind"].clusters["dev"].workers["a"]
    assert group.security_opt == ("label=disable", f"seccomp={COMPACT}")


def test_tables_read_no_file(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text("{}")
    tables = {"controller": {"security_opt": ["seccomp=p.json"]}, "image": "x"}
    content = {"version": 1, "name": "lab", "realms": {"sind": {"clusters": {"dev": tables}}}}
    with pytest.raises(DeclarationInvalid) as caught:
        read_tables(content, tmp_path / "plan")
    assert "is the path of a profile" in caught.value.problems[0].what


def test_a_folder_is_no_profile(tmp_path: Path) -> None:
    (problem,) = problems(state(tmp_path, "seccomp=."))
    assert problem.what.endswith("cannot be read: it is not a regular file.")


def test_it_is_told_beside_everything_else(tmp_path: Path) -> None:
    lines = 'zzz = 1\ncontroller.security_opt = ["seccomp=no", "labl=x"]\nworkers.a.security_opt = ["seccomp=no"]'
    found = problems(*write(tmp_path, state=f'{HEAD}[{CLUSTER}]\nimage = "x"\n{lines}'))
    assert [problem.line for problem in found] == [5, 6, 6, 7]
