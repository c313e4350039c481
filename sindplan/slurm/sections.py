"""The user's own text for Slurm's files, as one string or in named fragments: what it says, and where it goes.

It is carried byte for byte. What follows a string begins on a line of its own; a fragment is a file of its own.
"""

from collections.abc import Mapping

from attrs import fields

from sindplan.model.declaration import Slurm, SlurmText
from sindplan.slurm.text import Statement, statements

FILES: Mapping[str, str] = {
    section.name: "slurm.conf" if section.name == "main" else f"{section.name}.conf" for section in fields(Slurm)
}
"""The file that each section is for."""


def fragments(section: SlurmText | None) -> Mapping[str, str]:
    """Return the texts of a section by fragment, in the order in which Slurm reads them; a string has no name."""
    if section is None:
        return {}
    return {"": section} if isinstance(section, str) else dict(sorted(section.items()))


def said(section: SlurmText | None) -> tuple[Statement, ...]:
    """Return what a section says, through all its fragments. Files that it includes are not known."""
    return tuple(statement for text in fragments(section).values() for statement in statements(text))


def keys(section: SlurmText | None) -> frozenset[str]:
    """Return the parameters that a section sets, in lower case."""
    return frozenset(statement.key for statement in said(section))


def last(section: SlurmText | None, key: str) -> str | None:
    """Return the value of a parameter: of several, Slurm takes the last."""
    return next((found.value for found in reversed(said(section)) if found.key == key.lower()), None)


def embedded(name: str, section: SlurmText | None) -> str:
    """Return what stands for a section in its file: the text itself, or lines that include its fragments by name.

    Slurm expands no wildcards there, and with absolute paths configless daemons do not start.
    """
    if section is None or isinstance(section, str):
        return _whole_lines(section or "")
    return "".join(f"include {_path(name, fragment)}\n" for fragment in fragments(section))


def fragment_files(name: str, section: SlurmText | None) -> Mapping[str, str]:
    """Return the texts of a section's fragments by path below /etc/slurm."""
    if section is None or isinstance(section, str):
        return {}
    return {_path(name, fragment): text for fragment, text in fragments(section).items()}


def _path(name: str, fragment: str) -> str:
    return f"{FILES[name]}.d/{fragment}.conf"


def _whole_lines(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"
