"""Reading text in tests: what `read` makes of files with given contents."""

from pathlib import Path

from sindplan.errors import DeclarationInvalid, Problem
from sindplan.model.declaration import Declaration
from sindplan.statefile import read

HEAD = 'version = 1\nname = "lab"\n'
CLUSTER = "realms.sind.clusters.dev"


def write(folder: Path, **contents: str | bytes) -> list[Path]:
    """Write files, named by keyword with `.toml` added, and return their paths."""
    files = []
    for name, content in contents.items():
        file = folder / f"{name}.toml"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        files.append(file)
    return files


def problems(*paths: Path) -> list[Problem]:
    """Return what `read` finds wrong; nothing when it returns a declaration."""
    try:
        read(paths)
    except DeclarationInvalid as error:
        return list(error.problems)
    return []


def read_text(folder: Path, content: str | bytes) -> Declaration:
    """Return the declaration in one file of this content."""
    return read(write(folder, state=content))


def said(folder: Path, text: str) -> list[tuple[str, str, str]]:
    """Return key, message and advice of each problem of a text, with the folder's name taken out."""
    (file,) = write(folder, state=text)
    return [(problem.key, problem.what.replace(str(file), "FILE"), problem.fix) for problem in problems(file)]


def said_of_cluster(folder: Path, lines: str) -> list[tuple[str, str, str]]:
    """Return what `said` does for a cluster with an image and these lines, with keys seen from the cluster."""
    text = f'{HEAD}[{CLUSTER}]\nimage = "x"\n{lines}\n'
    return [(key.removeprefix(f"{CLUSTER}."), what, fix) for key, what, fix in said(folder, text)]
