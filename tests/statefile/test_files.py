"""What keeps a file from being read at all, and which files a path stands for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sindplan.errors import DeclarationInvalid
from sindplan.statefile import read
from sindplan.statefile.files import LARGEST_FILE
from tests.statefile.reading import HEAD, problems, write

GOOD = f'{HEAD}[realms.a.clusters.b]\nimage = "x"\n'


@pytest.mark.parametrize(
    ("data", "line", "what", "fix"),
    [
        (b"", 0, "The file is empty.", "A state file says at least `version = 1` and a `name`."),
        (b"# nothing\n", 0, "The file is empty.", "A state file says at least `version = 1` and a `name`."),
        (
            b"\xef\xbb\xbfversion = 1",
            1,
            "The file begins with a UTF-8 byte order mark.",
            "Save it as UTF-8 without one.",
        ),
        (
            "version".encode("utf-16"),
            1,
            "The file begins with a UTF-16 byte order mark.",
            "Save it as UTF-8 without one.",
        ),
        (b"a = 1\nb = '\xe9'", 2, "The file is not UTF-8: byte 11 is 0xe9.", "TOML is UTF-8 only: save the file so."),
        (b"a = 1\n\nb == 2\nc = 3\n", 3, "Not TOML: Invalid value (column 4).", ""),
        (b"a = 1\na = 2\nb = 3\n", 2, "Not TOML: Cannot overwrite a value (column 6).", "It is set twice; keep one."),
        (b"a = foo:1\n", 1, "Not TOML: Invalid value (column 5).", 'Text stands in quotes: key = "text".'),
        (
            b"version = 1\nname: x\n",
            2,
            "Not TOML: Expected '=' after a key in a key/value pair (column 5).",
            "A key and its value have an equals sign between them.",
        ),
        (b"a = 1\nb = [\n", 2, "Not TOML: Invalid value (at the end of the file).", ""),
        (b"a = 1\nb = '\x00'\n", 2, "Not TOML: Found invalid character '\\x00' (column 6).", ""),
        ("\u202e = 1".encode(), 1, "Not TOML: Invalid statement (column 1).", ""),
        (b"a = 1\nb = " + b"9" * 5000, 2, "Not TOML: a number with thousands of digits.", ""),
        (b"a = 1\nb = " + b"[" * 5000, 2, "Something is nested more than 64 deep.", ""),
        (b"a = 1\n" + b"x." * 5000 + b"y = 1", 2, "Something is nested more than 64 deep.", ""),
    ],
)
def test_not_a_document(tmp_path: Path, data: bytes, line: int, what: str, fix: str) -> None:
    (file,) = write(tmp_path, state=data)
    (problem,) = problems(file)
    assert (problem.file, problem.line, problem.key, problem.what, problem.fix) == (file, line, "", what, fix)


@pytest.mark.parametrize(
    "text",
    [
        "kind: Cluster\nname: dev\n",
        "# My cluster\n\nkind: Cluster",
        "name: dev\nnodes:\n  - controller\n",
        "nodes:\n- worker\n",
        "anything:",
        "key : x\n",
        '"kind": Cluster\n',
        "'kind' : Cluster\n",
        "---\nkind: Cluster\n",
        "%YAML 1.2\n---\nkind: Cluster\n",
        "- controller\n",
        "{kind: Cluster}\n",
        "\r\n  kind: Cluster\r\n",
    ],
)
def test_who_has_yaml_is_told_how_to_convert_it(tmp_path: Path, text: str) -> None:
    (file,) = write(tmp_path, state=text)
    (problem,) = problems(file)
    assert problem.what.startswith("Not TOML: ")
    assert problem.fix == (
        "This looks like YAML. State files are TOML; `sindplan convert FILE` makes one of a cluster file of sind's."
    )


@pytest.mark.parametrize(
    "text", ["version = 1\nkind: Cluster\n", "a = 1\n- b\n", "x = 'a\n'", "--- = 1\n=", "a:b = 1\n", "['a': b]\n"]
)
def test_not_all_that_is_wrong_is_yaml(tmp_path: Path, text: str) -> None:
    (file,) = write(tmp_path, state=text)
    assert ["YAML" in problem.fix for problem in problems(file)] == [False]


def test_what_is_no_file(tmp_path: Path) -> None:
    fifo, loop, folder = tmp_path / "fifo", tmp_path / "loop", tmp_path / "folder"
    os.mkfifo(fifo)
    loop.symlink_to(loop)
    (folder / "x.toml").mkdir(parents=True)
    irregular = "It cannot be read: it is not a regular file."
    expected = {
        tmp_path / "none.toml": "There is no such file.",
        fifo: irregular,
        Path("/dev/zero"): irregular,
        Path("/dev/null"): irregular,
        folder / "x.toml": irregular,
        loop: "It cannot be read: too many levels of symbolic links.",
        Path("nul\0"): "It cannot be read: embedded null byte.",
        tmp_path / ("x" * 300): "It cannot be read: file name too long.",
    }
    paths = [folder if path.parent == folder else path for path in expected]
    assert {problem.file: problem.what for problem in problems(*paths)} == expected


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    (file,) = write(tmp_path, state=b"#" * (LARGEST_FILE + 1))
    assert [problem.what for problem in problems(file)] == ["It is larger than 1 MiB."]


def test_no_paths() -> None:
    assert [problem.what for problem in problems()] == ["There is no state file to read."]


def test_a_folder_stands_for_its_toml_files(tmp_path: Path) -> None:
    assert [problem.what for problem in problems(tmp_path)] == ["The folder holds no *.toml."]
    write(tmp_path, b=GOOD, a=GOOD.replace("clusters.b", "clusters.a"))
    (tmp_path / ".hidden.toml").write_text("=")
    (tmp_path / "README.md").write_text("=")
    (tmp_path / "below").mkdir()
    write(tmp_path / "below", c="=")
    assert list(read([tmp_path]).realms["a"].clusters) == ["a", "b"]


def test_a_link_in_a_folder_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "secret.toml").write_text("=")
    folder = tmp_path / "states"
    (folder / "below").mkdir(parents=True)
    write(folder / "below", a=GOOD)
    (folder / "a.toml").symlink_to("below/a.toml")
    assert list(read([folder]).realms["a"].clusters) == ["b"]

    (folder / "s.toml").symlink_to(tmp_path / "secret.toml")
    (problem,) = problems(folder)
    assert "'s.toml' in it leads out of it" in problem.what
    # Who names it means it.
    assert problems(folder / "s.toml")[0].what.startswith("Not TOML")


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    (file,) = write(tmp_path, state=GOOD)
    assert read([tmp_path, file, file]) == read([file])


def test_who_does_not_read_pays_for_no_reader() -> None:
    program = "import sys, sindplan.statefile; sys.exit(bool({'cattrs', 'ClusterShell'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_line_endings_mean_nothing(tmp_path: Path) -> None:
    (file,) = write(tmp_path, state=GOOD.replace("\n", "\r\n"))
    assert list(read([file]).realms) == ["a"]


@pytest.mark.parametrize(
    ("one", "two", "key", "what", "fix"),
    [
        (
            'version = 1\nname = "x"',
            'version = 1\nname = "y"',
            "name",
            'The name is "x" in ONE:2.',
            "Files that are read together have the same name.",
        ),
        (
            GOOD,
            GOOD,
            "realms.a.clusters.b",
            'This is declared already: cluster "b" of realm "a" (ONE:3).',
            "Declare a cluster in one file.",
        ),
        (
            f"{HEAD}\nrealms.a.mesh.dns_image = 'x'",
            f"{HEAD}\nrealms.a.mesh.dns_image = 'y'",
            "realms.a.mesh",
            "The mesh is declared differently in ONE:4.",
            "Declare a realm's mesh in one file.",
        ),
        (
            f"{HEAD}[realms.ci.clusters]\n42-dev = {{ image = 'x' }}",
            f"{HEAD}[realms.ci-42.clusters]\ndev = {{ image = 'x' }}",
            "realms.ci-42.clusters.dev",
            'This would have the container "ci-42-dev-controller", as cluster "42-dev" of realm "ci" (ONE:4).',
            "Rename one of the two.",
        ),
        (
            f"{HEAD}[realms.a.clusters.b]\nimage = 'x'\nsubnet = '10.0.0.0/24'",
            f"{HEAD}[realms.a.clusters.c]\nimage = 'x'\nsubnet = '10.0.0.0/24'",
            "realms.a.clusters.c.subnet",
            '"10.0.0.0/24" overlaps "10.0.0.0/24" of cluster "b" of realm "a" (ONE:3).',
            "Choose networks that share no address.",
        ),
    ],
)
def test_between_files(tmp_path: Path, one: str, two: str, key: str, what: str, fix: str) -> None:
    first, second = write(tmp_path, one=one, two=two)
    (problem,) = problems(first, second)
    assert (problem.file, problem.key, problem.what, problem.fix) == (second, key, what.replace("ONE", str(first)), fix)


def test_each_file_says_version_and_name(tmp_path: Path) -> None:
    first, second = write(tmp_path, one=GOOD, two="[realms.z]")
    assert [(problem.file, problem.key) for problem in problems(first, second)] == [
        (second, "name"),
        (second, "version"),
    ]


def test_a_mesh_may_be_repeated_and_stand_in_any_file(tmp_path: Path) -> None:
    mesh = "realms.a.mesh.dns_image = 'dns:1'\n"
    files = write(tmp_path, one=f"{HEAD}{mesh}", two=f"{HEAD}{mesh}realms.b.mesh = {{}}", three=GOOD)
    realms = read(files).realms
    assert realms["a"].mesh.dns_image == "dns:1"
    assert list(realms["a"].clusters) == ["b"]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("data", "FOLDER/data"),
        ("./data/", "FOLDER/data"),
        (".", "FOLDER"),
        ("a/../b//c", "FOLDER/b/c"),
        ("./~", "FOLDER/~"),
        ("/srv/a b:c,d/é", "/srv/a b:c,d/é"),
        ("//srv/../data/", "/data"),
        ("/", "/"),
    ],
)
def test_host_paths_are_seen_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, meant: str
) -> None:
    write(tmp_path, state=f"{GOOD}storage.host_path = '{said}'")
    monkeypatch.chdir(tmp_path)
    for file in (Path("state.toml"), tmp_path / "state.toml"):
        storage = read([file]).realms["a"].clusters["b"].storage
        assert storage.host_path == meant.replace("FOLDER", str(tmp_path))


def test_problems_of_all_files_come_sorted(tmp_path: Path) -> None:
    files = write(tmp_path, b=f"{HEAD}y = 1\nx = 1", a="=", c=f"{HEAD}z = 1")
    with pytest.raises(DeclarationInvalid) as caught:
        read(files)
    assert [(problem.file.name, problem.line) for problem in caught.value.problems] == [
        ("a.toml", 1),
        ("b.toml", 3),
        ("b.toml", 4),
        ("c.toml", 3),
    ]
    assert caught.value.summary == "The declaration is not valid: 4 problems."
