"""What is wrong with a document, before it is known in which file and on which line that stands."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from sindplan.statefile.wording import KeyPath

Said = tuple[str, str]
"""What is wrong with a value, and what would be right."""

Says = Callable[[Any], Said | None]


@frozen
class Fault:
    """Something wrong at a place of a document.

    Attributes:
        path: The key.
        what: What is wrong, as a sentence.
        fix: What would be right.
        line: The line of the text at the key, counted from 1; 0 when it is about no single one.
    """

    path: KeyPath
    what: str
    fix: str = ""
    line: int = 0

    @classmethod
    def of_line(cls, path: KeyPath, line: int, what: str, fix: str = "") -> "Fault":
        """Return a fault of a line of the text at a key, whose sentence goes on with `what`."""
        return cls(path, f"{line_of_text(line)} {what}", fix, line)

    @property
    def of_its_line(self) -> str:
        """The sentence for where the line itself is shown."""
        subject = line_of_text(self.line)
        return f"This line{self.what.removeprefix(subject)}" if self.line else self.what


def line_of_text(line: int) -> str:
    """Return what a line of a text is called where the key is all that is known."""
    return f"Line {line} of the text"
