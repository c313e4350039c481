"""The user's text for Slurm's files where it stands in the state file: every section and fragment with its key."""

from collections.abc import Iterator

from attrs import fields, frozen

from sindplan.model.declaration import Slurm
from sindplan.slurm.sections import fragments
from sindplan.slurm.text import Statement, statements
from sindplan.statefile.context import Context
from sindplan.statefile.fault import Fault
from sindplan.statefile.wording import KeyPath

SECTIONS = tuple(section.name for section in fields(Slurm))
READ = tuple(name for name in SECTIONS if name != "plugstack")
"""Sections whose files have Slurm's common language."""


@frozen
class Said:
    """A statement in a text, and the text's key in the cluster."""

    keys: KeyPath
    statement: Statement

    def fault(self, context: Context, what: str, fix: str = "") -> Fault:
        """Return a fault of the statement, whose sentence begins with the line."""
        return context.fault_of_line(self.keys, self.statement.line, what, fix)


def texts(context: Context, section: str) -> Iterator[tuple[KeyPath, str]]:
    """Yield the texts of a section with their keys in the cluster, in the order in which Slurm reads them."""
    for fragment, text in fragments(getattr(context.cluster.slurm, section)).items():
        is_whole = isinstance(getattr(context.cluster.slurm, section), str)
        yield ("slurm", section) if is_whole else ("slurm", section, fragment), text


def said(context: Context, section: str, *keys: str) -> Iterator[Said]:
    """Yield the statements of a section that set one of the keys; all statements without keys."""
    wanted = {key.lower() for key in keys}
    for path, text in texts(context, section):
        for statement in statements(text):
            if not wanted or statement.key in wanted:
                yield Said(path, statement)


def in_force(context: Context, section: str, key: str) -> Said | None:
    """Return the statement that decides a parameter: of several, Slurm takes the last."""
    return next(reversed(list(said(context, section, key))), None)
