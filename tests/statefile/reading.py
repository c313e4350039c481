"""Reading text in tests: what `read` makes of files with given contents."""

from pathlib import Path

from sindplan.errors import DeclarationInvalid, Problem
from sindplan.model.declaration import Declaration
from sindplan.statefile import read

HEAD = 'version = 1\nname = "lab"\n'


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
