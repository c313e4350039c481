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
    """Something wrong at a place of a document: what, as a sentence, and what would be right."""

    path: KeyPath
    what: str
    fix: str = ""
