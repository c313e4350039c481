"""What is wrong with a document, before it is known in which file and on which line that stands."""

from attrs import frozen

from sindplan.statefile.wording import KeyPath


@frozen
class Fault:
    """Something wrong at a place of a document: what, as a sentence, and what would be right."""

    path: KeyPath
    what: str
    fix: str = ""
